//! `hotset experiment`: a paper's figure again, with our traces, and the paper's figures beside ours.

#[path = "../../experiment/src/compare.rs"]
mod compare;
mod elsewhere;
#[path = "../../experiment/src/file.rs"]
mod file;
mod least;
#[path = "../../experiment/src/measure.rs"]
mod measure;
#[path = "../../experiment/src/mixes.rs"]
mod mixes;
mod over_time;
#[path = "../../experiment/src/page.rs"]
mod page;
#[path = "../../experiment/src/row.rs"]
mod row;
#[path = "../../experiment/src/saved.rs"]
mod saved;
mod show;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_cache::machine;
use hotset_core::spec::{SizeSpec, SpecError};
use hotset_results::{CACHE_COLUMNS, PAGING_COLUMNS};
use hotset_sim::Options;
use hotset_sim::results::SeriesRow;
use hotset_sim::sweep::{Rows, Sweep, Swept};

use crate::failure::Failure;
use crate::progress::Terminal;
use crate::report::ReportArgs;
use crate::results::ResultArgs;
use crate::select;
use crate::text_file;
use crate::traces::Opener;
use compare::Comparison;
use file::File;
use mixes::Mix;
use page::{Content, Shown};
use row::AnyRow;

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

/// The results of one trace: its rows, policy by policy, and those of its intervals.
type Told = (Vec<AnyRow>, Vec<SeriesRow>);

/// Reads the text of an experiment and runs nothing. `path` is where it is from.
pub(crate) fn check(path: &Path, text: &str) -> Result<(), Failure> {
    File::parse(path, text).map(drop)
}

impl Experiment {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        self.results.check(None, &self.files)?;
        let read = |path: &PathBuf| File::parse(path, &text_file::read(path)?);
        let files = self.files.iter().map(read).collect::<Result<Vec<File>, Failure>>()?;
        self.check_place(&files)?;
        let columns = self.columns(&files)?;
        let page = self.report.prepare(&self.inputs(&files))?;
        let (mut all, mut shown) = (Vec::new(), Vec::new());
        let works: Vec<String> = self.files.iter().zip(&files).map(|(path, file)| file.work(path)).collect();
        // Several experiments may show the same replays by different measures.
        let mut kept: HashMap<&str, Vec<Told>> = HashMap::new();
        for (at, (path, file)) in self.files.iter().zip(&files).enumerate() {
            let work = works[at].as_str();
            let is_wanted_again = works[at + 1..].iter().any(|later| later == work);
            let told = match kept.remove(work) {
                Some(told) => told,
                None => self.replay(path, file)?,
            };
            if is_wanted_again {
                kept.insert(work, told.clone());
            }
            let (traces, series): (Vec<_>, Vec<_>) = told.into_iter().unzip();
            let compared = Comparison::all(file, &traces);
            if !self.results.has_stdout() {
                let has_files = page.is_some() || self.results.has_files();
                Failure::shown(show::show(file, &traces, &series, &compared, self.markdown), has_files)?;
            }
            shown.push(Shown::new(file, &traces, series, compared, all.len()));
            all.extend(traces.into_iter().flatten());
        }
        self.results.write(columns, &all)?;
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
            (false, _) => self.files.iter().zip(files).try_for_each(|(path, file)| elsewhere::check(path, file)),
        }
    }

    /// The files of all experiments, each once.
    fn inputs(&self, files: &[File]) -> Vec<PathBuf> {
        let paths = self.files.iter().zip(files).flat_map(|(path, file)| {
            let mixed = file.mixes.iter().flat_map(|mix| &mix.apps).map(|app| &app.trace);
            file.traces.iter().chain(mixed).map(|trace| self.place(path, trace)).collect::<Vec<_>>()
        });
        let mut seen = HashSet::new();
        paths.filter(|path| seen.insert(path.clone())).collect()
    }

    /// Where a trace of an experiment lies.
    fn place(&self, experiment: &Path, trace: &str) -> PathBuf {
        let set = std::env::var_os("HOTSET_TRACES").map(PathBuf::from);
        let beside = experiment.parent().unwrap_or(Path::new("."));
        let base = self.traces.as_deref().or(set.as_deref()).unwrap_or(beside);
        mixes::below(base, beside, trace)
    }

    /// The columns of `--csv`, which are others for caches than for memory.
    fn columns(&self, files: &[File]) -> Result<&'static [&'static str], Failure> {
        let of_memory = files.iter().filter(|file| file.measure.is_of_memory()).count();
        if self.results.has_csv() && of_memory > 0 && of_memory < files.len() {
            let message = "--csv: some of the experiments are of caches and some of memory, whose rows have other columns: run them apart";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(if of_memory > 0 { &PAGING_COLUMNS } else { &CACHE_COLUMNS })
    }

    /// The results of each trace.
    fn replay(&self, path: &Path, file: &File) -> Result<Vec<Told>, Failure> {
        let mut told = match self.on == LOCAL {
            true => self.replay_here(path, file)?,
            false => {
                let places: Vec<PathBuf> = file.traces.iter().map(|trace| self.place(path, trace)).collect();
                elsewhere::replay(path, file, &places, &self.on, self.keep.as_deref())?
            }
        };
        for (name, (rows, _)) in file.trace_names().zip(&mut told) {
            rows.iter_mut().for_each(|row| row.set_trace(name));
        }
        Ok(told)
    }

    fn replay_here(&self, path: &Path, file: &File) -> Result<Vec<Told>, Failure> {
        let sweep = Sweep {
            of_memory: file.measure.is_of_memory(),
            options: Options {
                block: file.block_size(path)?,
                maps: file.maps.into(),
                deletes: file.deletes.into(),
                ttl: file.ttl.into(),
                memory_bytes: machine::budget(),
                ..Options::default()
            },
            clock: file.machine(path)?,
            selection: file.selection(path)?,
            ..Sweep::new(file.policies(path)?, file.size_list(path)?)
        };
        let opener = Opener::default();
        let alone = file.traces.iter().map(|trace| {
            let place = self.place(path, trace);
            let swept = sweep.run(&place.display().to_string(), || opener.open(&place), &self.terminal);
            Ok(told(swept.map_err(|error| Failure::swept(error, "sizes", &file.sizes))?))
        });
        let mixed = file.mixes.iter().map(|mix| self.replay_mix(path, file, mix, &sweep, &opener));
        alone.chain(mixed).collect()
    }

    /// The results of a mix. `sweep` is that of the experiment.
    fn replay_mix(&self, path: &Path, file: &File, mix: &Mix, sweep: &Sweep, opener: &Opener) -> Result<Told, Failure> {
        let wrong = |error: SpecError| Failure::Usage(format!("{}, {}: {error}", path.display(), mix.name));
        let own = Sweep {
            policies: mix.policies(&sweep.policies).map_err(wrong)?,
            sizes: match &mix.size {
                Some(size) => SizeSpec::parse(size).map_err(wrong)?,
                None => sweep.sizes.clone(),
            },
            ..sweep.clone()
        };
        let swept = own.run(&mix.name, || mix.open(opener, |trace| self.place(path, trace)), &self.terminal);
        let sizes = mix.size.as_ref().unwrap_or(&file.sizes);
        let mut swept = swept.map_err(|error| Failure::swept(error, "sizes", sizes))?;
        if let Rows::Cache(rows) = &mut swept.rows {
            mix.tell(&sweep.policies, rows, &mut swept.series).map_err(wrong)?;
        }
        Ok(told(swept))
    }
}

/// The rows of a sweep, of whatever kind.
fn told(swept: Swept) -> Told {
    let rows = match swept.rows {
        Rows::Cache(rows) => rows.into_iter().map(|row| AnyRow::Cache(Box::new(row))).collect(),
        Rows::Memory(rows) => rows.into_iter().map(|row| AnyRow::Memory(Box::new(row))).collect(),
    };
    (rows, swept.series)
}
