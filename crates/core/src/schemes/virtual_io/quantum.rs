//! When a quantum ends, and the load of the storage in it.

use crate::policy::Quantum;

/// References of a quantum that follows the load; fewer in a cache of fewer blocks.
const FOLLOWING: u64 = 2000;

/// The quantum of all applications.
#[derive(Debug)]
pub(super) struct Quanta {
    every: Quantum,
    /// References after which the quantum ends; `u64::MAX` if it is a time.
    most: u64,
    /// References in this quantum.
    count: u64,
    /// Clock at which the quantum ends; `u64::MAX` if it counts references, and before the first reference.
    end: u64,
    has_begun: bool,
    /// Number of this quantum, from 0.
    pub number: u64,
    /// The share of the last quantum in which the storage was busy, if the scheme follows it and the host knows it.
    pub load: Option<f64>,
    /// The clock and the busy time of the storage at the last look.
    looked: Option<(u64, u64)>,
}

impl Quanta {
    pub fn new(every: Quantum) -> Quanta {
        let (most, end) = (u64::MAX, u64::MAX);
        Quanta { every, most, count: 0, end, has_begun: false, number: 0, load: None, looked: None }
    }

    /// Sets the length for so many applications in a cache of so many blocks.
    pub fn fit(&mut self, live: usize, capacity: u32) {
        self.most = match self.every {
            Quantum::References(references) => references,
            Quantum::ReferencesPerApp(references) => references.saturating_mul(live.max(1) as u64),
            Quantum::Time(_) => u64::MAX,
            Quantum::Auto => FOLLOWING.min(u64::from(capacity)),
        };
    }

    /// True if the quantum has ended before a reference at this time.
    #[inline(always)]
    pub fn has_ended(&self, clock: u64) -> bool {
        self.count >= self.most || clock >= self.end
    }

    /// Counts a reference.
    #[inline(always)]
    pub fn count(&mut self) {
        self.count += 1;
    }

    /// Starts the first quantum with the first reference.
    pub fn begin(&mut self, clock: u64, busy: Option<u64>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            if let Quantum::Time(time) = self.every {
                self.end = clock.saturating_add(time);
            }
            self.look(clock, busy);
        }
    }

    /// Starts the next quantum. A pause of several quanta is one.
    pub fn advance(&mut self, clock: u64) {
        (self.number, self.count) = (self.number + 1, 0);
        if let Quantum::Time(time) = self.every {
            let passed = clock.saturating_sub(self.end) / time + 1;
            self.end = self.end.saturating_add(passed.saturating_mul(time));
        }
    }

    /// Measures the load since the last look.
    pub fn look(&mut self, clock: u64, busy: Option<u64>) {
        let Some(busy) = busy.filter(|_| self.every == Quantum::Auto) else { return };
        if let Some((clock_before, busy_before)) = self.looked.replace((clock, busy))
            && clock > clock_before
        {
            self.load = Some((busy.saturating_sub(busy_before) as f64 / (clock - clock_before) as f64).min(1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the references before which a quantum ended, at these clocks.
    fn ends(every: Quantum, live: usize, clocks: &[u64]) -> Vec<usize> {
        let mut quanta = Quanta::new(every);
        quanta.fit(live, 100);
        let mut ends = Vec::new();
        for (number, &clock) in clocks.iter().enumerate() {
            quanta.begin(clock, None);
            if quanta.has_ended(clock) {
                quanta.advance(clock);
                ends.push(number);
            }
            quanta.count();
        }
        ends
    }

    #[test]
    fn a_quantum_counts_references_of_all_or_time() {
        assert_eq!(ends(Quantum::References(3), 2, &[0; 8]), [3, 6]);
        assert_eq!(ends(Quantum::ReferencesPerApp(2), 2, &[0; 9]), [4, 8]);
        assert_eq!(ends(Quantum::Auto, 2, &[0; 201]), [100, 200]);
        assert_eq!(ends(Quantum::Time(10), 2, &[5, 14, 15, 16, 50, 54, 55]), [2, 4, 6]);
        assert_eq!(ends(Quantum::Time(u64::MAX), 1, &[1, u64::MAX]), [1]);
    }
}
