//! Estimates of other sizes and policies, as a sentence and as a table.

use hotset_core::host::Estimate;
use serde_json::Value;

use crate::output::human;

/// Points of hit ratio below which a larger or smaller cache makes no difference.
const SIZE: f64 = 0.01;
/// Points by which another policy must be better to be named: twice the error of nine in ten estimates.
const POLICY: f64 = 0.03;

/// The estimates of a status for a cache of some bytes.
pub(super) struct WhatIf {
    bytes: u64,
    all: Vec<Estimate>,
}

impl WhatIf {
    /// The estimates in a status; `None` if it has none yet.
    pub fn of(status: &Value, bytes: u64) -> Option<WhatIf> {
        let all: Vec<Estimate> = serde_json::from_value(status["what_if"].clone()).ok()?;
        (!all.is_empty()).then_some(WhatIf { bytes, all })
    }

    /// The estimate for the running policy at the running size, which is the measured hit ratio.
    fn now(&self) -> Option<&Estimate> {
        self.all.iter().find(|estimate| estimate.factor == 1.0)
    }

    fn size(&self, factor: f64) -> String {
        human::bytes((self.bytes as f64 * factor) as u64)
    }

    /// What other sizes and policies would change.
    pub fn sentence(&self) -> Option<String> {
        let now = self.now()?;
        let (others, own): (Vec<&Estimate>, Vec<&Estimate>) =
            self.all.iter().partition(|estimate| estimate.policy != now.policy);
        // A policy that is not estimated is stood in for by the best of the others.
        let has_own = own.len() > 1;
        let mut sizes: Vec<&Estimate> = if has_own { own } else { best_by_size(&others) };
        sizes.sort_by(|one, other| one.factor.total_cmp(&other.factor));
        let under = |estimate: &Estimate| if has_own { String::new() } else { format!(" under {}", estimate.policy) };
        let mut parts = Vec::new();
        let less = sizes.iter().find(|estimate| estimate.factor < 1.0);
        if let Some(less) = less.filter(|less| now.hit_ratio - less.hit_ratio < SIZE) {
            parts.push(format!("{} would lose nothing{}", self.size(less.factor), under(less)));
        }
        let mut reached = now.hit_ratio;
        for more in sizes.iter().filter(|estimate| estimate.factor > 1.0) {
            if more.hit_ratio - reached >= SIZE {
                let hit = percent(more.hit_ratio);
                parts.push(format!("{} would give {hit}{}", self.size(more.factor), under(more)));
                reached = more.hit_ratio;
            } else if reached > now.hit_ratio {
                parts.push(format!("{} nothing more", self.size(more.factor)));
            } else if more.factor == sizes[sizes.len() - 1].factor {
                parts.push(format!("{} would gain nothing", self.size(more.factor)));
            }
        }
        let best = others.into_iter().filter(|other| other.factor == 1.0);
        let best = best.max_by(|one, other| one.hit_ratio.total_cmp(&other.hit_ratio));
        if let Some(best) = best.filter(|best| best.hit_ratio - now.hit_ratio >= POLICY) {
            parts.push(format!("{} would give {}", best.policy, percent(best.hit_ratio)));
        }
        Some(format!("now {} of references hit; {}", percent(now.hit_ratio), parts.join("; ")))
    }

    /// A line for each estimate.
    pub fn table(&self) -> Vec<String> {
        let header = format!("{:<30} {:>14} {:>9}", "estimates from a sample", "memory", "hit");
        let line = |estimate: &Estimate| {
            let (policy, size) = (&estimate.policy, self.size(estimate.factor));
            format!("{policy:<30} {size:>14} {:>9}", percent(estimate.hit_ratio))
        };
        [header].into_iter().chain(self.all.iter().map(line)).collect()
    }
}

/// The best estimate of each size.
fn best_by_size<'a>(all: &[&'a Estimate]) -> Vec<&'a Estimate> {
    let is_best = |one: &&&Estimate| {
        let beats = |other: &&Estimate| other.factor == one.factor && other.hit_ratio > one.hit_ratio;
        !all.iter().any(beats)
    };
    let mut best: Vec<&Estimate> = all.iter().filter(is_best).copied().collect();
    best.sort_by(|one, other| one.factor.total_cmp(&other.factor));
    best.dedup_by_key(|estimate| estimate.factor.to_bits());
    best
}

/// A hit ratio, no more exact than the sample.
fn percent(ratio: f64) -> String {
    format!("{:.0} %", 100.0 * ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(figures: &[(f64, &str, f64)]) -> String {
        let estimate =
            |&(factor, policy, hit_ratio): &(f64, &str, f64)| Estimate { factor, policy: policy.to_owned(), hit_ratio };
        let what_if = WhatIf { bytes: 1 << 30, all: figures.iter().map(estimate).collect() };
        what_if.sentence().unwrap()
    }

    #[test]
    fn the_sentence_names_what_changes_the_hit_ratio() {
        let sizes =
            |half, now, twice, four| [(0.5, "lru", half), (1.0, "lru", now), (2.0, "lru", twice), (4.0, "lru", four)];
        assert_eq!(
            told(&sizes(0.5, 0.84, 0.91, 0.912)),
            "now 84 % of references hit; 2G would give 91 %; 4G nothing more"
        );
        assert_eq!(
            told(&sizes(0.839, 0.84, 0.841, 0.842)),
            "now 84 % of references hit; 512M would lose nothing; 4G would gain nothing"
        );
        let others = [(1.0, "lirs", 0.30), (1.0, "s3-fifo", 0.12)];
        assert_eq!(
            told(&[&sizes(0.05, 0.1, 0.1, 0.95)[..], &others].concat()),
            "now 10 % of references hit; 4G would give 95 %; lirs would give 30 %"
        );
        let others = [(1.0, "lirs", 0.43), (2.0, "lirs", 0.7), (2.0, "s3-fifo", 0.76), (4.0, "lirs", 0.76)];
        assert_eq!(
            told(&[&[(1.0, "auto", 0.36)][..], &others].concat()),
            "now 36 % of references hit; 2G would give 76 % under s3-fifo; 4G nothing more; lirs would give 43 %"
        );
    }
}
