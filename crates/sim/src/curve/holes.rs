//! An LRU stack from which blocks may be taken, and the LRU curve of a trace that deletes files.
//!
//! A block that is taken leaves a hole: a place that a cache of that size has free, so the next block that comes to the
//! top moves down only what is above the topmost hole.

use super::Curve;
use crate::recency::Recency;
use crate::references::References;

/// The LRU curve of a trace in which blocks are invalidated.
pub(super) fn lru(trace: &References) -> Curve {
    let window = trace.window();
    let mut stack = Stack::new(trace.distinct());
    let mut distances = vec![0; trace.distinct() as usize + 1];
    let mut events = window.events.iter().peekable();
    for (position, &block) in (window.first..).zip(window.keys) {
        while let Some(event) = events.next_if(|event| event.at <= position) {
            window.event_keys[event.keys.clone()].iter().for_each(|&block| stack.remove(block, 0));
        }
        distances[stack.touch(block) as usize] += 1;
    }
    Curve::from_distances(trace.len(), trace.distinct().into(), &distances[1..])
}

/// An LRU stack from which blocks may be taken, leaving holes.
#[derive(Debug)]
pub(super) struct Stack {
    recency: Recency,
    /// The holes on the stack, from the bottom up.
    holes: Vec<Hole>,
    /// Numbers to be given again, and the first that was never given.
    free: Vec<u32>,
    next: u32,
}

/// A hole is on the stack under a number that no block has.
#[derive(Clone, Copy, Debug)]
struct Hole {
    number: u32,
    /// The sampling value of a sampled block that left it.
    rank: u32,
}

impl Stack {
    /// An empty stack for blocks with numbers below `distinct`, or that are given out by [`Stack::admit`].
    pub fn new(distinct: u32) -> Stack {
        Stack { recency: Recency::new(), holes: Vec::new(), free: Vec::new(), next: distinct }
    }

    /// A number for a new block.
    pub fn admit(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// Takes a block that was admitted off the stack and leaves no hole.
    pub fn drop(&mut self, block: u32) {
        self.recency.forget(block);
        self.free.push(block);
    }

    /// Takes a block that was admitted off the stack and leaves a hole.
    pub fn take(&mut self, block: u32, rank: u32) {
        self.remove(block, rank);
        self.free.push(block);
    }

    /// Moves a block to the top; gives the depth at which it was, 0 if it was not on the stack.
    pub fn touch(&mut self, block: u32) -> u32 {
        let Some(&hole) = self.holes.last() else { return self.recency.touch(block) };
        let depth = self.recency.depth(block);
        if depth == 0 || self.recency.depth(hole.number) < depth {
            self.holes.pop();
            self.drop(hole.number);
            self.remove(block, hole.rank);
        }
        self.recency.touch(block);
        depth
    }

    /// Leaves a hole where the block is, if it is on the stack.
    pub fn remove(&mut self, block: u32, rank: u32) {
        let depth = self.recency.depth(block);
        if depth == 0 {
            return;
        }
        let number = self.admit();
        self.recency.rename(block, number);
        let place = self.holes.partition_point(|other| self.recency.depth(other.number) > depth);
        self.holes.insert(place, Hole { number, rank });
    }

    /// Closes the holes of blocks that would not be sampled at this threshold.
    pub fn lower(&mut self, threshold: u32) {
        for hole in self.holes.extract_if(.., |hole| hole.rank >= threshold) {
            self.recency.forget(hole.number);
            self.free.push(hole.number);
        }
    }
}
