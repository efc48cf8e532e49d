//! Moving single units of room between applications, by what one more or one less is worth to each.
//!
//! Paper: Frasca, Prabhakar, Raghavan, Kandemir, "Virtual I/O caching", SC 2011: the allocator G-VPA (POLICIES 1.1).
//! The paper moves units where a gain exceeds a loss; this is the best such choice, by dynamic programming over
//! applications and the sum so far.

/// The changes by one unit less and one unit more, each from 0; `None` if it is not possible.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stake {
    /// Value lost without one unit.
    pub loss: Option<f64>,
    /// Value gained by one more.
    pub gain: Option<f64>,
}

/// The change of each part, -1, 0 or 1, in sum 0, that is worth most; of equal ones, one that moves least. Nothing
/// moves for nothing.
pub fn choose(stakes: &[Stake]) -> Vec<i32> {
    let reach = stakes.len();
    // By sum of changes so far, from -reach on: the value, and units moved (fewer are better).
    let nothing: (f64, i64) = (f64::NEG_INFINITY, 0);
    let mut states = vec![nothing; 2 * reach + 1];
    states[reach] = (0.0, 0);
    let mut choices = Vec::with_capacity(reach);
    for stake in stakes {
        let options = [(0, Some(0.0)), (-1, stake.loss.map(|loss| -loss)), (1, stake.gain)];
        let mut choice = vec![0i32; states.len()];
        let mut next = vec![nothing; states.len()];
        for sum in 0..states.len() {
            for (change, value) in options {
                let before = sum.checked_add_signed(-change as isize).and_then(|before| states.get(before));
                let (Some(&(so_far, moved)), Some(value)) = (before, value) else { continue };
                let state = (so_far + value, moved - i64::from(change != 0));
                if so_far > f64::NEG_INFINITY && state > next[sum] {
                    (next[sum], choice[sum]) = (state, change);
                }
            }
        }
        choices.push(choice);
        states = next;
    }
    let mut sum = reach;
    let mut changes: Vec<i32> = choices
        .iter()
        .rev()
        .map(|choice| {
            let change = choice[sum];
            sum = sum.wrapping_add_signed(-change as isize);
            change
        })
        .collect();
    changes.reverse();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    fn worth(stakes: &[Stake], changes: &[i32]) -> Option<f64> {
        let one = |(stake, change): (&Stake, &i32)| match change {
            1 => stake.gain,
            -1 => stake.loss.map(|loss| -loss),
            _ => Some(0.0),
        };
        stakes.iter().zip(changes).map(one).sum()
    }

    /// Every choice there is.
    fn most(stakes: &[Stake]) -> f64 {
        let digits =
            |number: usize| (0..stakes.len()).map(move |place| (number / 3usize.pow(place as u32) % 3) as i32 - 1);
        let fair = (0..3usize.pow(stakes.len() as u32)).filter(|&number| digits(number).sum::<i32>() == 0);
        fair.filter_map(|number| worth(stakes, &digits(number).collect::<Vec<_>>())).fold(0.0, f64::max)
    }

    /// Gains and losses paired one by one, the largest gain with the smallest loss of another.
    fn greedy(stakes: &[Stake]) -> f64 {
        let mut left: Vec<usize> = (0..stakes.len()).collect();
        let mut sum = 0.0;
        loop {
            let pairs =
                left.iter().flat_map(|&to| left.iter().map(move |&from| (to, from))).filter(|(to, from)| to != from);
            let value = |&(to, from): &(usize, usize)| Some((stakes[to].gain? - stakes[from].loss?, to, from));
            let best = pairs.filter_map(|pair| value(&pair)).max_by(|one, other| one.0.total_cmp(&other.0));
            match best {
                Some((value, to, from)) if value > 0.0 => {
                    sum += value;
                    left.retain(|&part| part != to && part != from);
                }
                _ => return sum,
            }
        }
    }

    #[test]
    fn no_other_choice_is_worth_more() {
        let mut random = Rng::new(2);
        for _ in 0..1000 {
            let mut draw = || (random.below(5) > 0).then(|| f64::from(random.below(20)));
            let stakes: Vec<Stake> = (0..7).map(|_| Stake { loss: draw(), gain: draw() }).collect();
            let stakes = &stakes[..1 + random.below(7) as usize];
            let changes = choose(stakes);
            assert_eq!(changes.iter().sum::<i32>(), 0);
            let worth = worth(stakes, &changes).expect("only what is possible");
            assert_eq!(worth, most(stakes), "{stakes:?}");
            assert!(worth >= greedy(stakes));
        }
    }

    #[test]
    fn nothing_moves_for_nothing() {
        let same = Stake { loss: Some(3.0), gain: Some(3.0) };
        assert_eq!(choose(&[same; 4]), [0; 4]);
        assert_eq!(choose(&[]), Vec::<i32>::new());
        let [rich, poor] = [Stake { loss: Some(1.0), gain: None }, Stake { loss: None, gain: Some(2.0) }];
        assert_eq!(choose(&[rich, poor]), [-1, 1]);
    }
}
