//! The next-use column: for every reference, where the same block is referenced next.

use hotset_core::policy::Future;

use crate::references::References;
use crate::window::What;

/// More references than positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the trace has more than 4 billion references, more than 32 bits can number")]
pub struct TooManyReferences;

/// For each of `ids` (all below `distinct`) the position of the next reference to the same block, [`Future::NEVER`] if
/// none.
pub fn next_use(ids: &[u32], distinct: u32) -> Result<Vec<u32>, TooManyReferences> {
    next_use_between(ids, distinct, std::iter::empty())
}

/// The same of a trace in which blocks are invalidated: no use comes behind that.
pub(crate) fn next_use_of(trace: &References) -> Result<Vec<u32>, TooManyReferences> {
    let window = trace.window();
    let removals = window.events.iter().filter(|event| event.what == What::Remove);
    let removals = removals.map(|event| (event.at, &window.event_keys[event.keys.clone()]));
    next_use_between(trace.ids(), trace.distinct(), removals.rev())
}

/// `removals` from the last one on: the position before which it happens, and the blocks.
fn next_use_between<'a>(
    ids: &[u32],
    distinct: u32,
    removals: impl Iterator<Item = (u64, &'a [u32])>,
) -> Result<Vec<u32>, TooManyReferences> {
    if ids.len() >= Future::NEVER as usize {
        return Err(TooManyReferences);
    }
    let mut removals = removals.peekable();
    let mut next = vec![Future::NEVER; ids.len()];
    let mut seen = vec![Future::NEVER; distinct as usize];
    // Filled backwards, so the whole trace has to be at hand.
    for (position, &id) in ids.iter().enumerate().rev() {
        next[position] = std::mem::replace(&mut seen[id as usize], position as u32);
        while let Some((_, blocks)) = removals.next_if(|&(at, _)| at >= position as u64) {
            blocks.iter().for_each(|&block| seen[block as usize] = Future::NEVER);
        }
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_uses_by_hand() {
        let never = Future::NEVER;
        assert_eq!(next_use(&[0, 1, 0, 2, 1, 0], 3).unwrap(), [2, 4, 5, never, never, never]);
        assert_eq!(next_use(&[], 0).unwrap(), [0; 0]);
    }
}
