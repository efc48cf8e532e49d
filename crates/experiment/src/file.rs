//! The file of an experiment: a figure or table of a paper, to be made again with traces at hand.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use hotset_core::policy::PolicySpec;
use hotset_core::spec::{SizeSpec, SpecError, Value};
use hotset_core::storage::StorageModel;
use hotset_results::Row;
use hotset_sim::clock::{ClockOptions, Every};
use hotset_sim::select::{Filter, Selection, Warmup};
use hotset_sim::{BlockSize, Deletes, Maps, Ttl};
use serde::Deserialize;

use crate::error::Error;
use crate::measure::Measure;
use crate::mixes::{Mix, below};

/// An experiment as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Where it was read from.
    #[serde(skip)]
    path: PathBuf,
    /// The measure.
    pub title: String,
    /// The paper and its figure or table.
    pub source: String,
    /// The paper's claim, in our words.
    #[serde(default)]
    pub claim: String,
    /// What we see and why, in our words.
    #[serde(default)]
    pub finding: String,
    /// Trace files, below the directory of traces, or beside this file if they begin with `.`; `FORMAT:PATH` names the
    /// format.
    #[serde(default)]
    pub traces: Vec<String>,
    /// Mixes of traces.
    #[serde(default, rename = "mix")]
    pub mixes: Vec<Mix>,
    /// The disk behind the cache, if requests are to take time.
    pub store: Option<String>,
    /// The table shows what each application hits, and the room it has, in one stretch of this length after another: a
    /// time, or a number of references.
    pub every: Option<String>,
    /// With `every`: the state of a scheme for each application at the end of each interval, at the size of its
    /// partition.
    #[serde(default)]
    pub tables: bool,
    /// Policies, separated by commas.
    pub policies: String,
    /// Sizes, separated by commas.
    pub sizes: String,
    /// Bytes of a block where the trace does not say.
    pub block: Option<u64>,
    /// Which mapped ranges count as reads.
    #[serde(default)]
    pub maps: Maps,
    /// Whether the blocks of deleted files stay in the cache.
    #[serde(default)]
    pub deletes: Deletes,
    /// Whether objects expire.
    #[serde(default)]
    pub ttl: Ttl,
    /// Only these requests go through the caches: `app=NAME,file=GLOB,exclude=GLOB,ops=OPS,from=PLACE,to=PLACE`.
    #[serde(default)]
    pub only: String,
    /// The beginning of them that does not count: a number of references, or a share in percent.
    pub warmup: Option<String>,
    /// Only these count, in the words of `only`.
    #[serde(default)]
    pub count_only: String,
    /// The content of the table.
    #[serde(default)]
    pub measure: Measure,
    /// With `transfers_per_reference`: a line for misses, one for these and allocation reads, one for these and
    /// fragment reads, and so on, as papers stack them.
    #[serde(default)]
    pub stacked: bool,
    /// Only these classes are counted, where a scheme tells classes apart; all by default.
    #[serde(default)]
    pub classes: Vec<String>,
    /// The table separates applications: a column each, with the size of its partition at the end and whether its
    /// promise could not be kept.
    #[serde(default)]
    pub applications: bool,
    /// Pairs of policies of which the paper says how they compare.
    #[serde(default)]
    pub compare: Vec<Compare>,
}

/// A policy beside another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The policy that should gain.
    pub better: String,
    /// The policy that it is compared with.
    pub than: String,
    /// Only this trace or mix is counted, by its label.
    pub trace: Option<String>,
    /// Only this application is counted.
    pub app: Option<String>,
    /// Only sizes from this on, such as 64K.
    pub from: Option<String>,
    /// Only sizes up to this.
    pub to: Option<String>,
    /// A policy that bounds both: the share of the difference between `than` and it that is gained is shown, too.
    pub bound: Option<String>,
    /// The paper's mean gain: points of a ratio, percent less of a cost.
    pub paper_mean: Option<f64>,
    /// The paper's greatest gain.
    pub paper_most: Option<f64>,
    /// The possible saving of cache is shown where the other policy's hit ratio, in percent, is in this range (up to
    /// 100 if only its start is given).
    pub saved_from: Option<f64>,
    /// The end of that range.
    pub saved_to: Option<f64>,
    /// Or: how much smaller a cache may be where both reach this share, in percent, of the best hit ratio that the
    /// other policy has at any size.
    pub saved_best: Option<f64>,
    /// The paper's mean saving in percent.
    pub paper_saved: Option<f64>,
    /// The traces where the paper finds the one worse than the other; elsewhere it finds it no worse. Absent: the
    /// paper does not tell.
    pub paper_worse: Option<Vec<String>>,
}

impl Compare {
    /// The bytes of cache that it is about. A bound that cannot be read is an error with its text.
    pub fn bytes(&self) -> Result<RangeInclusive<u64>, SpecError> {
        let bound = |text: &Option<String>, open: u64| match text.as_deref().map(Value::parse).transpose()? {
            None => Ok(open),
            Some(Value::Size(bytes)) => Ok(bytes),
            Some(other) => Err(SpecError::new(format!("\"{other}\" is not a size: expected bytes such as 64K"))),
        };
        Ok(bound(&self.from, 0)?..=bound(&self.to, u64::MAX)?)
    }
}

impl File {
    /// Reads the text of an experiment, which is from the file at `path`. Nothing is run.
    ///
    /// # Errors
    ///
    /// The text is not an experiment.
    pub fn parse(path: &Path, text: &str) -> Result<File, Error> {
        let wrong = |what: String| Error::File(format!("{}: {what}", path.display()));
        let file: File = toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        let mut file = File { path: path.to_owned(), ..file };
        file.size_list()?;
        file.clock()?;
        file.block_size()?;
        file.selection()?;
        file.mixes.iter().try_for_each(|mix| mix.check(path))?;
        if file.stacked && file.measure != Measure::TransfersPerReference {
            let message = "stacked: found another measure; expected `measure = \"transfers_per_reference\"`";
            return Err(wrong(message.to_owned()));
        }
        let known: Vec<String> = file.policies()?.iter().map(PolicySpec::to_string).collect();
        let labels: Vec<String> = file.trace_names().map(|trace| label(trace).to_owned()).collect();
        if labels.is_empty() {
            return Err(wrong("it has no traces: expected `traces = [...]` or a `[[mix]]`".to_owned()));
        }
        for compare in &mut file.compare {
            compare.bytes().map_err(|error| wrong(error.to_string()))?;
            for policy in [&mut compare.better, &mut compare.than].into_iter().chain(&mut compare.bound) {
                if let Ok(spec) = PolicySpec::parse(policy) {
                    *policy = spec.to_string();
                }
                if !known.contains(policy) {
                    return Err(wrong(format!("{policy:?} is compared, but not among the policies")));
                }
            }
            let expected = || labels.join(", ");
            if let Some(unknown) = compare.trace.iter().find(|trace| !labels.contains(trace)) {
                return Err(wrong(format!("compare: found the trace {unknown:?}; expected one of {}", expected())));
            }
            if let Some(unknown) = compare.paper_worse.iter().flatten().find(|trace| !labels.contains(trace)) {
                return Err(wrong(format!("paper_worse: found {unknown:?}; expected one of {}", expected())));
            }
        }
        Ok(file)
    }

    /// A value of `key` that makes no sense.
    fn wrong(&self, key: &str, error: impl Display) -> Error {
        Error::File(format!("{}, {key}: {error}", self.path.display()))
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that it is in.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// The names of the traces, then of the mixes.
    pub fn trace_names(&self) -> impl Iterator<Item = &str> {
        self.traces.iter().map(String::as_str).chain(self.mixes.iter().map(|mix| &*mix.name))
    }

    /// The path of one of its traces. Its directory of traces is `base`, or else the one that the file is in.
    pub fn place(&self, base: Option<&Path>, trace: &str) -> PathBuf {
        below(base.unwrap_or(self.folder()), self.folder(), trace)
    }

    /// The paths of all traces that it reads, those of mixes included.
    pub fn places(&self, base: Option<&Path>) -> Vec<PathBuf> {
        let mixed = self.mixes.iter().flat_map(|mix| &mix.apps).map(|app| &app.trace);
        self.traces.iter().chain(mixed).map(|trace| self.place(base, trace)).collect()
    }

    /// The clock and the storage behind the cache, if it has a clock.
    pub(crate) fn clock(&self) -> Result<Option<ClockOptions>, Error> {
        let read = |text: &String| StorageModel::parse(text).map_err(|error| self.wrong("store", error.render(text)));
        let store = self.store.as_ref().map(read).transpose()?;
        let every = self.every.as_deref().map(Every::parse).transpose();
        let every = every.map_err(|error| self.wrong("every", error))?;
        Ok((store.is_some() || every.is_some()).then_some(ClockOptions { store, every, ..ClockOptions::default() }))
    }

    /// How traces are cut, if the experiment says so.
    pub(crate) fn block_size(&self) -> Result<Option<BlockSize>, Error> {
        self.block.map(BlockSize::of_bytes).transpose().map_err(|error| self.wrong("block", error))
    }

    /// The requests that it is about.
    pub(crate) fn selection(&self) -> Result<Selection, Error> {
        let filter = |key, text: &str| match text {
            "" => Ok(Filter::default()),
            text => Filter::parse(text).map_err(|error| self.wrong(key, error)),
        };
        let warmup = self.warmup.as_deref().map(Warmup::parse).transpose();
        Ok(Selection {
            only: filter("only", &self.only)?,
            warmup: warmup.map_err(|error| self.wrong("warmup", error))?,
            count_only: filter("count_only", &self.count_only)?,
        })
    }

    /// The same in words; nothing for all.
    pub fn chosen(&self) -> Option<String> {
        let said = [("only", Some(&self.only)), ("warm-up", self.warmup.as_ref()), ("counted", Some(&self.count_only))];
        let said = said.into_iter().filter_map(|(what, text)| Some((what, text.filter(|text| !text.is_empty())?)));
        let words: Vec<String> = said.map(|(what, text)| format!("{what} {text}")).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// All that its rows depend on: experiments that agree in this differ only in what they show of them.
    pub fn work(&self) -> String {
        let File { traces, mixes, store, every, policies, sizes, block, maps, deletes, ttl, .. } = self;
        let (beside, is_of_memory) = (self.folder(), self.measure.is_of_memory());
        let chosen = (&self.only, &self.warmup, &self.count_only);
        let of_traces = (beside, is_of_memory, traces, mixes, block, maps, deletes, ttl, chosen);
        format!("{:?}", (of_traces, store, every, policies, sizes))
    }

    /// The measure in a row; `None` if the row does not have it.
    pub fn value(&self, row: &Row) -> Option<f64> {
        self.measure.of(row, &self.classes)
    }

    /// What that is called.
    pub fn measured(&self) -> String {
        match &self.classes[..] {
            [] => self.measure.title().to_owned(),
            classes => format!("{} ({})", self.measure.title(), classes.join(", ")),
        }
    }

    pub(crate) fn policies(&self) -> Result<Vec<PolicySpec>, Error> {
        let parsed = match self.measure.is_of_memory() {
            true => PolicySpec::parse_paging_list(&self.policies),
            false => PolicySpec::parse_list(&self.policies),
        };
        parsed.map_err(|error| self.wrong("policies", error.render(&self.policies)))
    }

    pub(crate) fn size_list(&self) -> Result<SizeSpec, Error> {
        SizeSpec::parse(&self.sizes).map_err(|error| self.wrong("sizes", error.render(&self.sizes)))
    }
}

/// The name of a trace in tables of several: the name of its file up to the first dot.
pub fn label(trace: &str) -> &str {
    let name = file_name(trace);
    name.split_once('.').map_or(name, |(label, _)| label)
}

/// The last component of a trace's name, without the name of a format before it.
pub fn file_name(trace: &str) -> &str {
    trace.rsplit(['/', ':']).next().unwrap_or(trace)
}
