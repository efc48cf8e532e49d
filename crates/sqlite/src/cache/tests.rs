//! The contract of SQLite's page cache, as its documentation of `sqlite3_pcache_methods2` has it.

use std::collections::HashMap;

use hotset_core::random::Rng;

use super::*;

const PAGE: usize = 64;
const EXTRA: usize = 12;
const POLICIES: [&str; 9] = ["lru", "lirs", "s3-fifo", "arc", "auto", "clock", "w-tinylfu", "ulc", "seq"];

fn cache(policy: &str, capacity: u32, may_evict: bool) -> PageCache {
    let spec = policy_named(policy).unwrap();
    let mut cache = PageCache::new(&spec, PAGE, EXTRA, may_evict).unwrap();
    cache.set_capacity(capacity);
    cache
}

/// Returns SQLite's view of a page: its buffer and its extra bytes.
fn bytes(page: PageAt) -> (&'static mut [u8], &'static mut [u8]) {
    // SAFETY: SQLite sees these two pointers. The tests use the slices only while the page is in the cache.
    unsafe {
        let fields = page.cast::<[*mut u8; 2]>().read();
        (std::slice::from_raw_parts_mut(fields[0], PAGE), std::slice::from_raw_parts_mut(fields[1], EXTRA))
    }
}

/// What SQLite may rely on: pinned pages with their content, and that pages were not given back.
#[derive(Default)]
struct Model {
    /// Pages that were fetched and neither discarded nor truncated: content, and true while pinned.
    pages: HashMap<u32, (u8, bool)>,
}

impl Model {
    fn pinned(&self) -> Vec<u32> {
        let mut pinned: Vec<u32> =
            self.pages.iter().filter(|(_, (_, pinned))| *pinned).map(|(&number, _)| number).collect();
        pinned.sort_unstable();
        pinned
    }

    /// Checks the cache against this. Unpinned pages never exceed the capacity.
    fn check(&self, cache: &mut PageCache) {
        let pinned = self.pinned();
        assert_eq!(cache.frames.pinned as usize, pinned.len());
        for number in &pinned {
            let page = cache.frames.find(*number).expect("a pinned page stays");
            assert!(bytes(page).0.iter().all(|&byte| byte == self.pages[number].0), "page {number}");
        }
        let pages = cache.frames.pages();
        assert_eq!(pages.len() as u32, cache.frames.len);
        let orphans = pages.iter().filter(|&&page| cache.frames.page(page).is_orphan).count();
        assert_eq!(orphans as u32, cache.frames.orphans);
        let len = cache.frames.len;
        let is_within = len <= cache.capacity.max(cache.frames.pinned);
        if let Some(policed) = &cache.policed {
            let is_held =
                cache.frames.pinned + policed.least > cache.capacity && len <= cache.frames.pinned + policed.least;
            assert!(is_within || is_held, "{len} pages of {}", cache.capacity);
            policed.policy.validate();
            for &page in &pages {
                let fields = cache.frames.page(page);
                assert!(policed.policy.contains(fields.slot) != fields.is_orphan, "the policy has it, or it leaves");
                assert!(fields.is_pinned || !fields.is_orphan, "what the policy evicts leaves when unpinned");
            }
        }
    }
}

/// Fetches, unpins, renumbers, truncates and resizes at random.
fn exercise(policy: &str, seed: u64, may_evict: bool) {
    let mut cache = cache(policy, 20, may_evict);
    let mut model = Model::default();
    let mut random = Rng::new(seed);
    let mut content = 0u8;
    for _ in 0..6000 {
        let number = 1 + random.below(60);
        let pinned = model.pinned();
        let one = pinned.get(random.below(pinned.len().max(1) as u32) as usize).copied();
        match (random.below(40), one) {
            (0..20, _) => {
                let create = [Create::No, Create::IfEasy, Create::Always][random.below(3) as usize];
                let is_known = cache.frames.find(number).is_some();
                let page = cache.fetch(number, create);
                assert!(page.is_some() || create != Create::Always, "memory is there");
                assert!(page.is_some() || !is_known);
                assert!(is_known || create != Create::No || page.is_none());
                let Some(page) = page else { continue };
                let (buffer, extra) = bytes(page);
                if is_known {
                    assert!(buffer.iter().all(|&byte| byte == model.pages[&number].0), "page {number}");
                    assert!(extra.iter().all(|&byte| byte == model.pages[&number].0), "extra of {number}");
                } else {
                    assert!(extra.iter().all(|&byte| byte == 0), "extra bytes of a new page are 0");
                    content = content.wrapping_add(1).max(1);
                    buffer.fill(content);
                    extra.fill(content);
                    model.pages.insert(number, (content, true));
                }
                model.pages.get_mut(&number).unwrap().1 = true;
            }
            (20..36, Some(one)) => {
                let discard = random.below(8) == 0;
                let page = cache.frames.find(one).unwrap();
                cache.unpin(page, discard);
                model.pages.get_mut(&one).unwrap().1 = false;
                assert!(!discard || cache.frames.find(one).is_none());
            }
            // SQLite renumbers to a page that it does not use.
            (36, Some(one)) if !pinned.contains(&number) => {
                let page = cache.frames.find(one).unwrap();
                cache.rekey(page, number);
                let moved = model.pages.remove(&one).unwrap();
                model.pages.insert(number, moved);
                assert_eq!(cache.frames.find(number), Some(page));
                assert_eq!(cache.frames.find(one), None);
            }
            (37, _) if random.below(4) == 0 => {
                cache.truncate(number);
                model.pages.retain(|&other, _| other < number);
                assert!(cache.frames.slots.slots().all(|slot| cache.frames.slots.address(slot) < number.into()));
            }
            (38, _) => cache.set_capacity([0, 1, 7, 20, 35][random.below(5) as usize]),
            (39, _) if random.below(10) == 0 => {
                cache.shrink();
                assert!(!may_evict || cache.frames.len == cache.frames.pinned);
            }
            _ => {}
        }
        model.check(&mut cache);
        if !may_evict {
            assert_eq!(
                cache.frames.len as usize,
                model.pages.keys().filter(|&&n| cache.frames.find(n).is_some()).count()
            );
        }
    }
}

#[test]
fn pinned_pages_stay_and_others_have_their_content() {
    for policy in POLICIES {
        for seed in 0..6 {
            exercise(policy, seed, true);
        }
    }
    (0..6).for_each(|seed| exercise("lru", seed, false));
}

#[test]
fn an_in_memory_database_loses_no_page() {
    let mut cache = cache("lru", 5, false);
    for number in 1..=1000 {
        let page = cache.fetch(number, Create::IfEasy).expect("pins never fill such a cache");
        bytes(page).0.fill(number as u8);
        cache.unpin(page, false);
    }
    cache.shrink();
    for number in 1..=1000 {
        let page = cache.fetch(number, Create::No).expect("it cannot be read again");
        assert_eq!(bytes(page).0[0], number as u8);
    }
}

#[test]
fn pins_make_sqlite_clean_pages_before_it_gets_more() {
    let mut cache = cache("lirs", 20, true);
    let pages: Vec<_> = (1..=18).map(|number| cache.fetch(number, Create::IfEasy).unwrap()).collect();
    assert_eq!(cache.fetch(19, Create::IfEasy), None);
    assert!(cache.fetch(19, Create::Always).is_some());
    assert!(cache.fetch(3, Create::IfEasy).is_some(), "it is there");
    cache.unpin(pages[0], false);
    cache.unpin(pages[1], false);
    assert!(cache.fetch(20, Create::IfEasy).is_some());
}

#[test]
fn without_capacity_only_pages_in_use_stay() {
    let mut cache = cache("s3-fifo", 0, true);
    for number in 1..=3 {
        let page = cache.fetch(number, Create::Always).unwrap();
        assert_eq!(cache.frames.len, 1);
        cache.unpin(page, false);
        assert_eq!(cache.frames.len, 0);
    }
    let page = cache.fetch(1, Create::Always).unwrap();
    cache.set_capacity(10);
    cache.unpin(page, false);
    assert_eq!(cache.frames.len, 1);
    cache.set_capacity(0);
    assert_eq!(cache.frames.len, 0);
}

/// The pages in the cache are those of the policy over the same references.
#[test]
fn unpinned_pages_leave_in_the_order_of_the_policy() {
    let mut cache = cache("lru", 3, true);
    let mut touch = |number, create| cache.fetch(number, create).map(|page| cache.unpin(page, false)).is_some();
    for number in [1, 2, 3, 1, 4] {
        assert!(touch(number, Create::IfEasy));
    }
    let there: Vec<u32> = (1..=4).filter(|&number| touch(number, Create::No)).collect();
    assert_eq!(there, [1, 3, 4]);
}

#[test]
fn a_cache_without_its_policy_serves_pages() {
    let mut cache = cache("arc", 10, true);
    let pages: Vec<_> = (1..=8).map(|number| cache.fetch(number, Create::Always).unwrap()).collect();
    cache.unpin(pages[0], false);
    cache.drop_policy();
    assert_eq!(cache.fetch(1, Create::No), None, "it was not in use");
    bytes(pages[1]).0.fill(9);
    assert_eq!(cache.fetch(2, Create::Always), Some(pages[1]));
    cache.rekey(pages[1], 30);
    assert!(bytes(cache.fetch(30, Create::No).unwrap()).0.iter().all(|&byte| byte == 9));
    pages[1..].iter().for_each(|&page| cache.unpin(page, false));
    assert_eq!((cache.frames.len, cache.frames.pinned), (0, 0));
}
