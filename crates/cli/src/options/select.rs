//! The options that choose requests of a trace, on every command that reads one.

use std::path::Path;

use clap::Args;
use hotset_sim::Options;
use hotset_sim::select::{Filter, Names, Ops, Place, Selection, Warmup};
use hotset_trace::{BLOCK_BYTES, Trace};
use serde_json::Value;

use crate::failure::Failure;
use crate::options::traces::{CutArgs, Opener, ReadArgs, can_be_read_again};

/// Which requests are taken out of a trace as it is read.
#[derive(Args, Clone, Default)]
pub(crate) struct FilterArgs {
    /// Only requests of this application; a pattern such as cc* is allowed; repeatable
    #[arg(long = "app", value_name = "NAME", help_heading = "Filters")]
    apps: Vec<String>,
    /// Only requests to files that match this pattern or are below a matching directory, e.g. *.db, /usr/include;
    /// repeatable
    #[arg(long = "file", value_name = "GLOB", help_heading = "Filters")]
    files: Vec<String>,
    /// No requests to files that match this pattern; repeatable
    #[arg(long, value_name = "GLOB", help_heading = "Filters")]
    exclude: Vec<String>,
    /// Only these operations: reads (including mapped ranges), writes, data (both), metadata, or the names that
    /// `hotset inspect` prints
    #[arg(long, value_name = "OPS", value_parser = Ops::parse, help_heading = "Filters")]
    ops: Option<Ops>,
    /// Start here: a time since the first request (10s) or a number of references
    #[arg(long, value_name = "PLACE", value_parser = Place::parse, help_heading = "Filters")]
    from: Option<Place>,
    /// Stop before this time or number of references
    #[arg(long, value_name = "PLACE", value_parser = Place::parse, help_heading = "Filters")]
    to: Option<Place>,
}

/// Which of the requests that are left count.
#[derive(Args, Clone, Default)]
pub(crate) struct CountArgs {
    /// Fill the cache with the first part of the trace without counting it: a share (20%), a time (10s) or a number
    /// of references
    #[arg(long, value_name = "AMOUNT", value_parser = Warmup::parse, help_heading = "Filters")]
    warmup: Option<Warmup>,
    /// Count only matching requests; all requests still go through the cache. Format:
    /// app=NAME,file=GLOB,exclude=GLOB,ops=OPS,from=PLACE,to=PLACE
    #[arg(long, value_name = "FILTER", value_parser = Filter::parse, help_heading = "Filters")]
    count_only: Option<Filter>,
}

impl FilterArgs {
    /// The options as they are typed.
    pub(crate) fn typed(&self) -> Vec<String> {
        let lists = [("--app", &self.apps), ("--file", &self.files), ("--exclude", &self.exclude)];
        let lists =
            lists.into_iter().flat_map(|(option, values)| values.iter().map(move |value| (option, value.clone())));
        let ops = self.ops.map(|ops| ("--ops", ops.to_string()));
        let [from, to] = [("--from", self.from), ("--to", self.to)]
            .map(|(option, place)| place.map(|place| (option, place.to_string())));
        lists.chain(ops).chain(from).chain(to).flat_map(|(option, value)| [option.to_owned(), value]).collect()
    }

    /// The selection, with all its counts.
    pub(crate) fn selection(&self) -> Result<Selection, Failure> {
        let names = |option: &str, patterns: &Vec<String>| {
            Names::new(patterns.clone()).map_err(|error| Failure::Usage(format!("{option}: {error}")))
        };
        let only = Filter {
            apps: names("--app", &self.apps)?,
            files: names("--file", &self.files)?,
            exclude: names("--exclude", &self.exclude)?,
            ops: self.ops,
            from: self.from,
            to: self.to,
        };
        Ok(Selection { only, ..Selection::default() })
    }
}

impl CountArgs {
    /// The same choice, of which only what these options say counts.
    pub(crate) fn count(&self, selection: Selection) -> Selection {
        Selection { warmup: self.warmup, count_only: self.count_only.clone().unwrap_or_default(), ..selection }
    }
}

/// The options that say how a trace is read, as they are typed: other commands take the same.
pub(crate) fn reading(read: &ReadArgs, cut: &CutArgs, filter: &FilterArgs) -> Vec<String> {
    [read.typed(), cut.typed(), filter.typed()].concat()
}

/// The options with which traces are read as these rows of results tell that they were; none if they tell several ways.
pub(crate) fn reading_of(rows: &[Value]) -> Vec<String> {
    let mut ways = rows.iter().map(reading_of_row);
    let first = ways.next().unwrap_or_default();
    if ways.all(|way| way == first) { first } else { Vec::new() }
}

fn reading_of_row(row: &Value) -> Vec<String> {
    let block = row["block_bytes"].as_u64().filter(|&bytes| bytes != u64::from(BLOCK_BYTES));
    let maps = row["maps"].as_str().filter(|&maps| maps == "all");
    let filter = row["filter"].as_str().and_then(|text| Filter::parse(text).ok()).unwrap_or_default();
    let named = [("--block", block.map(|bytes| bytes.to_string())), ("--maps", maps.map(str::to_owned))];
    let named = named.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?]));
    named.chain(filter.clauses().into_iter().map(|(key, value)| [format!("--{key}"), value])).flatten().collect()
}

/// Opens what is chosen of the trace at `path`, all of which `opener` opens.
pub(crate) fn select(opener: &Opener, path: &Path, selection: &Selection, options: &Options) -> Result<Trace, Failure> {
    check(path, selection)?;
    Ok(selection.open(&path.display().to_string(), || opener.open(path), options)?)
}

/// Refuses a selection that must read the trace twice, where that is not possible.
pub(crate) fn check(path: &Path, selection: &Selection) -> Result<(), Failure> {
    if selection.needs_length() && !can_be_read_again(path) {
        let message = format!(
            "--warmup: {} is read once, so that its length is not known beforehand: expected a time or a number of references",
            path.display()
        );
        return Err(Failure::Usage(message));
    }
    Ok(())
}
