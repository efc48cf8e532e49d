//! bypass(P, CLASS): any policy, but blocks of one class are not kept.
//!
//! Idea: data that is written once and not read again only displaces other data. References of the class go past the
//! cache.
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

use super::filtered::{Filter, Filtered};
use crate::classify::{Class, Rules};
use crate::policy::{Args, Info, Needs, Param, ParamKind, Reference};
use crate::spec::SpecError;

/// The scheme.
pub type Bypass = Filtered<ByClass>;

/// Lets blocks of a class go past.
pub struct ByClass {
    class: Class,
}

impl Filter for ByClass {
    const INFO: Info = Info {
        name: "bypass",
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
                doc: "the class that goes past: one of the classes given, or output, config, texture, inode, directory, large, executable, datafile",
            },
        ],
        needs: Needs::EVERYTHING,
        ..Info::EMPTY
    };

    fn new(args: &Args) -> Result<ByClass, SpecError> {
        Ok(ByClass { class: class(args)?.1 })
    }

    fn rules(args: &Args) -> Result<Option<Rules>, SpecError> {
        Ok(Some(class(args)?.0))
    }

    fn goes_past(&self, reference: &Reference) -> bool {
        reference.class == self.class
    }
}

/// The class that goes past, with the rules that tell it.
fn class(args: &Args) -> Result<(Rules, Class), SpecError> {
    let name = args.class("class");
    let rules = args.rules_knowing(name)?;
    let class = rules.class(name).expect("the rules know it");
    Ok((rules, class))
}
