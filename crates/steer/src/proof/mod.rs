//! Measures the gain of steering: phases in which the kernel is steered, paired with phases in which it is not.
//!
//! The model of the kernel is not a measurement, and a run before and a run after had other work. So phases come in
//! pairs, in the order unsteered, steered, steered, unsteered, and so on, which cancels a drift of the work; only
//! differences within a pair are reported. A phase lasts until the model of the kernel, which follows the same
//! references in both states, has missed [`TURNS`] times its capacity: both phases of a pair have similar work, however
//! fast it runs. A turn takes [`SHORTEST`] at least, in which memory is repartitioned. The first turn is not measured,
//! since until then the cache still holds pages from the phase before. That does not suffice for an unsteered kernel:
//! it treats the pages that it was made to keep as active, and would keep them for many turns. So it begins empty, and
//! fills its memory in its first turn.

pub(crate) mod judge;

use serde::Serialize;

/// Turns of the cache in a phase. The first is not measured.
pub const TURNS: u64 = 3;
/// The least nanoseconds of a turn.
pub const SHORTEST: u64 = 5_000_000_000;
/// The least blocks of a turn, however small the cache.
const LEAST: u64 = 64;
/// Bytes of a GiB.
const GIB: f64 = (1u64 << 30) as f64;
/// Student's t for 95 %, two sides, by degrees of freedom from 1 on; behind its end that of the last is a little large.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Counts since the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// Nanoseconds.
    pub at: u64,
    /// Bytes of blocks referenced.
    pub referenced: u64,
    /// Bytes that came into the page cache.
    pub read: u64,
    /// Blocks that the model of the kernel has missed.
    pub missed: u64,
}

/// The measurements of a phase, without its first turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// The kernel was steered, not alone.
    pub steered: bool,
    /// How long it was measured.
    pub seconds: f64,
    /// Bytes of blocks referenced.
    pub referenced_bytes: u64,
    /// Bytes that came into the page cache.
    pub read_bytes: u64,
    /// Seconds in which a process waited for storage, if the kernel reports it.
    pub waited_seconds: Option<f64>,
}

impl Phase {
    fn read(&self) -> Option<f64> {
        Some(self.read_bytes as f64 / self.referenced_bytes as f64)
    }

    fn waited(&self) -> Option<f64> {
        Some(self.waited_seconds? * GIB / self.referenced_bytes as f64)
    }
}

/// A figure with steering and without, on average over all pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// With the kernel alone.
    pub kernel: f64,
    /// Steered.
    pub steered: f64,
    /// The difference: less than 0 is a loss.
    pub saved: f64,
    /// Half of the difference's 95 % interval (Student, over pairs); none of a single pair.
    pub half: Option<f64>,
}

/// The result of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// There are less than two pairs.
    Unknown,
    /// The interval lies above zero.
    Gained,
    /// The interval includes zero.
    Nothing,
    /// The interval lies below zero.
    Lost,
}

impl Gain {
    /// The verdict on its figures.
    pub fn verdict(&self) -> Verdict {
        match self.half {
            None => Verdict::Unknown,
            Some(half) if self.saved > half => Verdict::Gained,
            Some(half) if self.saved < -half => Verdict::Lost,
            Some(_) => Verdict::Nothing,
        }
    }
}

/// The result of a proof.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proven {
    /// Pairs of phases that were completed.
    pub pairs: usize,
    /// The verdict on the bytes read per byte referenced.
    pub verdict: Verdict,
    /// Bytes that came into the page cache for each byte of the blocks that were referenced.
    pub read: Option<Gain>,
    /// Seconds in which a process waited for storage, for each GiB of referenced blocks.
    pub waited: Option<Gain>,
    /// Whether these seconds are those of the control group alone, or of the whole machine.
    pub waited_by_group: bool,
    /// Every phase that was completed, in order.
    pub phases: Vec<Phase>,
}

/// Alternates, and measures.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    phases: Vec<Phase>,
    /// Where the turn that is under way began, and how many of the phase went before.
    turn: Option<Sample>,
    turns: u64,
    /// Where the measured part of the phase began.
    began: Option<(Sample, Option<u64>)>,
}

impl Proof {
    /// True if the kernel is to be steered now.
    pub fn is_steering(&self) -> bool {
        matches!(self.phases.len() % 4, 1 | 2)
    }

    /// Records a sample; `capacity` are the blocks that the model of the kernel holds, `waited` the nanoseconds in
    /// which a process waited. True if a new phase has begun.
    pub fn look(&mut self, now: Sample, capacity: u64, waited: impl FnOnce() -> Option<u64>) -> bool {
        let turn = *self.turn.get_or_insert(now);
        if now.missed - turn.missed < capacity.max(LEAST) || now.at - turn.at < SHORTEST {
            return false;
        }
        (self.turn, self.turns) = (Some(now), self.turns + 1);
        if self.turns == 1 {
            self.began = Some((now, waited()));
        } else if self.turns == TURNS {
            let phase = self.began.take().map(|(began, before)| self.measured(&began, &now, before.zip(waited())));
            self.phases.extend(phase);
            self.turns = 0;
            return true;
        }
        false
    }

    fn measured(&self, began: &Sample, now: &Sample, waited: Option<(u64, u64)>) -> Phase {
        Phase {
            steered: self.is_steering(),
            seconds: (now.at - began.at) as f64 / 1e9,
            referenced_bytes: now.referenced - began.referenced,
            read_bytes: now.read - began.read,
            waited_seconds: waited.map(|(before, after)| after.saturating_sub(before) as f64 / 1e9),
        }
    }

    /// The result so far; `by_group` says that the waiting is the control group's.
    pub fn proven(&self, by_group: bool) -> Proven {
        let read = gain(&self.phases, Phase::read);
        Proven {
            pairs: self.phases.len() / 2,
            verdict: read.map_or(Verdict::Unknown, |gain| gain.verdict()),
            read,
            waited: gain(&self.phases, Phase::waited),
            waited_by_group: by_group,
            phases: self.phases.clone(),
        }
    }

    /// A description of the present phase.
    pub fn reason(&self) -> String {
        let now = if self.is_steering() { "steered" } else { "alone" };
        let (phase, turn) = (self.phases.len() + 1, self.turns + 1);
        format!("phase {phase} of a proof, turn {turn} of {TURNS}: the kernel is {now}")
    }
}

/// A figure over all complete pairs; `None` if there are none, or the figure is not known of each.
fn gain(phases: &[Phase], figure: impl Fn(&Phase) -> Option<f64>) -> Option<Gain> {
    let pair = |pair: &[Phase]| {
        let of = |steered: bool| pair.iter().find(|phase| phase.steered == steered).and_then(&figure);
        Some((of(false)?, of(true)?))
    };
    let pairs = phases.chunks_exact(2).map(pair).collect::<Option<Vec<_>>>().filter(|pairs| !pairs.is_empty())?;
    paired(&pairs)
}

/// What pairs of figures, one of the kernel alone and one steered, come to; `None` without a pair.
pub fn paired(pairs: &[(f64, f64)]) -> Option<Gain> {
    if pairs.is_empty() {
        return None;
    }
    let count = pairs.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let saved = mean(&|(kernel, steered)| kernel - steered);
    let half = (pairs.len() > 1).then(|| {
        let squares: f64 = pairs.iter().map(|(kernel, steered)| (kernel - steered - saved).powi(2)).sum();
        let freedom = pairs.len() - 1;
        STUDENT[freedom.min(STUDENT.len()) - 1] * (squares / freedom as f64 / count).sqrt()
    });
    Some(Gain { kernel: mean(&|pair| pair.0), steered: mean(&|pair| pair.1), saved, half })
}

#[cfg(test)]
mod tests {
    use hotset_core::random::Rng;

    use super::*;

    const CAPACITY: u64 = 100;
    const BLOCK: u64 = 65536;

    /// Looks of a loop that the model misses in all its references; `read` of a hundred are read, by what is being
    /// done. After a change of what is being done it takes a turn until they are.
    fn run(looks: u64, mut read: impl FnMut(bool) -> u64) -> Proof {
        let (mut proof, mut sample, mut waited) = (Proof::default(), Sample::default(), 0);
        let (mut is_steered, mut since) = (false, 0);
        for _ in 0..looks {
            if proof.is_steering() != is_steered {
                (is_steered, since) = (!is_steered, sample.missed);
            }
            let carried = sample.missed - since < CAPACITY;
            let of_ten = read(is_steered != carried) / 10;
            sample.at += SHORTEST / 10;
            sample.missed += 10;
            sample.referenced += 10 * BLOCK;
            sample.read += of_ten * BLOCK;
            waited += of_ten * 1_000;
            proof.look(sample, CAPACITY, || Some(waited));
        }
        proof
    }

    #[test]
    fn phases_alternate_and_what_the_one_before_has_left_is_not_measured() {
        let proven = run(8 * 30 + 1, |steered| if steered { 40 } else { 100 }).proven(true);
        let steered: Vec<bool> = proven.phases.iter().map(|phase| phase.steered).collect();
        assert_eq!(steered, [false, true, true, false, false, true, true, false]);
        for phase in &proven.phases {
            assert_eq!(phase.referenced_bytes, 2 * CAPACITY * BLOCK, "two turns, whatever is done");
            assert_eq!(phase.read_bytes, if phase.steered { 80 } else { 200 } * BLOCK);
        }
        let gain = proven.read.unwrap();
        assert_eq!((proven.pairs, proven.verdict), (4, Verdict::Gained));
        assert!((gain.kernel - 1.0).abs() < 1e-9 && (gain.steered - 0.4).abs() < 1e-9);
        assert!((gain.saved - 0.6).abs() < 1e-9 && gain.half.unwrap() < 1e-9);
        assert!((proven.waited.unwrap().saved - 0.6e-6 * GIB / BLOCK as f64).abs() < 1e-6);
    }

    #[test]
    fn noise_is_no_gain_and_a_loss_is_one() {
        let mut random = Rng::new(5);
        let proven = run(20 * 30 + 1, |_| 10 * u64::from(random.below(11))).proven(false);
        assert_eq!((proven.pairs, proven.verdict), (10, Verdict::Nothing), "{:?}", proven.read);
        let mut random = Rng::new(5);
        let proven = run(20 * 30 + 1, |steered| 10 * u64::from(random.below(7)) + if steered { 40 } else { 0 });
        assert_eq!(proven.proven(false).verdict, Verdict::Lost);
    }

    /// 95 of 100 intervals are to include what is true; of 400 at least 360 do, and not all.
    #[test]
    fn the_interval_is_as_sure_as_it_says() {
        let phase = |steered: bool, read_bytes: u64| Phase {
            steered,
            seconds: 1.0,
            referenced_bytes: 1000,
            read_bytes,
            waited_seconds: None,
        };
        let mut random = Rng::new(11);
        let mut noise = || (0..12).map(|_| u64::from(random.below(21))).sum::<u64>();
        let includes = (0..400).filter(|_| {
            let pairs = (0..5).flat_map(|_| [phase(false, 300 + noise()), phase(true, 200 + noise())]);
            let gain = gain(&pairs.collect::<Vec<_>>(), Phase::read).unwrap();
            (gain.saved - 0.1).abs() <= gain.half.unwrap()
        });
        let includes = includes.count();
        assert!((360..400).contains(&includes), "{includes}");
    }

    #[test]
    fn a_turn_takes_its_time_however_much_is_missed() {
        let mut proof = Proof::default();
        let mut began = Vec::new();
        for second in 0..=60 {
            let sample = Sample { at: second * 1_000_000_000, missed: second * 10 * CAPACITY, ..Sample::default() };
            if proof.look(sample, CAPACITY, || None) {
                began.push(second);
            }
        }
        assert_eq!(began, [15, 30, 45, 60]);
    }

    #[test]
    fn one_pair_says_nothing_and_none_neither() {
        let proof = run(60, |_| 100);
        assert_eq!((proof.proven(false).pairs, proof.proven(false).verdict), (0, Verdict::Unknown));
        let proven = run(61, |steered| if steered { 0 } else { 100 }).proven(false);
        assert_eq!((proven.pairs, proven.verdict, proven.read.unwrap().half), (1, Verdict::Unknown, None));
        assert_eq!(run(15, |_| 0).reason(), "phase 1 of a proof, turn 2 of 3: the kernel is alone");
    }
}
