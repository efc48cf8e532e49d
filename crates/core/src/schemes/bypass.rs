//! bypass(P, CLASS): any policy, but blocks of one class are not kept.
//!
//! Idea: what is written once and not read again only displaces what is. References of the class go past the cache.
//!
//! Paper: the comparison "LRU + bypass" of Shin, Cho, Bahn, "A rendering buffer cache", 2020, generalised to any policy
//! and class.
//!
//! Deviations and readings: a block that came in before it was of the class (a file that is read first and written
//! later) is served from the cache, so that a reference to a resident block is a hit whatever its class. A bypassed
//! reference is a miss.
//!
//! Cost: that of P, a virtual call and two bits. Memory: that of P and one bit a slot.
//!
//! When not to use it: where blocks of the class are read back soon: the kernel or the application then reads them from
//! storage.

use crate::classify::{Class, Rules};
use crate::policy::{Args, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::schemes::filtered::Filtered;
use crate::schemes::plain_view;
use crate::spec::SpecError;
use crate::view::View;

/// The scheme.
pub struct Bypass {
    inner: Filtered,
    class: Class,
}

impl Policy for Bypass {
    const INFO: Info = Info {
        name: "bypass",
        aliases: &[],
        family: "composed",
        summary: "any policy, but blocks of one class are not kept",
        params: &[
            Param {
                key: "policy",
                kind: ParamKind::Policy,
                default: "lru",
                doc: "keeps the blocks of all other classes",
            },
            Param {
                key: "class",
                kind: ParamKind::Class,
                default: "output",
                doc: "the class that goes past: one of --classes, or output, config, texture, inode, directory, large, executable, datafile",
            },
        ],
        offline: false,
        needs: Needs::EVERYTHING,
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let (_, class) = class(setup.args)?;
        Ok(Bypass { inner: Filtered::new(setup)?, class })
    }

    fn view(args: &Args, capacity: u32) -> Result<View, SpecError> {
        plain_view("bypass", args.policy("policy"), args, capacity)?;
        Ok(View { rules: Some(class(args)?.0), ..View::default() })
    }

    fn identities(args: &Args, capacity: u32) -> u64 {
        args.policy("policy").identities(capacity, args)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.inner.access(slot, reference, reference.class == self.class, fx)
    }

    fn prefetch(&self, slot: Slot) {
        self.inner.policy.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.inner.remove(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.inner.resize(capacity, fx);
    }

    fn grow(&mut self, slots: u32) {
        self.inner.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.inner.policy.contains(slot)
    }

    fn len(&self) -> u32 {
        self.inner.policy.len()
    }

    fn validate(&self) {
        self.inner.validate();
    }
}

/// The class that goes past, with the rules that tell it.
fn class(args: &Args) -> Result<(Rules, Class), SpecError> {
    let name = args.class("class");
    let rules = args.rules_knowing(name)?;
    let class = rules.class(name).expect("the rules know it");
    Ok((rules, class))
}
