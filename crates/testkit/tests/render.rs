//! The rendering buffer cache: its statement's examples, its invariants, and what its shadows do on a renderer's
//! references.

use hotset_core::classify::{Class, Classifier, FileFacts, Rules, builtin};
use hotset_core::policy::{Args, Effects, Extra, Note, Outcome, Policy, PolicySpec, Reference, Setup, Slot};
use hotset_core::schemes::render::Render;
use hotset_testkit::harness::Case;
use hotset_testkit::replay::{renumber, replay};
use hotset_testkit::traces::samples;
use hotset_trace::{Batch, generate};

const OUTPUT: Class = 0;
const CONFIG: Class = 1;
const TEXTURE: Class = 2;

/// A cache and what it did.
struct Cache {
    render: Render,
    seen: Seen,
    hits: u64,
}

#[derive(Default)]
struct Seen {
    evicted: Vec<Slot>,
    forgotten: Vec<Slot>,
}

impl Effects for Seen {
    fn evict(&mut self, slot: Slot) {
        self.evicted.push(slot);
    }

    fn fetch(&mut self, slot: Slot, _why: Extra) {
        panic!("{slot} was read ahead");
    }

    fn forget(&mut self, slot: Slot) {
        self.forgotten.push(slot);
    }

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }

    fn note(&mut self, _note: &Note) {}
}

impl Cache {
    fn new(spec: &str, capacity: u32, slots: u32) -> Cache {
        let args = args(spec);
        let render = Render::new(&Setup::new(&args, capacity, slots, 1)).unwrap_or_else(|error| panic!("{error}"));
        Cache { render, seen: Seen::default(), hits: 0 }
    }

    fn access(&mut self, slot: Slot, class: Class) -> Outcome {
        let outcome = self.render.access(slot, Reference { class, ..Reference::default() }, &mut self.seen);
        self.hits += u64::from(outcome == Outcome::Hit);
        outcome
    }

    fn texture(&mut self, slot: Slot) -> Outcome {
        self.access(slot, TEXTURE)
    }

    fn resident(&self) -> Vec<Slot> {
        (0..10).filter(|&slot| self.render.contains(slot)).collect()
    }
}

fn args(spec: &str) -> Args {
    PolicySpec::parse(spec).unwrap_or_else(|error| panic!("{error}")).args(None)
}

/// Configuration block 0 and textures 1 to 6 once, in a cache of six blocks.
fn six_textures(spec: &str) -> Cache {
    let mut cache = Cache::new(spec, 6, 10);
    assert_eq!(cache.render.room(), [4, 1, 1]);
    assert_eq!(cache.access(0, CONFIG), Outcome::Admitted);
    for slot in 1..=5 {
        assert_eq!(cache.texture(slot), Outcome::Admitted);
    }
    assert_eq!((cache.resident(), &*cache.seen.evicted), (vec![0, 1, 2, 3, 4, 5], &[][..]));
    cache.texture(6);
    assert_eq!((cache.resident(), &*cache.seen.evicted), (vec![0, 1, 2, 3, 5, 6], &[4][..]));
    cache
}

#[test]
fn a_texture_goes_through_the_random_area_and_is_remembered_once() {
    let mut cache = six_textures("render");
    assert_eq!(cache.texture(4), Outcome::Admitted);
    assert_eq!(cache.render.room(), [4, 1, 1], "T2 remembers it, but C1 has only one block");
    assert_eq!((cache.resident(), &*cache.seen.evicted), (vec![0, 1, 2, 3, 4, 6], &[4, 5][..]));
    assert!(cache.seen.forgotten.is_empty());

    // By the published rule O2 remembers block 4 too, so if all shadows count it takes room from T1.
    for (shadow, room) in [("dedupe", [4, 1, 1]), ("literal", [3, 1, 2]), ("fixed", [3, 1, 2])] {
        let mut cache = six_textures(&format!("render(shadow={shadow}, hits=all)"));
        cache.texture(4);
        assert_eq!(cache.render.room(), room, "{shadow}");
    }

    // T2 has two blocks.
    let mut cache = six_textures("render");
    cache.texture(7);
    assert_eq!((&*cache.seen.evicted, &*cache.seen.forgotten), (&[4, 5][..], &[4][..]));
}

#[test]
fn a_hit_in_the_random_area_counts_for_the_textures_once() {
    let mut cache = six_textures("render");
    assert_eq!(cache.texture(5), Outcome::Hit);
    assert_eq!(cache.render.room(), [4, 1, 1], "skipped: C1 has only one block");

    let room_after_hits = |spec: &str| {
        let mut cache = Cache::new(spec, 30, 40);
        assert_eq!(cache.render.room(), [24, 3, 3]);
        for slot in 0..25 {
            assert_eq!(cache.texture(slot), Outcome::Admitted);
        }
        for _ in 0..3 {
            assert_eq!(cache.texture(23), Outcome::Hit, "in O1");
        }
        cache.render.room()
    };
    assert_eq!(room_after_hits("render"), [25, 2, 3]);
    assert_eq!(room_after_hits("render(step=2)"), [26, 1, 3]);
    assert_eq!(room_after_hits("render(step=3)"), [24, 3, 3]);
    assert_eq!(room_after_hits("render(min_frac=10%)"), [24, 3, 3]);
    assert_eq!(room_after_hits("render(adapt=off)"), [24, 3, 3]);
}

#[test]
fn the_first_division() {
    let room = |spec: &str, capacity: u32| Cache::new(spec, capacity, 1).render.room();
    let cases = [(1, [1, 0, 0]), (2, [1, 1, 0]), (3, [1, 1, 1]), (10, [8, 1, 1]), (1000, [885, 99, 16])];
    for (capacity, expected) in cases {
        assert_eq!(room("render", capacity), expected);
    }
    assert_eq!(room("render(random=0)", 100), [90, 10, 0]);
    assert_eq!(room("render(random=16)", 20), [3, 1, 16]);
    assert_eq!(room("render(random=100%)", 100), [1, 1, 98]);
    assert_eq!(room("render(random=4000000000, texture=0%)", 3), [1, 1, 1]);
    assert_eq!(room("render(texture=100%)", u32::MAX), [u32::MAX - 17, 1, 16]);
    assert_eq!(room("render(texture=0%)", u32::MAX), [1, u32::MAX - 17, 16]);
    let with_size = |spec: &str| {
        let spec = PolicySpec::parse(spec).unwrap();
        let args = spec.args(Some(512));
        Render::new(&Setup::new(&args, 1000, 1, 1)).unwrap().room()[2]
    };
    assert_eq!(with_size("render"), 16, "the default is in blocks");
    assert_eq!((with_size("render(random=64K)"), with_size("render(random=32K)")), (128, 64), "a given size is not");
    let sized = args("render(random=32K)");
    let error = Render::requirements(&sized, 100).unwrap_err();
    assert!(error.message.starts_with("random is given in bytes"), "{error}");
}

#[test]
fn what_was_learnt_survives_a_resize() {
    let mut cache = Cache::new("render(shadow=literal)", 1000, 3000);
    for slot in (0..1500).chain(0..1500) {
        cache.texture(slot);
    }
    let [texture, config, random] = cache.render.room();
    assert!(random > 100, "a loop takes room from T1 and gives it to O1: {random}");
    cache.render.resize(1001, &mut cache.seen);
    assert_eq!(cache.render.room(), [texture + 1, config, random]);
    cache.render.resize(2000, &mut cache.seen);
    assert_eq!(cache.render.room(), [texture + 900, config + 100, random]);
    cache.render.resize(2, &mut cache.seen);
    assert_eq!(cache.render.room(), [1, 1, 0]);
    cache.render.validate();
}

/// Keys that the tests' world makes textures, configuration or output.
fn of_class(class: Class, trace: &[u32]) -> Vec<u32> {
    trace.iter().map(|key| key * 3 + u32::from(TEXTURE - class)).collect()
}

/// Hits and victims of a cache of the tests' world.
fn run(case: Case, trace: &[u32]) -> (u64, Vec<Slot>) {
    let counts = replay(&case, trace);
    (counts.hits, counts.evicted)
}

/// Three passes over 300 configuration and 100 texture blocks hit 800 times in 1,000 frames: all but the first pass, as
/// with LRU. Rooms alone would leave 99 blocks to the configuration, and 201 hits less.
#[test]
fn a_cache_that_holds_everything_misses_once_a_block() {
    let pass: Vec<(Slot, Class)> =
        (0..300).map(|slot| (slot, CONFIG)).chain((300..400).map(|slot| (slot, TEXTURE))).collect();
    for spec in ["render", "render(weight=step)", "render(adapt=off)", "render(shadow=literal)"] {
        let mut cache = Cache::new(spec, 1000, 400);
        assert_eq!(cache.render.room()[1], 99);
        for &(slot, class) in pass.iter().cycle().take(1200) {
            cache.access(slot, class);
        }
        assert_eq!((cache.hits, cache.seen.evicted.len()), (800, 0), "{spec}");
    }
}

#[test]
fn a_block_that_left_its_area_gives_its_frame_back() {
    let mut cache = Cache::new("render(adapt=off)", 30, 100);
    assert_eq!(cache.render.room(), [24, 3, 3]);
    for slot in 0..30 {
        cache.access(slot, CONFIG);
    }
    assert_eq!((cache.render.len(), cache.seen.evicted.len()), (30, 0));
    // Block 29 is in C1, 28 was the last to leave it.
    cache.texture(50);
    assert_eq!(cache.seen.evicted, [28]);
    for slot in 51..77 {
        cache.texture(slot);
    }
    let config = |cache: &Cache| (0..50).filter(|&slot| cache.render.contains(slot)).collect::<Vec<Slot>>();
    assert_eq!((config(&cache), cache.render.len()), (vec![0, 1, 29], 30), "the space of C1");
    for slot in 30..40 {
        cache.access(slot, CONFIG);
    }
    assert_eq!((config(&cache), cache.render.len()), (vec![0, 1, 39], 30), "and no more in a full cache");
}

#[test]
fn configuration_alone_is_mru() {
    for trace in samples() {
        let trace = of_class(CONFIG, &trace);
        let case = Case::new("render", 100).with("texture", "80%").with("adapt", "off");
        assert_eq!(run(case, &trace), run(Case::new("mru", 100), &trace));
    }
}

#[test]
fn textures_without_a_random_area_are_mru() {
    let alone =
        |capacity: u32| Case::new("render", capacity).with("random", "0").with("texture", "100%").with("adapt", "off");
    for trace in samples() {
        let trace = of_class(TEXTURE, &trace);
        for capacity in [1, 2, 13, 40] {
            assert_eq!(run(alone(capacity), &trace), run(Case::new("mru", capacity), &trace));
        }
    }
    let scan: Vec<u32> = (0..2001).cycle().take(50_025).collect();
    assert_eq!(run(alone(100), &of_class(TEXTURE, &scan)).0, 2400);
}

#[test]
fn output_is_never_resident() {
    let mut cache = Cache::new("render", 20, 100);
    for trace in samples() {
        for (time, &key) in trace.iter().enumerate() {
            let (slot, class) = (key % 100, (time * time % 7 % 3) as Class);
            let before = cache.seen.evicted.len();
            let was_resident = cache.render.contains(slot);
            let outcome = cache.access(slot, class);
            cache.render.validate();
            if class == OUTPUT {
                assert_eq!(outcome, Outcome::Bypassed);
                assert!(!cache.render.contains(slot));
                assert_eq!(&cache.seen.evicted[before..], if was_resident { std::slice::from_ref(&slot) } else { &[] });
                assert_eq!(cache.seen.forgotten.last(), Some(&slot));
            }
        }
    }
}

#[test]
fn shadow_hits_move_a_step_from_area_to_area() {
    for (arguments, step) in [
        ("weight=step", 1),
        ("weight=step, step=3", 3),
        ("weight=step, shadow=literal", 1),
        ("weight=step, shadow=fixed, step=2, min_frac=5%", 2),
    ] {
        let (trace, classes) = rendered(&["launches=3", "frames=4", "ncfg=60", "ntex=300", "nrand=80", "nout=10"]);
        let mut cache = Cache::new(&format!("render({arguments})"), 200, 2000);
        let mut moved = [0; 3];
        for (&slot, &class) in trace.iter().zip(&classes) {
            let before = cache.render.room();
            cache.access(slot, class);
            let after = cache.render.room();
            assert_eq!(after.iter().sum::<u32>(), 200);
            for area in 0..3 {
                let change = i64::from(after[area]) - i64::from(before[area]);
                assert!([0, step, -step].contains(&change), "{arguments}: area {area} changed by {change}");
                moved[area] += u32::from(change > 0);
            }
        }
        cache.render.validate();
        assert!(moved[0] > 0 && moved[1] > 0, "{arguments}: textures and configuration won room {moved:?} times");
    }
}

/// The blocks and classes of a generated renderer's references.
fn rendered(arguments: &[&str]) -> (Vec<u32>, Vec<Class>) {
    let mut reader = generate::start("render", arguments).unwrap_or_else(|error| panic!("{error}"));
    let mut classifier = Classifier::new(builtin::render());
    let (mut batch, mut keys, mut classes) = (Batch::new(), Vec::new(), Vec::new());
    loop {
        reader.read(&mut batch).unwrap_or_else(|error| panic!("{error}"));
        if batch.is_empty() {
            return (renumber(keys), classes);
        }
        for request in &batch.requests {
            let path = &reader.tables().files[request.file as usize].path;
            classes.push(classifier.class(request, &FileFacts { path, ..FileFacts::default() }));
            keys.push((u64::from(request.file) << 32) | (request.offset / 4096));
        }
    }
}

/// Why `dedupe` is the default: as published, a long loop hits O2 all the time, O1 takes the room, and the cache comes
/// to be LRU. It shows most where T1 could hold nearly all of the loop: half of all blocks, pictures included, are four
/// fifths of those that are read again.
#[test]
fn the_literal_rule_turns_into_lru() {
    let (trace, classes) = rendered(&["launches=2", "frames=8", "ncfg=200", "ntex=2000", "nrand=800", "nout=80"]);
    let slots = trace.iter().max().map_or(0, |&last| last + 1);
    let capacity = slots / 2;
    let ratio = |hits: u64| hits as f64 / trace.len() as f64;
    let of = |spec: &str| {
        let mut cache = Cache::new(spec, capacity, slots);
        for (&slot, &class) in trace.iter().zip(&classes) {
            cache.access(slot, class);
        }
        ratio(cache.hits)
    };
    let [dedupe, fixed, literal, still] =
        ["render", "render(shadow=fixed)", "render(shadow=literal)", "render(adapt=off)"].map(of);
    let lru = ratio(replay(&Case::new("lru", capacity), &trace).hits);
    let all = format!("dedupe {dedupe:.3}, fixed {fixed:.3}, literal {literal:.3}, adapt=off {still:.3}, lru {lru:.3}");
    assert!(dedupe > 2.0 * literal && fixed > 2.0 * literal, "{all}");
    assert!(dedupe > still && still > 1.8 * literal && dedupe - literal > literal - lru, "{all}");
}

#[test]
fn a_users_classes_come_first() {
    let own = Rules::from_toml("[[class]]\nname = \"config\"\nfiles = [\"*.x\"]\n").unwrap();
    let view = Render::requirements(&args("render").with_rules(Some(own.clone())), 100).unwrap().view;
    assert_eq!(view.rules, Some(own), "all but configuration is texture");
    let other = Rules::from_toml("[[class]]\nname = \"inode\"\n").unwrap();
    let view = Render::requirements(&args("render").with_rules(Some(other)), 100).unwrap().view;
    assert_eq!(view.rules, Some(builtin::render()));
}
