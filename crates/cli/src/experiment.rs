//! `hotset experiment`: a paper's figure again, with our traces, and the paper's figures beside ours.

mod compare;
mod file;
mod measure;
mod mixes;
mod over_time;
mod page;
mod row;
mod saved;
mod show;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_core::spec::{SizeSpec, SpecError};
use hotset_sim::Options;
use hotset_sim::paging::Frees;
use hotset_sim::results::SeriesRow;
use hotset_sim::select::Selection;

use crate::failure::Failure;
use crate::memory;
use crate::output::files;
use crate::replay::paging::PagingReplay;
use crate::replay::{Replay, Replayed};
use crate::report::ReportArgs;
use crate::results::ResultArgs;
use crate::select;
use crate::text_file;
use crate::traces::ReadArgs;
use compare::Comparison;
use file::File;
use page::{Content, Shown};
use row::AnyRow;

/// Run an experiment from a file: a figure of a paper on the traces at hand, the paper's figures beside ours
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset experiment experiments/render/fig7.toml --traces traces
  hotset experiment experiments/attribute/fig9.toml --json fig9.jsonl
  hotset experiment experiments/render/*.toml --report render.html")]
pub(crate) struct Experiment {
    /// The experiments (TOML; see docs/guide/repeat-a-figure.md)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Directory that the names of traces begin at, but for those that begin with a dot, which lie beside the
    /// experiment's file [default: $HOTSET_TRACES, or that of the experiment's file]
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Print Markdown, for a page of documentation
    #[arg(long, help_heading = "Results")]
    markdown: bool,
}

/// What is told of one trace: its rows, policy by policy, and those of its stretches.
type Told = (Vec<AnyRow>, Vec<SeriesRow>);

/// Reads the text of an experiment and runs nothing. `path` is where it is from.
pub(crate) fn check(path: &Path, text: &str) -> Result<(), Failure> {
    File::parse(path, text).map(drop)
}

impl Experiment {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        let read = |path: &PathBuf| File::parse(path, &text_file::read(path)?);
        let files = self.files.iter().map(read).collect::<Result<Vec<File>, Failure>>()?;
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
                show::show(file, &traces, &series, &compared, self.markdown)?;
            }
            shown.push(Shown::new(file, &traces, series, compared, all.len()));
            all.extend(traces.into_iter().flatten());
        }
        self.results.write(columns, &all)?;
        match page {
            Some(page) => page.write(typed, Content { rows: &all, experiments: shown }),
            None => Ok(()),
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
        Ok(if of_memory > 0 { &files::PAGING_COLUMNS } else { &files::CACHE_COLUMNS })
    }

    /// What is told of each trace.
    fn replay(&self, path: &Path, file: &File) -> Result<Vec<Told>, Failure> {
        let (policies, sizes) = (file.policies(path)?, file.size_list(path)?);
        let (sizes, sizes_from) = ((&sizes, file.sizes.as_str()), "sizes");
        let options = Options {
            block: file.block_size(path)?,
            maps: file.maps.into(),
            memory_bytes: memory::default_budget(),
            ..Options::default()
        };
        let (read, seed, selection) = (&ReadArgs::default(), 1, &Selection::default());
        let open = |path: &Path| select::select(|| read.open(path), path, selection, &options);
        let mut told: Vec<Told> = if file.measure.is_of_memory() {
            let (policies, options) = (&policies, options.clone());
            let replay = PagingReplay { policies, sizes, sizes_from, options, frees: Frees::Drop, seed };
            let rows = |trace: &String| {
                let path = self.place(path, trace);
                let rows = replay.rows_of(open(&path)?, &path)?;
                Ok((rows.into_iter().map(|row| AnyRow::Memory(Box::new(row))).collect(), Vec::new()))
            };
            file.traces.iter().map(rows).collect::<Result<_, Failure>>()?
        } else {
            let timed = file.machine(path)?;
            let replay = Replay {
                policies: &policies,
                sizes,
                sizes_from,
                options: options.clone(),
                selection,
                rules: None,
                seed,
                timed: timed.as_ref(),
            };
            let rows = |replayed: Replayed| {
                let rows = replayed.rows.into_iter().map(|row| AnyRow::Cache(Box::new(row))).collect();
                (rows, replayed.series)
            };
            let alone = file.traces.iter().map(|trace| {
                let path = self.place(path, trace);
                replay.rows_of(open(&path)?, &path).map(rows)
            });
            let mixed = file.mixes.iter().map(|mix| {
                let wrong = |error: SpecError| Failure::Usage(format!("{}, {}: {error}", path.display(), mix.name));
                let own = mix.policies(&policies).map_err(wrong)?;
                let size = mix.size.as_ref().map(|text| Ok((SizeSpec::parse(text)?, text.as_str()))).transpose();
                let size = size.map_err(wrong)?;
                let sizes = size.as_ref().map_or(replay.sizes, |(size, text)| (size, text));
                let replay = Replay { policies: &own, sizes, options: replay.options.clone(), ..replay };
                let (trace, name) = (mix.open(|trace| self.place(path, trace))?, Path::new(&mix.name));
                let trace = select::selected(trace, name, selection, &replay.options)?;
                let mut replayed = replay.rows_of(trace, name)?;
                mix.tell(&policies, &mut replayed.rows, &mut replayed.series).map_err(wrong)?;
                Ok(rows(replayed))
            });
            alone.chain(mixed).collect::<Result<_, Failure>>()?
        };
        for (name, (rows, _)) in file.trace_names().zip(&mut told) {
            rows.iter_mut().for_each(|row| row.set_trace(name));
        }
        Ok(told)
    }
}
