//! The best division there is, by dynamic programming over true curves of any shape: the bound that allocators are held
//! against.
//!
//! O(parts · total²): for tests and plots, not for decisions.

/// Divides `total` units so that the sum of utilities is the greatest: the units of each part, and the sum.
/// `utility[part][units]` is what a part has of so many units, from 0 to `total`. Not all units need be given out where
/// curves fall.
pub fn divide(total: usize, utility: &[Vec<f64>]) -> (Vec<usize>, f64) {
    // best[units]: of the parts so far; choice[part][units]: the units of the last of them.
    let mut best = vec![0.0; total + 1];
    let mut choices = Vec::new();
    for curve in utility {
        let of = |units: usize| {
            let value = |own: usize| best[units - own] + curve[own];
            let own = (0..=units).rev().max_by(|&one, &other| value(one).total_cmp(&value(other))).unwrap_or(0);
            (own, value(own))
        };
        let (choice, values): (Vec<usize>, Vec<f64>) = (0..=total).map(of).unzip();
        choices.push(choice);
        best = values;
    }
    let mut left = total;
    let mut given: Vec<usize> = choices
        .iter()
        .rev()
        .map(|choice| {
            let own = choice[left];
            left -= own;
            own
        })
        .collect();
    given.reverse();
    (given, best[total])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_better() {
        let utility = [vec![0.0, 1.0, 9.0, 9.0], vec![0.0, 5.0, 6.0, 7.0], vec![0.0, 0.0, 0.0, 13.0]];
        let mut most: f64 = 0.0;
        for (one, two) in (0..=3).flat_map(|one| (0..=3 - one).map(move |two| (one, two))) {
            most = most.max(utility[0][one] + utility[1][two] + utility[2][3 - one - two]);
        }
        let (given, sum) = divide(3, &utility);
        assert_eq!((sum, given.iter().sum::<usize>()), (most, 3));
        assert_eq!(given.iter().zip(&utility).map(|(&units, curve)| curve[units]).sum::<f64>(), sum);
    }
}
