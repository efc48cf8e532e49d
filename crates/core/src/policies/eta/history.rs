//! When pages were used, as far as bits tell it, and when they will be.

use std::collections::HashMap;

use crate::parts::large;
use crate::policy::Slot;

/// Uses at most so many epochs apart are one; who was used in as many of the last ones is in use.
pub(super) const IN_USE: u32 = 2;

/// The weight of the newest gap in the mean of its object.
const NEWS: f32 = 0.02;

/// In place of an object: the page is not known.
const UNKNOWN: u32 = u32::MAX;

/// The object of all pages that belong to none large enough.
const DEFAULT: u32 = 0;

/// The known facts of a page, resident or not. 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Time of its last use.
    last: u32,
    /// Time between its last two separate uses; 0 if there were fewer.
    gap: u32,
    /// Epoch of its last use.
    epoch: u32,
    /// Index of its object.
    object: u32,
}

const NOBODY: Known = Known { last: 0, gap: 0, epoch: 0, object: UNKNOWN };

/// The uses of all pages. Time counts separate uses; it and epochs may wrap.
#[derive(Debug)]
pub(super) struct History {
    pub(super) pages: Vec<Known>,
    now: u32,
    epoch: u32,
    /// The mean gap of each object; 0 while there is none.
    means: Vec<f32>,
    /// Index in `means` by an object's number.
    numbers: HashMap<u32, u32>,
}

impl History {
    pub(super) fn new(slots: u32) -> History {
        let pages = large::filled(NOBODY, slots as usize);
        History { pages, now: 0, epoch: 1, means: vec![0.0], numbers: HashMap::new() }
    }

    pub(super) fn grow(&mut self, slots: u32) {
        self.pages.resize(self.pages.len().max(slots as usize), NOBODY);
    }

    #[inline(always)]
    pub(super) fn is_known(&self, page: Slot) -> bool {
        self.pages[page as usize].object != UNKNOWN
    }

    /// `page` faults; it belongs to the object with this number.
    pub(super) fn fault(&mut self, page: Slot, object: Option<u32>) {
        let object = object.map_or(DEFAULT, |number| self.index(number));
        if self.is_known(page) {
            self.pages[page as usize].object = object;
            self.stamp(page);
        } else {
            self.now = self.now.wrapping_add(1);
            self.pages[page as usize] = Known { last: self.now, gap: 0, epoch: self.epoch, object };
        }
    }

    fn index(&mut self, number: u32) -> u32 {
        *self.numbers.entry(number).or_insert_with(|| {
            self.means.push(0.0);
            self.means.len() as u32 - 1
        })
    }

    /// `page`, which is known, is used.
    #[inline(always)]
    pub(super) fn stamp(&mut self, page: Slot) {
        let known = &mut self.pages[page as usize];
        if self.epoch.wrapping_sub(known.epoch) > IN_USE {
            known.gap = self.now.wrapping_sub(known.last).max(1);
            self.now = self.now.wrapping_add(1);
            let (mean, gap) = (&mut self.means[known.object as usize], known.gap as f32);
            *mean = if *mean == 0.0 { gap } else { (1.0 - NEWS) * *mean + NEWS * gap };
        }
        (known.last, known.epoch) = (self.now, self.epoch);
    }

    pub(super) fn forget(&mut self, page: Slot) {
        self.pages[page as usize] = NOBODY;
    }

    pub(super) fn begin_epoch(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Epochs since the last use of `page`.
    #[inline(always)]
    pub(super) fn epochs_idle(&self, page: Slot) -> u32 {
        self.epoch.wrapping_sub(self.pages[page as usize].epoch)
    }

    /// Time since the last use of `page`.
    #[inline(always)]
    pub(super) fn age(&self, page: Slot) -> u32 {
        self.now.wrapping_sub(self.pages[page as usize].last)
    }

    /// The distance of the predicted use of `page` from now, ahead or overdue. Never negative.
    #[inline(always)]
    pub(super) fn distance(&self, page: Slot) -> f32 {
        let (known, age) = (self.pages[page as usize], self.age(page));
        if known.gap != 0 {
            return known.gap.abs_diff(age) as f32;
        }
        (self.means[known.object as usize] - age as f32).abs()
    }
}
