//! `hotset import` of a trace of memory.

use std::io::{Write, stdout};

use hotset_sim::Progress;
use hotset_trace::Trace;
use hotset_trace::memory::MemoryBatch;
use hotset_trace::native::{Header, MemoryWriter};

use super::Import;
use crate::failure::Failure;
use crate::options::destination::Destination;
use crate::options::progress::Reading;
use crate::options::traces::say_remarks;
use crate::output::human;

impl Import {
    /// Writes the only input, a trace of memory that is open.
    pub(super) fn import_memory(&self, mut trace: Trace, destination: Destination) -> Result<(), Failure> {
        let name = self.inputs[0].display().to_string();
        if let Some(second) = self.inputs.get(1) {
            let message =
                format!("{name} is a trace of memory, which {} cannot follow: import one alone", second.display());
            return Err(Failure::Usage(message));
        }
        if self.renamed.is_some() {
            return Err(Failure::Usage(format!("--as: {name} is a trace of memory, which tells no applications")));
        }
        if self.sample.is_some() {
            let message = format!("--sample: {name} is a trace of memory, which is not sampled; leave --sample out");
            return Err(Failure::Usage(message));
        }
        let progress = Reading::new(&name, &trace.progress);
        let memory = trace.reader.memory().expect("asked before");
        let header = Header::of_memory(&memory.memory_meta()).with("source", trace.format);
        let stats = destination.write(|file, path| {
            let mut writer = MemoryWriter::new(file, path, &header)?;
            let mut batch = MemoryBatch::default();
            loop {
                memory.read_memory(&mut batch)?;
                if batch.is_empty() {
                    return Ok(writer.finish()?);
                }
                writer.push(&batch)?;
                progress.advance(batch.runs.iter().map(|run| run.references).sum());
            }
        })?;
        drop(progress);
        say_remarks(&name, trace.reader.as_ref());
        let (references, runs) = (human::counted(stats.references, "reference"), human::counted(stats.runs, "run"));
        let events = human::counted(stats.object_events, "object event");
        let mut out = stdout().lock();
        Ok(writeln!(out, "{}: {references} to memory in {runs}, {events}", self.output.display())?)
    }
}
