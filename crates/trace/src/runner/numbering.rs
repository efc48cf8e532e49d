//! Numbers for things that a trace calls by name: files, devices, applications.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::Malformed;

/// Names are looked for among this many before they are looked up, a power of two: most requests go where others went
/// just before.
const RECENT: usize = 256;

/// Names of up to this many bytes are held in a number.
const SHORT: usize = 15;

/// Numbers names from 0 in the order in which they are first met.
pub struct Numbering {
    known: HashMap<Box<[u8]>, u32, FixedState>,
    /// Short names met lately, each at a place that follows from its bytes, and their numbers.
    recent: Box<[(u128, u32); RECENT]>,
}

impl Default for Numbering {
    fn default() -> Numbering {
        Numbering { known: HashMap::default(), recent: Box::new([(u128::MAX, 0); RECENT]) }
    }
}

impl Numbering {
    /// The number of `name`, which is new if it equals the count of names met before.
    #[inline]
    pub fn of(&mut self, name: &[u8]) -> Result<u32, Malformed> {
        if name.len() > SHORT {
            return self.look_up(name);
        }
        let packed = pack(name);
        let place = place(packed);
        let (recent, number) = self.recent[place];
        if recent == packed {
            return Ok(number);
        }
        let number = self.look_up(name)?;
        self.recent[place] = (packed, number);
        Ok(number)
    }

    /// The number of what is called by a number.
    #[inline]
    pub fn of_number(&mut self, name: u64) -> Result<u32, Malformed> {
        self.of(&name.to_le_bytes())
    }

    fn look_up(&mut self, name: &[u8]) -> Result<u32, Malformed> {
        if let Some(number) = self.known.get(name) {
            return Ok(*number);
        }
        let number = u32::try_from(self.known.len()).map_err(|_| "found the 2^32nd name; expected fewer")?;
        self.known.insert(name.into(), number);
        Ok(number)
    }
}

/// A name of up to [`SHORT`] bytes with its length in the highest byte.
#[inline]
fn pack(name: &[u8]) -> u128 {
    let length = name.len();
    let (low, high) = match (name.first_chunk(), name.last_chunk()) {
        // The two halves overlap; the length tells which names are meant.
        (Some(front), Some(back)) => (u64::from_le_bytes(*front), u64::from_le_bytes(*back) >> 8),
        _ => match (name.first_chunk(), name.last_chunk()) {
            (Some(front), Some(back)) => (u32::from_le_bytes(*front).into(), u32::from_le_bytes(*back).into()),
            _ => (name.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)), 0),
        },
    };
    u128::from(low) | u128::from(high) << 64 | (length as u128) << 120
}

#[inline]
fn place(packed: u128) -> usize {
    let folded = (packed as u64 ^ (packed >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    folded as usize >> (usize::BITS - RECENT.ilog2())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn numbers_count_from_zero_in_order_of_appearance() {
        let mut names = Numbering::default();
        let numbers: Vec<u32> = "b a b b c a".split(' ').map(|name| names.of(name.as_bytes()).unwrap()).collect();
        assert_eq!(numbers, [0, 1, 0, 0, 2, 1]);
    }

    #[test]
    fn names_that_share_a_place_or_are_long_keep_their_numbers() {
        let mut names = Numbering::default();
        let name = |number: u32| format!("{number:0width$}", width = number as usize % 20);
        for _ in 0..3 {
            for number in 0..2000 {
                assert_eq!(names.of(name(number).as_bytes()), Ok(number));
            }
        }
    }

    #[test]
    fn different_short_names_are_packed_differently() {
        let mut names = vec![Vec::new()];
        for length in 1..=SHORT {
            names.push(vec![0; length]);
            for at in 0..length {
                for byte in [1, 0x80, 0xff] {
                    let mut name = vec![0; length];
                    name[at] = byte;
                    names.push(name);
                }
            }
        }
        let packed: HashSet<u128> = names.iter().map(|name| pack(name)).collect();
        assert_eq!(packed.len(), names.len());
    }
}
