//! A second level below memory: `--ssd` and what belongs to it.

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hotset_cache::{Admit, Levels, Tier, TierError, TierSettings};
use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::spec::Value;
use hotset_mount::FileSystemId;
use hotset_store::Store;

use super::stores::Served;
use super::{InFront, Mount};
use crate::failure::Failure;

/// The tier on an SSD.
#[derive(Args)]
pub(super) struct Ssd {
    /// Directory on a disk faster than the source, used as a second cache level that survives restarts. It is created
    /// if missing and is private to the mounting user
    #[arg(long, value_name = "DIR", requires = "ssd_size", help_heading = "SSD tier")]
    ssd: Option<PathBuf>,
    /// Size of the SSD tier (hard limit), reserved when mounting
    #[arg(long, value_name = "SIZE", value_parser = Value::capacity, requires = "ssd", help_heading = "SSD tier")]
    ssd_size: Option<u64>,
    /// Policy of the SSD tier
    #[arg(long, value_name = "SPEC", default_value = "lru", requires = "ssd", help_heading = "SSD tier")]
    ssd_policy: String,
    /// Blocks that enter the SSD tier
    #[arg(long, value_enum, default_value_t = Enters::All, requires = "ssd", help_heading = "SSD tier")]
    ssd_admit: Enters,
    /// Whether a block that memory takes from the SSD leaves the SSD (exclusive: the two levels add up) or stays there
    /// (inclusive: it is not written again) [default: inclusive if --ssd-size is at least --memory]
    #[arg(long, value_enum, requires = "ssd", help_heading = "SSD tier")]
    ssd_levels: Option<Kept>,
    /// Maximum bytes per second written to the SSD tier; further blocks are not admitted [default: unlimited]
    #[arg(long, value_name = "SIZE", value_parser = Value::capacity, requires = "ssd", help_heading = "SSD tier")]
    ssd_writes: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Enters {
    /// Every block that memory evicts
    All,
    /// Blocks that were hit since they came from the source; writes less
    Reused,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kept {
    /// The block leaves the tier: the two levels add up
    Exclusive,
    /// The block stays in the tier: fewer writes, smaller combined capacity
    Inclusive,
}

impl Ssd {
    /// There is a cache for it, and it is not inside the served directory.
    pub fn check(&self, mount: &Mount, served: &Served) -> Result<(), Failure> {
        let Some(folder) = &self.ssd else { return Ok(()) };
        let refused =
            |why: &str| Err(Failure::Usage(format!("--ssd cannot be combined with {why}; remove one of them")));
        if mount.memory == 0 {
            return refused("--memory 0, which disables the cache");
        }
        if let InFront::Steered = mount.mode {
            return refused("--mode steered, which caches only in the page cache");
        }
        let full = full_path(folder);
        for (place, what) in [(served.source(), "source"), (Some(served.mountpoint()), "mountpoint")] {
            if let Some(place) = place.filter(|place| full.starts_with(place)) {
                let (folder, place) = (folder.display(), place.display());
                return Err(Failure::Usage(format!(
                    "--ssd {folder} is in the {what} {place}, so the mount would serve its own cache; choose a directory outside"
                )));
            }
        }
        Ok(())
    }

    pub fn is_asked_for(&self) -> bool {
        self.ssd.is_some()
    }

    /// Bytes of the tier.
    pub fn size(&self) -> Option<u64> {
        self.ssd_size
    }

    /// The tier, with what an earlier mount has left there of the same source, which may be this store.
    pub fn open(
        &self,
        mount: &Mount,
        block: u64,
        served: &Served,
        store: Option<&Store>,
    ) -> Result<Option<Tier>, Failure> {
        let (Some(folder), Some(size)) = (&self.ssd, self.ssd_size) else { return Ok(None) };
        let levels = self.ssd_levels.unwrap_or(if size >= mount.memory { Kept::Inclusive } else { Kept::Exclusive });
        let policy = PolicySpec::parse(&self.ssd_policy)
            .map_err(|error| Failure::spec("--ssd-policy", &self.ssd_policy, &error))?
            .set_in(Setting::Serving);
        let tell = |sentence: &str| {
            // If the terminal is closed, the status has it.
            let _ = writeln!(stderr(), "hotset: {sentence}");
        };
        let (source, device) = match served.source() {
            Some(directory) => {
                let FileSystemId { device, name } = FileSystemId::of(directory)
                    .map_err(|error| Failure::Work(format!("cannot look at {}: {error}", directory.display())))?;
                if name.is_none() {
                    tell(&format!(
                        "after a restart the files of {} cannot be identified for certain by their inodes and times: what --ssd keeps of \
                         them is used as long as this mount runs (docs/reference/mount.md has the file systems)",
                        directory.display()
                    ));
                }
                (name.clone().unwrap_or_default(), name.map(|_| device))
            }
            None => (store.and_then(Store::identity).unwrap_or_default(), None),
        };
        let settings = TierSettings {
            size,
            block,
            policy,
            admit: if self.ssd_admit == Enters::All { Admit::All } else { Admit::Reused },
            levels: if levels == Kept::Exclusive { Levels::Exclusive } else { Levels::Inclusive },
            writes: self.ssd_writes,
            seed: mount.seed,
            source,
            device,
        };
        Tier::open(folder, &settings, tell).map(Some).map_err(|error| refused(folder, &error))
    }
}

fn refused(folder: &Path, error: &TierError) -> Failure {
    let said = format!("--ssd {}: {error}", folder.display());
    match error {
        TierError::Folder(_) | TierError::File { .. } | TierError::Index(_) | TierError::Room(_) => Failure::Work(said),
        _ => Failure::Usage(said),
    }
}

/// Where it is, or will be, without links.
fn full_path(folder: &Path) -> PathBuf {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| match (parent.canonicalize(), folder.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => folder.to_owned(),
    })
}
