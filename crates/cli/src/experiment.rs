//! `hotset experiment`: a paper's figure again, with our traces, and the paper's figures beside ours.

mod file;
mod measure;
mod policies;
mod row;
mod show;

use std::path::{Path, PathBuf};

use clap::Args;
use hotset_sim::paging::Frees;
use hotset_sim::{BlockSize, Options};

use crate::failure::Failure;
use crate::memory;
use crate::output::files;
use crate::replay::Replay;
use crate::replay::paging::PagingReplay;
use crate::traces::ReadArgs;
use file::File;
use policies::Policies;
use row::AnyRow;

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
    /// Directory that the names of traces begin at, but for those that begin with a dot, which lie beside the
    /// experiment's file [default: $HOTSET_TRACES, or that of the experiment's file]
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
        let files = self.files.iter().map(|path| File::read(path)).collect::<Result<Vec<File>, Failure>>()?;
        let columns = self.columns(&files)?;
        let mut all = Vec::new();
        for (path, file) in self.files.iter().zip(&files) {
            let traces = self.rows(path, file)?;
            if !to_stdout {
                show::show(file, &traces, self.markdown)?;
            }
            all.extend(traces.into_iter().flatten());
        }
        files::write_rows(self.json.as_deref(), self.csv.as_deref(), columns, &all)
    }

    /// The columns of `--csv`, which are others for caches than for memory.
    fn columns(&self, files: &[File]) -> Result<&'static [&'static str], Failure> {
        let of_memory = files.iter().filter(|file| file.measure.is_of_memory()).count();
        if self.csv.is_some() && of_memory > 0 && of_memory < files.len() {
            let message = "--csv: some of the experiments are of caches and some of memory, whose rows have other columns: run them apart";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(if of_memory > 0 { &files::PAGING_COLUMNS } else { &files::CACHE_COLUMNS })
    }

    /// The rows of each trace, policy by policy.
    fn rows(&self, path: &Path, file: &File) -> Result<Vec<Vec<AnyRow>>, Failure> {
        let (policies, sizes) = (file.policies(path)?, file.size_list(path)?);
        let (sizes, sizes_from) = ((&sizes, file.sizes.as_str()), "sizes");
        let options = Options {
            block: file.block.map(BlockSize::Bytes),
            maps: file.maps,
            memory_bytes: memory::default_budget(),
            ..Options::default()
        };
        let (read, seed) = (&ReadArgs::default(), 1);
        let set = std::env::var_os("HOTSET_TRACES").map(PathBuf::from);
        let base = self.traces.as_deref().or(set.as_deref()).or(path.parent()).unwrap_or(Path::new("."));
        let beside = path.parent().unwrap_or(Path::new("."));
        let traces = file.traces.iter().map(|trace| below(base, beside, trace));
        match &policies {
            Policies::Cache(policies) => {
                let replay = Replay { policies, sizes, sizes_from, read, options, rules: None, seed };
                traces.map(|trace| Ok(replay.rows(&trace)?.into_iter().map(AnyRow::Cache).collect())).collect()
            }
            Policies::Memory(policies) => {
                let replay = PagingReplay { policies, sizes, sizes_from, options, frees: Frees::Drop, seed };
                let rows = |trace: PathBuf| replay.rows_of(read.open(&trace)?, &trace);
                traces.map(|trace| Ok(rows(trace)?.into_iter().map(AnyRow::Memory).collect())).collect()
            }
        }
    }
}

/// The path of a trace, which may have the name of its format before it: below the directory of traces, or, if it begins with a dot, beside
/// the experiment's own file.
fn below(base: &Path, beside: &Path, trace: &str) -> PathBuf {
    let place = |path: &str| if path.starts_with('.') { beside.join(path) } else { base.join(path) };
    match trace.split_once(':') {
        Some((format, path)) => PathBuf::from(format!("{format}:{}", place(path).display())),
        None => place(trace),
    }
}
