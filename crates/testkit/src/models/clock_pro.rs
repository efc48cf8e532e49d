//! CLOCK-Pro as the paper tells it: hot, cold and non-resident cold pages in one circle, three hands. The circle is
//! written as a list that begins at the hot hand; the other two are the pages they look at next.

use std::collections::{BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep, share};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hot,
    Cold,
    Gone,
}

#[derive(Clone, Copy)]
struct Page {
    key: u32,
    kind: Kind,
    used: bool,
    test: bool,
}

pub(super) struct ClockPro {
    args: Args,
    capacity: usize,
    /// From the hot hand on.
    circle: VecDeque<Page>,
    /// The page that the hand looks at next; `None`: it has passed the last page of the list.
    cold_hand: Option<u32>,
    test_hand: Option<u32>,
    /// m_c.
    target: usize,
}

impl Model for ClockPro {
    fn new(given: &Given<'_>) -> ClockPro {
        let mut model = ClockPro {
            args: given.args.clone(),
            capacity: given.capacity,
            circle: VecDeque::new(),
            cold_hand: None,
            test_hand: None,
            target: given.share("cold"),
        };
        model.shift_target(0);
        model
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        let known = self.circle.iter_mut().find(|page| page.key == key);
        match known {
            Some(page) if page.kind != Kind::Gone => {
                page.used = true;
                ModelStep::hit()
            }
            Some(_) => {
                self.remove(key);
                self.shift_target(1);
                let evicted = self.shrink_to(self.capacity - 1);
                self.enter(key, Kind::Hot, false);
                self.settle();
                ModelStep::admitted(evicted)
            }
            None => {
                let room = self.resident().len() < self.capacity && self.count(Kind::Hot) < self.capacity - self.target;
                if room && self.args.word("fill") == "hot" {
                    self.enter(key, Kind::Hot, false);
                    return ModelStep::admitted([]);
                }
                let evicted = self.shrink_to(self.capacity - 1);
                self.enter(key, Kind::Cold, true);
                ModelStep::admitted(evicted)
            }
        }
    }

    fn remove(&mut self, key: u32) {
        let next = self.after(key);
        for hand in [&mut self.cold_hand, &mut self.test_hand] {
            if *hand == Some(key) {
                *hand = next;
            }
        }
        self.circle.retain(|page| page.key != key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.shift_target(0);
        self.settle();
        let evicted = self.shrink_to(capacity);
        self.trim();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.circle.iter().filter(|page| page.kind != Kind::Gone).map(|page| page.key).collect()
    }
}

impl ClockPro {
    fn count(&self, kind: Kind) -> usize {
        self.circle.iter().filter(|page| page.kind == kind).count()
    }

    /// Changes m_c by this, within its bounds.
    fn shift_target(&mut self, by: isize) {
        let top = (self.capacity - 1).max(1);
        let least = share(&self.args, "min_cold", self.capacity).clamp(1, top);
        let most = share(&self.args, "max_cold", self.capacity).clamp(least, top);
        self.target = self.target.saturating_add_signed(by).clamp(least, most);
    }

    /// True if hands go round without waiting.
    fn turns(&self) -> bool {
        self.args.word("hands") == "turn"
    }

    /// The page behind `key` in the list, or in the circle.
    fn after(&self, key: u32) -> Option<u32> {
        let at = self.circle.iter().position(|page| page.key == key)?;
        let first = self.circle.front().filter(|page| self.turns() && page.key != key);
        self.circle.get(at + 1).or(first).map(|page| page.key)
    }

    /// The test of a page ends without a use.
    fn end_test(&mut self, page: Page) {
        if page.test && (page.kind == Kind::Gone || !self.turns()) {
            self.shift_target(-1);
        }
    }

    /// True if the hot hand may stop, which has begun with so many hot pages.
    fn hot_hand_rests(&self, hot: usize) -> bool {
        let left = self.count(Kind::Hot);
        match self.turns() {
            true => left <= self.capacity - self.target,
            false => left < hot && (left == 0 || self.circle[0].kind == Kind::Hot),
        }
    }

    /// Puts a page at the end of the list, where hands that have passed all pages see it.
    fn append(&mut self, page: Page) {
        self.circle.push_back(page);
        self.cold_hand = self.cold_hand.or(Some(page.key));
        self.test_hand = self.test_hand.or(Some(page.key));
    }

    fn enter(&mut self, key: u32, kind: Kind, test: bool) {
        self.append(Page { key, kind, used: false, test });
    }

    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.resident().len() > len {
            evicted.extend(self.step_cold_hand());
        }
        evicted
    }

    fn step_cold_hand(&mut self) -> Option<u32> {
        let key = self.cold_hand.unwrap_or(self.circle[0].key);
        self.cold_hand = self.after(key);
        let page = self.circle.iter_mut().find(|page| page.key == key).expect("hands look at pages");
        match *page {
            Page { kind: Kind::Hot | Kind::Gone, .. } => None,
            Page { used: true, test, .. } => {
                self.remove(key);
                if test {
                    self.shift_target(1);
                    self.enter(key, Kind::Hot, false);
                    self.settle();
                } else {
                    self.enter(key, Kind::Cold, true);
                }
                None
            }
            Page { test: true, .. } => {
                page.kind = Kind::Gone;
                self.trim();
                Some(key)
            }
            _ => {
                self.remove(key);
                Some(key)
            }
        }
    }

    fn settle(&mut self) {
        while self.count(Kind::Hot) > self.capacity - self.target {
            self.run_hot_hand();
        }
    }

    /// Makes one hot page cold, then goes on to the next hot one. Tests that it passes end.
    fn run_hot_hand(&mut self) {
        let hot = self.count(Kind::Hot);
        while !self.hot_hand_rests(hot) {
            let page = self.circle[0];
            self.end_test(page);
            if page.kind == Kind::Gone {
                self.remove(page.key);
                continue;
            }
            self.circle.pop_front();
            match page.kind {
                Kind::Hot if !page.used => self.append(Page { kind: Kind::Cold, ..page }),
                Kind::Hot => self.append(Page { used: false, ..page }),
                _ => self.append(Page { test: false, ..page }),
            }
        }
    }

    /// Moves the test hand until there are no more non-resident pages than allowed.
    fn trim(&mut self) {
        let most = self.args.multiple("ghosts", self.capacity as u32).map_or(usize::MAX, |most| most as usize);
        while self.count(Kind::Gone) > most {
            let key = self.test_hand.unwrap_or(self.circle[0].key);
            self.test_hand = self.after(key);
            let page = self.circle.iter_mut().find(|page| page.key == key).expect("hands look at pages");
            let before = *page;
            page.test = false;
            if before.kind == Kind::Gone {
                self.remove(key);
            }
            self.end_test(before);
        }
    }
}
