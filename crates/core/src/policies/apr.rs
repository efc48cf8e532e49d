//! APR: CLOCK, unless the object that the victim belongs to is used in loops; then LIFO+ on that object.
//!
//! Idea: whether a program loops over its memory differs from object to object and changes with time, and an operating
//! system sees neither, only faults and access bits. So both policies always choose. CLOCK chooses a page; LIFO+
//! chooses one on the stack of that page's object. The policy with the better score decides. A policy gains when the
//! other comes to choose, later, a page that it had chosen and that was not used since; it loses when such a page is
//! used again. What happened long ago counts less. Pages that left stay on the list of the policy that would have kept
//! them as ghosts, so that it can still come to choose them.
//!
//! Paper: Lee, Seoul National University M.S. thesis 2020.
//!
//! Provenance: before scores were exact, an independent prototype of the same statement faulted as often within 3.6 %
//! on four programs; it was not run again. The figures of the thesis are tests, and the slow model counts scores with
//! integers of any length.
//!
//! Deviations and readings: an object is an allocation of at least `threshold` bytes; all other pages share one default
//! object. On traces of requests each file is an object, whatever its size, and a hit sets the bit of its block. Bits
//! exist twice in software: a reader of the machine's bit sets both copies, and each list clears its own, so neither
//! sees the other's scans. The hand goes on behind the page that CLOCK chooses, also if that stays. A policy passes
//! over pages that it has chosen already. If CLOCK thus passes over all, its records of resident pages are dropped; if
//! LIFO+ does, it joins the choice of CLOCK. If both choose the same page, neither gains. A ghost that is chosen is
//! dropped, with credit to the other policy; if the choice was the winner's, another replacement begins. The age of a
//! choice is counted in replacements of its object, after the decay of the replacement at hand, which gives the figure
//! of the paper to the last digit. The order of scores is exact at any age and decay: judgements of the latest 64
//! replacements are bits, and the difference of older ones is a sum that does not fade to zero. It is rounded where
//! that sum is, to 53 bits.
//!
//! Cost: a hit sets a bit; about twice the cost of CLOCK a fault, plus the pages that are passed over. Memory: 60 bytes
//! a page, 104 bytes an object that was ever seen.
//!
//! When not to use it: objects whose pages are used at random, where its trials cost a few faults.

mod memory;
mod scores;

use super::lifo_plus::INITIAL;
use crate::parts::prefetch::prefetch;
use crate::policy::{
    Args, Effects, Hits, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;
use memory::{DEFAULT, Memory};
use scores::{Record, Side};

/// The APR policy.
#[derive(Debug)]
pub struct Apr {
    capacity: u32,
    args: Args,
    counts_fault: bool,
    threshold: u64,
    globals: bool,
    most_ghosts: u32,
    /// Who decides, if that is fixed.
    forced: Option<Side>,
    memory: Memory,
}

impl Policy for Apr {
    const INFO: Info = Info {
        name: "apr",
        family: "paging",
        summary: "CLOCK or, for objects used in loops, LIFO+, by the errors of each lately",
        params: &[
            Param {
                key: "decay",
                kind: ParamKind::Real { min: 0.000_001, max: 0.999_999 },
                default: "0.7",
                doc: "factor that a score is multiplied by at each replacement of its object",
            },
            Param {
                key: "threshold",
                kind: ParamKind::Bytes,
                default: "40K",
                doc: "least size of an allocation that counts as a separate object",
            },
            Param {
                key: "ghosts",
                kind: ParamKind::Share,
                default: "100%",
                doc: "pages that are remembered after they left, at most as many as fit",
            },
            Param {
                key: "use",
                kind: ParamKind::Word(&["both", "clock", "lifo+"]),
                default: "both",
                doc: "which policy decides; a single one is for comparison",
            },
            Param {
                key: "globals",
                kind: ParamKind::Switch,
                default: "off",
                doc: "whether variables of the program can be objects, too",
            },
            INITIAL,
        ],
        needs: Needs { object: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let args = setup.args;
        Ok(Apr {
            capacity: setup.capacity,
            args: args.clone(),
            counts_fault: args.count("initial") == 1,
            threshold: args.bytes("threshold"),
            globals: args.switch("globals"),
            most_ghosts: most_ghosts(args, setup.capacity)?,
            forced: match args.word("use") {
                "clock" => Some(Side::Clock),
                "lifo+" => Some(Side::LifoPlus),
                _ => None,
            },
            memory: Memory::new(setup.slots, args.real("decay")),
        })
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let ghosts = most_ghosts(args, capacity)?;
        let plain = Requirements::of(capacity).with_ghosts(Some(ghosts));
        Ok(Requirements { hits: Hits::Bit, ..plain })
    }

    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let known = self.memory.page(slot);
        if known.resident {
            known.accessed = true;
            return Outcome::Hit;
        }
        if known.is_ghost() {
            self.memory.punish(slot);
            self.memory.drop_ghost(slot);
        }
        if self.len() == self.capacity {
            self.make_room(fx);
        }
        let object = self.object_of(reference);
        self.memory.enter(slot, object, self.counts_fault, fx);
        Outcome::Admitted
    }

    fn prefetch(&self, slot: Slot) {
        prefetch(&self.memory.pages, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.memory.free(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.most_ghosts = most_ghosts(&self.args, capacity).expect("new accepted the same arguments");
        while self.len() > capacity {
            self.make_room(fx);
        }
        self.memory.trim_ghosts(self.most_ghosts, fx);
    }

    fn grow(&mut self, slots: u32) {
        self.memory.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.memory.pages[slot as usize].resident
    }

    fn len(&self) -> u32 {
        self.memory.resident
    }

    fn validate(&self) {
        self.memory.validate();
        assert!(self.len() <= self.capacity);
        assert!(self.memory.ghosts.len() <= self.most_ghosts);
    }
}

fn most_ghosts(args: &Args, capacity: u32) -> Result<u32, SpecError> {
    Ok(args.share("ghosts", capacity)?.min(capacity))
}

impl Apr {
    fn object_of(&mut self, reference: Reference) -> u32 {
        let counts = |bytes: u64, is_global: bool| bytes >= self.threshold && (self.globals || !is_global);
        match reference.object {
            Some(object) if counts(object.bytes, object.is_global) => self.memory.object(object.id),
            _ => DEFAULT,
        }
    }

    /// Replacements until one frees a frame.
    fn make_room(&mut self, fx: &mut impl Effects) {
        loop {
            let by_clock = self.choose_by_clock(fx);
            let by_lifo_plus = self.choose_by_lifo_plus(by_clock, fx);
            if self.replace(by_clock, by_lifo_plus, fx).is_some() {
                return;
            }
        }
    }

    /// CLOCK's choice: the first page from the hand on that was not accessed and that it has not chosen already. The
    /// hand goes on behind it, whether or not it leaves.
    fn choose_by_clock(&mut self, fx: &mut impl Effects) -> Slot {
        loop {
            // Two rounds clear all bits; a third one would change nothing.
            for _ in 0..2 * u64::from(self.memory.ring.len()) {
                let page = self.memory.clock_hand();
                if !self.memory.pages[page as usize].resident {
                    return page;
                }
                self.memory.harvest(page, fx);
                self.memory.ring.renew_oldest(&self.memory.ring_links);
                let known = self.memory.page(page);
                if !known.is_chosen_by(Side::Clock) && !std::mem::take(&mut known.global_bit) {
                    return page;
                }
            }
            self.forget_choices_of_clock();
        }
    }

    fn forget_choices_of_clock(&mut self) {
        for known in self.memory.pages.iter_mut().filter(|known| known.resident && known.is_chosen_by(Side::Clock)) {
            known.record = None;
        }
    }

    /// The choice of LIFO+ on the object of CLOCK's choice, which it joins if it has chosen every page already.
    fn choose_by_lifo_plus(&mut self, by_clock: Slot, fx: &mut impl Effects) -> Slot {
        self.memory.scan_stack(by_clock, fx).unwrap_or(by_clock)
    }

    /// One replacement: settles what the choices say of earlier ones, and evicts the winner's. `None` if that was a
    /// ghost.
    fn replace(&mut self, by_clock: Slot, by_lifo_plus: Slot, fx: &mut impl Effects) -> Option<Slot> {
        let (decay, forced) = (self.memory.decay, self.forced);
        let scores = self.memory.scores(by_clock);
        let winner = forced.unwrap_or_else(|| scores.leader(decay));
        scores.begin();
        let (victim, spared) = match winner {
            Side::Clock => (by_clock, by_lifo_plus),
            Side::LifoPlus => (by_lifo_plus, by_clock),
        };
        if by_clock == by_lifo_plus {
            self.memory.page(by_clock).record = None;
        } else {
            self.settle(Side::Clock, by_clock);
            self.settle(Side::LifoPlus, by_lifo_plus);
            if self.memory.pages[spared as usize].is_ghost() {
                self.memory.forget(spared, fx);
            }
        }
        let known = self.memory.pages[victim as usize];
        if known.is_ghost() {
            self.memory.forget(victim, fx);
            return None;
        }
        let keep = known.record.map(|record| record.by.other());
        self.memory.evict(victim, keep, self.most_ghosts, fx);
        Some(victim)
    }

    /// `side` chooses `page`: the other policy is credited if it had chosen it before, otherwise the choice is
    /// recorded.
    fn settle(&mut self, side: Side, page: Slot) {
        let decay = self.memory.decay;
        match self.memory.page(page).record.take() {
            Some(record) => self.memory.scores(page).credit(record, decay),
            None => {
                let at = self.memory.scores(page).replacements;
                self.memory.page(page).record = Some(Record { by: side, at });
            }
        }
    }
}

#[cfg(test)]
mod tests;
