//! A second level below memory, on a faster disk than the source's: blocks that memory evicts are stored in frames of a
//! file, and read from there at their next reference.
//!
//! The two levels are exclusive, by the scheme `demote` of the simulator. A block that memory admits leaves the tier; a
//! block that memory evicts enters it, if it is clean, complete, and of a version of a file that the source can
//! recognise later. Decisions are made where those of the cache are, under its lock ([`levels`]); the reader of a block
//! reads it from the tier in place of the source, and a separate thread writes ([`pool`]). Blocks that would have to
//! wait for that too long do not enter.
//!
//! The tier outlives the process ([`record`]). A block is found again by the version of its file (its identity, its
//! size, and the [stamp of its version](crate::source::Stamp)), never by its name, and is used only if its checksum
//! matches: otherwise the block comes from the source. When the disk fails, the tier is off.
//!
//! Memory: some 100 bytes for each block that fits, ghosts of the policy left out, and 8 MiB of blocks that wait to be
//! written.

mod folder;
mod levels;
mod pool;
mod record;

use hotset_core::setting::SettingName;
use std::io;
use std::path::Path;

use hotset_core::host::Refusal;
use hotset_core::policy::PolicySpec;
use hotset_core::spec::Value;
use serde::Serialize;

use crate::error::CacheError;
use crate::os::machine::Memory;
use crate::os::sync::Arc;
use crate::source::Source;
use folder::Folder;
use levels::Begun;
use pool::Pool;

pub use levels::Tier;
pub(crate) use pool::{Lease, bring};

/// Bytes of memory that tables take for each block, about, ghosts left out.
const TABLES: u64 = 100;

/// How a tier is to be.
#[derive(Clone, Debug)]
pub struct TierSettings {
    /// Bytes on the disk, at most.
    pub size: u64,
    /// Bytes of a block: those of the cache.
    pub block: u64,
    /// Which blocks stay.
    pub policy: PolicySpec,
    /// Which blocks enter.
    pub admit: Admit,
    /// Which blocks leave for memory.
    pub levels: Levels,
    /// Bytes that may be written in a second; none for as many as come.
    pub writes: Option<u64>,
    /// Seed of the policy's random numbers.
    pub seed: u64,
    /// The name of the source: blocks of another source are dropped.
    pub source: String,
    /// The device whose inodes identify the same files for ever, in the source of this name. Blocks of other files are
    /// used only while this process runs.
    pub device: Option<u64>,
}

/// The evicted blocks that enter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admit {
    /// All.
    #[default]
    All,
    /// Those that were asked for more than once since they came from the source.
    Reused,
}

/// What becomes of a block that memory takes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Levels {
    /// It leaves the tier, so that both levels together hold as much as they are large.
    #[default]
    Exclusive,
    /// It stays there, too, and is not written again when memory evicts it.
    Inclusive,
}

/// The status of a tier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TierStatus {
    /// Which blocks stay, as specs are printed.
    pub policy: String,
    /// Bytes of the blocks that fit.
    pub size_bytes: u64,
    /// Blocks that fit.
    pub capacity_blocks: u32,
    /// Blocks that are there.
    pub resident_blocks: u32,
    /// Blocks that an earlier process has left.
    pub restored_blocks: u32,
    /// References that memory missed and that found their block here.
    pub hits: u64,
    /// Blocks that came from memory.
    pub demotions: u64,
    /// Blocks that went to memory.
    pub promotions: u64,
    /// Blocks that did not enter since too many bytes were to be written.
    pub skipped: u64,
    /// Blocks that left since their file was changed or deleted.
    pub invalidated: u64,
    /// Blocks read.
    pub blocks_read: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Blocks written; other demotions wait to be, or fail to.
    pub blocks_written: u64,
    /// Bytes written, those of the index included.
    pub bytes_written: u64,
    /// Blocks that were not what was written, and came from the source.
    pub damaged: u64,
    /// Why the tier is off, if it is.
    pub off: Option<String>,
}

/// Why there can be no such tier, as the end of a sentence that names the directory.
#[derive(Debug, thiserror::Error)]
pub enum TierError {
    /// The directory cannot be opened.
    #[error("the directory cannot be used: {0}")]
    Folder(#[source] io::Error),
    /// It is none.
    #[error("it is not a directory, or a link to one: name the directory itself")]
    NoDirectory,
    /// Others may look into it.
    #[error(
        "others than its owner may enter it, and what it holds is what only some may read: make it private (chmod 700), or name one that does not exist yet"
    )]
    Open,
    /// It belongs to another user.
    #[error("it belongs to another user: name a directory of your own")]
    Others,
    /// Another process has it.
    #[error("another mount uses it: name a directory for each")]
    InUse,
    /// Something else has the name of one of its files.
    #[error("{0:?} in it is not a file of your own without other names: name an empty directory, or delete that")]
    NoFile(&'static str),
    /// One of its files cannot be opened.
    #[error("{name:?} in it cannot be opened: {source}")]
    File {
        /// Its name.
        name: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The index is something else.
    #[error("\"index\" in it is not the index of a tier: name an empty directory")]
    Foreign,
    /// There are blocks without an index.
    #[error(
        "\"blocks\" in it is not a tier's, or the \"index\" that belongs to it is missing: name an empty directory, or delete that file"
    )]
    Blocks,
    /// The index is of another version.
    #[error(
        "it was made by another version of hotset (format {0}, where this one has 1): name another directory, or delete the files in it"
    )]
    Format(u8),
    /// The index cannot be read or written.
    #[error("its index cannot be read or written: {0}")]
    Index(#[source] io::Error),
    /// The disk is too small.
    #[error("{wanted} more are needed there, and the disk has {free} free: give {size} less", size = SettingName("ssd_size"))]
    NoRoom {
        /// Bytes that are missing.
        wanted: Value,
        /// Bytes that are free.
        free: Value,
    },
    /// The files cannot be made as long.
    #[error("space for it cannot be reserved: {0}")]
    Room(#[source] io::Error),
    /// A tier of so few blocks is useless.
    #[error("{} hold too few blocks of {}: expected space for 16 at least", Value::Size(*.size), Value::Size(*.block))]
    TooSmall {
        /// Bytes of the tier.
        size: u64,
        /// Bytes of a block.
        block: u64,
    },
    /// More blocks than 31 bits can number.
    #[error("{} are more than 2 billion blocks of {}: choose larger blocks", Value::Size(*.size), Value::Size(*.block))]
    TooLarge {
        /// Bytes of the tier.
        size: u64,
        /// Bytes of a block.
        block: u64,
    },
    /// Its tables are more than the machine, or its control group, has.
    #[error("its tables would take {} of memory, more than there is: {there}; choose larger blocks", Value::Size(*.tables))]
    NoMemory {
        /// Bytes of the tables, about.
        tables: u64,
        /// What there is.
        there: Memory,
    },
    /// The policy cuts or classifies blocks in its own way.
    #[error(
        "{0} cuts or classifies blocks in its own way, which blocks of a tier cannot be: choose another policy for it"
    )]
    Policy(String),
    /// The policy cannot run.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl From<Refusal> for TierError {
    fn from(refusal: Refusal) -> TierError {
        CacheError::from(refusal).into()
    }
}

impl TierSettings {
    /// Frames that fit, with their records.
    fn frames(&self) -> Result<u32, TierError> {
        let TierSettings { size, block, .. } = *self;
        let frames = match u32::try_from(size.saturating_sub(record::HEADER) / (block + record::RECORD)) {
            Ok(frames) if frames < 16 => return Err(TierError::TooSmall { size, block }),
            Ok(frames) if frames <= 1 << 31 => frames,
            _ => return Err(TierError::TooLarge { size, block }),
        };
        let (tables, there) = (u64::from(frames) * TABLES, Memory::total());
        match there.least() {
            Some(bytes) if tables > bytes => Err(TierError::NoMemory { tables, there }),
            _ => Ok(frames),
        }
    }
}

impl Tier {
    /// The tier in a directory, which is made if it is missing, with what an earlier process has left there. `tell` is
    /// told in a sentence if the disk fails.
    pub fn open(
        folder: &Path,
        settings: &TierSettings,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Tier, TierError> {
        let frames = settings.frames()?;
        let sizes = [settings.block, record::RECORD].map(|bytes| bytes * u64::from(frames));
        Tier::new(settings, frames, || {
            let Folder { data, index, lock } = Folder::open(folder, [sizes[0], record::HEADER + sizes[1]])?;
            begin([data, index], settings, frames, tell, Box::new(lock))
        })
    }

    /// The tier in two files, its blocks and their index, of which `lock` keeps others off.
    pub fn over(
        files: [Arc<dyn Source>; 2],
        settings: &TierSettings,
        tell: impl Fn(&str) + Send + Sync + 'static,
        lock: Box<dyn Send + Sync>,
    ) -> Result<Tier, TierError> {
        let frames = settings.frames()?;
        Tier::new(settings, frames, || begin(files, settings, frames, tell, lock))
    }
}

/// Takes the files into use.
fn begin(
    files: [Arc<dyn Source>; 2],
    settings: &TierSettings,
    frames: u32,
    tell: impl Fn(&str) + Send + Sync + 'static,
    lock: Box<dyn Send + Sync>,
) -> Result<Begun, TierError> {
    let index = files[1].as_ref();
    let secret = record::begin(index, settings.block, &settings.source, folder::draw)?;
    let found = record::read(index, secret, frames).map_err(TierError::Index)?;
    let pool = Pool::new(files, secret, settings.block, frames, &found, Box::new(tell));
    Ok(Begun { pool: Arc::new(pool), found, lock })
}
