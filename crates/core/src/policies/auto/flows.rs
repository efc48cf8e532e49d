//! Flows: blocks of one kind of use, in a tree. All blocks, those of one reuse interval, of one application and file
//! type among them, of one file, those that came back about as often, of one region of the file.

use hashbrown::HashTable;

use super::curves::{Computation, Curves, Saved};
use crate::policy::{Came, Flow, Reference};
use crate::random::mix;

/// Reuse intervals: first touches, and ten ranges, each outside and inside of a sequential run. They count from 1.
const INTERVALS: usize = 22;
/// Flows that are always there: all blocks, and those of each reuse interval, whose numbers are those of the intervals.
pub(super) const FIXED: usize = 1 + INTERVALS;
/// Flows there may be: a class has ten bits for one.
pub(super) const NODES_MOST: usize = 1 << 10;
/// Levels of the tree that follow from what is referenced.
const LEVELS: usize = 4;
/// Steps from the root to flows of files.
const FILE_DEPTH: u8 = 3;
/// How often blocks came back is distinguished up to this power of two.
const OFTEN: u32 = 5;
/// Blocks of a region, as a power of two.
const REGION: u32 = 10;
/// Places for flows that were asked for and are not there.
const WANTED: usize = 1 << 12;
/// What evidence keeps from one computation to the next, for the choice of the flow that gives way.
const FADE: f32 = 0.98;

/// A flow, with the number that tells it from others that had its place.
pub(super) type Class = u16;

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// What tells its blocks from those of other flows: see [`parts`].
    part: u64,
    /// The same for what does not follow from where its blocks lie: see [`tag`]. 0 in a place that is free.
    tag: u32,
    parent: u16,
    /// Steps from the root.
    depth: u8,
    children: u16,
    /// Sampled references lately.
    evidence: f32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    key: u64,
    asks: u32,
}

/// The tree and its curves.
#[derive(Debug)]
pub(super) struct Flows {
    pub(super) curves: Curves,
    nodes: Vec<Node>,
    /// All that are there, parents first; empty if that has to be found out.
    order: Vec<u16>,
    /// How many had the place of each before, modulo 64.
    generations: Box<[u8; NODES_MOST]>,
    /// Nodes there may be.
    most: usize,
    /// By [`hash`].
    found: HashTable<u16>,
    wanted: Vec<Wanted>,
    /// Asks that make a flow.
    asks: u32,
}

/// The reuse interval of a reference to a block that was used so long ago; `None` if nothing is known of it.
#[inline(always)]
pub(super) fn interval(age: Option<u32>, goes_on: bool) -> u8 {
    match age {
        None => 1 + u8::from(goes_on),
        Some(age) => 3 + (age.max(1).ilog2() / 2).min(9) as u8 + 10 * u8::from(goes_on),
    }
}

/// The kind of an interval, and whether it is within a sequential run.
fn told_interval(interval: u8) -> (Came, Option<bool>) {
    let (number, goes_on) = match interval {
        1 | 2 => return (Came::First, Some(interval == 2)),
        13.. => (interval - 13, true),
        _ => (interval - 3, false),
    };
    let first = if number == 0 { 0 } else { 4 << (2 * (number - 1)) };
    let end = if number == 9 { u32::MAX } else { 4 << (2 * number) };
    (Came::After(first..end), Some(goes_on))
}

/// How often a block came back as far as flows tell it: 0, once, from 2, 4, 8 or 16 times on.
#[inline(always)]
fn often(returns: u8) -> u8 {
    (u8::BITS - returns.leading_zeros()).min(OFTEN) as u8
}

/// What tells the flows of a reference from others, from the large ones to the small ones: application and group; file;
/// file and how often the block came back; region of the file and the same.
#[inline(always)]
fn parts(reference: &Reference, returns: u8) -> [(u64, u8); LEVELS] {
    let (file, often) = (u64::from(reference.file), often(returns));
    [
        (u64::from(reference.app) << 32 | u64::from(reference.group), 0),
        (file, 0),
        (file, often),
        (file << 32 | u64::from(reference.block >> REGION), often),
    ]
}

/// What tells a flow on one of the levels from others beside its part; never 0.
#[inline(always)]
fn tag(level: usize, often: u8, interval: u8) -> u32 {
    u32::from(often) << 16 | (level as u32) << 8 | u32::from(interval)
}

/// By which a flow is asked for.
fn key(part: u64, tag: u32) -> u64 {
    mix(mix(part) ^ u64::from(tag)).max(1)
}

/// By which a flow is looked up, which each reference does: as much as a table needs.
#[inline(always)]
fn hash(part: u64, tag: u32) -> u64 {
    let mixed = (part ^ u64::from(tag).wrapping_mul(0x94d0_49bb_1331_11eb)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

impl Flows {
    pub(super) fn new(most: usize, asks: u32, curves: Curves) -> Flows {
        let fixed = |number| match number {
            0 => Node { tag: 1, children: INTERVALS as u16, ..Node::default() },
            _ => Node { tag: 1, depth: 1, ..Node::default() },
        };
        Flows {
            curves,
            nodes: (0..FIXED).map(fixed).chain((FIXED..most).map(|_| Node::default())).collect(),
            order: Vec::with_capacity(most),
            generations: Box::new([0; NODES_MOST]),
            most,
            found: HashTable::with_capacity(2 * NODES_MOST),
            wanted: vec![Wanted::default(); WANTED],
            asks,
        }
    }

    /// The class of a reference to a block that came back so often. If the block is sampled, flows that are not there
    /// yet hear that they were asked for.
    #[inline(always)]
    pub(super) fn class(&mut self, reference: &Reference, interval: u8, returns: u8, is_sampled: bool) -> Class {
        let mut node = u16::from(interval);
        for (level, (part, often)) in parts(reference, returns).into_iter().enumerate() {
            let tag = tag(level, often, interval);
            if let Some(child) = self.find(part, tag) {
                node = child;
            } else if is_sampled && let Some(child) = self.ask(part, tag, node) {
                node = child;
            } else {
                break;
            }
        }
        if is_sampled {
            self.nodes[usize::from(node)].evidence += 1.0;
        }
        node | Class::from(self.generations[usize::from(node) % NODES_MOST]) << 10
    }

    /// The current flow of a class: if another has taken its place, that of the reuse interval.
    #[inline(always)]
    pub(super) fn node(&self, class: Class, interval: u8) -> usize {
        let number = usize::from(class) % NODES_MOST;
        if self.generations[number] == (class >> 10) as u8 { number } else { usize::from(interval) }
    }

    #[inline(always)]
    fn find(&self, part: u64, tag: u32) -> Option<u16> {
        let is_it = |&other: &u16| {
            let node = &self.nodes[usize::from(other)];
            node.part == part && node.tag == tag
        };
        self.found.find(hash(part, tag), is_it).copied()
    }

    /// A flow that is not there is asked for, the `asks`-th time made.
    #[cold]
    fn ask(&mut self, part: u64, tag: u32, parent: u16) -> Option<u16> {
        let key = key(part, tag);
        let wanted = &mut self.wanted[(key % WANTED as u64) as usize];
        if wanted.asks == 0 {
            *wanted = Wanted { key, asks: 1 };
        } else if wanted.key == key {
            wanted.asks += 1;
        } else {
            wanted.asks -= 1;
            return None;
        }
        if wanted.asks < self.asks {
            return None;
        }
        let number = self.place(parent)?;
        self.wanted[(key % WANTED as u64) as usize].asks = 0;
        let depth = self.nodes[usize::from(parent)].depth + 1;
        self.nodes[number] = Node { part, tag, parent, depth, children: 0, evidence: self.asks as f32 };
        self.nodes[usize::from(parent)].children += 1;
        self.order.clear();
        let nodes = &self.nodes;
        let hash_of = |&other: &u16| hash(nodes[usize::from(other)].part, nodes[usize::from(other)].tag);
        self.found.insert_unique(hash(part, tag), number as u16, hash_of);
        self.curves.begin(number, usize::from(parent));
        Some(number as u16)
    }

    /// A free place, or that of the flow with the least evidence among those without children, of equals the first.
    /// The caller keeps its place.
    fn place(&mut self, asking: u16) -> Option<usize> {
        let dynamic = FIXED..self.most;
        if let Some(free) = dynamic.clone().find(|&number| self.nodes[number].tag == 0) {
            return Some(free);
        }
        let may_go = |&number: &usize| self.nodes[number].children == 0 && number != usize::from(asking);
        let least = dynamic
            .filter(may_go)
            .min_by(|&one, &other| self.nodes[one].evidence.total_cmp(&self.nodes[other].evidence))?;
        let Node { part, tag, parent, .. } = self.nodes[least];
        let found = self.found.find_entry(hash(part, tag), |&other| usize::from(other) == least);
        found.expect("a flow is found by its hash").remove();
        self.nodes[usize::from(parent)].children -= 1;
        self.nodes[least].tag = 0;
        self.generations[least] = (self.generations[least] + 1) % 64;
        Some(least)
    }

    /// A block of this flow was seen in the buckets `from..end`, and used in one of them, where a hit would have saved
    /// so much.
    pub(super) fn see(&mut self, node: usize, from: usize, end: usize, used: Option<(usize, Saved)>) {
        let mut at = Some(node);
        while let Some(node) = at {
            if end > from {
                self.curves.see(node, from, end);
            }
            if let Some((bucket, saved)) = used {
                self.curves.see_use(node, bucket, saved);
            }
            at = self.parent(node);
        }
    }

    fn parent(&self, node: usize) -> Option<usize> {
        (node > 0).then(|| usize::from(self.nodes[node].parent))
    }

    /// Puts the flows that are there in order, and has their evidence fade.
    fn prepare(&mut self) {
        if self.order.is_empty() {
            for depth in 0..=1 + LEVELS as u8 {
                let is_of_depth = |node: &u16| {
                    let node = &self.nodes[usize::from(*node)];
                    node.tag != 0 && node.depth == depth
                };
                self.order.extend((0..self.most as u16).filter(is_of_depth));
            }
        }
        self.nodes.iter_mut().for_each(|node| node.evidence *= FADE);
    }

    /// Computes all curves.
    pub(super) fn compute(&mut self) {
        self.prepare();
        let parent = |node: u16| (node > 0).then(|| usize::from(self.nodes[usize::from(node)].parent));
        self.curves.compute(self.order.iter().map(|&node| (usize::from(node), parent(node))));
    }

    /// Hands out what is needed to compute all curves; `None` while it is out.
    pub(super) fn hand_out(&mut self) -> Option<Computation> {
        if !self.curves.are_here() {
            return None;
        }
        self.prepare();
        let parent = |node: u16| (node > 0).then(|| self.nodes[usize::from(node)].parent);
        self.curves.hand_out(self.order.iter().map(|&node| (node, parent(node))).collect())
    }

    /// Places of flows.
    pub(super) fn len(&self) -> usize {
        self.most
    }

    /// Sampled references to blocks of a flow that were of no smaller one, lately.
    pub(super) fn evidence(&self, node: usize) -> f32 {
        self.nodes[node].evidence
    }

    /// The flow in whose explanation one is included: that of the file for all within.
    pub(super) fn told_as(&self, node: usize) -> usize {
        let mut told = node;
        while self.nodes[told].depth > FILE_DEPTH {
            told = usize::from(self.nodes[told].parent);
        }
        told
    }

    /// Which blocks a flow is of.
    pub(super) fn flow(&self, node: usize) -> Flow {
        let (mut flow, mut at) = (Flow::default(), node);
        while self.nodes[at].depth > 1 {
            let Node { part, depth, parent, .. } = self.nodes[at];
            match depth {
                FILE_DEPTH => flow.file = Some(part as u32),
                2 => {
                    flow.app = Some((part >> 32) as u32);
                    flow.group = (part as u32 > 0).then_some(part as u32);
                }
                _ => {}
            }
            at = parent.into();
        }
        if at > 0 {
            (flow.came, flow.is_sequential) = told_interval(at as u8);
        }
        flow
    }

    pub(super) fn validate(&self) {
        let live: Vec<usize> = (0..self.most).filter(|&node| self.nodes[node].tag != 0).collect();
        assert_eq!(live.len(), FIXED + self.found.len());
        assert!(self.order.is_empty() || self.order.len() == live.len(), "an order of flows that were there");
        let mut children = vec![0; self.most];
        for &node in &live {
            self.curves.validate(node);
            if let Some(parent) = self.parent(node) {
                children[parent] += 1;
                assert_eq!(self.nodes[parent].depth + 1, self.nodes[node].depth, "a flow within another");
                assert_ne!(self.nodes[parent].tag, 0, "a flow within one that is gone");
            }
        }
        assert!(live.iter().all(|&node| children[node] == self.nodes[node].children), "children of a flow");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_told_as_they_are_made() {
        for goes_on in [false, true] {
            assert_eq!(told_interval(interval(None, goes_on)), (Came::First, Some(goes_on)));
            for age in (0..200).chain((1..31).flat_map(|octave| [(1 << octave) - 1, 1 << octave])) {
                let (came, told) = told_interval(interval(Some(age), goes_on));
                let Came::After(ages) = came else { panic!("{age}: {came:?}") };
                assert!(ages.contains(&age) && told == Some(goes_on), "{age}: {ages:?}");
            }
        }
    }
}
