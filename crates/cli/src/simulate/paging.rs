//! `hotset simulate` on traces of memory: paging policies, which see faults and access bits alone.

mod show;

use hotset_core::paging::PagingSpec;
use hotset_core::spec::SizeSpec;
use hotset_sim::paging::Frees;
use hotset_trace::Trace;

use super::Simulate;
use crate::failure::Failure;
use crate::output::files;
use crate::replay::paging::PagingReplay;

impl Simulate {
    /// All of the command, for traces of memory, of which the first is open.
    pub(super) fn run_paging(&self, first: Trace, sizes: &SizeSpec) -> Result<(), Failure> {
        let policies =
            PagingSpec::parse_list(&self.policy).map_err(|error| Failure::spec("--policy", &self.policy, &error))?;
        let replay = PagingReplay {
            policies: &policies,
            sizes: (sizes, &self.size),
            sizes_from: "--size",
            options: self.cut.options(),
            frees: if self.keep_freed { Frees::Keep } else { Frees::Drop },
            seed: self.seed,
        };
        let mut opened = Some(first);
        let mut rows = Vec::new();
        for path in &self.traces {
            let trace = opened.take().map_or_else(|| self.read.open(path), Ok)?;
            let of_trace = replay.rows_of(trace, path)?;
            if !self.has_stdout_data() {
                show::rows(&of_trace)?;
            }
            rows.extend(of_trace);
        }
        files::write_rows(self.json.as_deref(), self.csv.as_deref(), &files::PAGING_COLUMNS, &rows)
    }
}
