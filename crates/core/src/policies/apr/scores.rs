//! The contest between the two policies of an object: which one was right lately.

use crate::random::mix;

/// One of the two policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The default policy.
    Clock,
    /// The fallback policy.
    LifoPlus,
}

impl Side {
    pub(super) fn other(self) -> Side {
        match self {
            Side::Clock => Side::LifoPlus,
            Side::LifoPlus => Side::Clock,
        }
    }
}

/// A policy chose a page, at this replacement of the page's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) by: Side,
    pub(super) at: u64,
}

/// Choices whose judgements are kept one by one: those of the latest replacements of which one was judged.
const WINDOW: u64 = u64::BITS as u64;

/// A judgement of this weight or more moves the unit. The square of it is finite.
const HEAVY: f64 = 1e150;

/// The scores of an object. A policy gains when the other one later makes the same choice, and loses when a page that
/// it chose is used again. A judgement weighs `decay` to the power of the choice's age in replacements.
///
/// Which score is higher does not change while both decay, so nothing is multiplied at a replacement and no score fades
/// to zero. What both policies were judged alike for cancels, and it must cancel exactly: older judgements then decide,
/// however small they are. So judgements of the latest choices are kept as bits, and only the difference of the older
/// ones as a sum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scores {
    /// Replacements begun so far.
    pub(super) replacements: u64,
    /// The latest replacement of which a choice was judged.
    latest: u64,
    /// Choices of CLOCK and LIFO+ that the other one repeated; bit k is of replacement `latest - k`.
    right: [u64; 2],
    /// Choices that were used again.
    wrong: [u64; 2],
    /// The judgements of CLOCK's older choices less those of LIFO+.
    older: f64,
    /// In `older` a choice at this replacement weighs 1.
    unit: u64,
    /// A hash of all judgements, those of LIFO+ with the other sign. It is 0 if both policies were judged alike; then
    /// the scores are equal, though a sum may be rounded.
    judgements: u64,
}

impl Scores {
    /// The policy that decides; the default does among equals.
    pub(super) fn leader(&self, decay: f64) -> Side {
        if self.judgements == 0 || self.difference(decay) >= 0.0 { Side::Clock } else { Side::LifoPlus }
    }

    /// A replacement begins.
    pub(super) fn begin(&mut self) {
        self.replacements += 1;
    }

    /// The other policy has come to the same choice.
    pub(super) fn credit(&mut self, record: Record, decay: f64) {
        self.judge(record, true, decay);
    }

    /// The page that was chosen is used.
    pub(super) fn punish(&mut self, record: Record, decay: f64) {
        self.judge(record, false, decay);
    }

    fn judge(&mut self, record: Record, is_right: bool, decay: f64) {
        if record.at > self.latest {
            self.slide(record.at - self.latest, decay);
        }
        let for_clock = is_right == (record.by == Side::Clock);
        let age = self.latest - record.at;
        if age < WINDOW {
            let bits = if is_right { &mut self.right } else { &mut self.wrong };
            bits[record.by as usize] |= 1 << age;
        } else {
            self.add(record.at, if for_clock { 1.0 } else { -1.0 }, decay);
        }
        let hash = mix(record.at);
        self.judgements = match for_clock {
            true => self.judgements.wrapping_add(hash),
            false => self.judgements.wrapping_sub(hash),
        };
    }

    /// Makes the window begin `by` replacements later.
    fn slide(&mut self, by: u64, decay: f64) {
        let leaving = if by < WINDOW { !(u64::MAX >> by) } else { u64::MAX };
        let mut differing = self.differing() & leaving;
        while differing != 0 {
            let age = differing.ilog2();
            differing ^= 1 << age;
            self.add(self.latest - u64::from(age), self.balance(age), decay);
        }
        let shifted = |bits: u64| if by < WINDOW { bits << by } else { 0 };
        (self.right, self.wrong) = (self.right.map(shifted), self.wrong.map(shifted));
        self.latest += by;
    }

    /// Bits of the replacements that the policies were not judged alike for.
    fn differing(&self) -> u64 {
        (self.right[0] ^ self.right[1]) | (self.wrong[0] ^ self.wrong[1])
    }

    /// The judgements of the replacement with this bit in favour of CLOCK and against LIFO+, from -2 to 2.
    fn balance(&self, bit: u32) -> f64 {
        let count = |bits: u64| (bits >> bit & 1) as f64;
        count(self.right[0]) - count(self.right[1]) - count(self.wrong[0]) + count(self.wrong[1])
    }

    fn add(&mut self, at: u64, balance: f64, decay: f64) {
        if self.older == 0.0 {
            self.unit = at;
        } else if weight(decay, self.unit, at) > HEAVY {
            self.older *= weight(decay, at, self.unit);
            self.unit = at;
        }
        self.older += balance * weight(decay, self.unit, at);
    }

    /// CLOCK's score less that of LIFO+, in units that depend on what was judged; the sign is exact.
    fn difference(&self, decay: f64) -> f64 {
        let mut differing = self.differing();
        if differing == 0 {
            return self.older;
        }
        // In units of the latest choice that they were not judged alike for. All choices before one of weight 1 weigh
        // `most` at most.
        let first = differing.trailing_zeros();
        let most = 2.0 * decay / (1.0 - decay);
        let (mut sum, mut weight_of_bit, mut bit) = (0.0, 1.0, first);
        while differing != 0 {
            let next = differing.trailing_zeros();
            differing &= differing - 1;
            weight_of_bit *= decay.powi((next - bit) as i32);
            bit = next;
            sum += self.balance(bit) * weight_of_bit;
            if f64::abs(sum) > weight_of_bit * most {
                return sum;
            }
        }
        match self.older {
            0.0 => sum,
            older => sum + older * weight(decay, self.latest - u64::from(first), self.unit),
        }
    }

    pub(super) fn validate(&self) {
        assert!([0, 1].iter().all(|&side| self.right[side] & self.wrong[side] == 0), "a choice was right and wrong");
        assert!(self.older.is_finite() && self.latest <= self.replacements);
    }
}

#[cfg(test)]
impl Scores {
    /// CLOCK is so far ahead after so many replacements.
    pub(super) fn with(older: f64, replacements: u64) -> Scores {
        Scores { older, unit: replacements, latest: replacements, replacements, judgements: 1, ..Scores::default() }
    }

    /// The current weight of the judgements in the window, of CLOCK and of LIFO+.
    pub(super) fn in_window(&self, decay: f64) -> [f64; 2] {
        let weigh = |bits: u64| -> f64 {
            let set = (0..WINDOW).filter(|bit| bits >> bit & 1 == 1);
            set.map(|bit| weight(decay, self.replacements, self.latest - bit)).sum()
        };
        [0, 1].map(|side| weigh(self.right[side]) - weigh(self.wrong[side]))
    }
}

/// The weight of a judgement of a choice at replacement `at`, in units of a choice at `unit`.
fn weight(decay: f64, unit: u64, at: u64) -> f64 {
    decay.powf(unit as f64 - at as f64)
}
