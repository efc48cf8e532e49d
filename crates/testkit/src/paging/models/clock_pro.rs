//! CLOCK-Pro: a vector of entries that begins at the hot hand; the other hands are the pages under them.

use hotset_core::paging::Object;

use super::{Given, Model, Sight};

#[derive(Clone, Copy, PartialEq)]
struct Entry {
    page: u32,
    resident: bool,
    hot: bool,
    test: bool,
}

pub(super) struct ClockPro {
    frames: usize,
    cold_target: usize,
    /// From the hot hand on: the first is under it, the last was put in last.
    ring: Vec<Entry>,
    cold_hand: u32,
    test_hand: u32,
}

impl Model for ClockPro {
    fn new(given: &Given<'_>) -> ClockPro {
        ClockPro { frames: given.frames, cold_target: 1, ring: Vec::new(), cold_hand: 0, test_hand: 0 }
    }

    fn fault(&mut self, page: u32, _: Option<Object>, sight: &mut Sight<'_>) -> Option<u32> {
        let came_back = self.ring.iter().any(|entry| entry.page == page);
        if came_back {
            self.cold_target = (self.cold_target + 1).min((self.frames - 1).max(1));
            self.take(page);
        }
        let resident = self.ring.iter().filter(|entry| entry.resident).count();
        let victim = (resident == self.frames).then(|| self.run_cold(sight));
        sight.bits[page as usize] = false;
        self.push(Entry { page, resident: true, hot: came_back, test: !came_back });
        self.run_hot(sight);
        victim
    }

    fn free(&mut self, page: u32) {
        if self.ring.iter().any(|entry| entry.page == page) {
            self.take(page);
        }
    }
}

impl ClockPro {
    fn at(&self, page: u32) -> usize {
        self.ring.iter().position(|entry| entry.page == page).expect("a page of the ring")
    }

    fn after(&self, page: u32) -> u32 {
        self.ring[(self.at(page) + 1) % self.ring.len()].page
    }

    fn push(&mut self, entry: Entry) {
        if self.ring.is_empty() {
            (self.cold_hand, self.test_hand) = (entry.page, entry.page);
        }
        self.ring.push(entry);
    }

    fn take(&mut self, page: u32) -> Entry {
        if self.cold_hand == page {
            self.cold_hand = self.after(page);
        }
        if self.test_hand == page {
            self.test_hand = self.after(page);
        }
        self.ring.remove(self.at(page))
    }

    fn renew(&mut self, page: u32) {
        let entry = self.take(page);
        self.push(entry);
    }

    fn run_cold(&mut self, sight: &mut Sight<'_>) -> u32 {
        loop {
            let page = self.cold_hand;
            self.cold_hand = self.after(page);
            let at = self.at(page);
            let entry = self.ring[at];
            if !entry.resident || entry.hot {
                continue;
            }
            if sight.test_and_clear(page) {
                self.ring[at].hot = entry.test;
                self.ring[at].test = !entry.test;
                self.renew(page);
                if entry.test {
                    self.cold_target = (self.cold_target + 1).min((self.frames - 1).max(1));
                    self.run_hot(sight);
                }
            } else {
                if entry.test {
                    self.ring[at].resident = false;
                    while self.ring.iter().filter(|entry| !entry.resident).count() > self.frames {
                        let tested = self.test_hand;
                        self.test_hand = self.after(tested);
                        self.end_test(tested);
                    }
                } else {
                    self.take(page);
                }
                return page;
            }
        }
    }

    fn run_hot(&mut self, sight: &mut Sight<'_>) {
        while self.ring.iter().filter(|entry| entry.hot).count() > self.frames - self.cold_target {
            // The hand goes on: what was first is last.
            self.ring.rotate_left(1);
            let entry = *self.ring.last().expect("some page is hot");
            if entry.hot {
                if !sight.test_and_clear(entry.page) {
                    self.ring.last_mut().expect("the same").hot = false;
                }
            } else {
                self.end_test(entry.page);
            }
        }
    }

    fn end_test(&mut self, page: u32) {
        let at = self.at(page);
        self.ring[at].test = false;
        if !self.ring[at].resident {
            self.take(page);
            self.cold_target = (self.cold_target - 1).max(1);
        }
    }
}
