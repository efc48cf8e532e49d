//! Dividing whole blocks by weights.

/// `total` divided in proportion to `weights`, which are finite and not negative: rounded down, and what is left goes
/// to the largest remainders, the first of equal ones first. Equal shares if all weights are 0.
pub fn by_weight(total: u32, weights: &[f64]) -> Vec<u32> {
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 || !sum.is_finite() {
        return super::equal::divide(total, weights.len());
    }
    let exact: Vec<f64> = weights.iter().map(|weight| weight / sum * f64::from(total)).collect();
    let mut shares: Vec<u32> = exact.iter().map(|share| *share as u32).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&one, &other| exact[other].fract().total_cmp(&exact[one].fract()));
    let mut given: u32 = shares.iter().fold(0, |sum, share| sum.saturating_add(*share));
    // Rounding errors may have given a block too many; then the last in the order pay.
    for &index in order.iter().rev() {
        let back = given.saturating_sub(total).min(shares[index]);
        shares[index] -= back;
        given -= back;
    }
    for &index in order.iter().cycle().take((total - given) as usize) {
        shares[index] += 1;
    }
    shares
}

/// Gives each part that has nothing a block of the largest one, the first of equal ones, as long as that keeps one
/// itself.
pub fn leave_none_empty(rooms: &mut [u32]) {
    for part in 0..rooms.len() {
        let largest = (0..rooms.len()).rev().max_by_key(|&index| rooms[index]).expect("there is this part");
        if rooms[part] == 0 && rooms[largest] > 1 {
            rooms[largest] -= 1;
            rooms[part] = 1;
        }
    }
}

/// `total` divided in proportion to whole steps, where each part has at least a block while there are enough.
pub fn by_steps(total: u32, steps: &[usize]) -> Vec<u32> {
    let weights: Vec<f64> = steps.iter().map(|&steps| steps as f64).collect();
    let mut shares = by_weight(total, &weights);
    leave_none_empty(&mut shares);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_remainders_get_what_is_left() {
        assert_eq!(by_weight(25, &[15.0, 2.0, 5.0]), [17, 2, 6]);
        assert_eq!(by_weight(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(by_weight(7, &[0.0, 0.0]), [4, 3]);
        assert_eq!(by_weight(0, &[1.0, 2.0]), [0, 0]);
        assert_eq!(by_weight(5, &[]), []);
        assert_eq!(
            by_weight(u32::MAX, &[1e300, 1e300, 1e-300]).iter().map(|&share| u64::from(share)).sum::<u64>(),
            u32::MAX.into()
        );
    }

    #[test]
    fn nobody_is_left_empty_as_long_as_there_is_room() {
        let filled = |mut rooms: Vec<u32>| {
            leave_none_empty(&mut rooms);
            rooms
        };
        assert_eq!(filled(vec![5, 0, 5, 0]), [4, 1, 4, 1]);
        assert_eq!(filled(vec![2, 0, 0]), [1, 1, 0]);
        assert_eq!(filled(vec![0, 0]), [0, 0]);
    }
}
