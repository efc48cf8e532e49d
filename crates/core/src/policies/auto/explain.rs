//! The explanation of flows: those of files and larger ones; flows within a file are part of it.

use super::curves::{BUCKETS, ByAge, ByBorder, span};
use super::flows::Flows;
use super::memory::Memory;
use crate::policy::{Explanation, Treatment};

/// Resident blocks that are looked at, at most.
const SAMPLE: u32 = 4096;
/// A block of less value than all but so many of the resident ones does not stay.
const RANK_OF_PRICE: usize = 64;
/// Shares of room and references below this are not told.
const LEAST: f64 = 0.0005;
/// A block is let in for certain if it is worth so many times what leaves.
const CERTAIN: f32 = 1.2;
/// A flow is a loop if blocks of some age are worth so many times what they are just after a use.
const RISING: f32 = 1.5;
/// Blocks stay until they are used if so many of them are used before they leave.
const NEARLY_ALL: f64 = 0.9;

/// Every flow that has room or references, those with most of either first; nothing while curves are computed
/// elsewhere.
pub(super) fn all(memory: &Memory) -> Vec<Explanation> {
    let flows = &memory.flows;
    let mut room = vec![0.0; flows.len()];
    let mut worth = Vec::new();
    let len = memory.places.len();
    let looked_at = len.min(SAMPLE);
    for row in 0..looked_at {
        let slot = memory.places.row((u64::from(row) * u64::from(len) / u64::from(looked_at)) as u32);
        room[flows.told_as(memory.node(slot))] += 1.0 / f64::from(looked_at);
        worth.push(memory.worth(slot));
    }
    let rank = worth.len() / RANK_OF_PRICE;
    let price = if memory.is_full() { *worth.select_nth_unstable_by(rank, f32::total_cmp).1 } else { 0.0 };
    let references = shares_of_references(flows);
    let explain = |node: usize| {
        let (hazard, indices) = flows.curves.of(node)?;
        Some(Explanation {
            flow: flows.flow(node),
            room: room[node],
            references: references[node],
            reuse: by_octave(hazard),
            treatment: treatment(hazard, indices, price),
        })
    };
    let mut told: Vec<Explanation> =
        (0..flows.len()).filter(|&node| room[node].max(references[node]) >= LEAST).filter_map(explain).collect();
    let weight = |told: &Explanation| told.room.max(told.references);
    told.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    told
}

fn shares_of_references(flows: &Flows) -> Vec<f64> {
    let mut shares = vec![0.0; flows.len()];
    (0..flows.len()).for_each(|node| shares[flows.told_as(node)] += f64::from(flows.evidence(node)));
    let all: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= all.max(1.0));
    shares
}

/// The chances of ages below 4 one by one, and of each octave from there on.
fn by_octave(hazard: &ByAge) -> Vec<(u32, f64)> {
    let used = |buckets: &[f32]| 1.0 - buckets.iter().map(|&chance| 1.0 - f64::from(chance)).product::<f64>();
    let single = hazard[..4].iter().map(|&chance| f64::from(chance));
    let chances = single.chain(hazard[4..].chunks(4).map(used));
    let firsts = (0..4).chain((4..BUCKETS).step_by(4).map(|bucket| span(bucket).0));
    firsts.zip(chances).collect()
}

/// What becomes of blocks whose worth by age is `indices`, where what is worth less than `price` leaves.
fn treatment(hazard: &ByAge, indices: &ByBorder, price: f32) -> Treatment {
    let (first, most) = (indices[0], indices.iter().copied().fold(0.0, f32::max));
    if most < price || most == 0.0 && price > 0.0 {
        return Treatment::LetPass;
    }
    if first < CERTAIN * price {
        return if most >= RISING * first { Treatment::KeepSome } else { Treatment::LetPass };
    }
    let used_before =
        |bucket: usize| 1.0 - hazard[..bucket].iter().map(|&chance| 1.0 - f64::from(chance)).product::<f64>();
    match (0..BUCKETS).find(|&bucket| indices[bucket] < price) {
        Some(leaves) if used_before(leaves) < NEARLY_ALL => Treatment::KeepFor(span(leaves).0),
        _ => Treatment::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::super::curves::Curves;
    use super::*;

    /// A flow whose blocks are used at the age in `bucket` with this chance, and a price.
    fn treated(bucket: usize, uses: u32, blocks: u32, price: f32) -> Treatment {
        let mut curves = Curves::new(1, 32.0, 1.0, false);
        for block in 0..blocks {
            let is_used = block < uses;
            curves.see(0, 0, if is_used { bucket + 1 } else { 80 });
            if is_used {
                curves.see_use(0, bucket, [1.0; 2]);
            }
        }
        curves.compute([(0, None)].into_iter());
        let (hazard, indices) = curves.of(0).expect("computed here");
        treatment(hazard, indices, price)
    }

    #[test]
    fn treatments_follow_from_the_curve_and_the_price() {
        let loop_of = |price| treated(32, 10_000, 10_000, price);
        // Ages in bucket 32 are 512 to 639.
        assert_eq!(loop_of(0.0), Treatment::Keep);
        assert_eq!(loop_of(1.0 / 5_000.0), Treatment::Keep, "others give less");
        assert_eq!(loop_of(1.0 / 600.0), Treatment::KeepSome, "it competes with itself");
        assert_eq!(treated(32, 0, 10_000, 1e-6), Treatment::LetPass, "a stream");
        // One in ten comes back soon, the others never do.
        assert_eq!(treated(8, 1_000, 10_000, 1e-3), Treatment::KeepFor(10));
        assert_eq!(treated(8, 1_000, 10_000, 0.0125), Treatment::KeepSome);
        assert_eq!(treated(8, 1_000, 10_000, 0.125), Treatment::LetPass);
    }

    #[test]
    fn octaves_tell_what_their_buckets_do() {
        let mut hazard = [0.0; BUCKETS];
        (hazard[2], hazard[4], hazard[5], hazard[BUCKETS - 1]) = (0.25, 0.5, 0.5, 1.0);
        let told = by_octave(&hazard);
        assert_eq!(told.len(), 4 + (BUCKETS - 4) / 4);
        assert_eq!((told[2], told[4], told[5]), ((2, 0.25), (4, 0.75), (8, 0.0)));
        assert_eq!(told.last(), Some(&(1 << 26, 1.0)));
    }
}
