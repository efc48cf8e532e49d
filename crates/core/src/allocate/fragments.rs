//! Which units of a queue are worth keeping: a given number of them, in a given number of runs at most.
//!
//! Paper: Frasca, Prabhakar, Raghavan, Kandemir, "Virtual I/O caching", SC 2011: the allocator VPA (POLICIES 1.1).
//!
//! Readings. Of equal values the lower position counts more, so that a queue without history keeps its head. While
//! there are too many runs, the one that is worth least in sum is given up, and its units go one by one to the best
//! unit next to a run that is left; runs that meet are one. That is a heuristic: [`best`] is what could be had.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Units that are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    /// Runs of units, ascending, none next to another.
    pub runs: Vec<Range<usize>>,
    /// Sum of the values of all units in them.
    pub value: f64,
}

/// Keeps `units` of the units that have these values, all if there are not so many, in at most `most` runs, which is at
/// least 1.
pub fn map(values: &[f64], units: usize, most: usize) -> Mapping {
    let units = units.min(values.len());
    let mut kept = vec![false; values.len()];
    greatest(values, units).into_iter().for_each(|unit| kept[unit] = true);
    let mut runs = runs_of(&kept);
    while runs.len() > most {
        let worth = |run: &Range<usize>| values[run.clone()].iter().sum::<f64>();
        let least = (0..runs.len()).min_by(|&one, &other| worth(&runs[one]).total_cmp(&worth(&runs[other])));
        let least = runs.remove(least.expect("there are too many"));
        kept[least.clone()].fill(false);
        extend(values, &mut kept, &runs, least.len());
        runs = runs_of(&kept);
    }
    let value = runs.iter().flat_map(|run| &values[run.clone()]).sum();
    Mapping { runs, value }
}

/// Like [`map`], where each block that slides into a run costs `price` hits: the best of the head alone and of one to
/// `most` runs, and its value less that cost. A block slides into a run that is not at the head with each reference to
/// what stands from its beginning on; `beyond` references were outside of the queue.
pub fn map_at(price: f64, beyond: f64, values: &[f64], units: usize, most: usize) -> Mapping {
    if price == 0.0 {
        return map(values, units, most);
    }
    let head = 0..units.min(values.len());
    let head = Mapping {
        value: values[head.clone()].iter().sum(),
        runs: Some(head).filter(|head| !head.is_empty()).into_iter().collect(),
    };
    let priced = |runs: usize| {
        let mapping = map(values, units, runs);
        let value = mapping.value - price * slides(values, beyond, &mapping.runs);
        Mapping { value, ..mapping }
    };
    (1..=most).map(priced).fold(head, |best, other| if other.value > best.value { other } else { best })
}

/// Blocks that slide into these runs.
pub fn slides(values: &[f64], beyond: f64, runs: &[Range<usize>]) -> f64 {
    let from = |run: &Range<usize>| values.iter().skip(run.start).sum::<f64>() + beyond;
    runs.iter().filter(|run| run.start > 0).map(from).sum()
}

/// The units with the greatest values.
fn greatest(values: &[f64], units: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let by_value = |one: &usize, other: &usize| values[*other].total_cmp(&values[*one]).then(one.cmp(other));
    if units < order.len() {
        order.select_nth_unstable_by(units, by_value);
        order.truncate(units);
    }
    order
}

/// Gives `units` more units to `runs`, one by one.
fn extend(values: &[f64], kept: &mut [bool], runs: &[Range<usize>], units: usize) {
    let mut beside = BinaryHeap::new();
    for run in runs {
        offer(values, kept, &mut beside, run.start.checked_sub(1));
        offer(values, kept, &mut beside, Some(run.end));
    }
    let mut left = units;
    while left > 0 {
        let Some((_, Reverse(unit))) = beside.pop() else { return };
        if !std::mem::replace(&mut kept[unit], true) {
            left -= 1;
            offer(values, kept, &mut beside, unit.checked_sub(1));
            offer(values, kept, &mut beside, Some(unit + 1));
        }
    }
}

/// Values are not negative, so that their bits are in their order.
fn offer(values: &[f64], kept: &[bool], beside: &mut BinaryHeap<(u64, Reverse<usize>)>, unit: Option<usize>) {
    if let Some(unit) = unit.filter(|&unit| kept.get(unit) == Some(&false)) {
        beside.push((values[unit].to_bits(), Reverse(unit)));
    }
}

fn runs_of(kept: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (unit, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
        match runs.last_mut() {
            Some(run) if run.end == unit => run.end += 1,
            _ => runs.push(unit..unit + 1),
        }
    }
    runs
}

/// The positions in `ranges` that are not in `others`; both are ascending and do not overlap.
pub fn without(ranges: &[Range<u32>], others: &[Range<u32>]) -> Vec<Range<u32>> {
    let mut left = Vec::new();
    for range in ranges {
        let mut from = range.start;
        for other in others.iter().filter(|other| other.start < range.end && range.start < other.end) {
            left.push(from..other.start.max(from));
            from = other.end;
        }
        left.push(from..range.end.max(from));
    }
    left.retain(|range| !range.is_empty());
    left
}

/// The greatest value of `units` units in at most `most` runs, by dynamic programming: O(values · units · runs), for
/// tests and plots.
pub fn best(values: &[f64], units: usize, most: usize) -> f64 {
    let units = units.min(values.len());
    const NOT: f64 = f64::NEG_INFINITY;
    // By units and runs so far: the value if the last unit is kept, and if it is not.
    let mut states = vec![vec![(NOT, NOT); most + 1]; units + 1];
    states[0][0].1 = 0.0;
    for value in values {
        let before = states.clone();
        for used in 0..=units {
            for runs in 0..=most {
                let out = before[used][runs].0.max(before[used][runs].1);
                let goes_on = if used > 0 { before[used - 1][runs].0 + value } else { NOT };
                let begins = if used > 0 && runs > 0 { before[used - 1][runs - 1].1 + value } else { NOT };
                states[used][runs] = (goes_on.max(begins), out);
            }
        }
    }
    states[units].iter().fold(NOT, |best, state| best.max(state.0).max(state.1))
}

// Lists of runs often have one.
#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn a_queue_without_history_keeps_its_head() {
        assert_eq!(map(&[0.0; 9], 4, 2), Mapping { runs: vec![0..4], value: 0.0 });
        assert_eq!(map(&[1.0; 3], 7, 1), Mapping { runs: vec![0..3], value: 3.0 });
        assert_eq!(map(&[1.0; 3], 0, 1), Mapping::default());
        assert_eq!(map(&[], 3, 1), Mapping::default());
    }

    /// POLICIES 1.1, the paper's example.
    #[test]
    fn two_hot_runs_are_two_fragments() {
        let values: Vec<f64> =
            (0..20).map(|unit| if unit < 5 || (10..15).contains(&unit) { 1.0 } else { 0.0 }).collect();
        assert_eq!(map(&values, 10, 2), Mapping { runs: vec![0..5, 10..15], value: 10.0 });
    }

    #[test]
    fn what_is_left_without_others() {
        let left = |ranges: &[Range<u32>], others: &[Range<u32>]| without(ranges, others);
        assert_eq!(left(&[0..5, 10..15], &[3..12]), [0..3, 12..15]);
        assert_eq!(left(&[0..20], &[0..2, 5..6, 18..20]), [2..5, 6..18]);
        assert_eq!(left(&[2..4], &[0..9]), [] as [Range<u32>; 0]);
        assert_eq!(left(&[2..4], &[]), [2..4]);
        assert_eq!(left(&[2..4, 6..8], &[0..2, 4..6, 8..9]), [2..4, 6..8]);
    }

    #[test]
    fn the_run_worth_least_is_given_up() {
        // Units 0, 2 and 5 are best; the run of 2 goes, and its unit goes to the better one of 1, 4 and 6.
        let values = [9.0, 1.0, 4.0, 0.0, 2.0, 8.0, 3.0];
        assert_eq!(map(&values, 3, 2).runs, [0..1, 5..7]);
        // Of 1 and 3 the lower one, which joins nothing.
        assert_eq!(map(&[5.0, 0.0, 1.0, 0.0, 5.0], 3, 2).runs, [0..2, 4..5]);
    }

    #[test]
    fn a_run_that_reads_more_than_it_hits_is_given_up() {
        let values = [1.0, 0.0, 0.0, 0.0, 5.0, 0.0, 1.0];
        let at = |price: f64, beyond: f64| map_at(price, beyond, &values, 2, 2);
        assert_eq!(at(0.0, 9.0), map(&values, 2, 2));
        // The run of unit 4 is slid into by its own 5, by the 1 behind it and by what the queue does not have.
        assert_eq!(at(0.5, 2.0), Mapping { runs: vec![0..1, 4..5], value: 6.0 - 0.5 * 8.0 });
        assert_eq!(at(0.5, 4.0), Mapping { runs: vec![0..2], value: 1.0 }, "of equal ones the head");
        assert_eq!(at(1.0, 0.0), Mapping { runs: vec![0..2], value: 1.0 });
        assert_eq!(map_at(0.5, 0.0, &values, 0, 2), Mapping::default());
    }

    #[test]
    fn it_is_never_better_than_the_best_and_mostly_as_good() {
        let mut random = Rng::new(8);
        let (mut met, mut rounds) = (0, 0);
        for _ in 0..3000 {
            let values: Vec<f64> =
                (0..1 + random.below(14)).map(|_| f64::from(random.below(6) * random.below(9))).collect();
            let (units, most) = (random.below(values.len() as u32 + 1) as usize, 1 + random.below(4) as usize);
            let mapping = map(&values, units, most);
            let best = best(&values, units, most);
            assert_eq!(mapping.runs.iter().map(Range::len).sum::<usize>(), units);
            assert!(mapping.runs.len() <= most && mapping.value <= best, "{values:?} {units} {most}");
            assert!(mapping.runs.windows(2).all(|pair| pair[0].end < pair[1].start));
            let all: f64 = {
                let mut sorted = values.clone();
                sorted.sort_by(|one, other| other.total_cmp(one));
                sorted[..units].iter().sum()
            };
            assert!(most < values.len() || mapping.value == all);
            met += u32::from(mapping.value == best);
            rounds += 1;
        }
        assert!(met * 10 > rounds * 8, "{met} of {rounds}");
    }
}
