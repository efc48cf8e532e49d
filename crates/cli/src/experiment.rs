//! `hotset experiment`: a paper's figure again, with our traces, and the paper's figures beside ours.

mod file;
mod show;

use std::path::{Path, PathBuf};

use clap::Args;
use hotset_sim::{BlockSize, Options};

use crate::failure::Failure;
use crate::memory;
use crate::output::files;
use crate::replay::Replay;
use crate::traces::ReadArgs;
use file::File;

/// Run an experiment from a file: a figure of a paper on the traces at hand, the paper's figures beside ours
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset experiment experiments/render/fig7.toml --traces traces
  hotset experiment experiments/attribute/fig9.toml --json fig9.jsonl")]
pub(crate) struct Experiment {
    /// The experiments (TOML; see docs/experiments.md)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Directory that the names of traces begin at [default: $HOTSET_TRACES, or that of the experiment's file]
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Write results as JSON Lines, one object a cell; `-` is standard output, then without tables
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    json: Option<PathBuf>,
    /// Write results as CSV; `-` is standard output, then without tables
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    csv: Option<PathBuf>,
    /// Print Markdown, for a page of documentation
    #[arg(long, help_heading = "Results")]
    markdown: bool,
}

impl Experiment {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let to_stdout = [&self.json, &self.csv].into_iter().flatten().any(|path| path == Path::new("-"));
        let mut all = Vec::new();
        for path in &self.files {
            let file = File::read(path)?;
            let traces = self.rows(path, &file)?;
            if !to_stdout {
                show::show(&file, &traces, self.markdown)?;
            }
            all.extend(traces.into_iter().flatten());
        }
        files::write_rows(self.json.as_deref(), self.csv.as_deref(), &all)
    }

    /// The rows of each trace, policy by policy.
    fn rows(&self, path: &Path, file: &File) -> Result<Vec<Vec<hotset_sim::results::Row>>, Failure> {
        let (policies, sizes) = (file.policy_list(path)?, file.size_list(path)?);
        let options = Options {
            block: file.block.map(BlockSize::Bytes),
            maps: file.maps,
            memory_bytes: memory::default_budget(),
            ..Options::default()
        };
        let replay = Replay {
            policies: &policies,
            sizes: (&sizes, &file.sizes),
            sizes_from: "sizes",
            read: &ReadArgs::default(),
            options,
            rules: None,
            seed: 1,
        };
        let set = std::env::var_os("HOTSET_TRACES").map(PathBuf::from);
        let base = self.traces.as_deref().or(set.as_deref()).or(path.parent()).unwrap_or(Path::new("."));
        file.traces.iter().map(|trace| replay.rows(&below(base, trace))).collect()
    }
}

/// The path of a trace, which may have the name of its format before it.
fn below(base: &Path, trace: &str) -> PathBuf {
    match trace.split_once(':') {
        Some((format, path)) => PathBuf::from(format!("{format}:{}", base.join(path).display())),
        None => base.join(trace),
    }
}
