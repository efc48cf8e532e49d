//! Partitions by promised hit rates: as many promises as possible are kept, and the rest is shared.
//!
//! Paper: Patrick, Kandemir and others, soft quality of service for storage caches (POLICIES 1.4, steps 3 to 6).
//!
//! Readings. The printed procedure takes applications by number; its text and example sort them by need, which
//! keeps the most promises. It sets the free room to 0 inside the loop that shares it, which
//! would leave every flagged application but the first without any; here all of them share it. An application that
//! needs more than there is gets its share like the others that are flagged.

use super::{equal, shares};

/// The known facts of one application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Blocks with which it reaches what it was promised; `None` if no size is known to do.
    pub need: Option<u32>,
    /// Its hit rate, in percent.
    pub rate: f64,
    /// The best that it ever had.
    pub best: f64,
}

/// What one application gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Blocks.
    pub blocks: u32,
    /// Its promise cannot be kept.
    pub is_flagged: bool,
}

impl Grant {
    /// Partitions of applications without a promise.
    pub fn unflagged(rooms: Vec<u32>) -> Vec<Grant> {
        rooms.into_iter().map(|blocks| Grant { blocks, is_flagged: false }).collect()
    }
}

/// Divides `total` blocks. All of them are given out if there is an application; each has one block as long as there
/// are enough.
pub fn divide(total: u32, claims: &[Claim]) -> Vec<Grant> {
    let mut free = total;
    let mut grants = vec![Grant { blocks: 0, is_flagged: true }; claims.len()];
    for (index, need) in by_need(claims) {
        if need <= free {
            free -= need;
            grants[index] = Grant { blocks: need, is_flagged: false };
        }
    }
    share(free, claims, &mut grants);
    let mut rooms: Vec<u32> = grants.iter().map(|grant| grant.blocks).collect();
    shares::leave_none_empty(&mut rooms);
    grants.iter_mut().zip(rooms).for_each(|(grant, blocks)| grant.blocks = blocks);
    grants
}

/// Those whose need is known, by need, the first of equal ones first.
fn by_need(claims: &[Claim]) -> Vec<(usize, u32)> {
    let needs = claims.iter().enumerate().filter_map(|(index, claim)| Some((index, claim.need?)));
    let mut needs: Vec<(usize, u32)> = needs.collect();
    needs.sort_by_key(|&(_, need)| need);
    needs
}

/// Shares what is left: among the flagged if there are any, else by how far each is below its best.
fn share(free: u32, claims: &[Claim], grants: &mut [Grant]) {
    let flagged: Vec<usize> = (0..grants.len()).filter(|&index| grants[index].is_flagged).collect();
    if flagged.is_empty() {
        let behind: Vec<f64> = claims.iter().map(|claim| (claim.best - claim.rate).max(0.0)).collect();
        let more = shares::by_weight(free, &behind);
        grants.iter_mut().zip(more).for_each(|(grant, more)| grant.blocks += more);
    } else {
        let more = equal::divide(free, flagged.len());
        flagged.iter().zip(more).for_each(|(&index, more)| grants[index].blocks = more);
    }
}

/// The hit rate in percent at which a reference takes `goal` on average, if a hit takes `hit` and a miss `miss`, more
/// than `hit`: all in one unit of time. A goal that no rate meets is 100, one that every rate meets 0.
pub fn rate_for_time(goal: f64, hit: f64, miss: f64) -> f64 {
    ((miss - goal) / (miss - hit)).clamp(0.0, 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    fn blocks(grants: &[Grant]) -> Vec<u32> {
        grants.iter().map(|grant| grant.blocks).collect()
    }

    fn claim(need: u32, rate: f64, best: f64) -> Claim {
        Claim { need: Some(need), rate, best }
    }

    /// POLICIES 1.4, vectors 1 and 2.
    #[test]
    fn the_statements_examples() {
        let met = divide(100, &[claim(15, 70.0, 85.0), claim(30, 90.0, 92.0), claim(30, 90.0, 95.0)]);
        assert_eq!(blocks(&met), [32, 32, 36]);
        assert!(met.iter().all(|grant| !grant.is_flagged));
        let short = divide(100, &[80, 70, 40].map(|need| claim(need, 0.0, 0.0)));
        assert_eq!(blocks(&short), [30, 30, 40]);
        assert_eq!(short.iter().map(|grant| grant.is_flagged).collect::<Vec<_>>(), [true, true, false]);
    }

    /// POLICIES 1.4: a hit of 0.2 ms, a miss of 10 ms.
    #[test]
    fn times_become_rates() {
        let rates = [1.0, 2.0, 5.0].map(|goal| rate_for_time(goal, 0.2, 10.0));
        for (rate, printed) in rates.into_iter().zip([91.837, 81.633, 51.020]) {
            assert!((rate - printed).abs() < 5e-4, "{rate}");
        }
        assert_eq!([rate_for_time(0.1, 0.2, 10.0), rate_for_time(11.0, 0.2, 10.0)], [100.0, 0.0]);
    }

    /// Whether all of some applications can have what they need is a matter of their sum.
    fn most_satisfied(total: u32, claims: &[Claim]) -> usize {
        let satisfied = |set: u32| {
            let chosen = claims.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1);
            let needs: Option<u64> = chosen.map(|(_, claim)| claim.need.map(u64::from)).sum();
            needs.is_some_and(|sum| sum <= total.into()).then_some(set.count_ones() as usize)
        };
        (0..1 << claims.len()).filter_map(satisfied).max().unwrap_or(0)
    }

    #[test]
    fn no_other_choice_keeps_more_promises() {
        let mut random = Rng::new(3);
        for _ in 0..2000 {
            let total = random.below(60);
            let claims: Vec<Claim> = (0..=random.below(8))
                .map(|_| Claim {
                    need: (random.below(6) > 0).then(|| 1 + random.below(30)),
                    rate: random.unit() * 100.0,
                    best: random.unit() * 100.0,
                })
                .collect();
            let grants = divide(total, &claims);
            let kept: Vec<(&Grant, &Claim)> =
                grants.iter().zip(&claims).filter(|(grant, _)| !grant.is_flagged).collect();
            assert_eq!(kept.len(), most_satisfied(total, &claims), "{total} {claims:?}");
            assert_eq!(blocks(&grants).iter().sum::<u32>(), total, "{claims:?}");
            if total as usize >= claims.len() {
                assert!(grants.iter().all(|grant| grant.blocks > 0), "{total} {grants:?}");
            }
        }
    }

    #[test]
    fn nobody_and_nothing() {
        assert_eq!(divide(10, &[]), []);
        assert_eq!(blocks(&divide(0, &[claim(1, 0.0, 0.0)])), [0]);
        assert_eq!(blocks(&divide(2, &[claim(1, 0.0, 0.0), claim(1, 0.0, 0.0), claim(9, 0.0, 0.0)])), [1, 1, 0]);
    }
}
