//! The options that choose requests of a trace, on every command that reads one.

use std::path::Path;

use clap::Args;
use hotset_sim::Options;
use hotset_sim::select::{Filter, Names, Ops, Place, Selected, Selection, Warmup};
use hotset_trace::Trace;
use hotset_trace::formats::split_prefix;

use crate::failure::Failure;
use crate::formats::all_formats;

/// Which requests are taken out of a trace as it is read.
#[derive(Args, Clone, Default)]
pub(crate) struct FilterArgs {
    /// Only requests of applications with this name, or one that fits a pattern (cc*); may be given several times
    #[arg(long = "app", value_name = "NAME", help_heading = "Choosing requests")]
    apps: Vec<String>,
    /// Only requests to files that fit, or lie below a directory that does: *.db, /usr/include; may be given several
    /// times
    #[arg(long = "file", value_name = "GLOB", help_heading = "Choosing requests")]
    files: Vec<String>,
    /// No requests to files that fit so; may be given several times
    #[arg(long, value_name = "GLOB", help_heading = "Choosing requests")]
    exclude: Vec<String>,
    /// Only these operations: reads (with mapped ranges), writes, data (both), metadata, or names as in `hotset
    /// inspect`
    #[arg(long, value_name = "OPS", value_parser = Ops::parse, help_heading = "Choosing requests")]
    ops: Option<Ops>,
    /// Only requests from here on: a time since the first request (10s), or a number of references
    #[arg(long, value_name = "PLACE", value_parser = Place::parse, help_heading = "Choosing requests")]
    from: Option<Place>,
    /// Only requests before this
    #[arg(long, value_name = "PLACE", value_parser = Place::parse, help_heading = "Choosing requests")]
    to: Option<Place>,
}

/// Which of the requests that are left count.
#[derive(Args, Clone, Default)]
pub(crate) struct CountArgs {
    /// The beginning of what is left fills the cache and does not count: a share (20%), a time (10s) or a number of
    /// references
    #[arg(long, value_name = "AMOUNT", value_parser = Warmup::parse, help_heading = "Choosing requests")]
    warmup: Option<Warmup>,
    /// Count only requests that fit, while all go through the cache:
    /// app=NAME,file=GLOB,exclude=GLOB,ops=OPS,from=PLACE,to=PLACE, each as above
    #[arg(long, value_name = "FILTER", value_parser = Filter::parse, help_heading = "Choosing requests")]
    count_only: Option<Filter>,
}

impl FilterArgs {
    /// What is chosen, all of it counted.
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

/// The selection of a trace that `open` gives, at `path`; it is opened twice if its length must be known.
pub(crate) fn select(
    open: impl Fn() -> Result<Trace, Failure>,
    path: &Path,
    selection: &Selection,
    options: &Options,
) -> Result<Trace, Failure> {
    let trace = open()?;
    if !selection.needs_length() {
        return selected(trace, path, selection, options);
    }
    if !split_prefix(path, &all_formats()).1.is_file() {
        let message = format!(
            "--warmup: {} is read once, so that its length is not known beforehand: expected a time or a number of references",
            path.display()
        );
        return Err(Failure::Usage(message));
    }
    let resolved = selection.resolve(open()?.reader.as_mut(), options).map_err(|error| refused(path, &error))?;
    selected(trace, path, &resolved, options)
}

/// The selection of an open trace.
pub(crate) fn selected(
    mut trace: Trace,
    path: &Path,
    selection: &Selection,
    options: &Options,
) -> Result<Trace, Failure> {
    if trace.reader.memory().is_some() {
        // Whoever reads it as one of memory sees pages and no requests.
        return match selection.is_everything() {
            true => Ok(trace),
            false => Err(Failure::Usage(format!(
                "{} is a trace of memory, which has no requests to choose from: leave the options for choosing requests out",
                path.display()
            ))),
        };
    }
    let reader = Selected::new(trace.reader, selection, options).map_err(|error| refused(path, &error))?;
    Ok(Trace { reader: Box::new(reader), ..trace })
}

fn refused(path: &Path, error: &hotset_sim::SimError) -> Failure {
    Failure::Work(format!("{}: {error}", path.display()))
}
