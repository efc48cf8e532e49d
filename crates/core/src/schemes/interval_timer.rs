//! When something that is done once in so often is due.

use crate::policy::{Interval, Reference};

/// Time goes from the first reference on; a pause of several intervals is one.
#[derive(Clone, Copy, Debug)]
pub struct IntervalTimer {
    every: Interval,
    /// Clock or count of references at which it is due next; `None` before the first reference.
    next: Option<u64>,
    references: u64,
}

impl IntervalTimer {
    /// Once in `every`.
    pub fn new(every: Interval) -> IntervalTimer {
        IntervalTimer { every, next: None, references: 0 }
    }

    /// True if it is due before this reference.
    #[inline(always)]
    pub fn is_due(&mut self, reference: &Reference) -> bool {
        let (now, every) = match self.every {
            Interval::Time(every) => (reference.clock, every),
            Interval::References(every) => (self.references, every),
        };
        self.references += 1;
        match self.next {
            Some(next) if now < next => false,
            Some(next) => {
                self.next = Some(next.saturating_add(((now - next) / every + 1).saturating_mul(every)));
                true
            }
            None => {
                self.next = Some(now.saturating_add(every));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(every: Interval, clocks: &[u64]) -> Vec<bool> {
        let mut timer = IntervalTimer::new(every);
        clocks.iter().map(|&clock| timer.is_due(&Reference { clock, ..Reference::default() })).collect()
    }

    #[test]
    fn intervals_begin_with_the_first_reference() {
        assert_eq!(
            due(Interval::Time(10), &[5, 14, 15, 16, 50, 54, 55]),
            [false, false, true, false, true, false, true]
        );
        assert_eq!(due(Interval::References(2), &[0; 5]), [false, false, true, false, true]);
        assert_eq!(due(Interval::Time(u64::MAX), &[1, u64::MAX]), [false, true]);
    }
}
