//! A window of references, borrowed from a renumbered trace or from a stream: what cells are fed with.

use std::ops::Range;

use hotset_core::classify::Class;
use hotset_core::counters::Counters;

use crate::bits::{count_ones, for_words, get, run_end};

/// References to the block in hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// References that read the block to which the same application referred just before, reading or writing.
    pub references: u64,
    /// Of these, those that hit.
    pub hits: u64,
}

/// Facts of a class that are known before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassFacts {
    pub name: String,
    /// Bytes of its blocks.
    pub block_bytes: u64,
}

/// References in a full window; a multiple of 64, so that windows start at word boundaries of bit columns.
pub(crate) const WINDOW: usize = 1 << 16;

/// A run of references. Bit columns are indexed from the window's start and absent where no bit is set.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a, K> {
    /// Position of the first reference in the trace.
    pub first: u64,
    /// The block of each reference: its dense number, or its key.
    pub keys: &'a [K],
    /// Set where the reference writes.
    pub writes: Option<&'a [u64]>,
    /// Set where the reference goes on with the request before it.
    pub continues: Option<&'a [u64]>,
    /// Set where the reference is not counted.
    pub uncounted: Option<&'a [u64]>,
    /// Set where the reference reads the block that its application referred to just before.
    pub repeats: Option<&'a [u64]>,
    /// Runs of one application each: position in the trace where the run begins, application. The first run may begin
    /// before the window.
    pub apps: &'a [(u64, u32)],
    /// Runs of one time each, in the same way; empty where times were not kept.
    pub times: &'a [(u64, u64)],
    /// Bytes of the object that each reference is to; empty where they were not kept.
    pub sizes: &'a [u32],
    /// Types of files, by number, if the high halves of addresses are files; the type of files beyond is unknown.
    pub groups: &'a [u32],
    /// Runs of one class each, in the same way; empty without classes.
    pub classes: &'a [(u64, Class)],
    /// What happens between references, in order; those of the window, and what comes behind the last of them if no
    /// reference follows there.
    pub events: &'a [Event],
    /// The addresses of events.
    pub event_keys: &'a [K],
}

/// Something that happens at a position of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Position of the reference that it comes before, or is about.
    pub at: u64,
    /// Whose request it is, and when that was made.
    pub app: u32,
    pub time: u64,
    pub what: What,
    /// Where its keys are among those of events.
    pub keys: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// These blocks are invalidated.
    Remove,
    /// These blocks are invalidated and all that lie behind them in their files; before blocks are numbered.
    RemoveFrom,
    /// The bytes that the reference asks for may still be in these blocks of another class, which the file was of
    /// before.
    Elsewhere(Class),
}

/// The common part of the run that `position` is in. Drops the runs before it; 0 if there are no runs.
#[inline(always)]
pub(crate) fn value_at<T: Copy + Default>(runs: &mut &[(u64, T)], position: u64) -> T {
    while runs.get(1).is_some_and(|&(begin, _)| begin <= position) {
        *runs = &runs[1..];
    }
    runs.first().map_or_else(T::default, |&(_, value)| value)
}

impl<'a, K> Window<'a, K> {
    /// The same references, named by other keys.
    pub fn with_keys<L>(&self, keys: &'a [L], event_keys: &'a [L]) -> Window<'a, L> {
        let Window {
            first, writes, continues, uncounted, repeats, apps, times, sizes, groups, classes, events, ..
        } = *self;
        Window {
            first,
            keys,
            writes,
            continues,
            uncounted,
            repeats,
            apps,
            times,
            sizes,
            groups,
            classes,
            events,
            event_keys,
        }
    }

    /// The runs of classes from the one that `position` is in on.
    pub fn class_runs_at(&self, position: u64) -> &'a [(u64, Class)] {
        &self.classes[self.classes.partition_point(|&(begin, _)| begin <= position).saturating_sub(1)..]
    }

    /// Where the bytes of the reference at `position` may still be: the class, and the event that says so.
    pub fn elsewhere(&self, position: u64) -> Option<(Class, &'a Event)> {
        let from = self.events.partition_point(|event| event.at < position);
        let here = self.events[from..].iter().take_while(|event| event.at == position);
        here.filter_map(|event| match event.what {
            What::Elsewhere(class) => Some((class, event)),
            What::Remove | What::RemoveFrom => None,
        })
        .next()
    }

    /// The part of the window in each of `runs`, as indices: value, begin, end.
    pub fn parts_of<T: Copy>(&self, runs: &'a [(u64, T)]) -> impl Iterator<Item = (T, u64, u64)> {
        let (first, len) = (self.first, self.keys.len() as u64);
        runs.iter().enumerate().map(move |(index, &(begin, value))| {
            let end = runs.get(index + 1).map_or(len, |&(next, _)| next - first);
            (value, begin.saturating_sub(first), end)
        })
    }

    /// The next of `events` before the index `end`, which is taken off them, with the index that it comes before.
    pub fn next_event(&self, events: &mut &'a [Event], end: usize) -> Option<(usize, &'a Event)> {
        let (event, later) = events.split_first()?;
        let index = (event.at - self.first) as usize;
        (index < end).then(|| {
            *events = later;
            (index, event)
        })
    }

    /// The type of the file of the block with this address.
    #[inline(always)]
    pub fn group(&self, address: u64) -> u32 {
        self.groups.get((address >> 32) as usize).copied().unwrap_or_default()
    }

    /// The runs of references, as indices in the window, that are all counted, or all not.
    pub fn runs(&self) -> impl Iterator<Item = (Range<usize>, bool)> {
        let (uncounted, len) = (self.uncounted, self.keys.len() as u64);
        let mut at = 0;
        std::iter::from_fn(move || {
            let begin = at;
            at = uncounted.map_or(len, |words| run_end(words, begin, len));
            let is_counted = uncounted.is_none_or(|words| begin < len && !get(words, begin));
            (begin < len).then_some((begin as usize..at as usize, is_counted))
        })
    }

    /// Counts references `start..end` (indices in the window), given which of them hit. `open_missed` tells, before and
    /// after, whether the request that goes on across the boundary has been counted as missed.
    pub fn count(&self, start: u64, end: u64, hits: &[u64], open_missed: &mut bool) -> Counters {
        let write = |word: usize| self.writes.map_or(0, |words| words[word]);
        let begin = |word: usize| !self.continues.map_or(0, |words| words[word]);
        let counted = |word: usize| !self.uncounted.map_or(0, |words| words[word]);
        let mut counters = Counters {
            references: if self.uncounted.is_none() { end - start } else { count_ones(start, end, counted) },
            hits: count_ones(start, end, |word| hits[word] & counted(word)),
            requests: count_ones(start, end, |word| begin(word) & counted(word)),
            write_requests: count_ones(start, end, |word| begin(word) & write(word) & counted(word)),
            ..Counters::default()
        };
        counters.read_requests = counters.requests - counters.write_requests;
        (counters.read_references, counters.read_hits) = match self.writes {
            None => (counters.references, counters.hits),
            Some(_) => (
                count_ones(start, end, |word| !write(word) & counted(word)),
                count_ones(start, end, |word| hits[word] & !write(word) & counted(word)),
            ),
        };
        if self.continues.is_none() {
            counters.request_misses = counters.misses();
            counters.read_request_misses = count_ones(start, end, |word| !hits[word] & !write(word) & counted(word));
        } else {
            for_words(start, end, |word, mask| {
                let missed = first_misses(begin(word) & mask, !hits[word] & mask, open_missed) & counted(word);
                counters.request_misses += u64::from(missed.count_ones());
                counters.read_request_misses += u64::from((missed & !write(word)).count_ones());
            });
        }
        counters
    }
}

impl<K> Window<'_, K> {
    /// Counts the repeats among all references, given which of them hit.
    pub fn count_repeats(&self, hits: &[u64]) -> Repeats {
        let Some(repeats) = self.repeats else { return Repeats::default() };
        let len = self.keys.len() as u64;
        let counted = |word: usize| repeats[word] & !self.uncounted.map_or(0, |words| words[word]);
        Repeats { references: count_ones(0, len, counted), hits: count_ones(0, len, |word| counted(word) & hits[word]) }
    }
}

/// The first miss of every request in a word, given where requests begin and which references missed.
fn first_misses(begins: u64, misses: u64, open_missed: &mut bool) -> u64 {
    let behind = |bit: u32| u64::MAX.checked_shl(bit).unwrap_or(0);
    let mut left = if *open_missed { misses & behind(begins.trailing_zeros()) } else { misses };
    let mut first = 0;
    while left != 0 {
        let bit = left.trailing_zeros();
        first |= 1 << bit;
        let next_request = (begins & behind(bit + 1)).trailing_zeros();
        left &= behind(next_request);
    }
    *open_missed = match begins {
        0 => *open_missed || misses != 0,
        _ => misses & behind(63 - begins.leading_zeros()) != 0,
    };
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotset_core::random::mix;

    /// Counts by walking reference by reference.
    fn slow(writes: &[u64], continues: &[u64], uncounted: &[u64], hits: &[u64], len: u64) -> Counters {
        let mut counters = Counters::default();
        let mut missed = false;
        for index in 0..len {
            let (hit, write) = (get(hits, index), get(writes, index));
            if get(uncounted, index) {
                continue;
            }
            counters.references += 1;
            counters.hits += u64::from(hit);
            counters.read_references += u64::from(!write);
            counters.read_hits += u64::from(hit && !write);
            if !get(continues, index) {
                missed = false;
                counters.requests += 1;
                counters.read_requests += u64::from(!write);
                counters.write_requests += u64::from(write);
            }
            if !hit && !missed {
                missed = true;
                counters.request_misses += 1;
                counters.read_request_misses += u64::from(!write);
            }
        }
        counters
    }

    #[test]
    fn bit_parallel_counts_equal_a_walk() {
        for seed in 0..300u64 {
            let word = |salt: u64| mix(seed * 1000 + salt);
            let hits: Vec<u64> = (0..4).map(|i| word(i) | word(i + 50)).collect();
            let mut continues: Vec<u64> = (0..4).map(|i| if seed % 3 == 0 { u64::MAX } else { word(i + 10) }).collect();
            continues[0] &= !1;
            // All references of a request are of one kind, and counted or not.
            let (mut writes, mut uncounted) = (vec![0u64; 4], vec![0u64; 4]);
            let (mut write, mut skipped) = (false, false);
            for index in 0..256u64 {
                if !get(&continues, index) {
                    (write, skipped) = (word(100 + index) % 3 == 0, seed % 2 == 1 && word(400 + index) % 3 == 0);
                }
                writes[index as usize / 64] |= u64::from(write) << (index % 64);
                uncounted[index as usize / 64] |= u64::from(skipped) << (index % 64);
            }
            let keys = [0u32; 256];
            let window = Window {
                first: 0,
                keys: &keys,
                writes: Some(&writes),
                continues: Some(&continues),
                uncounted: Some(&uncounted[..]).filter(|_| seed % 2 == 1),
                repeats: Some(&continues),
                apps: &[],
                times: &[],
                sizes: &[],
                groups: &[],
                classes: &[],
                events: &[],
                event_keys: &[],
            };
            let repeats =
                (0..256).filter(|&index| get(&continues, index) && (seed % 2 == 0 || !get(&uncounted, index)));
            let repeats: Vec<u64> = repeats.collect();
            let expected = Repeats {
                references: repeats.len() as u64,
                hits: repeats.iter().filter(|&&index| get(&hits, index)).count() as u64,
            };
            assert_eq!(window.count_repeats(&hits), expected, "seed {seed}");
            let mut total = Counters::default();
            let mut open = false;
            for (start, end) in [(0, 1), (1, 60), (60, 130), (130, 256)] {
                total.add(&window.count(start, end, &hits, &mut open));
            }
            assert_eq!(total, slow(&writes, &continues, &uncounted, &hits, 256), "seed {seed}");
            let single = Window { continues: None, ..window };
            let begins = slow(&writes, &[0; 4], &uncounted, &hits, 256);
            assert_eq!(single.count(0, 256, &hits, &mut false), begins, "seed {seed}");
            let mut next = 0;
            for (run, is_counted) in window.runs() {
                assert_eq!(run.start, next, "seed {seed}");
                assert!(run.clone().all(|index| get(&uncounted, index as u64) != is_counted), "seed {seed}");
                next = run.end;
            }
            assert_eq!(next, 256, "seed {seed}");
        }
    }
}
