//! The options that every command with a TRACE has.

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hotset_cache::machine;
use hotset_capture::all_formats;
use hotset_core::spec::Value;
use hotset_sim::{BlockSize, Options};
use hotset_trace::formats::{by_name, open_by, split_prefix};
use hotset_trace::{Format, OpenOptions, Trace, TraceError, TraceReader};

use crate::failure::Failure;
use crate::options::locations::{self, Locations};

/// How traces are read.
#[derive(Args, Clone, Default)]
pub(crate) struct ReadArgs {
    /// Trace format (see `hotset formats`) [default: detected from the content]
    #[arg(long, value_name = "FMT", help_heading = "Input")]
    format: Option<String>,
    /// Columns of a CSV trace, e.g. time_s,file,offset,bytes,op or time,key:name,value+,key+,repeat,_
    /// (docs/reference/formats.md)
    #[arg(long, value_name = "NAMES", help_heading = "Input")]
    columns: Option<String>,
    /// Columns of a CSV trace to ignore although their names are not understood
    #[arg(long, value_name = "NAMES", help_heading = "Input")]
    ignore_columns: Option<String>,
    /// Separator of the fields of a CSV trace: a character, `tab` or `space` [default: detected]
    #[arg(long, value_name = "CHAR", help_heading = "Input")]
    separator: Option<String>,
    /// The first line of a CSV trace names its columns [default: detected]
    #[arg(long, overrides_with = "no_header", help_heading = "Input")]
    header: bool,
    /// The first line of a CSV trace is a request
    #[arg(long, overrides_with = "header", help_heading = "Input")]
    no_header: bool,
    /// Skip and count malformed records instead of stopping at the first
    #[arg(long, help_heading = "Input")]
    skip_bad: bool,
}

/// Opens traces as the options say, of files and of stores.
#[derive(Clone)]
pub(crate) struct Opener {
    formats: Vec<Format>,
    options: OpenOptions,
    locations: Locations,
}

impl ReadArgs {
    /// The options as they are typed.
    pub(crate) fn typed(&self) -> Vec<String> {
        let named = [
            ("--format", &self.format),
            ("--columns", &self.columns),
            ("--ignore-columns", &self.ignore_columns),
            ("--separator", &self.separator),
        ];
        let given = named.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value.clone()?]));
        let flags = [("--header", self.header), ("--no-header", self.no_header), ("--skip-bad", self.skip_bad)];
        let flags = flags.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag.to_owned());
        given.flatten().chain(flags).collect()
    }

    /// What opens traces.
    pub(crate) fn opener(&self) -> Result<Opener, Failure> {
        let formats = all_formats();
        if let Some(name) = &self.format {
            by_name(name, &formats).map_err(|message| Failure::Usage(format!("--format: {message}")))?;
        }
        let options = OpenOptions {
            format: self.format.clone(),
            skip_bad: self.skip_bad,
            columns: self.columns.clone(),
            ignore_columns: self.ignore_columns.clone(),
            separator: self.separator.clone(),
            header: (self.header || self.no_header).then_some(self.header),
        };
        Ok(Opener { formats, options, ..Opener::default() })
    }
}

impl Default for Opener {
    fn default() -> Opener {
        Opener { formats: all_formats(), options: OpenOptions::default(), locations: Locations::default() }
    }
}

impl Opener {
    /// Opens a trace.
    pub(crate) fn open(&self, path: &Path) -> Result<Trace, TraceError> {
        open_by(path, &self.formats, &self.options, |path| self.locations.input(path))
    }
}

/// True if a trace can be read more than once.
pub(crate) fn can_be_read_again(path: &Path) -> bool {
    let (_, path) = split_prefix(path, &all_formats());
    locations::is_location(&path) || path.is_file()
}

/// How traces are cut into blocks.
#[derive(Args, Clone)]
pub(crate) struct CutArgs {
    /// Block size in bytes (4K), or `object` to count each object as one block of any size [default: 4K, or the
    /// trace's own unit]
    #[arg(long, value_name = "SIZE", value_parser = BlockSize::parse, help_heading = "Blocks")]
    block: Option<BlockSize>,
    /// Mapped file ranges that count as reads
    #[arg(long, value_name = "WHICH", default_value = "auto", help_heading = "Blocks")]
    maps: Maps,
    /// Memory for holding the trace; a larger trace is streamed [default: half of the available memory]
    #[arg(long, value_name = "SIZE", value_parser = Value::capacity, help_heading = "Blocks")]
    memory: Option<u64>,
}

/// Which mapped file ranges count as reads: [`hotset_sim::Maps`] as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Maps {
    /// Only ranges that the recording saw being touched (record --via bpf --page-cache); the output says how much is
    /// left out
    #[default]
    Auto,
    /// Every mapping, as one read of its whole range
    All,
    /// No mappings
    None,
}

/// A value of an option as it is written.
pub(crate) fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

impl From<Maps> for hotset_sim::Maps {
    fn from(maps: Maps) -> hotset_sim::Maps {
        match maps {
            Maps::Auto => hotset_sim::Maps::Auto,
            Maps::All => hotset_sim::Maps::All,
            Maps::None => hotset_sim::Maps::None,
        }
    }
}

/// Effect of deletion and expiry on cached blocks.
#[derive(Args, Clone)]
pub(crate) struct DeleteArgs {
    /// Effect of deleting, replacing or truncating a file on its cached blocks; policies that cache inodes always
    /// apply it
    #[arg(long, value_name = "WHAT", default_value = "apply", help_heading = "Blocks")]
    deletes: Deletes,
    /// Whether objects expire, in traces with times to live. The request that writes an object sets its expiry
    #[arg(long, value_name = "WHAT", default_value = "apply", help_heading = "Blocks")]
    ttl: Ttl,
}

/// [`hotset_sim::Ttl`] as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ttl {
    /// An object that has expired is removed before the next request to it, which misses
    #[default]
    Apply,
    /// Objects stay until they are evicted
    Ignore,
}

impl From<Ttl> for hotset_sim::Ttl {
    fn from(ttl: Ttl) -> hotset_sim::Ttl {
        match ttl {
            Ttl::Apply => hotset_sim::Ttl::Apply,
            Ttl::Ignore => hotset_sim::Ttl::Ignore,
        }
    }
}

/// [`hotset_sim::Deletes`] as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deletes {
    /// The blocks leave the cache at once, without being written back
    #[default]
    Apply,
    /// The blocks stay until they are evicted, as in most papers
    Ignore,
}

impl From<Deletes> for hotset_sim::Deletes {
    fn from(deletes: Deletes) -> hotset_sim::Deletes {
        match deletes {
            Deletes::Apply => hotset_sim::Deletes::Apply,
            Deletes::Ignore => hotset_sim::Deletes::Ignore,
        }
    }
}

impl CutArgs {
    /// The options that decide what is counted, as they are typed.
    pub(crate) fn typed(&self) -> Vec<String> {
        let block = self.block.map(|block| match block {
            BlockSize::Bytes(bytes) => bytes.to_string(),
            BlockSize::Object => "object".to_owned(),
        });
        let maps = (self.maps != Maps::Auto).then(|| word(self.maps));
        let named = [("--block", block), ("--maps", maps)];
        named.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?])).flatten().collect()
    }

    /// The same with what becomes of deleted files.
    pub(crate) fn options_with(&self, deletes: &DeleteArgs) -> Options {
        Options { deletes: deletes.deletes.into(), ttl: deletes.ttl.into(), ..self.options() }
    }

    /// The simulator's options.
    pub(crate) fn options(&self) -> Options {
        Options {
            block: self.block,
            maps: self.maps.into(),
            memory_bytes: self.memory.unwrap_or_else(machine::budget),
            ..Options::default()
        }
    }
}

/// One trace to be read.
#[derive(Args, Clone)]
pub(crate) struct OneTrace {
    /// Trace in any known format, plain or compressed (zstd, gzip, xz): a file, an s3://, gs://, az:// or https://
    /// address, or `-` for standard input. `FORMAT:PATH` names the format
    #[arg(value_name = "TRACE")]
    pub(crate) path: PathBuf,
}

/// Writes a note on a trace. An error of writing it has no reader.
pub(crate) fn say(name: &str, note: &str) {
    let _ = writeln!(stderr().lock(), "hotset: {name}: {note}");
}

/// Reports skipped records and the reader's remarks. If standard error is closed, nothing is reported.
pub(crate) fn say_remarks(name: &str, reader: &dyn TraceReader) {
    let mut err = stderr().lock();
    for note in reader.notes() {
        let _ = writeln!(err, "hotset: {name}: {note}");
    }
}
