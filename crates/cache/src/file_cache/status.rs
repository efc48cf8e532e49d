//! The status of a running cache.

use hotset_core::counters::Counters;
use hotset_core::host::{Ages, Estimate, Shadows};
use hotset_core::policy::{Explained, Names, PartRoom};
use hotset_core::request::Kind;
use serde::Serialize;

use crate::counts::Traffic;
use crate::counts::latency::Timing;
use crate::counts::metadata::Metadata;
use crate::decide::schedule::OrderProgress;
use crate::file_cache::FileCache;
use crate::file_cache::state::State;
use crate::file_cache::write_back::AtRisk;
use crate::tier::{Tier, TierStatus};

/// Everything that `hotset top`, the metrics and the JSON status show.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The scheme, as specs are printed.
    pub policy: String,
    /// Bytes of memory that the scheme was given.
    pub memory_bytes: u64,
    /// Bytes that its frames take.
    pub frame_bytes: u64,
    /// The cache is out of use since a thread has panicked: the source is served without it, and all counts stand
    /// still.
    pub broken: bool,
    /// Blocks that are resident.
    pub resident_blocks: u32,
    /// Blocks whose data left.
    pub evictions: u64,
    /// Blocks that the scheme has prefetched.
    pub extra_reads: u64,
    /// The counts over all references.
    #[serde(flatten)]
    pub total: Counters,
    /// The traffic.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// What would be lost if the mount were killed now, where writes may wait.
    #[serde(flatten)]
    pub at_risk: Option<AtRisk>,
    /// The second level, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierStatus>,
    /// The times of reads, as the host has noted them.
    #[serde(flatten)]
    pub timing: Timing,
    /// Requests that move no data.
    pub metadata: Metadata,
    /// The announced order of files, or what became of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderProgress>,
    /// How often the scheme has divided its room among applications in another way than before.
    pub repartitions: u64,
    /// By application; those that referenced something. Processes that have ended may be one entry.
    pub apps: Vec<Named>,
    /// By class; empty when the scheme does not tell classes apart.
    pub classes: Vec<Named>,
    /// Estimated hit ratios at other sizes and under other policies. Empty until the sample is large enough, and where
    /// a scheme cannot be estimated.
    pub what_if: Vec<Estimate>,
    /// A sample of the evictions, by the time since the last reference to the evicted block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_ages: Option<Ages>,
    /// The learnt state of the scheme, the most important first, if it reports that.
    pub explained: Vec<Explained>,
}

/// The most entries of a scheme's explanation in a status; [`FileCache::explain`] returns all.
const EXPLAINED: usize = 16;

/// The name of the entry of processes that have ended.
const ENDED: &str = "ended processes";

/// The counts of an application or class.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counters,
    /// Its partition of the cache, if it has one.
    #[serde(flatten)]
    pub part: Option<Part>,
}

/// The part of an application.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Bytes that it may have.
    pub room_bytes: u64,
    /// True if its target cannot be met, as far as the scheme knows.
    pub flagged: bool,
    /// The hit rate that it was promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promised_percent: Option<f64>,
    /// Its hit rate since the scheme was set, if it referred to anything since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached_percent: Option<f64>,
}

impl Status {
    /// The status of a cache now.
    pub fn of(cache: &FileCache) -> Status {
        let (policy, memory_bytes, block) = cache.settings();
        let state = cache.shared.look();
        let (decider, counts) = (&state.decider, &state.decider.counts);
        let division = &decider.frames().division;
        let part = |app: usize, now: &Counters| {
            let room = division.parts.iter().find(|room| room.app as usize == app)?;
            let before = state.apps_before.get(app).copied().unwrap_or_default();
            Some(Part::new(room, block, now.references - before.references, now.hits - before.hits))
        };
        let names = state.apps.known().iter().map(|app| app.name.clone()).collect();
        let mut apps = named(names, &counts.apps, part);
        if state.apps_ended.references > 0 {
            apps.push(Named { name: ENDED.to_owned(), counts: state.apps_ended, part: None });
        }
        Status {
            policy: policy.to_string(),
            memory_bytes,
            frame_bytes: decider.frame_bytes(),
            broken: cache.is_broken(),
            resident_blocks: decider.resident(),
            evictions: counts.evictions,
            extra_reads: counts.extra_reads,
            total: counts.total,
            traffic: state.traffic,
            at_risk: state.at_risk(),
            tier: decider.frames().tier.as_ref().map(Tier::status),
            timing: cache.latencies().get(),
            metadata: cache.metadata().get(),
            order: state.progress(),
            repartitions: division.changes,
            apps,
            classes: named(decider.classes(), &counts.classes, |_, _| None),
            what_if: decider.shadows().map_or(Vec::new(), Shadows::estimates),
            eviction_ages: decider.shadows().map(Shadows::ages),
            explained: state.explain(EXPLAINED),
        }
    }
}

impl FileCache {
    /// The learnt state of the scheme and its use, the most important first. Empty if it reports nothing, and for
    /// the moment in which it learns.
    pub fn explain(&self) -> Vec<Explained> {
        self.shared.look().explain(usize::MAX)
    }
}

impl State {
    fn explain(&self, most: usize) -> Vec<Explained> {
        let mut told = self.decider.explain();
        told.truncate(most);
        Explained::all(told, self)
    }
}

impl Names for State {
    fn app(&self, app: u32) -> Option<String> {
        self.apps.known().get(app as usize).map(|app| app.name.clone())
    }

    fn file(&self, file: u32) -> Option<String> {
        Some(self.files[self.decider.file_of(file)? as usize].path.clone())
    }

    fn files(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.files.all().iter().map(|file| (file.path.as_str(), file.kind))
    }
}

impl Part {
    /// A partition with this quota in blocks of `block` bytes, with the references of its application since the scheme
    /// was set.
    fn new(room: &PartRoom, block: u64, references: u64, hits: u64) -> Part {
        Part {
            room_bytes: u64::from(room.blocks) * block,
            flagged: room.is_infeasible,
            promised_percent: room.target.map(|millionths| f64::from(millionths) / 1e4),
            reached_percent: (references > 0).then(|| 100.0 * hits as f64 / references as f64),
        }
    }
}

fn named(names: Vec<String>, counts: &[Counters], part: impl Fn(usize, &Counters) -> Option<Part>) -> Vec<Named> {
    let named = (0..).zip(names).zip(counts);
    let named = named.map(|((number, name), &counts)| Named { name, counts, part: part(number, &counts) });
    named.filter(|named| named.counts.references > 0).collect()
}
