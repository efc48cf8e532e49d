//! The virtual I/O cache: the paper's example, the laws of its statement.

use hotset_core::policy::{App, Effects, Extra, Note, Outcome, Policy, PolicySpec, Reference, Setup, Slot};
use hotset_core::random::Rng;
use hotset_core::schemes::virtual_io::VirtualIo;
use hotset_testkit::harness::Case;
use hotset_testkit::replay::replay;
use hotset_testkit::traces::samples;
use hotset_testkit::world::World;

const ALONE: World = World { apps: 1, ..World::PLAIN };

/// The decisions of a cache at one reference.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    evicted: Vec<Slot>,
    /// The slot of the next eviction, if that is noted as unforced.
    unforced: Option<Slot>,
    pushed_out: Vec<Slot>,
    fetched: Vec<(Slot, Extra)>,
}

impl Effects for Seen {
    fn evict(&mut self, slot: Slot) {
        match self.unforced.take_if(|unforced| *unforced == slot) {
            Some(_) => self.pushed_out.push(slot),
            None => self.evicted.push(slot),
        }
    }
    fn note(&mut self, note: &Note) {
        if let Note::Unforced(slot) = *note {
            self.unforced = Some(slot);
        }
    }
    fn forget(&mut self, _slot: Slot) {}
    fn fetch(&mut self, slot: Slot, why: Extra) {
        self.fetched.push((slot, why));
    }

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }
}

struct Cache {
    scheme: VirtualIo,
    time: u64,
}

impl Cache {
    fn new(spec: &str, capacity: u32, slots: u32) -> Cache {
        let args = PolicySpec::parse(spec).unwrap_or_else(|error| panic!("{error}")).args(None);
        let setup = Setup::new(&args, capacity, slots, 1);
        Cache { scheme: VirtualIo::new(&setup).unwrap_or_else(|error| panic!("{error}")), time: 0 }
    }

    fn refer(&mut self, slot: Slot) -> (Outcome, Seen) {
        let mut seen = Seen::default();
        self.time += 1;
        let outcome = self.scheme.access(slot, Reference { time: self.time, ..Reference::default() }, &mut seen);
        self.scheme.validate();
        (outcome, seen)
    }
}

/// POLICIES 1.1: positions 0 to 4 and 10 to 14 are mapped; block b stands at position b.
#[test]
fn the_papers_example() {
    let hot = || {
        let mut cache = Cache::new("virtual(lru,queue=30,unit=1,quantum=1000)", 10, 40);
        // Twenty blocks, block 19 first: then block b stands at position b. Only positions 0 to 4 and 10 to 14 are hit
        // from there on.
        (0..20).rev().for_each(|slot| drop(cache.refer(slot)));
        let mut order: Vec<Slot> = (0..20).collect();
        for time in 0..1980 {
            let position = [0, 1, 2, 3, 4, 10, 11, 12, 13, 14][time * 7 % 10];
            let slot = order.remove(position);
            order.insert(0, slot);
            cache.refer(slot);
        }
        // The next reference begins with the second mapping; it leaves the order as it is.
        let (_, seen) = cache.refer(order[0]);
        assert!(seen.fetched.iter().all(|(_, why)| *why == Extra::Allocation));
        let mapped: Vec<usize> = (0..20).filter(|&at| cache.scheme.contains(order[at])).collect();
        assert_eq!(mapped, [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]);
        (cache, order)
    };
    let (mut cache, order) = hot();
    assert_eq!(cache.refer(order[4]), (Outcome::Hit, Seen::default()), "at 4: a pure hit");
    let (mut cache, order) = hot();
    let pushed = Seen { evicted: vec![order[4]], ..Seen::default() };
    assert_eq!(cache.refer(order[5]), (Outcome::Admitted, pushed), "at 5: a miss, 4 is pushed out");
    let (mut cache, order) = hot();
    let slid = Seen { evicted: vec![order[4]], fetched: vec![(order[9], Extra::Moved)], ..Seen::default() };
    assert_eq!(cache.refer(order[10]), (Outcome::Hit, slid), "at 10: a hit, 4 goes and 9 comes");
    let (mut cache, order) = hot();
    let slid = Seen {
        evicted: vec![order[4]],
        pushed_out: vec![order[14]],
        fetched: vec![(order[9], Extra::Moved)],
        unforced: None,
    };
    assert_eq!(cache.refer(order[17]), (Outcome::Admitted, slid), "beyond 14: transfers at 0, 4, 10 and 14");
}

/// With nothing learnt, and with memory for the whole queue, it is the policy itself.
#[test]
fn a_head_is_the_plain_policy() {
    for trace in samples() {
        for policy in ["lru", "lfu", "arc", "2q"] {
            let still = Case::new("virtual", 9).with("policy", policy).with("unit", "1").with("quantum", "1000000");
            let whole = Case::new("virtual", 9)
                .with("policy", policy)
                .with("unit", "1")
                .with("quantum", "9")
                .with("queue", "9");
            let plain = replay(&Case::new(policy, 9).in_world(ALONE), &trace).hits;
            assert_eq!(replay(&whole.in_world(ALONE), &trace).hits, plain, "{policy}");
            if policy == "lru" {
                assert_eq!(replay(&still.in_world(ALONE), &trace).hits, plain);
            }
        }
    }
}

/// A refers ten times for each reference of B; A is uniform over 160 blocks, B over 64. A unit of 16 blocks is worth
/// 1.0 hits a round to A and 0.25 to B, so A gets 48 blocks of 64 and B 16: (3.0 + 0.25) / 11 = 29.5 % of references
/// hit. With equal parts 22.8 % do, with 16 and 48 blocks 15.9 %.
#[test]
fn units_follow_hits_and_not_hit_ratios() {
    const ROUNDS: u64 = 40_000;
    for quantum in ["2000", "1000/app", "2us"] {
        let mut cache = Cache::new(&format!("virtual(queue=160,unit=16,quantum={quantum})"), 64, 224);
        let mut random = Rng::new(5);
        let (mut hits, mut counted) = (0, 0);
        for time in 0..11 * ROUNDS {
            let (app, slot) = if time % 11 == 10 { (1, 160 + random.below(64)) } else { (0, random.below(160)) };
            let reference = Reference { time, clock: time, app, ..Reference::default() };
            let outcome = cache.scheme.access(slot, reference, &mut Seen::default());
            if time >= 11 * ROUNDS / 2 {
                counted += 1;
                hits += u64::from(outcome == Outcome::Hit);
            }
        }
        let of_a = (0..160).filter(|&slot| cache.scheme.contains(slot)).count();
        let of_b = (160..224).filter(|&slot| cache.scheme.contains(slot)).count();
        assert_eq!((of_a, of_b), (48, 16), "quantum={quantum}");
        let percent = 100.0 * hits as f64 / f64::from(counted);
        assert!((percent - 100.0 * 3.25 / 11.0).abs() < 0.5, "quantum={quantum}: {percent}");
    }
}

/// A quantum, a unit and an objective hold for all applications.
#[test]
fn an_application_has_no_quantum_of_its_own() {
    for key in ["quantum=3", "unit=2", "objective=fair"] {
        let args = PolicySpec::parse(&format!("virtual(a=virtual({key}))")).unwrap().args(None);
        let setup = Setup { apps: &[App::from("a")], ..Setup::new(&args, 9, 9, 1) };
        let error = VirtualIo::new(&setup).err().expect("refused").to_string();
        assert!(error.contains("holds for all"), "{error}");
    }
}

/// The default unit is a 32nd of a small cache; a unit that is given is taken as given.
#[test]
fn a_given_unit_is_no_default() {
    let resident = |spec: &str, blocks: u32| {
        let args = PolicySpec::parse(spec).unwrap().args(Some(4096));
        let mut scheme =
            VirtualIo::new(&Setup::new(&args, blocks, blocks, 1)).unwrap_or_else(|error| panic!("{error}"));
        scheme.grow(2 * blocks);
        (0..2 * blocks).for_each(|slot| {
            scheme.access(slot, Reference::default(), &mut Seen::default());
        });
        scheme.len()
    };
    assert_eq!(resident("virtual(lru)", 700), 693, "33 units of 21 blocks");
    assert_eq!(resident("virtual(lru,unit=1M)", 700), 512, "two units of 256 blocks");
}

/// The default queue has a length also where blocks have no size; a queue of as many bytes that is given needs one.
#[test]
fn a_given_queue_is_no_default() {
    let refused = |spec: &str, block_bytes| {
        let args = PolicySpec::parse(spec).unwrap().args(block_bytes);
        VirtualIo::new(&Setup::new(&args, 9, 9, 1)).err().map(|error| error.to_string())
    };
    assert_eq!(refused("virtual(lru)", None), None);
    assert_eq!(refused("virtual(lru,queue=1G)", Some(4096)), None);
    let error = refused("virtual(lru,queue=1G)", None).expect("refused");
    assert!(error.starts_with("queue is given in bytes"), "{error}");
}

/// It may hit more often than OPT, but it cannot read less.
#[test]
fn nobody_reads_less_than_the_bound() {
    for trace in samples() {
        for (capacity, quantum) in [(3, "3"), (9, "20"), (20, "50")] {
            let case = Case::new("virtual", capacity).with("unit", "1").with("quantum", quantum).with("alpha", "0.5");
            let counts = replay(&case, &trace);
            let bound = replay(&Case::new("opt-bypass", capacity), &trace);
            assert!(trace.len() as u64 - counts.hits + counts.fetches >= trace.len() as u64 - bound.hits);
        }
    }
}

/// A loop of 300 blocks in a cache of 20: nearly every reference hits, and nearly each hit was a read.
#[test]
fn on_a_loop_it_prefetches() {
    let trace: Vec<u32> = (0..30_000).map(|time| time % 300).collect();
    let case = Case::new("virtual", 20).with("unit", "10").with("queue", "1000").in_world(ALONE);
    let counts = replay(&case, &trace);
    let references = trace.len() as u64;
    assert!(counts.hits * 100 > references * 90, "{counts:?}", counts = counts.hits);
    assert!(references - counts.hits + counts.fetches >= references);
}

#[test]
fn policies_without_an_order_are_refused() {
    for spec in ["virtual(clock)", "virtual(lfu(aging=10))", "virtual(virtual(lru))"] {
        let args = PolicySpec::parse(spec).unwrap_or_else(|error| panic!("{error}")).args(None);
        let error = VirtualIo::new(&Setup::new(&args, 9, 9, 1)).err().expect("refused").to_string();
        assert!(error.contains("keeps no order of positions"), "{error}");
    }
}
