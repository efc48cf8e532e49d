//! A cache in LRU parts at every size, in one pass: parts of fixed sizes, and one that takes the rest.
//!
//! Every part is a separate LRU cache, so the depth of a block in its part's stack says at which sizes it hits
//! (Mattson et al. 1970). A request misses at every size of its part below the greatest depth of its blocks. Deleted
//! files leave holes in a stack: a hole is a place that a cache of that size has free, so the next block that comes to
//! the top moves down only what is above the topmost hole.

use super::holes::Stack;
use super::{Curve, Step};
use crate::bits;
use hotset_core::policy::{Part, PolicySpec};

use crate::error::SimError;
use crate::references::{References, numbering};
use crate::window::{What, value_at};

/// The parts of a cache, one of which has no fixed size.
#[derive(Clone, Debug)]
pub(crate) struct Rooms {
    /// The part of each class.
    pub of_class: Vec<u8>,
    /// Blocks of each part; `None` for the one that takes the rest.
    pub blocks: Vec<Option<u32>>,
}

/// Hits and missed requests by the blocks of the part that takes the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsCurve {
    references: u64,
    /// Distinct blocks of all parts.
    distinct: u64,
    /// References that hit whatever the size.
    fixed_hits: u64,
    /// `hits[d]`: references that hit when the part has at least d blocks.
    hits: Vec<u64>,
    /// Reading requests of fixed parts that miss, and those of the other part that miss at any size.
    sure_misses: u64,
    /// `misses[d]`: reading requests that miss when the part has fewer than d blocks.
    misses: Vec<u64>,
}

impl PartsCurve {
    /// The curve of a trace in the view of the parts; `None` if a file changes its class, since what is found where it
    /// was depends on two sizes at once.
    pub(crate) fn of(shown: &References, rooms: &Rooms) -> Option<PartsCurve> {
        if shown.events().iter().any(|event| matches!(event.what, What::Elsewhere(_))) {
            return None;
        }
        let mut pass = Pass::new(shown, rooms);
        let window = shown.window();
        let is = |column: Option<&[u64]>, index| column.is_some_and(|words| bits::get(words, index as u64));
        let (mut classes, mut events) = (window.classes, window.events.iter().peekable());
        for (index, &block) in window.keys.iter().enumerate() {
            while let Some(event) = events.next_if(|event| event.at <= index as u64) {
                for &block in &window.event_keys[event.keys.clone()] {
                    pass.stacks.iter_mut().for_each(|stack| stack.remove(block, 0));
                }
            }
            if !is(window.continues, index) {
                pass.end_request();
            }
            let part = rooms.of_class[usize::from(value_at(&mut classes, index as u64))];
            pass.reference(block, part, !is(window.writes, index));
        }
        pass.end_request();
        Some(pass.curve)
    }

    /// Hits where the part that takes the rest has so many blocks.
    pub fn hits(&self, blocks: u64) -> u64 {
        self.fixed_hits + self.hits.iter().take(blocks.saturating_add(1).min(usize::MAX as u64) as usize).sum::<u64>()
    }

    /// Reading requests that miss where the part that takes the rest has so many blocks.
    pub fn read_request_misses(&self, blocks: u64) -> u64 {
        self.sure_misses
            + self.misses.iter().skip(blocks.saturating_add(1).min(usize::MAX as u64) as usize).sum::<u64>()
    }

    /// The curve by the size of the whole cache in blocks of `block` bytes, where the other parts take `fixed` bytes
    /// and the part that takes the rest has blocks of `rest_block` bytes.
    pub(crate) fn by_total(&self, block: u64, fixed: u64, rest_block: u64) -> Curve {
        let mut hits = self.fixed_hits;
        let first = Step { size: (fixed + rest_block).div_ceil(block), hits };
        let rising = (0u64..).zip(&self.hits).filter(|(_, count)| **count > 0).map(|(blocks, count)| {
            hits += count;
            Step { size: (fixed + blocks.max(1) * rest_block).div_ceil(block), hits }
        });
        let mut steps: Vec<Step> = std::iter::once(first).chain(rising).collect();
        // Several steps can fall on one size; the last one holds.
        steps.reverse();
        steps.dedup_by_key(|step| step.size);
        steps.reverse();
        Curve { references: self.references, distinct: self.distinct, steps }
    }
}

/// The pass over a trace.
struct Pass<'a> {
    rooms: &'a Rooms,
    stacks: Vec<Stack>,
    curve: PartsCurve,
    open: Option<Open>,
}

/// The request that is being counted.
struct Open {
    part: u8,
    reads: bool,
    /// The greatest depth of its blocks; `None` if one was not on the stack.
    depth: Option<u32>,
}

impl<'a> Pass<'a> {
    fn new(shown: &References, rooms: &'a Rooms) -> Pass<'a> {
        let distinct = shown.distinct();
        let curve = PartsCurve {
            references: shown.len(),
            distinct: distinct.into(),
            fixed_hits: 0,
            hits: Vec::new(),
            sure_misses: 0,
            misses: Vec::new(),
        };
        let stacks = rooms.blocks.iter().map(|_| Stack::new(distinct)).collect();
        Pass { rooms, stacks, curve, open: None }
    }

    fn reference(&mut self, block: u32, part: u8, reads: bool) {
        let depth = Some(self.stacks[usize::from(part)].touch(block)).filter(|&depth| depth > 0);
        match (self.rooms.blocks[usize::from(part)], depth) {
            (_, None) => {}
            (Some(room), Some(depth)) => self.curve.fixed_hits += u64::from(depth <= room),
            (None, Some(depth)) => count(&mut self.curve.hits, depth),
        }
        match &mut self.open {
            None => self.open = Some(Open { part, reads, depth }),
            Some(open) => open.depth = open.depth.zip(depth).map(|(one, other)| one.max(other)),
        }
    }

    fn end_request(&mut self) {
        let Some(open) = self.open.take().filter(|open| open.reads) else { return };
        match (self.rooms.blocks[usize::from(open.part)], open.depth) {
            (_, None) => self.curve.sure_misses += 1,
            (Some(room), Some(depth)) => self.curve.sure_misses += u64::from(depth > room),
            (None, Some(depth)) => count(&mut self.curve.misses, depth),
        }
    }
}

fn count(counts: &mut Vec<u64>, depth: u32) {
    let depth = depth as usize;
    if depth >= counts.len() {
        counts.resize(depth + 1, 0);
    }
    counts[depth] += 1;
}

impl References {
    /// The curve of `policy`, a cache in parts, by the size of its part `x`, in one pass; with it, by the size of the
    /// whole cache in blocks of the run. `None` if no part takes the rest, or if a file changes its class. The
    /// requests must have been kept.
    pub fn parts_curve(
        &self,
        policy: &PolicySpec,
        block_bytes: Option<u64>,
    ) -> Result<Option<(PartsCurve, Curve)>, SimError> {
        let args = policy.args(block_bytes);
        let parts = args.parts();
        let (Some(requests), Some(block)) = (&self.requests, args.block_bytes()) else { return Ok(None) };
        let Some(rest) = parts.iter().find(|part| part.size.is_none()) else { return Ok(None) };
        let fixed: u64 = parts.iter().filter_map(|part| part.size).sum();
        let least = u32::try_from((fixed + rest.block).div_ceil(block)).unwrap_or(u32::MAX);
        let name = policy.info().name;
        let requirements = policy.entry().requirements(&args, least);
        let view = requirements.map_err(|error| SimError::scheme(name, least, error))?.view;
        let shown = numbering::show(requests, &view, name)?;
        let room = |part: &Part| part.size.map(|size| u32::try_from(size / part.block).unwrap_or(u32::MAX));
        let of_class = view.parts.expect("a cache in parts").of_class;
        let rooms = Rooms { of_class, blocks: parts.iter().map(room).collect() };
        let curve = PartsCurve::of(&shown, &rooms);
        Ok(curve.map(|curve| (curve.clone(), curve.by_total(block, fixed, rest.block))))
    }
}
