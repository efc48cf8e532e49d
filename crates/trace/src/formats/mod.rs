//! Every known format, and opening a trace in one of them.
//!
//! A format is one file here and one line in [`BUILTIN`]; everything that lists formats, fuzzes them or documents them
//! goes through it. Rooms above this one add theirs by putting a [`Format`] of their own into the slice they hand to
//! [`open`].

mod arc;
mod big_endian;
mod blkparse;
mod csv;
mod disksim;
mod ids;
mod lirs;
mod msr;
mod oracle_general;
mod spc;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod vscsi;

use std::path::{Path, PathBuf};

use crate::{
    Meta, TraceError, TraceReader,
    error::Place,
    input::{Compression, Input, PIECE_BYTES, Progress},
    runner::quote,
};

/// The formats of this room, in the order of `hotset formats`.
pub const BUILTIN: &[Format] = &[
    crate::native::FORMAT,
    lirs::FORMAT,
    arc::FORMAT,
    spc::FORMAT,
    msr::FORMAT,
    csv::FORMAT,
    ids::FORMAT,
    oracle_general::FORMAT,
    vscsi::FORMAT,
    blkparse::FORMAT,
    big_endian::U32BE,
    big_endian::U64BE,
    disksim::FORMAT,
    crate::memory::pgt::FORMAT,
];

/// How sure a format is that a trace is one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It is not.
    No,
    /// Nothing speaks against it, little for it.
    Possible,
    /// It parses, and would hardly do so by accident; or it parses and the name fits.
    Likely,
    /// Only this format looks so.
    Sure,
}

/// What a format is recognised by.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The first decompressed bytes, up to [`PIECE_BYTES`].
    pub bytes: &'a [u8],
    /// True if that is the whole trace.
    pub whole: bool,
    /// The file's name in lower case, without folder and without `.zst`, `.gz`, `.xz`.
    pub name: &'a str,
}

impl<'a> Head<'a> {
    /// The lines that are whole and not blank, at most `limit`; none if the bytes are not text.
    pub fn lines(&self, limit: usize) -> impl Iterator<Item = &'a [u8]> {
        let whole =
            if self.whole { self.bytes.len() } else { memchr::memrchr(b'\n', self.bytes).map_or(0, |last| last + 1) };
        let text = if self.is_text() { &self.bytes[..whole] } else { &[] };
        text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).take(limit)
    }

    /// True if no byte is one that text cannot hold.
    pub fn is_text(&self) -> bool {
        !self.bytes.iter().any(|&byte| byte < b' ' && !byte.is_ascii_whitespace())
    }

    /// True if there are lines and `fits` holds for each of the first fifty.
    pub fn all_lines(&self, fits: impl FnMut(&[u8]) -> bool) -> bool {
        let mut lines = self.lines(50).peekable();
        lines.peek().is_some() && lines.all(fits)
    }
}

/// A reader that has begun, or why it could not.
pub type Opened = Result<Box<dyn TraceReader>, TraceError>;

/// A format that traces come in.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it, without a full stop.
    pub summary: &'static str,
    /// A line of such a trace, or a description of a record.
    pub example: &'static str,
    /// A few sound records that use every field. The tests read them whole, cut and damaged, and replay them.
    pub sample: &'static [u8],
    /// Tells from the head of a trace whether it is one.
    pub detect: fn(&Head) -> Confidence,
    /// Begins to read. The input stands at its first byte.
    pub open: fn(Input, &OpenOptions) -> Opened,
}

/// How to open a trace.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Name of the format; otherwise it is recognised by the content.
    pub format: Option<String>,
    /// Malformed records are counted and skipped instead of being errors.
    pub skip_bad: bool,
    /// Names of the columns of a `csv` trace without a header, separated by commas; they replace the header of one
    /// that has it.
    pub columns: Option<String>,
}

/// A trace that has been opened.
pub struct Trace {
    /// Name of the format it is read in.
    pub format: &'static str,
    /// The requests.
    pub reader: Box<dyn TraceReader>,
    /// How far the file has been read.
    pub progress: Progress,
}

impl Trace {
    /// What is known of the trace before it is read.
    pub fn meta(&self) -> &Meta {
        self.reader.meta()
    }
}

/// Opens the trace at `path` (`-`: standard input) in one of `formats`. `format:path` names the format in the path.
pub fn open(path: &Path, formats: &[Format], options: &OpenOptions) -> Result<Trace, TraceError> {
    open_by(path, formats, options, Input::open)
}

/// The same where `input` gives the bytes of a path, which has no name of a format before it.
pub fn open_by(
    path: &Path,
    formats: &[Format],
    options: &OpenOptions,
    input: impl FnOnce(&Path) -> Result<Input, TraceError>,
) -> Result<Trace, TraceError> {
    let (prefix, path) = split_prefix(path, formats);
    let named = match options.format.as_deref() {
        Some(name) => Some(by_name(name, formats).map_err(|message| TraceError::new(&path, Place::File, message))?),
        // Naming columns is asking for the only format that has names for them.
        None if prefix.is_none() && options.columns.is_some() => by_name("csv", formats).ok(),
        None => prefix,
    };
    open_input(input(&path)?, named, formats, options)
}

/// Reads `input` as a trace in the format `named`, or else in the one of `formats` that recognises it.
pub fn open_input(
    mut input: Input,
    named: Option<&Format>,
    formats: &[Format],
    options: &OpenOptions,
) -> Result<Trace, TraceError> {
    if options.skip_bad {
        input.forgive_damage();
    }
    if input.at_least(1)?.is_empty() {
        let message = input.damage().unwrap_or("the file is empty; expected a trace");
        return Err(TraceError::new(input.path(), Place::File, message));
    }
    let format = match named {
        Some(format) => format,
        None => detect(&mut input, formats)?,
    };
    let progress = input.progress().clone();
    Ok(Trace { format: format.name, reader: (format.open)(input, options)?, progress })
}

/// The format with this name; the error lists those there are.
pub fn by_name<'a>(name: &str, formats: &'a [Format]) -> Result<&'a Format, String> {
    formats.iter().find(|format| is_spelt(format.name, name)).ok_or_else(|| {
        let known: Vec<&str> = formats.iter().map(|format| format.name).collect();
        format!("unknown format `{name}`; expected one of: {}", known.join(", "))
    })
}

/// True if `name` is `known`, with capitals in place of hyphens or not: others write `oracleGeneral`.
fn is_spelt(known: &str, name: &str) -> bool {
    let letters = |text: &str| text.replace('-', "").to_lowercase();
    letters(known) == letters(name)
}

/// Splits `format:path`. A file that really has such a name wins.
pub fn split_prefix<'a>(path: &Path, formats: &'a [Format]) -> (Option<&'a Format>, PathBuf) {
    let split = path.to_str().and_then(|text| text.split_once(':'));
    if let Some((name, rest)) = split
        && let Ok(format) = by_name(name, formats)
        && !path.exists()
    {
        return (Some(format), rest.into());
    }
    (None, path.to_owned())
}

/// The format that is surest of the input, which stands at its first byte, and how sure it is.
pub fn recognise<'a>(input: &mut Input, formats: &'a [Format]) -> Result<Option<(&'a Format, Confidence)>, TraceError> {
    let name = bare_name(input.path());
    Ok(surest(&head(input, &name)?, formats))
}

fn detect<'a>(input: &mut Input, formats: &'a [Format]) -> Result<&'a Format, TraceError> {
    let (name, path, compression) = (bare_name(input.path()), input.path().to_owned(), input.compression());
    let head = head(input, &name)?;
    surest(&head, formats)
        .map(|(format, _)| format)
        .ok_or_else(|| TraceError::new(&path, Place::File, unrecognised(&head, compression)))
}

fn head<'a>(input: &'a mut Input, name: &'a str) -> Result<Head<'a>, TraceError> {
    let bytes = input.at_least(PIECE_BYTES)?;
    Ok(Head { bytes: &bytes[..bytes.len().min(PIECE_BYTES)], whole: bytes.len() < PIECE_BYTES, name })
}

/// Among equals the first of the table.
fn surest<'a>(head: &Head, formats: &'a [Format]) -> Option<(&'a Format, Confidence)> {
    let mut best: Option<(&Format, Confidence)> = None;
    for format in formats {
        let confidence = (format.detect)(head);
        if confidence > best.map_or(Confidence::No, |(_, best)| best) {
            best = Some((format, confidence));
        }
    }
    best
}

fn unrecognised(head: &Head, compression: Compression) -> String {
    let packed = match compression {
        Compression::None => String::new(),
        packed => format!("{} data that unpacks to ", packed.name()),
    };
    let seen = match head.lines(1).next() {
        Some(line) => format!("text that begins with {}", quote(line)),
        None => format!("binary data that begins with {}", quote(&head.bytes[..head.bytes.len().min(16)])),
    };
    format!("no known format fits: found {packed}{seen}; expected a trace, or its format named with --format")
}

/// A file's name in lower case, without folder and compression.
fn bare_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    without_packing(&name).to_owned()
}

/// A file's name without the ending that tells its compression.
fn without_packing(name: &str) -> &str {
    [".zst", ".gz", ".xz"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(name)
}
