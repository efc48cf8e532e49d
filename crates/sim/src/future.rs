//! The next-use column: for every reference, where the same block is referenced next.

use hotset_core::policy::Future;

/// More references than positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the trace has more than 4 billion references, more than 32 bits can number")]
pub struct TooManyReferences;

/// For each of `ids` (all below `distinct`) the position of the next reference to the same block, [`Future::NEVER`] if
/// none.
pub fn next_use(ids: &[u32], distinct: u32) -> Result<Vec<u32>, TooManyReferences> {
    if ids.len() >= Future::NEVER as usize {
        return Err(TooManyReferences);
    }
    let mut next = vec![Future::NEVER; ids.len()];
    let mut seen = vec![Future::NEVER; distinct as usize];
    // Filled backwards, so the whole trace has to be at hand.
    for (position, &id) in ids.iter().enumerate().rev() {
        next[position] = std::mem::replace(&mut seen[id as usize], position as u32);
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
