//! The laws of steering on a simulated kernel: the kernel holds what the policy holds, and the policy's misses are
//! those of the simulator.

mod played;

use std::collections::BTreeSet;

use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::random::Rng;
use hotset_core::registry;
use hotset_core::request::Request;
use hotset_feed::{Event, FileId};
use hotset_sim::grid::{self, Plan};
use hotset_sim::{BlockSize, Options, Silent, prepare};
use hotset_steer::{ATTEMPTS, PROTECTED, Steering, Telling};
use hotset_trace::{Addressing, Batch, Meta, Tables, TraceError, TraceReader};

use played::{Kernel, SECOND, file};

/// Pages of a block.
const PAGES: u64 = 4;
const BLOCK: u64 = PAGES * 4096;
const CAPACITY: u32 = 40;

/// The policy as steering runs it. Background computations run here at the points where the simulator runs them.
fn served(policy: &str) -> PolicySpec {
    let spec = PolicySpec::parse(policy).unwrap().set_in(Setting::Serving).to_string();
    PolicySpec::parse(&spec.replace("curves=background", "curves=inline")).unwrap()
}

/// All processes are of one application.
fn named() -> Telling {
    Telling { naming: Some(Box::new(|_| Some("reader".to_owned()))), ..Telling::default() }
}

/// A kernel that is steered from its first page on.
fn steered(policy: &str) -> (Kernel, Steering<Kernel>) {
    let kernel = Kernel::default();
    let mut steering = Steering::new(&served(policy), BLOCK, CAPACITY, CAPACITY, named(), kernel.clone()).unwrap();
    (0..3).for_each(|number| steering.watch(file(number), &[], 0));
    steering.act(0);
    (kernel, steering)
}

/// Every policy that can steer.
fn policies() -> Vec<&'static str> {
    let names = registry::all().map(|entry| entry.info.name);
    let can = |name: &&str| Steering::new(&served(name), BLOCK, CAPACITY, CAPACITY, named(), Kernel::default()).is_ok();
    names.filter(can).collect()
}

/// Blocks of three files: a part that is used again and again, a loop, and others; none of the last few again.
fn blocks(steps: usize) -> Vec<(u64, u64)> {
    let mut random = Rng::new(3);
    let mut chosen: Vec<(u64, u64)> = Vec::new();
    while chosen.len() < steps {
        let next = match random.below(3) {
            0 => (0, u64::from(random.below(30))),
            1 => (1, chosen.len() as u64 / 3 % 60),
            _ => (2, u64::from(random.below(300))),
        };
        if !chosen.iter().rev().take(8).any(|last| *last == next) {
            chosen.push(next);
        }
    }
    chosen
}

fn held(steering: &Steering<Kernel>) -> BTreeSet<(FileId, u64)> {
    let all = (0..3).flat_map(|number| (0..300).map(move |block| (file(number), block)));
    all.filter(|&(file, block)| steering.holds(file, block * PAGES)).collect()
}

#[test]
fn most_policies_can_steer_and_the_others_are_refused_in_a_sentence() {
    let can = policies();
    assert!(
        can.len() > 30 && ["qos", "virtual", "render", "auto"].iter().all(|policy| can.contains(policy)),
        "{can:?}"
    );
    let refused = |policy: &str, telling: Telling| match Steering::new(
        &served(policy),
        BLOCK,
        64,
        64,
        telling,
        Kernel::default(),
    ) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{policy} steers"),
    };
    assert!(refused("opt", named()).contains("must know the future"));
    assert!(refused("attribute", named()).contains("cuts files into blocks of another size for each part"));
    assert!(refused("qos(craw)", named()).contains("treats writes apart, which the kernel's events do not tell"));
    assert!(refused("qos(profile=f.jsonl)", named()).contains("give profile=none"));
    // Without process numbers, the application of a read is unknown.
    for policy in ["qos", "auto(cc1=80%)", "lru-sp"] {
        assert!(refused(policy, Telling::default()).contains("listen to every read instead"), "{policy}");
    }
    let small = Steering::new(&served("lru"), 1000, 64, 64, named(), Kernel::default()).err().unwrap().to_string();
    assert_eq!(small, "a block of 1000B is not possible here: expected a power of two from 4K to 2M");
}

#[test]
fn what_the_policy_holds_is_what_the_kernel_holds() {
    for policy in policies() {
        let (kernel, mut steering) = steered(policy);
        let mut now = 0;
        for (step, (number, block)) in blocks(1500).into_iter().enumerate() {
            now += SECOND;
            if step % 400 == 399 {
                steering.resize(if step % 800 == 399 { 25 } else { CAPACITY }, CAPACITY, now);
            }
            kernel.read(file(number), block * PAGES..(block + 1) * PAGES, PAGES);
            kernel.tell(&mut steering, now);
            let (held, resident) = (held(&steering), kernel.blocks(PAGES));
            let extra: Vec<_> = resident.difference(&held).collect();
            let is_read = extra.iter().all(|&&other| other == (file(number), block));
            assert!(held.is_subset(&resident) && is_read, "{policy} at {step}: {extra:?} beside {held:?}");
        }
        kernel.tell(&mut steering, now + PROTECTED);
        assert_eq!(held(&steering), kernel.blocks(PAGES), "{policy}");
        assert_eq!(steering.resident(), kernel.pages(), "{policy}");
        let counts = steering.counts();
        assert_eq!((counts.left_to_kernel, counts.failed), (0, 0), "{policy}");
        assert_eq!(counts.pages_read - counts.pages_fetched, counts.misses * PAGES, "{policy}: a miss reads a block");
        assert_eq!(counts.pages_dropped, counts.pages_read - kernel.pages(), "{policy}: nothing else takes pages");
    }
}

/// A trace of reads of whole blocks, a microsecond apart.
struct Reads(Meta, Tables, Batch);

impl Reads {
    fn new(blocks: &[(u64, u64)]) -> Reads {
        let read = |(step, &(file, block)): (u64, &(u64, u64))| Request {
            time: step * 1000,
            offset: block * BLOCK,
            length: BLOCK as u32,
            file: file as u32,
            ..Request::default()
        };
        let batch = Batch { requests: (0..).zip(blocks).map(read).collect(), ..Batch::default() };
        let addressing = Addressing::Bytes { unit: None };
        Reads(
            Meta { format: "reads", addressing, has_time: true, has_ops: false, sample: None },
            Tables::default(),
            batch,
        )
    }
}

impl TraceReader for Reads {
    fn meta(&self) -> &Meta {
        &self.0
    }

    fn tables(&self) -> &Tables {
        &self.1
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        *batch = std::mem::take(&mut self.2);
        Ok(())
    }
}

#[test]
fn what_the_policy_misses_is_what_the_simulator_says() {
    let (names, blocks) = (policies(), blocks(3000));
    let options =
        Options { block: Some(BlockSize::Bytes(BLOCK)), keep_times: true, keep_requests: true, ..Options::default() };
    let (mut prepared, _) = prepare(Box::new(Reads::new(&blocks)), &options, &Silent).unwrap();
    let plan = |name: &&str| {
        let spec = served(name);
        Plan { entry: spec.entry(), args: spec.args(Some(BLOCK)), capacity: CAPACITY, bytes: None, seed: 1 }
    };
    let plans: Vec<Plan> = names.iter().chain(&["linux"]).map(plan).collect();
    let tallies = grid::run(&mut prepared, &plans, &Silent).unwrap().tallies;
    let kernel_misses = tallies.last().unwrap().total.misses();
    for (name, tally) in names.iter().zip(&tallies) {
        let (kernel, mut steering) = steered(name);
        for (step, &(number, block)) in blocks.iter().enumerate() {
            kernel.read(file(number), block * PAGES..(block + 1) * PAGES, PAGES);
            kernel.tell(&mut steering, step as u64 * 1000);
        }
        let counts = steering.counts();
        assert_eq!((counts.references, counts.misses), (tally.total.references, tally.total.misses()), "{name}");
        assert_eq!(counts.kernel_misses, kernel_misses, "{name}");
    }
}

/// Unused read-ahead: pages that the policy does not hold stay three seconds, and go then unless they are read.
#[test]
fn what_was_read_ahead_is_protected_until_it_is_read_or_old() {
    let (kernel, mut steering) = steered("lru");
    kernel.add(file(0), 0, 64);
    kernel.read(file(0), 0..4, 1);
    kernel.tell(&mut steering, 10);
    kernel.tell(&mut steering, PROTECTED + 9);
    assert_eq!(kernel.pages(), 64);
    // The folio of 64 pages has a block that the policy holds.
    kernel.tell(&mut steering, PROTECTED + SECOND);
    assert_eq!(kernel.pages(), 64);
    // Others have none: one is read in time, one is not.
    let (kernel, mut steering) = steered("lru");
    for folio in [0, 4] {
        kernel.add(file(0), folio, 4);
    }
    kernel.tell(&mut steering, 10);
    kernel.read(file(0), 4..8, 1);
    kernel.tell(&mut steering, PROTECTED - 1);
    assert_eq!(kernel.pages(), 8);
    kernel.tell(&mut steering, PROTECTED + 10);
    assert_eq!(kernel.blocks(PAGES), BTreeSet::from([(file(0), 1)]));
}

#[test]
fn a_folio_is_dropped_when_the_last_of_its_blocks_is_out() {
    let (kernel, mut steering) = steered("fifo");
    // Two blocks in one folio, of which the second comes later.
    kernel.add(file(0), 0, 8);
    kernel.read(file(0), 0..4, 1);
    kernel.tell(&mut steering, 1);
    let fill = |from: u64, to: u64, steering: &mut Steering<Kernel>| {
        for block in from..to {
            kernel.read(file(1), block * PAGES..(block + 1) * PAGES, PAGES);
            kernel.tell(steering, 1 + block * SECOND);
        }
    };
    fill(0, 10, &mut steering);
    kernel.read(file(0), 4..8, 1);
    kernel.tell(&mut steering, 10 * SECOND);
    fill(10, 39, &mut steering);
    assert!(!steering.holds(file(0), 0) && steering.holds(file(0), 4));
    assert_eq!(kernel.pages_of(file(0)), 8, "half of it is wanted");
    fill(39, 60, &mut steering);
    assert!(!steering.holds(file(0), 4));
    assert_eq!(kernel.pages_of(file(0)), 0);
    // Eight blocks in one folio, each of which has it dropped before any word of that comes back.
    let before = steering.counts().pages_dropped;
    kernel.add(file(2), 0, 32);
    kernel.tell(&mut steering, 61 * SECOND);
    kernel.tell(&mut steering, 61 * SECOND + PROTECTED);
    assert_eq!((kernel.pages_of(file(2)), steering.counts().pages_dropped - before), (0, 32), "each page once");
}

/// Pages reclaimed by the kernel are distinguished from dropped ones, and from those that it may reclaim.
#[test]
fn pages_that_the_kernel_takes_count_if_the_policy_holds_them() {
    let (kernel, mut steering) = steered("lru");
    for block in 0..=u64::from(CAPACITY) {
        kernel.read(file(0), block * PAGES..(block + 1) * PAGES, PAGES);
        kernel.tell(&mut steering, block);
    }
    let pages = |steering: &Steering<Kernel>| (steering.counts().pages_dropped, steering.counts().pages_taken);
    assert_eq!(pages(&steering), (4, 0));
    // The first block comes back unasked.
    kernel.add(file(0), 0, PAGES);
    kernel.tell(&mut steering, 100);
    kernel.reclaim(file(0), 0, 2 * PAGES);
    kernel.tell(&mut steering, 101);
    assert_eq!(pages(&steering), (4, 4), "read-ahead is the kernel's");
    steering.rest();
    kernel.reclaim(file(0), 2 * PAGES, PAGES);
    kernel.tell(&mut steering, 102);
    assert_eq!(pages(&steering), (4, 4), "it is left alone");
}

/// The kernel tells 16 pages of a fault, and maps all of a huge folio.
#[test]
fn a_huge_folio_that_is_mapped_is_touched_as_a_whole() {
    for (folio, blocks) in [(512, 512 / PAGES), (256, 16 / PAGES)] {
        let (kernel, mut steering) = steered("lru");
        steering.resize(1000, 1000, 0);
        kernel.add(file(0), 0, folio);
        kernel.fault(file(0), 32..48);
        kernel.tell(&mut steering, 1);
        assert_eq!(u64::from(steering.held()), blocks);
    }
}

/// The kernel reports a fault before it has read anything.
#[test]
fn a_huge_folio_that_comes_by_a_fault_is_touched_as_a_whole() {
    for (folio, blocks) in [(512, 512 / PAGES), (256, 1)] {
        let (kernel, mut steering) = steered("lru");
        steering.resize(1000, 1000, 0);
        kernel.fault_missing(file(0), 600, 512..512 + folio);
        kernel.tell(&mut steering, 1);
        assert_eq!(u64::from(steering.held()), blocks);
        // Later arrivals of the same pages were read ahead.
        kernel.tell(&mut steering, PROTECTED + SECOND);
        kernel.add(file(0), 2048, 512);
        kernel.tell(&mut steering, PROTECTED + SECOND);
        assert_eq!(u64::from(steering.held()), blocks);
    }
}

/// The kernel maps a present huge folio without an event, so steering looks for it; not for ever, and not without a
/// mapping.
#[test]
fn a_huge_folio_that_is_mapped_without_a_word_is_found() {
    const LOOK: u64 = 20_000_000;
    for (is_mapped, maps) in [(true, true), (false, true)] {
        let (kernel, mut steering) = steered("lru");
        steering.rest();
        steering.resize(1000, 1000, 0);
        if is_mapped {
            kernel.fault(file(0), 5000..5016);
        }
        kernel.add(file(0), 512, 512);
        kernel.tell(&mut steering, SECOND);
        let before = steering.held();
        assert_eq!(steering.next().is_some(), is_mapped, "files without mappings are not checked");
        if maps {
            kernel.map_silently(file(0), 512);
        }
        kernel.tell(&mut steering, SECOND + LOOK);
        let found = if is_mapped && maps { 512 / PAGES } else { 0 };
        assert_eq!(u64::from(steering.held() - before), found);
        assert_eq!(steering.next(), None, "it is found once");
    }
    let (kernel, mut steering) = steered("lru");
    steering.rest();
    kernel.fault(file(0), 5000..5016);
    kernel.add(file(0), 512, 512);
    for step in 0..1000 {
        kernel.tell(&mut steering, SECOND + step * LOOK);
    }
    assert_eq!(steering.next(), None, "files without mappings are left alone");
}

#[test]
fn what_does_not_leave_is_tried_again_and_then_left_to_the_kernel() {
    for is_freed in [true, false] {
        let (kernel, mut steering) = steered("fifo");
        kernel.read(file(0), 0..4, 4);
        kernel.lock(file(0), 0);
        let mut now = 0;
        for block in 0..u64::from(CAPACITY) {
            now += 1000;
            kernel.read(file(1), block * PAGES..(block + 1) * PAGES, PAGES);
            kernel.tell(&mut steering, now);
        }
        assert_eq!(kernel.pages_of(file(0)), 4);
        if is_freed {
            kernel.unlock(file(0), 0);
        }
        for _ in 0..40 {
            now += SECOND;
            kernel.tell(&mut steering, now);
        }
        assert_eq!(kernel.pages_of(file(0)), if is_freed { 0 } else { 4 });
        assert_eq!(steering.counts().left_to_kernel, u64::from(!is_freed));
        assert_eq!(steering.counts().pages_dropped, if is_freed { 4 } else { 0 }, "pages that have left");
        assert_eq!(steering.pending(), 0);
        let drops = kernel.drops_of(file(0));
        assert_eq!(drops, if is_freed { 2 } else { ATTEMPTS as usize });
    }
}

/// Once it is full this policy keeps no block that is new: each goes when its reader goes on.
#[test]
fn what_is_not_admitted_goes_when_its_reader_has_left_it() {
    let (kernel, mut steering) = steered("ulc(client=1)");
    for block in 0..u64::from(CAPACITY) {
        kernel.read(file(1), block * PAGES..(block + 1) * PAGES, PAGES);
        kernel.tell(&mut steering, block);
    }
    let full = kernel.pages();
    for block in 0..4 {
        kernel.read(file(0), block * PAGES..(block + 1) * PAGES, PAGES);
        kernel.tell(&mut steering, SECOND + block * 1000);
        assert!(!steering.holds(file(0), block * PAGES));
        assert_eq!(kernel.resident(file(0)).pop(), Some(block * PAGES..(block + 1) * PAGES));
        assert_eq!(kernel.pages_of(file(0)), PAGES);
    }
    // There is no further read: it is dropped after its time.
    kernel.tell(&mut steering, SECOND * 2 + PROTECTED);
    assert_eq!((kernel.pages_of(file(0)), kernel.pages()), (0, full));
}

#[test]
fn at_rest_nothing_is_dropped_and_what_is_in_excess_goes_when_it_begins_again() {
    let (kernel, mut steering) = steered("lru");
    steering.rest();
    for block in 0..100 {
        kernel.read(file(0), block * PAGES..(block + 1) * PAGES, PAGES);
        kernel.tell(&mut steering, 20 * block * SECOND);
    }
    assert_eq!(kernel.pages(), 100 * PAGES);
    steering.act(10_000 * SECOND);
    kernel.tell(&mut steering, 10_000 * SECOND);
    assert_eq!(kernel.pages(), u64::from(CAPACITY) * PAGES);
    assert_eq!(held(&steering), kernel.blocks(PAGES));
}

/// The kernel drops no folio of which it is asked for a part.
#[test]
fn large_folios_are_dropped_whole() {
    let (kernel, mut steering) = steered("fifo");
    kernel.add(file(0), 0, 512);
    kernel.tell(&mut steering, 1);
    steering.drop_all();
    assert_eq!(kernel.pages(), 0);
}

#[test]
fn all_of_it_is_dropped_where_that_is_asked_for_and_the_policy_still_knows_what_it_wants() {
    let (kernel, mut steering) = steered("fifo");
    (0..20).for_each(|block| kernel.read(file(block % 2), block * PAGES..(block + 1) * PAGES, PAGES));
    kernel.add(file(2), 0, 16);
    kernel.lock(file(0), 0);
    kernel.tell(&mut steering, 1);
    steering.rest();
    let before = held(&steering);
    assert_eq!((before.len(), steering.resident()), (20, 96));
    steering.drop_all();
    kernel.tell(&mut steering, 2);
    assert_eq!((kernel.pages(), steering.resident()), (4, 4), "except locked pages");
    assert_eq!((steering.counts().pages_dropped, held(&steering)), (92, before));
}

/// After events were lost, the kernel is asked for all pages: some came and went without an event.
#[test]
fn the_mirror_is_rebuilt_when_events_were_lost() {
    let (kernel, mut steering) = steered("lru");
    for block in 0..20 {
        kernel.read(file(0), block * PAGES..(block + 1) * PAGES, PAGES);
    }
    kernel.tell(&mut steering, 1);
    kernel.reclaim(file(0), 0, 4);
    for block in 0..30 {
        kernel.add(file(1), block * PAGES, PAGES);
    }
    kernel.lose();
    steering.handle(5 * SECOND, &Event::Lost(34));
    for number in 0..3 {
        steering.watch(file(number), &kernel.resident(file(number)), 5 * SECOND);
    }
    assert_eq!((steering.resident(), steering.counts().lost), (kernel.pages(), 34));
    kernel.tell(&mut steering, 5 * SECOND);
    kernel.tell(&mut steering, 10 * SECOND);
    assert!(kernel.blocks(PAGES).is_subset(&held(&steering)));
    assert_eq!(steering.held(), CAPACITY, "cached pages stay as far as they fit");
}

#[test]
fn a_file_that_is_gone_is_forgotten_and_its_number_used_again() {
    let (kernel, mut steering) = steered("lru");
    kernel.read(file(0), 0..4, 4);
    kernel.read(file(1), 0..4, 4);
    kernel.tell(&mut steering, 1);
    steering.forget(file(0));
    assert_eq!((steering.held(), steering.resident(), steering.watched().len()), (1, 4, 2));
    steering.watch(file(9), &[], 2);
    assert!(!steering.holds(file(9), 0) && steering.watched().contains(&file(9)));
    kernel.tell(&mut steering, 100 * SECOND);
    assert_eq!(kernel.pages_of(file(1)), 4);
}
