//! `hotset experiment`: a paper's figure again, with our traces, and the paper's figures beside ours.

mod elsewhere;
mod least;
mod over_time;
mod show;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use hotset_cache::machine;
use hotset_experiment::page::{Content, Shown};
use hotset_experiment::{Comparison, Error, File, Replayed, Runner};
use hotset_results::COLUMNS;

use crate::failure::Failure;
use crate::options::progress::Terminal;
use crate::options::report::ReportArgs;
use crate::options::results::ResultArgs;
use crate::options::select;
use crate::options::traces::Opener;
use crate::options::values;

/// Run an experiment file: repeat a figure of a paper and compare it with the published values
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset experiment experiments/render/fig7.toml --traces traces
  hotset experiment experiments/attribute/fig9.toml --json fig9.jsonl
  hotset experiment experiments/render/*.toml --report render.html
  hotset experiment sweep.toml --on ray --keep done --parquet rows.parquet")]
pub(crate) struct Experiment {
    /// Experiment files (TOML; see docs/guide/repeat-a-figure.md)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Directory of the traces; names that begin with a dot are relative to the experiment file [default:
    /// $HOTSET_TRACES, or the directory named in the file]
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Where to run: on this machine (local), on the Ray cluster that this machine belongs to, or a new local one
    /// (ray), or on the Ray cluster at an address; Ray needs the Python package (see docs/guide/scale.md)
    #[arg(long, value_name = "local|ray|ray://HOST:PORT", default_value = LOCAL, value_parser = where_it_is)]
    on: String,
    /// With Ray: keep finished work in this directory and resume from it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Print Markdown
    #[arg(long, help_heading = "Output")]
    markdown: bool,
    #[arg(skip)]
    terminal: Terminal,
}

/// The default place where an experiment runs.
const LOCAL: &str = "local";

/// Reads where an experiment is to run.
fn where_it_is(text: &str) -> Result<String, String> {
    match text == LOCAL || text == "ray" || text.starts_with("ray://") {
        true => Ok(text.to_owned()),
        false => Err(format!("{text:?} is not known: expected local, ray or ray://HOST:PORT")),
    }
}

impl Experiment {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        self.results.check(None, &self.files)?;
        let read = |path: &PathBuf| Ok(File::parse(path, &values::text(path)?)?);
        let files = self.files.iter().map(read).collect::<Result<Vec<File>, Failure>>()?;
        self.check_place(&files)?;
        let page = self.report.prepare(&self.inputs(&files))?;
        let (mut all, mut shown) = (Vec::new(), Vec::new());
        let works: Vec<String> = files.iter().map(File::work).collect();
        // Several experiments may show the same replays by different measures.
        let mut kept: HashMap<&str, Vec<Replayed>> = HashMap::new();
        for (at, file) in files.iter().enumerate() {
            let work = works[at].as_str();
            let is_wanted_again = works[at + 1..].iter().any(|later| later == work);
            let replayed = match kept.remove(work) {
                Some(replayed) => replayed,
                None => self.replay(file)?,
            };
            if is_wanted_again {
                kept.insert(work, replayed.clone());
            }
            let compared = Comparison::all(file, &replayed);
            if !self.results.has_stdout() {
                let has_files = page.is_some() || self.results.has_files();
                Failure::shown(show::show(file, &replayed, &compared, self.markdown), has_files)?;
            }
            shown.push(Shown::new(file, &replayed, compared, all.len()));
            all.extend(replayed.into_iter().flat_map(|replayed| replayed.rows));
        }
        self.results.write(COLUMNS, &all)?;
        match page {
            Some(page) => {
                let told = all.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
                page.write(typed, Content { rows: &all, experiments: shown, reading: select::reading_of(&told) })
            }
            None => Ok(()),
        }
    }

    /// Refuses what is not to be had where it should run.
    fn check_place(&self, files: &[File]) -> Result<(), Failure> {
        match (self.on == LOCAL, &self.keep) {
            (true, None) => Ok(()),
            (true, Some(_)) => Err(Failure::Usage("--keep applies to a cluster only: add --on ray".to_owned())),
            (false, _) => Ok(files.iter().try_for_each(|file| file.request(self.base().as_deref()).map(drop))?),
        }
    }

    /// The files of all experiments, each once.
    fn inputs(&self, files: &[File]) -> Vec<PathBuf> {
        let mut seen = HashSet::new();
        let places = files.iter().flat_map(|file| file.places(self.base().as_deref()));
        places.filter(|path| seen.insert(path.clone())).collect()
    }

    /// The directory of the traces, where it is given.
    fn base(&self) -> Option<PathBuf> {
        self.traces.clone().or_else(|| std::env::var_os("HOTSET_TRACES").map(PathBuf::from))
    }

    /// The results of each trace.
    fn replay(&self, file: &File) -> Result<Vec<Replayed>, Failure> {
        if self.on != LOCAL {
            return elsewhere::replay(file, self.base().as_deref(), &self.on, self.keep.as_deref());
        }
        let opener = Opener::default();
        let open = move |path: &Path| opener.open(path);
        let runner = Runner { traces: self.base(), open: Arc::new(open), memory_bytes: machine::budget() };
        Ok(runner.run(file, &self.terminal)?)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Replay(error) => Failure::from(error),
            Error::OneMachine { .. } => Failure::Usage(format!("--on: {error}: leave --on out")),
            Error::File(_) => Failure::Usage(error.to_string()),
        }
    }
}
