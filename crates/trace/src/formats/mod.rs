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
mod fiu;
pub mod hst;
mod ibm_cos;
mod ids;
mod integers;
pub mod lcs;
mod lirs;
mod msr;
mod noted;
mod oracle_general;
mod pgt;
mod spc;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod vscsi;
mod webcachesim;
mod wikimedia;

use hotset_core::setting::SettingName;
use std::path::{Path, PathBuf};

use crate::{
    Meta, TraceError, TraceReader,
    error::Place,
    input::{Compression, Input, PIECE_BYTES, Progress},
    runner::quote,
};

/// The formats of this room, in the order of `hotset formats`.
pub const BUILTIN: &[Format] = &[
    hst::FORMAT,
    lirs::FORMAT,
    arc::FORMAT,
    spc::FORMAT,
    msr::FORMAT,
    csv::META_KV_FORMAT,
    csv::META_CDN_FORMAT,
    csv::TWITTER_FORMAT,
    csv::SYSTOR17_FORMAT,
    csv::TENCENT_CBS_FORMAT,
    csv::TENCENT_PHOTO_FORMAT,
    csv::ALIBABA_FORMAT,
    csv::CLOUD_PHYSICS_FORMAT,
    csv::FORMAT,
    ids::FORMAT,
    oracle_general::FORMAT,
    lcs::FORMAT,
    vscsi::FORMAT,
    blkparse::FORMAT,
    big_endian::U32BE,
    big_endian::U64BE,
    disksim::FORMAT,
    webcachesim::FORMAT,
    fiu::FORMAT,
    ibm_cos::FORMAT,
    wikimedia::FORMAT,
    csv::MOONCAKE_FORMAT,
    csv::JSONL_FORMAT,
    pgt::FORMAT,
];

/// The certainty that a trace is of a format.
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

/// The features by which a format is recognised.
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
    /// Names of columns of a `csv` trace that are not used, separated by commas.
    pub ignore_columns: Option<String>,
    /// What keeps the fields of a `csv` trace apart: a character, `tab` or `space`; otherwise it is recognised.
    pub separator: Option<String>,
    /// Whether the first line of a `csv` trace names its columns; otherwise it is recognised.
    pub header: Option<bool>,
}

impl OpenOptions {
    /// True if something is said that only a `csv` trace has.
    fn is_of_csv(&self) -> bool {
        self.columns.is_some() || self.ignore_columns.is_some() || self.separator.is_some() || self.header.is_some()
    }
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
    /// The facts known before the trace is read.
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
        None if prefix.is_none() && options.is_of_csv() => by_name("csv", formats).ok(),
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
    if let Some(message) = unreadable(&input.path().display().to_string(), input.at_least(ARCHIVE_BYTES)?) {
        return Err(TraceError::new(input.path(), Place::File, message));
    }
    let format = match named {
        Some(format) => format,
        None => detect(&mut input, formats)?,
    };
    let progress = input.progress().clone();
    Ok(Trace { format: format.name, reader: noted::Noted::around((format.open)(input, options)?), progress })
}

/// Bytes by which an archive is recognised: the mark of tar ends there.
const ARCHIVE_BYTES: usize = 262;

/// The message for a file that begins with these bytes, if it is an archive, a Parquet table or compressed in a way
/// that is not read here. It has the command that gives the content.
fn unreadable(path: &str, bytes: &[u8]) -> Option<String> {
    let piped = |what: &str, command: &str| {
        format!("this is {what}, which is not read here; unpack it first, e.g. {command} | hotset simulate -")
    };
    match bytes {
        [b'P', b'K', 3, 4, ..] => Some(piped("a zip archive", &format!("unzip -p {path} MEMBER"))),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Some(piped("a 7z archive", &format!("7z x -so {path} MEMBER"))),
        [b'R', b'a', b'r', b'!', 0x1a, 7, ..] => Some(piped("a rar archive", &format!("unrar p -inul {path} MEMBER"))),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..] => {
            Some(piped("bzip2 data", &format!("bzip2 -dc {path}")))
        }
        [4, 0x22, 0x4d, 0x18, ..] => Some(piped("lz4 data", &format!("lz4 -dc {path}"))),
        [b'P', b'A', b'R', b'1', ..] => {
            Some("this is a table in Parquet, which is not read here; write it as CSV with a header first".to_owned())
        }
        _ if bytes.get(257..ARCHIVE_BYTES) == Some(b"ustar") => {
            Some(piped("a tar archive", &format!("tar -xOf {path} MEMBER")))
        }
        _ => None,
    }
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

/// The format that is surest of the input, which stands at its first byte, and how sure it is; none where several fit.
pub fn recognise<'a>(input: &mut Input, formats: &'a [Format]) -> Result<Option<(&'a Format, Confidence)>, TraceError> {
    let name = bare_name(input.path());
    let head = head(input, &name)?;
    Ok(surest(&head, formats).filter(|&(_, confidence)| rivals(&head, formats, confidence).is_empty()))
}

fn detect<'a>(input: &mut Input, formats: &'a [Format]) -> Result<&'a Format, TraceError> {
    let (name, path, compression) = (bare_name(input.path()), input.path().to_owned(), input.compression());
    let head = head(input, &name)?;
    let refused = |message| TraceError::new(&path, Place::File, message);
    let (format, confidence) = surest(&head, formats).ok_or_else(|| refused(unrecognised(&head, compression)))?;
    let rivals = rivals(&head, formats, confidence);
    if rivals.is_empty() { Ok(format) } else { Err(refused(ambiguous(&head, &rivals))) }
}

/// Formats of nothing but integers between blanks.
const OF_INTEGERS: [&str; 3] = ["arc", "disksim", "webcachesim"];

/// Where integers fit several formats as well as the surest one, or that one not well, the formats that they fit.
fn rivals<'a>(head: &Head, formats: &'a [Format], best: Confidence) -> Vec<&'a Format> {
    let of_integers = formats.iter().filter(|format| OF_INTEGERS.contains(&format.name));
    let fitting: Vec<(&Format, Confidence)> = of_integers
        .map(|format| (format, confidence(format, head)))
        .filter(|&(_, confidence)| confidence > Confidence::No)
        .collect();
    let as_sure = fitting.iter().filter(|(_, confidence)| *confidence == best).count();
    let is_plain = as_sure == 0 || as_sure == 1 && best > Confidence::Possible;
    if is_plain { Vec::new() } else { fitting.into_iter().map(|(format, _)| format).collect() }
}

fn ambiguous(head: &Head, rivals: &[&Format]) -> String {
    let line = head.lines(1).next().unwrap_or_default();
    let named: Vec<String> =
        rivals.iter().map(|format| format!("{} ({})", SettingName("format").of(format.name), format.summary)).collect();
    let columns = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    let rest = ",_".repeat(columns.saturating_sub(3));
    format!(
        "numbers such as {} do not tell what they are; expected the format to be named: {}, or the columns: {}",
        quote(line),
        named.join(", "),
        SettingName("columns").of(format_args!("time,id,size{rest}"))
    )
}

/// How sure a format is of a trace; one that the file is named after, and that fits, is sure.
fn confidence(format: &Format, head: &Head) -> Confidence {
    let is_named = head.name.rsplit_once('.').is_some_and(|(_, ending)| is_spelt(format.name, ending));
    match (format.detect)(head) {
        Confidence::No => Confidence::No,
        _ if is_named => Confidence::Sure,
        confidence => confidence,
    }
}

fn head<'a>(input: &'a mut Input, name: &'a str) -> Result<Head<'a>, TraceError> {
    let bytes = input.at_least(PIECE_BYTES)?;
    Ok(Head { bytes: &bytes[..bytes.len().min(PIECE_BYTES)], whole: bytes.len() < PIECE_BYTES, name })
}

/// Among equals the first of the table.
fn surest<'a>(head: &Head, formats: &'a [Format]) -> Option<(&'a Format, Confidence)> {
    let mut best: Option<(&Format, Confidence)> = None;
    for format in formats {
        let confidence = confidence(format, head);
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
    format!(
        "no known format fits: found {packed}{seen}; expected a trace, or its format named with {}",
        SettingName("format")
    )
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
