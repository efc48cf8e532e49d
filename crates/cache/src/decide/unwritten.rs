//! Dirty data: written to files, but not yet to the source.
//!
//! Dirty bytes are in the frames of their blocks, or *staged* outside of the frames, because the scheme has evicted
//! their block or never admitted it. Where a byte is in both, that in the frame is newer. Staged bytes are stored by
//! position, a newer one instead of an older one, so that neighbours leave in one write, whatever their age and origin.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Instant;

use hotset_core::policy::Slot;
use rustc_hash::FxHashMap;

use crate::os::sync::Arc;
use crate::source::Source;
use crate::source::files::FileNumber;

/// Bytes that are written to the source at once, at most, unless a single block has more.
pub(crate) const LONGEST: u64 = 1 << 20;

/// Bytes that may wait, of so much memory.
pub(crate) fn limit(memory: u64) -> u64 {
    (memory / 8).max(1 << 20)
}

/// All bytes of a file.
pub(crate) const WHOLE: Range<u64> = 0..u64::MAX;

/// All that waits.
#[derive(Default)]
pub(crate) struct Unwritten {
    files: FxHashMap<FileNumber, Waiting>,
    /// Bytes that wait in frames.
    pub in_frames: u64,
    /// Bytes staged outside of the frames.
    pub staged: u64,
    /// Bytes that may wait, in both places together.
    pub limit: u64,
}

/// The dirty data of one file.
pub(crate) struct Waiting {
    /// Blocks with bytes that wait in their frames, by their first byte.
    pub blocks: BTreeSet<(u64, Slot)>,
    staged: Staged,
    /// The bytes being written: separate from the others, and older.
    writing: Option<Range<u64>>,
    /// Through which it is written, and was written: with the rights of who opened it.
    source: Arc<dyn Source>,
    /// When the oldest of it was written, or when it was tried last to write it.
    since: Instant,
    /// It could not be written.
    has_failed: bool,
}

impl Unwritten {
    /// All bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.in_frames + self.staged
    }

    pub fn of(&self, file: FileNumber) -> Option<&Waiting> {
        self.files.get(&file)
    }

    /// The files with something that waits.
    pub fn files(&self) -> impl Iterator<Item = (FileNumber, &Waiting)> {
        self.files.iter().map(|(&file, waiting)| (file, waiting))
    }

    /// Something of the file will wait, to be written through `source`, as all that waits of it.
    pub fn begin(&mut self, file: FileNumber, source: &Arc<dyn Source>) {
        let new = || Waiting {
            blocks: BTreeSet::new(),
            staged: Staged::default(),
            writing: None,
            source: source.clone(),
            since: Instant::now(),
            has_failed: false,
        };
        self.files.entry(file).or_insert_with(new);
    }

    /// Notes that the bytes that wait in the frame of a block, which begins at `start`, are so many more or fewer.
    pub fn framed(&mut self, file: FileNumber, start: u64, slot: Slot, before: u64, now: u64) {
        self.in_frames = self.in_frames - before + now;
        let Some(waiting) = self.files.get_mut(&file) else { return };
        match now {
            0 => waiting.blocks.remove(&(start, slot)),
            _ => waiting.blocks.insert((start, slot)),
        };
    }

    /// Stages bytes of a file of which something waits, instead of older ones.
    pub fn stage(&mut self, file: FileNumber, offset: u64, bytes: Vec<u8>) {
        let Some(waiting) = self.files.get_mut(&file).filter(|_| !bytes.is_empty()) else { return };
        let range = offset..offset + bytes.len() as u64;
        self.staged += range.end - range.start;
        let older = waiting.staged.split_out(&range);
        self.staged -= length(&older);
        waiting.staged.0.insert(offset, bytes);
    }

    /// Takes staged bytes that follow each other from the first on that is in `range`, at most a run of them, to be
    /// written. They count as dirty until [`end_write`](Unwritten::end_write).
    pub fn begin_write(&mut self, file: FileNumber, range: &Range<u64>) -> Option<(u64, Vec<u8>)> {
        let waiting = self.files.get_mut(&file)?;
        let start = waiting.staged.first(range)?;
        let run = start..waiting.staged.end_of_run(start);
        let mut pieces = waiting.staged.split_out(&run).into_iter();
        let mut bytes = pieces.next()?.1;
        pieces.for_each(|(_, piece)| bytes.extend(piece));
        waiting.writing = Some(run);
        Some((start, bytes))
    }

    /// Of the bytes that were taken so many are in the source; the others wait on, unless they are not wanted any more.
    pub fn end_write(&mut self, file: FileNumber, offset: u64, mut bytes: Vec<u8>, done: usize) {
        self.staged -= bytes.len() as u64;
        let Some(waiting) = self.files.get_mut(&file) else { return };
        let wanted = waiting.writing.take().map_or(0, |writing| writing.end.saturating_sub(offset));
        bytes.truncate(wanted as usize);
        if done < bytes.len() {
            let rest = bytes.split_off(done);
            let at = offset + done as u64;
            let newer = waiting.staged.split_out(&(at..at + rest.len() as u64));
            self.staged -= length(&newer);
            self.stage(file, at, rest);
            newer.into_iter().for_each(|(at, piece)| self.stage(file, at, piece));
        }
    }

    /// The file, or some of it, has been written or could not be. True if nothing of it waits any more.
    pub fn settle(&mut self, file: FileNumber, is_whole: bool, has_failed: bool) -> bool {
        let Some(waiting) = self.files.get_mut(&file) else { return true };
        waiting.has_failed = has_failed;
        if is_whole {
            waiting.since = Instant::now();
        }
        self.let_go(file)
    }

    /// True if nothing of the file waits any more.
    fn let_go(&mut self, file: FileNumber) -> bool {
        let waits = |of: &Waiting| !of.blocks.is_empty() || !of.staged.0.is_empty() || of.writing.is_some();
        let is_done = !self.files.get(&file).is_some_and(waits);
        if is_done {
            self.files.remove(&file);
        }
        is_done
    }

    /// Nothing of the file from this byte on is staged any more, or written if that fails at first.
    pub fn discard(&mut self, file: FileNumber, from: u64) {
        let Some(waiting) = self.files.get_mut(&file) else { return };
        self.staged -= length(&waiting.staged.split_out(&(from..u64::MAX)));
        if let Some(writing) = &mut waiting.writing {
            writing.end = writing.end.min(from.max(writing.start));
        }
        self.let_go(file);
    }

    /// Panics if a count is wrong. For tests.
    pub fn validate(&self) {
        // Bytes being written are counted as well.
        let staged = self.files.values().flat_map(|waiting| waiting.staged.0.values());
        let being_written = self.files.values().any(|waiting| waiting.writing.is_some());
        let bytes: u64 = staged.map(|piece| piece.len() as u64).sum();
        assert!(bytes == self.staged || (being_written && bytes < self.staged), "{bytes} staged, {}", self.staged);
        for waiting in self.files.values() {
            let mut end = 0;
            for (&at, piece) in &waiting.staged.0 {
                assert!(at >= end && !piece.is_empty(), "pieces overlap");
                end = at + piece.len() as u64;
            }
        }
    }
}

impl Waiting {
    pub fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    pub fn since(&self) -> Instant {
        self.since
    }

    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Blocks of at most `largest` bytes that may have bytes in `range` that wait, in order.
    pub fn blocks_about(&self, range: &Range<u64>, largest: u64) -> impl Iterator<Item = Slot> + '_ {
        let from = range.start.saturating_sub(largest);
        self.blocks.range((from, 0)..(range.end, 0)).map(|&(_, slot)| slot)
    }

    pub fn staged_bytes(&self) -> u64 {
        self.staged.0.values().map(|piece| piece.len() as u64).sum()
    }

    /// The place of the first staged piece with bytes in `range`.
    pub fn first_staged(&self, range: &Range<u64>) -> Option<u64> {
        self.staged.first(range)
    }

    /// True if bytes in `range` are just being written.
    pub fn is_writing(&self, range: &Range<u64>) -> bool {
        self.writing.as_ref().is_some_and(|writing| overlap(writing, range))
    }
}

fn length(pieces: &[(u64, Vec<u8>)]) -> u64 {
    pieces.iter().map(|(_, piece)| piece.len() as u64).sum()
}

pub(crate) fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Pieces by place; no two overlap.
#[derive(Default)]
struct Staged(BTreeMap<u64, Vec<u8>>);

impl Staged {
    /// The place of the first piece with bytes in `range`.
    fn first(&self, range: &Range<u64>) -> Option<u64> {
        let before = self.0.range(..range.start).next_back();
        let reaches_in = before.filter(|(at, piece)| *at + piece.len() as u64 > range.start);
        reaches_in.or_else(|| self.0.range(range.clone()).next()).map(|(&at, _)| at)
    }

    /// Where the pieces from `start` on, which follow each other, end, at the latest after a run.
    fn end_of_run(&self, start: u64) -> u64 {
        let mut end = start;
        for (&at, piece) in self.0.range(start..) {
            let next = at + piece.len() as u64;
            if at != end || (end > start && next - start > LONGEST) {
                break;
            }
            end = next;
        }
        end
    }

    /// Takes the bytes in `range` out.
    fn split_out(&mut self, range: &Range<u64>) -> Vec<(u64, Vec<u8>)> {
        let mut taken = Vec::new();
        while let Some(at) = self.first(range).filter(|_| range.start < range.end) {
            let mut piece = self.0.remove(&at).expect("it was found");
            let end = at + piece.len() as u64;
            if end > range.end {
                self.0.insert(range.end, piece.split_off((range.end - at) as usize));
            }
            match at < range.start {
                true => {
                    taken.push((range.start, piece.split_off((range.start - at) as usize)));
                    self.0.insert(at, piece);
                }
                false => taken.push((at, piece)),
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use hotset_core::random::Rng;

    use super::*;

    /// Bytes that are staged, written in part and discarded, against an array with a place for each.
    #[test]
    fn staged_bytes_are_an_array_with_holes() {
        const SIZE: u64 = 200;
        let file = tempfile::tempfile().unwrap();
        let source: Arc<dyn Source> = Arc::new(file);
        for seed in 0..300 {
            let (mut random, mut unwritten) = (Rng::new(seed), Unwritten::default());
            let mut model = vec![None; SIZE as usize];
            for step in 0..60u8 {
                let start = u64::from(random.below(SIZE as u32 - 30));
                let range = start..start + 1 + u64::from(random.below(30));
                let places = range.start as usize..range.end as usize;
                match random.below(8) {
                    0..4 => {
                        unwritten.begin(3, &source);
                        unwritten.stage(3, start, vec![step; places.len()]);
                        model[places].fill(Some(step));
                    }
                    4 => {
                        unwritten.discard(3, range.end + 100);
                        model[(range.end as usize + 100).min(SIZE as usize)..].fill(None);
                    }
                    _ => {
                        let first = places.clone().find(|&place| model[place].is_some());
                        let run = unwritten.begin_write(3, &range);
                        assert_eq!(run.is_some(), first.is_some(), "seed {seed}, step {step}");
                        let Some((at, bytes)) = run else { continue };
                        let there = at as usize..at as usize + bytes.len();
                        assert!(there.contains(&first.unwrap()));
                        assert!(bytes.iter().zip(&model[there.clone()]).all(|(byte, known)| Some(*byte) == *known));
                        // Something newer may come in between, and some of it may be discarded.
                        let done = random.below(bytes.len() as u32 + 1) as usize;
                        model[there.start..there.start + done].fill(None);
                        if random.below(2) == 0 {
                            let newer = range.start.max(at);
                            unwritten.stage(3, newer, vec![step + 100; 5]);
                            unwritten.discard(3, at + 40);
                            model[newer as usize..newer as usize + 5].fill(Some(step + 100));
                            model[(at as usize + 40).min(SIZE as usize)..].fill(None);
                        }
                        unwritten.end_write(3, at, bytes, done);
                    }
                }
                unwritten.validate();
                assert_eq!(unwritten.staged, model.iter().flatten().count() as u64, "seed {seed}, step {step}");
            }
            while let Some((at, bytes)) = unwritten.begin_write(3, &(0..SIZE)) {
                let there = at as usize..at as usize + bytes.len();
                assert!(bytes.iter().zip(&model[there.clone()]).all(|(byte, known)| Some(*byte) == *known));
                assert!(there.start == 0 || model[there.start - 1].is_none(), "what follows each other leaves at once");
                model[there].fill(None);
                let length = bytes.len();
                unwritten.end_write(3, at, bytes, length);
            }
            assert!(model.iter().all(Option::is_none) && unwritten.settle(3, true, false) && unwritten.bytes() == 0);
        }
    }
}
