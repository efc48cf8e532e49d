//! `hotset generate`: traces made by rule.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_sim::Progress;
use hotset_trace::generate::{GeneratorKind, KINDS, start};
use hotset_trace::native::{Header, Writer};
use hotset_trace::{Batch, TraceReader};

use crate::command::import::describe;
use crate::failure::Failure;
use crate::options::destination::Destination;
use crate::options::progress::Making;
use crate::output::table;

/// Generate a synthetic trace, reproducible by its seed; without KIND, list the kinds and their parameters
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset generate
  hotset generate zipf -o zipf.hst
  hotset generate loop objects=500 laps=20 -o loop.hst")]
pub(crate) struct Generate {
    /// Kind of trace
    kind: Option<String>,
    /// Parameters of the kind
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    /// Trace file to write
    #[arg(short, long, value_name = "OUT.hst")]
    output: Option<PathBuf>,
}

impl Generate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match (&self.kind, &self.output) {
            (None, None) => list(),
            (None, Some(_)) => Err(Failure::Usage("expected a kind of trace: `hotset generate` lists them".to_owned())),
            (Some(kind), output) => {
                let reader = start(kind, &self.arguments).map_err(|error| Failure::Usage(error.to_string()))?;
                let missing = || Failure::Usage("expected -o OUT.hst, the trace to write".to_owned());
                self.write(reader, output.as_deref().ok_or_else(missing)?)
            }
        }
    }

    fn write(&self, mut reader: Box<dyn TraceReader>, output: &Path) -> Result<(), Failure> {
        let command: Vec<&str> = self.kind.iter().chain(&self.arguments).map(String::as_str).collect();
        let header = Header::new(reader.meta()).with("source", "generated").with("command", &command.join(" "));
        let stats = Destination::new(output, &[])?.write(|file, path| {
            let mut writer = Writer::new(file, path, &header)?;
            let progress = Making::new();
            let mut batch = Batch::new();
            loop {
                reader.read(&mut batch)?;
                if batch.is_empty() {
                    return Ok(writer.finish(reader.tables())?);
                }
                writer.push(&batch, reader.tables())?;
                progress.advance(batch.len() as u64);
            }
        })?;
        Ok(writeln!(stdout(), "{}: {}", output.display(), describe(&stats))?)
    }
}

fn list() -> Result<(), Failure> {
    let mut out = stdout().lock();
    for GeneratorKind { name, summary, params, .. } in KINDS {
        writeln!(out, "{name}: {summary}")?;
        let mut table = table::plain(&["parameter", "default", "takes", "meaning"]);
        for param in *params {
            table.add_row([param.key, param.default, &param.kind.to_string(), param.doc]);
        }
        writeln!(out, "{}\n", table.trim_fmt())?;
    }
    Ok(writeln!(out, "Example: hotset generate {} -o {0}.hst", KINDS[0].name)?)
}
