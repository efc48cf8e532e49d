//! APR: CLOCK, unless the object that the victim belongs to is used in loops; then LIFO+ on that object.
//!
//! Idea: whether a program loops over its memory differs from object to object and changes with time, and an operating system sees neither,
//! only faults and access bits. So both policies always choose. CLOCK chooses a page; LIFO+ chooses one on the stack of that
//! page's object. The policy with the better score decides. A policy gains when the other comes to choose, later, a page that it had chosen
//! and that was not used since; it loses when such a page is used again. What happened long ago counts less. Pages that left stay on the list of
//! the policy that would have kept them as ghosts, so that it can still come to choose them.
//!
//! Paper: Lee, Seoul National University M.S. thesis 2020.
//!
//! Deviations and readings: an object is an allocation of at least `threshold` bytes; all other pages share one default object. Bits exist
//! twice in software: whoever reads the machine's bit sets both copies, and each list clears its own, so neither sees the other's scans. The hand
//! goes on behind the page that CLOCK chooses, also if that stays. A policy passes over pages that it has chosen already. If CLOCK thus passes over all, its records of resident pages are dropped; if LIFO+ does, it joins the choice of
//! CLOCK. Where both choose the same page nobody gains. A ghost that is chosen is dropped, with credit to the other policy; if the
//! choice was the winner's, another replacement begins. The age of a choice is counted in replacements of its object, after the
//! decay of the replacement at hand, which gives the figure of the paper to the last digit.
//!
//! Cost: about twice that of CLOCK a fault, plus the pages that are passed over. Memory: 56 bytes a page, 56 bytes an object.
//!
//! When not to use it: objects whose pages are used at random, where its trials cost a few faults.

mod memory;
mod scores;

use super::{INITIAL, PLAIN};
use crate::paging::{Fault, Machine, Page, PagingPolicy, Setup};
use crate::policy::{Info, Param, ParamKind};
use crate::spec::SpecError;
use memory::{DEFAULT, Memory};
use scores::{Record, Side};

/// The APR policy.
#[derive(Debug)]
pub struct Apr {
    frames: u32,
    counts_fault: bool,
    threshold: u64,
    globals: bool,
    most_ghosts: u32,
    /// Who decides, if that is fixed.
    forced: Option<Side>,
    memory: Memory,
}

impl PagingPolicy for Apr {
    const INFO: Info = Info {
        name: "apr",
        summary: "CLOCK or, for objects used in loops, LIFO+, by the errors of each lately",
        params: &[
            Param {
                key: "decay",
                kind: ParamKind::Real { min: 0.0, max: 0.999_999 },
                default: "0.7",
                doc: "what a score keeps from one replacement of its object to the next",
            },
            Param {
                key: "threshold",
                kind: ParamKind::Bytes,
                default: "40K",
                doc: "least size of an allocation that is an object of its own",
            },
            Param {
                key: "ghosts",
                kind: ParamKind::Share,
                default: "100%",
                doc: "pages that are remembered after they left, at most as many as there are frames",
            },
            Param {
                key: "use",
                kind: ParamKind::Word(&["both", "clock", "lifo+"]),
                default: "both",
                doc: "which policy decides; one alone is for comparison",
            },
            Param {
                key: "globals",
                kind: ParamKind::Switch,
                default: "off",
                doc: "whether variables of the program can be objects, too",
            },
            INITIAL,
        ],
        ..PLAIN
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let args = setup.args;
        Ok(Apr {
            frames: setup.frames,
            counts_fault: args.count("initial") == 1,
            threshold: args.bytes("threshold"),
            globals: args.switch("globals"),
            most_ghosts: args.share("ghosts", setup.frames)?.min(setup.frames),
            forced: match args.word("use") {
                "clock" => Some(Side::Clock),
                "lifo+" => Some(Side::LifoPlus),
                _ => None,
            },
            memory: Memory::new(setup.pages(), args.real("decay")),
        })
    }

    fn fault(&mut self, fault: Fault, machine: &mut impl Machine) -> Option<Page> {
        if self.memory.pages[fault.page as usize].is_ghost() {
            self.memory.punish(fault.page);
            self.memory.forget(fault.page);
        }
        let victim = if self.memory.resident == self.frames { Some(self.make_room(machine)) } else { None };
        if !self.counts_fault {
            machine.test_and_clear(fault.page);
        }
        let object = self.object_of(fault);
        self.memory.enter(fault.page, object, machine);
        victim
    }

    fn free(&mut self, page: Page) {
        self.memory.free(page);
    }

    fn contains(&self, page: Page) -> bool {
        self.memory.pages[page as usize].resident
    }

    fn len(&self) -> u32 {
        self.memory.resident
    }

    fn validate(&self) {
        self.memory.validate();
        assert!(self.len() <= self.frames);
        assert!(self.memory.ghosts.len() <= self.most_ghosts);
    }
}

impl Apr {
    fn object_of(&mut self, fault: Fault) -> u32 {
        let counts = |bytes: u64, is_global: bool| bytes >= self.threshold && (self.globals || !is_global);
        match fault.object {
            Some(object) if counts(object.bytes, object.is_global) => self.memory.object(object.id),
            _ => DEFAULT,
        }
    }

    /// Replacements until one frees a frame.
    fn make_room(&mut self, machine: &mut impl Machine) -> Page {
        loop {
            let by_clock = self.choose_by_clock(machine);
            let by_lifo_plus = self.choose_by_lifo_plus(by_clock, machine);
            if let Some(victim) = self.replace(by_clock, by_lifo_plus) {
                return victim;
            }
        }
    }

    /// CLOCK's choice: the first page from the hand on that was not accessed and that it has not chosen already. The hand goes on behind
    /// it, whether or not it leaves.
    fn choose_by_clock(&mut self, machine: &mut impl Machine) -> Page {
        loop {
            // Two rounds clear all bits; a third one would change nothing.
            for _ in 0..2 * u64::from(self.memory.ring.len()) {
                let page = self.memory.ring.oldest().expect("memory is full, so pages are in the ring");
                if !self.memory.pages[page as usize].resident {
                    return page;
                }
                self.memory.harvest(page, machine);
                self.memory.ring.renew(&mut self.memory.ring_links, page);
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
    fn choose_by_lifo_plus(&mut self, by_clock: Page, machine: &mut impl Machine) -> Page {
        let object = self.memory.pages[by_clock as usize].object as usize;
        // The scan moves the stack's pointer only; what it looks at are the pages.
        let mut stack = std::mem::take(&mut self.memory.objects[object].stack);
        let choice = {
            let memory = &mut self.memory;
            let links = std::mem::replace(&mut memory.stack_links, crate::paging::Links::new(0));
            let choice = stack.scan(&links, |page| {
                if memory.pages[page as usize].resident {
                    memory.harvest(page, machine);
                }
                let known = memory.page(page);
                !std::mem::take(&mut known.local_bit) && !known.is_chosen_by(Side::LifoPlus)
            });
            memory.stack_links = links;
            choice
        };
        self.memory.objects[object].stack = stack;
        choice.unwrap_or(by_clock)
    }

    /// One replacement: settles what the choices say of earlier ones, and evicts the winner's. `None` if that was a ghost.
    fn replace(&mut self, by_clock: Page, by_lifo_plus: Page) -> Option<Page> {
        let (decay, forced) = (self.memory.decay, self.forced);
        let scores = self.memory.scores(by_clock);
        let winner = forced.unwrap_or(scores.leader());
        scores.begin(decay);
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
                self.memory.forget(spared);
            }
        }
        let known = self.memory.pages[victim as usize];
        if known.is_ghost() {
            self.memory.forget(victim);
            return None;
        }
        let keep = known.record.map(|record| record.by.other());
        self.memory.evict(victim, keep, self.most_ghosts);
        Some(victim)
    }

    /// `side` chooses `page`: the other policy is credited if it had chosen it before, otherwise the choice is recorded.
    fn settle(&mut self, side: Side, page: Page) {
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
