//! Blocks that left the cache but are remembered: the moves that policies with ghosts share.

use super::queue::{Places, Queue, Weights};
use crate::policy::{Discard, Effects, Slot};

/// Evicts the oldest of `resident` and remembers it as the youngest of `ghosts`; gives it, if there is one.
#[inline(always)]
pub fn evict_to(
    resident: &mut Queue,
    ghosts: &mut Queue,
    places: &mut Places<impl Weights>,
    fx: &mut impl Effects,
) -> Option<Slot> {
    let victim = resident.pop_oldest(places)?;
    ghosts.push(places, victim);
    fx.evict(victim);
    Some(victim)
}

/// Forgets `slot`, in whichever of all the queues of `places` it is.
pub fn forget_in<const N: usize>(
    queues: [&mut Queue; N],
    places: &mut Places<impl Weights>,
    slot: Slot,
    fx: &mut impl Effects,
) {
    let tag = places.tag(slot);
    if let Some(queue) = queues.into_iter().find(|queue| queue.tag() == tag) {
        queue.take(places, slot);
        fx.forget(slot);
    }
}

/// Evicts the oldest of `resident` without a trace.
#[inline(always)]
pub fn discard_oldest(resident: &mut Queue, places: &mut Places<impl Weights>, fx: &mut impl Effects) {
    if let Some(victim) = resident.pop_oldest(places) {
        fx.discard(victim);
    }
}

/// Forgets the oldest of `ghosts`.
#[inline(always)]
pub fn forget_oldest(ghosts: &mut Queue, places: &mut Places<impl Weights>, fx: &mut impl Effects) {
    if let Some(oldest) = ghosts.pop_oldest(places) {
        fx.forget(oldest);
    }
}
