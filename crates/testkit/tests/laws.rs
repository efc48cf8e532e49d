//! Laws that every registered policy obeys, and small traces whose counts can be checked on paper.

use std::collections::HashSet;

use hotset_testkit::harness::Case;
use hotset_testkit::replay::replay;
use hotset_testkit::selection;
use hotset_testkit::traces;
use hotset_testkit::traces::samples;
use hotset_testkit::world::World;

/// Hits of a policy on a trace; its model agreed at every step.
fn hits(policy: &str, capacity: u32, trace: &[u32]) -> u64 {
    Case::new(policy, capacity).check(&traces::events(trace)).unwrap_or_else(|what| panic!("{what}"))
}

fn distinct(trace: &[u32]) -> u64 {
    trace.iter().collect::<HashSet<_>>().len() as u64
}

/// Policies that evict, or do not keep, though there is room: their statement divides the cache beforehand or drops
/// blocks early.
const NOT_ALWAYS_FULL: &[&str] = &[
    "ulc", // Its temporary part is for blocks that are worth neither level, and does not take what the levels evict.
];

#[test]
fn a_cache_as_large_as_the_footprint_misses_every_block_once() {
    for entry in selection::policies().filter(|entry| !NOT_ALWAYS_FULL.contains(&entry.info.name)) {
        for trace in samples() {
            let footprint = distinct(&trace);
            for capacity in [footprint as u32, footprint as u32 + 1, 1000] {
                let misses = trace.len() as u64 - hits(entry.info.name, capacity, &trace);
                assert_eq!(misses, footprint, "{} at {capacity}", entry.info.name);
            }
        }
    }
}

/// The memory of a policy is bounded by the number of blocks, not by the size that a user gives.
#[test]
fn a_capacity_far_above_the_footprint_is_no_trouble() {
    let trace: Vec<u32> = (0..40).chain(0..40).collect();
    for entry in selection::policies() {
        for capacity in [1 << 27, 1 << 30, u32::MAX] {
            let hits = replay(&Case::new(entry.info.name, capacity), &trace).hits;
            assert!(
                hits == 40 || NOT_ALWAYS_FULL.contains(&entry.info.name),
                "{} at {capacity}: {hits}",
                entry.info.name
            );
        }
    }
    for ghosts in ["4294967295", "18446744073709551615"] {
        assert_eq!(replay(&Case::new("s3-fifo", 3).with("ghost", ghosts), &trace).hits, 0, "{ghosts}");
    }
}

#[test]
fn nobody_beats_the_bounds() {
    for trace in samples() {
        for capacity in [1, 2, 5, 13, 30] {
            let bypassing = hits("opt-bypass", capacity, &trace);
            let bound = hits("opt", capacity, &trace);
            assert!(bypassing >= bound);
            for entry in selection::policies().filter(|entry| !entry.info.offline) {
                let counts = replay(&Case::new(entry.info.name, capacity), &trace);
                // A policy that reads ahead may hit more often, but cannot read less.
                let reached = counts.hits.saturating_sub(counts.fetches);
                let bound = if counts.bypasses > 0 { bypassing } else { bound };
                assert!(reached <= bound, "{} at {capacity} hits {reached} of {bound}", entry.info.name);
            }
        }
    }
}

#[test]
fn a_run_can_be_repeated() {
    for entry in selection::policies() {
        for trace in samples() {
            assert_eq!(hits(entry.info.name, 9, &trace), hits(entry.info.name, 9, &trace), "{}", entry.info.name);
        }
    }
}

#[test]
fn stack_algorithms_never_lose_by_more_memory() {
    for policy in ["lru", "mru", "opt"] {
        for trace in samples() {
            let by_size: Vec<u64> = (1..50).map(|capacity| hits(policy, capacity, &trace)).collect();
            assert!(by_size.is_sorted(), "{policy}: {by_size:?}");
        }
    }
}

/// A window as large as the cache leaves nothing to compete for, and experts with equal weights make ACME heed the
/// first of them.
#[test]
fn adaptive_policies_held_still_are_lru() {
    for trace in samples() {
        for capacity in [1, 2, 9, 30] {
            let still = [
                Case::new("w-tinylfu", capacity).with("window", "100%"),
                Case::new("acme", capacity).with("share", "1"),
                Case::new("acme", capacity).with("share", "1").with("refetch", "on"),
            ];
            for case in still {
                assert_eq!(replay(&case, &trace), replay(&Case::new("lru", capacity), &trace), "{}", case.policy);
            }
        }
    }
}

/// Belady, Nelson, Shedler, CACM 1969.
#[test]
fn fifo_shows_beladys_anomaly() {
    let trace = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
    assert_eq!([3, 4].map(|capacity| 12 - hits("fifo", capacity, &trace)), [9, 10]);
    assert_eq!([3, 4].map(|capacity| 12 - hits("lru", capacity, &trace)), [10, 8]);
    assert_eq!([3, 4].map(|capacity| 12 - hits("opt", capacity, &trace)), [7, 6]);
}

#[test]
fn a_loop_larger_than_the_cache() {
    let trace: Vec<u32> = (0..300).map(|step| step % 30).collect();
    for policy in ["lru", "fifo", "clock"] {
        assert_eq!(hits(policy, 29, &trace), 0, "{policy}");
    }
    for policy in ["mru", "lifo"] {
        assert!(hits(policy, 20, &trace) >= 9 * 19, "{policy} keeps all but one place");
    }
    assert_eq!(hits("mru", 20, &trace), hits("opt", 20, &trace));
}

#[test]
fn one_block_is_enough_for_one_block() {
    for entry in selection::policies() {
        assert_eq!(hits(entry.info.name, 1, &[4; 50]), 49, "{}", entry.info.name);
    }
}

/// At a single place CLOCK has nothing to choose from.
#[test]
fn clock_of_one_block_is_lru() {
    for trace in samples() {
        assert_eq!(hits("clock", 1, &trace), hits("lru", 1, &trace));
    }
}

/// The last use is all that LRU looks at, however long it is remembered.
#[test]
fn lru_1_is_lru() {
    for trace in samples() {
        for capacity in [1, 3, 13, 30] {
            let lru = replay(&Case::new("lru", capacity), &trace).evicted;
            for rip in ["unlimited", "1"] {
                let case = Case::new("lru-k", capacity).with("k", "1").with("rip", rip);
                assert_eq!(replay(&case, &trace).evicted, lru, "at {capacity}, rip={rip}");
            }
        }
    }
}

/// Blocks of different files are never neighbours, so no sequence begins.
#[test]
fn seq_without_sequences_is_its_fall_back() {
    let world = World { file_blocks: 1, ..World::default() };
    for trace in samples() {
        for fallback in ["lru", "clock"] {
            let seq = Case::new("seq", 20).with("fallback", fallback).in_world(world);
            assert_eq!(replay(&seq, &trace).evicted, replay(&Case::new(fallback, 20), &trace).evicted);
        }
    }
}

#[test]
fn craw_without_writes_is_clock() {
    // The world's writes come by a hash: with this many reads to one of them there are none but at time 0, key 0.
    let world = World { writes: u32::MAX, ..World::default() };
    for trace in samples() {
        let trace: Vec<u32> = trace.iter().map(|key| key + 1).collect();
        assert!(world.references(&trace).iter().all(|reference| !reference.write));
        let craw = replay(&Case::new("craw", 20).in_world(world), &trace);
        assert_eq!(craw.evicted, replay(&Case::new("clock", 20), &trace).evicted);
    }
}

#[test]
fn eelru_is_lru_until_blocks_come_back_too_late() {
    let sweep: Vec<u32> = (0..2000).map(|step| if step % 4 == 0 { 100 + step } else { step % 7 }).collect();
    assert_eq!(replay(&Case::new("eelru", 20), &sweep).evicted, replay(&Case::new("lru", 20), &sweep).evicted);
    let looped: Vec<u32> = (0..3000).map(|step| step % 150).collect();
    assert!(hits("eelru", 100, &looped) > 1000, "a loop of one and a half times the capacity");
}

#[test]
fn seq_keeps_most_of_a_loop() {
    let world = World { file_blocks: 1000, ..World::default() };
    let looped: Vec<u32> = (0..3000).map(|step| step % 300).collect();
    let hits = replay(&Case::new("seq", 200).in_world(world), &looped).hits;
    assert!(hits > 9 * 150, "{hits} hits");
}

#[test]
fn bimodal_insertion_that_always_enters_at_the_young_end_is_lru() {
    for trace in samples() {
        for capacity in [1, 7, 30] {
            let bip = Case::new("dip", capacity).with("mode", "bip").with("epsilon", "1");
            let seen = bip.check(&traces::events(&trace)).unwrap_or_else(|what| panic!("{what}"));
            assert_eq!(seen, hits("lru", capacity, &trace));
        }
    }
}

/// The duel finds out that most of a loop should stay; without a loop it does about what LRU does.
#[test]
fn the_duels_choose_the_better_insertion() {
    let looped: Vec<u32> = (0..30_000).map(|step| step % 1500).collect();
    let samples = samples();
    for policy in ["dip", "rrip"] {
        let counts = replay(&Case::new(policy, 1000), &looped);
        assert!(counts.hits > 14_000, "{policy} hits {} in a loop", counts.hits);
        let (skewed, lru) = (hits(policy, 20, &samples[0]), hits("lru", 20, &samples[0]));
        assert!(skewed + 30 > lru, "{policy} hits {skewed}, lru {lru}");
    }
}

/// The two ends of the spectrum.
#[test]
fn lrfu_is_lfu_at_one_end_and_lru_at_the_other() {
    for trace in samples() {
        for capacity in [1, 3, 13, 30] {
            for (lambda, policy) in [("0", "lfu"), ("1", "lru")] {
                let expected = replay(&Case::new(policy, capacity), &trace).evicted;
                let seen = replay(&Case::new("lrfu", capacity).with("lambda", lambda), &trace).evicted;
                assert_eq!(seen, expected, "lambda={lambda} at {capacity}");
            }
        }
    }
}

/// Hits of a policy where the first thousand keys are one file; its model agreed at every step.
fn hits_in_one_file(case: Case, trace: &[u32]) -> u64 {
    let case = case.in_world(World { file_blocks: 1000, ..World::default() });
    case.check(&traces::events(trace)).unwrap_or_else(|what| panic!("{what}"))
}

#[test]
fn ubm_keeps_as_much_of_a_loop_as_there_is_room() {
    let trace: Vec<u32> = (0..300).map(|step| step % 30).collect();
    assert!(hits_in_one_file(Case::new("ubm", 20), &trace) >= 9 * 19);
    assert_eq!(hits_in_one_file(Case::new("lru", 20), &trace), 0);
}

/// Six hot blocks, each in a separate file, and a long scan of a file: only the first block of the run meets the hot
/// ones.
#[test]
fn ubm_lets_no_scan_touch_the_other_blocks() {
    let hot = |step: u32| 1000 * (1 + step % 6);
    let trace: Vec<u32> = (0..900).map(|step| if step % 2 == 0 { hot(step / 2) } else { step / 2 }).collect();
    let hits = |policy| hits_in_one_file(Case::new(policy, 8), &trace);
    assert_eq!((hits("ubm"), hits("lru")), (450 - 6, 0));
}

/// Both levels keep what they have, since no block of the loop is used within the life of a yardstick.
#[test]
fn ulc_keeps_what_it_can_of_a_loop() {
    let trace: Vec<u32> = (0..3000).map(|step| step % 300).collect();
    for client in ["10%", "50%", "90%"] {
        let case = Case::new("ulc", 200).with("client", client);
        let seen = case.check(&traces::events(&trace)).unwrap_or_else(|what| panic!("{what}"));
        assert_eq!(seen, 9 * 198, "{client}: all but the two temporary blocks are hit in each lap but the first");
    }
}

/// A manager that gives up what the system would have chosen changes nothing.
#[test]
fn lru_sp_with_lru_managers_is_lru() {
    for trace in samples() {
        for capacity in [1, 3, 13, 30] {
            for pools in ["1", "4096"] {
                let case = Case::new("lru-sp", capacity).with("manager", "lru").with("pools", pools);
                assert_eq!(replay(&case, &trace).evicted, replay(&Case::new("lru", capacity), &trace).evicted);
            }
        }
    }
}

/// A block given up that is wanted first again costs its owner the block that was spared: with one application, 1 and 2
/// fill the cache, 3 has 2 given up, which points to 1, so 2 displaces 1.
#[test]
fn lru_sp_takes_back_a_bad_choice() {
    let case = Case::new("lru-sp", 2).in_world(World { apps: 1, ..World::default() });
    assert_eq!(replay(&case, &[1, 2, 3, 2]).evicted, [2, 1]);
    assert_eq!(replay(&case, &[1, 2, 3, 1, 2]).evicted, [2, 1], "the spared block was used, so 2 does not count");
}

/// A process that runs a loop with MRU keeps most of it, and takes nothing from the one that has a small working set.
#[test]
fn lru_sp_keeps_as_much_of_a_loop_as_there_is_room() {
    let trace: Vec<u32> = (0..300).map(|step| step % 30).collect();
    let one_app = World { apps: 1, ..World::default() };
    assert!(replay(&Case::new("lru-sp", 20).in_world(one_app), &trace).hits >= 9 * 18);
}

#[test]
fn sarc_without_sequences_is_lru() {
    for trace in samples() {
        for capacity in [1, 3, 13, 30] {
            let case = Case::new("sarc", capacity).with("run", "4294967295");
            assert_eq!(replay(&case, &trace).evicted, replay(&Case::new("lru", capacity), &trace).evicted);
        }
    }
}

/// Twenty hot blocks, each in a separate file, and a long scan of a file.
#[test]
fn sarc_lets_a_scan_have_little() {
    let hot = |step: u32| 10_000 * (1 + step % 20);
    let trace: Vec<u32> = (0..9000).map(|step| if step % 3 == 0 { hot(step / 3) } else { step }).collect();
    let world = World { file_blocks: 10_000, ..World::default() };
    let hits = |policy: &str| replay(&Case::new(policy, 50).in_world(world), &trace).hits;
    assert_eq!(hits("lru"), 0);
    assert!(hits("sarc") > 2900, "{}", hits("sarc"));
}

/// The lower yardstick leaves for any block that beats it, whichever level they are in.
#[test]
fn the_border_between_the_levels_of_ulc_decides_no_hit() {
    for trace in samples() {
        for capacity in [13, 30] {
            let run =
                |client: &str| replay(&Case::new("ulc", capacity).with("client", client).with("temp", "2"), &trace);
            assert!(["30%", "50%", "80%", "100%"].iter().all(|client| run(client) == run("40%")), "at {capacity}");
        }
    }
}

/// A loop and a scan take turns: the loop gets all places but one.
#[test]
fn karma_gives_a_scan_one_block() {
    let trace: Vec<u32> = (0..600).map(|step| if step % 2 == 0 { step / 2 % 30 } else { 1000 + step }).collect();
    assert_eq!(hits_in_one_file(Case::new("karma", 31), &trace), 300 - 30);
    assert!(hits_in_one_file(Case::new("karma", 21), &trace) >= 9 * 19);
    assert_eq!(hits_in_one_file(Case::new("lru", 31), &trace), 0);
}
