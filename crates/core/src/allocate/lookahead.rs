//! Partitions by marginal utility with lookahead: the part that gains most by a unit, counted over the best run of
//! units ahead, gets that run.
//!
//! Paper: Qureshi, Patt, "Utility-based cache partitioning", MICRO 2006. Looking ahead sees a gain behind a flat
//! stretch of a curve, where a greedy choice, unit by unit, would stop. For concave curves both are the best there is.

/// Divides `total` units: how many each part gets. `utility[part][units]` is what a part has of so many units, from 0
/// to `total`, never falling. Every part gets one unit first, as long as there are enough; of equal gains the first
/// part's shortest run wins.
pub fn divide(total: usize, utility: &[Vec<f64>]) -> Vec<usize> {
    let mut given: Vec<usize> = (0..utility.len()).map(|part| usize::from(part < total)).collect();
    let mut left = total - given.iter().sum::<usize>();
    while left > 0 && !utility.is_empty() {
        let (mut winner, mut units, mut most) = (0, left, f64::NEG_INFINITY);
        for (part, curve) in utility.iter().enumerate() {
            let (run, gain) = best_run(&curve[given[part]..=given[part] + left]);
            if gain > most {
                (winner, units, most) = (part, run, gain);
            }
        }
        if most <= 0.0 {
            share_evenly(&mut given, left);
            return given;
        }
        given[winner] += units;
        left -= units;
    }
    given
}

/// The units from the first of `curve` on that gain most each, and how much.
fn best_run(curve: &[f64]) -> (usize, f64) {
    let gain = |units: usize| (curve[units] - curve[0]) / units as f64;
    (1..curve.len())
        .fold((1, f64::NEG_INFINITY), |best, units| if gain(units) > best.1 { (units, gain(units)) } else { best })
}

/// Units that help no part are dealt in turn.
fn share_evenly(given: &mut [usize], left: usize) {
    let parts = given.len();
    given.iter_mut().enumerate().for_each(|(part, units)| *units += left / parts + usize::from(part < left % parts));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocate::exact;
    use crate::random::Rng;

    fn value(utility: &[Vec<f64>], given: &[usize]) -> f64 {
        utility.iter().zip(given).map(|(curve, &units)| curve[units]).sum()
    }

    fn rising(random: &mut Rng, total: usize, concave: bool) -> Vec<f64> {
        let mut gains: Vec<u32> = (0..total).map(|_| random.below(4) * random.below(9)).collect();
        if concave {
            gains.sort_unstable_by_key(|&gain| std::cmp::Reverse(gain));
        }
        let sum = |sum: &mut f64, gain: &u32| {
            *sum += f64::from(*gain);
            Some(*sum)
        };
        std::iter::once(0.0).chain(gains.iter().scan(0.0, sum)).collect()
    }

    /// The best of all divisions that give every part a unit.
    fn bound(total: usize, utility: &[Vec<f64>]) -> f64 {
        let rest: Vec<Vec<f64>> = utility.iter().map(|curve| curve[1..=total - utility.len() + 1].to_vec()).collect();
        exact::divide(total - utility.len(), &rest).1
    }

    #[test]
    fn a_gain_behind_a_flat_stretch_is_seen() {
        let cliff = vec![0.0, 0.0, 0.0, 90.0, 90.0];
        let slope = vec![0.0, 10.0, 20.0, 30.0, 40.0];
        assert_eq!(divide(4, &[cliff, slope]), [3, 1]);
    }

    #[test]
    fn on_concave_curves_it_is_the_best_there_is_and_never_better() {
        let mut random = Rng::new(9);
        for round in 0..500 {
            let (total, parts) = (4 + random.below(12) as usize, 1 + random.below(4) as usize);
            let concave = round % 2 == 0;
            let utility: Vec<Vec<f64>> = (0..parts).map(|_| rising(&mut random, total, concave)).collect();
            let given = divide(total, &utility);
            assert_eq!(given.iter().sum::<usize>(), total);
            let (reached, best) = (value(&utility, &given), bound(total, &utility));
            assert!(reached <= best && (!concave || reached == best), "{reached} of {best}: {utility:?}");
        }
    }

    #[test]
    fn units_that_help_nobody_are_shared() {
        assert_eq!(divide(7, &[vec![0.0; 8], vec![0.0; 8]]), [4, 3]);
        assert_eq!(divide(1, &[vec![0.0; 2], vec![0.0; 2]]), [1, 0]);
        assert_eq!(divide(3, &[]), Vec::<usize>::new());
    }
}
