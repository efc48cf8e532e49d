//! `hotset record --memory`: the memory accesses of a program.

use std::io::{Write, stderr};

use hotset_capture::memory::{MemoryProgress, record};

use super::{Record, end};
use crate::destination::Destination;
use crate::failure::Failure;
use crate::output::human;
use crate::progress::Recording;

impl Record {
    /// All of the command with `--memory`.
    pub(super) fn record_memory(&self, output: Destination) -> Result<(), Failure> {
        let bar = Recording::new(self.progress);
        let shown = |at: MemoryProgress| {
            bar.show(&[human::counted(at.references, "reference"), human::counted(at.instructions, "instruction")]);
        };
        let summary = output.fill(|path| Ok(record(&self.command, path, shown)?))?;
        drop(bar);
        let stats = &summary.stats;
        let counts = [
            human::counted(stats.references, "reference"),
            human::counted(stats.runs, "run"),
            human::counted(stats.instructions, "instruction"),
            human::counted(stats.object_events, "object event"),
        ];
        let mut err = stderr().lock();
        let took = human::duration(summary.seconds);
        writeln!(err, "hotset: {}: {} in {took}", self.output.display(), counts.join(", "))?;
        for remark in &summary.remarks {
            writeln!(err, "hotset: {remark}")?;
        }
        end(summary.status)
    }
}
