//! `hotset simulate` on traces of memory, where policies see faults and access bits alone.

mod show;

use hotset_core::policy::PolicySpec;
use hotset_core::spec::SizeSpec;
use hotset_sim::paging::{Frees, PagingRow};
use hotset_sim::select::Selection;
use hotset_trace::Trace;

use super::Simulate;
use crate::failure::Failure;
use crate::replay::paging::PagingReplay;

impl Simulate {
    /// Rows of traces of memory, of which the first is open, shown as they come.
    pub(super) fn run_paging(&self, first: Trace, sizes: &SizeSpec) -> Result<Vec<PagingRow>, Failure> {
        let policies = PolicySpec::parse_paging_list(&self.policy)
            .map_err(|error| Failure::spec("--policy", &self.policy, &error))?;
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
            let trace = opened.take().map_or_else(|| self.open(path, &Selection::default()), Ok)?;
            let of_trace = replay.rows_of(trace, path)?;
            if !self.results.has_stdout() {
                show::rows(&of_trace)?;
            }
            rows.extend(of_trace);
        }
        Ok(rows)
    }
}
