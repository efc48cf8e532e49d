//! Generated traces: known exactly, of any size, the same for the same seed.
//!
//! A kind is one file here and one line in [`KINDS`].

mod draw;
mod looping;
mod mixed;
mod program;
mod render;
mod scan;
mod uniform;
mod zigzag;
mod zipf;

use hotset_core::{
    policy::{Args, Catalog, Param},
    request::{Kind as FileKind, Request},
    spec::{SpecError, Value, nearest},
};

use crate::{Addressing, Batch, FileInfo, Meta, Tables, TraceError, TraceReader, batch::BATCH_REQUESTS};

/// Every kind of trace, in the order in which `hotset generate` lists them.
pub const KINDS: &[GeneratorKind] =
    &[zipf::KIND, uniform::KIND, looping::KIND, scan::KIND, zigzag::KIND, mixed::KIND, render::KIND, program::KIND];

/// Bytes of a block in every generated trace: each request is to one whole block.
pub const BLOCK_BYTES: u32 = 4096;

/// A kind of trace.
pub struct GeneratorKind {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it, without a full stop.
    pub summary: &'static str,
    /// The parameters.
    pub params: &'static [Param],
    start: fn(&Args) -> Box<dyn TraceReader>,
}

/// Begins a trace of the kind with this name; each of `arguments` is `key=value`.
pub fn start(kind: &str, arguments: &[impl AsRef<str>]) -> Result<Box<dyn TraceReader>, SpecError> {
    let kind = find(kind)?;
    let mut args = Args::defaults(kind.params, Catalog::EMPTY, None);
    for argument in arguments {
        let argument = argument.as_ref();
        let Some((key, value)) = argument.split_once('=') else {
            let known: Vec<String> =
                kind.params.iter().map(|param| format!("{}={}", param.key, param.default)).collect();
            let known = known.join(" ");
            return Err(SpecError::new(format!("found {argument:?}, expected key=value, such as {known}")));
        };
        args.set(key, Value::parse(value)?)?;
    }
    Ok((kind.start)(&args))
}

/// The kind with this name; the error lists those there are.
pub fn find(name: &str) -> Result<&'static GeneratorKind, SpecError> {
    KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let names = || KINDS.iter().map(|kind| kind.name);
        let near = nearest(name, names());
        let guess = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
        let known = names().collect::<Vec<_>>().join(", ");
        SpecError::new(format!("unknown kind of trace {name:?}: {guess}known are {known}"))
    })
}

/// The rule of a kind.
trait Rule: Send + 'static {
    /// The next request; `None` at the end, and ever after.
    fn next(&mut self) -> Option<Request>;

    /// The file with this number, which is at most the greatest in the requests so far.
    fn file(&self, _number: u32) -> FileInfo {
        FileInfo { path: "blocks".to_owned(), kind: FileKind::Datafile, ..FileInfo::default() }
    }
}

/// A read of a block.
fn read(file: u32, block: u64) -> Request {
    Request {
        offset: block * u64::from(BLOCK_BYTES),
        length: BLOCK_BYTES,
        file,
        kind: FileKind::Datafile as u8,
        ..Request::default()
    }
}

/// Runs a rule.
struct Generator<R> {
    rule: R,
    meta: Meta,
    tables: Tables,
}

/// A reader of what the rule gives.
fn run(rule: impl Rule) -> Box<dyn TraceReader> {
    let addressing = Addressing::Bytes { unit: Some(BLOCK_BYTES) };
    let meta = Meta { format: "generated", addressing, has_time: false, has_ops: true, sample: None };
    Box::new(Generator { rule, meta, tables: Tables::default() })
}

impl<R: Rule> TraceReader for Generator<R> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < BATCH_REQUESTS {
            let Some(request) = self.rule.next() else { break };
            while self.tables.files.len() <= request.file as usize {
                self.tables.files.push(self.rule.file(self.tables.files.len() as u32));
            }
            batch.requests.push(request);
        }
        Ok(())
    }
}

/// Parameters that several kinds have.
mod params {
    use hotset_core::policy::{Param, ParamKind};

    /// The most blocks of a trace, so that ids are whole numbers as floating point and offsets stay below 2^53.
    pub(super) const MOST: u64 = 1 << 40;

    /// A whole number from 1.
    pub(super) const fn count(key: &'static str, default: &'static str, doc: &'static str) -> Param {
        Param { key, kind: ParamKind::Count { min: 1, max: MOST }, default, doc }
    }

    /// The exponent of a Zipf distribution.
    pub(super) const SKEW: Param = Param {
        key: "skew",
        kind: ParamKind::Real { min: 0.0, max: 10.0 },
        default: "1",
        doc: "exponent: the block of rank r is drawn in proportion to r^-skew",
    };

    /// The seed.
    pub(super) const SEED: Param = Param {
        key: "seed",
        kind: ParamKind::Count { min: 0, max: 1 << 53 },
        default: "1",
        doc: "seed of the random numbers",
    };
}

#[cfg(test)]
mod tests;
