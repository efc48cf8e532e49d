//! The next-use column: for every reference, where the same block is referenced next.

use hotset_core::policy::Future;

/// More references than positions.
#[derive(Debug, PartialEq, Eq)]
pub struct TooManyReferences;

/// For each of `ids` (all below `distinct`) the position of the next reference to the same block, [`Future::NEVER`] if none.
pub fn next_use(ids: &[u32], distinct: u32) -> Result<Vec<u32>, TooManyReferences> {
    if ids.len() >= Future::NEVER as usize {
        return Err(TooManyReferences);
    }
    let mut seen = vec![Future::NEVER; distinct as usize];
    let mut next = vec![Future::NEVER; ids.len()];
    for (position, &id) in ids.iter().enumerate().rev() {
        next[position] = std::mem::replace(&mut seen[id as usize], position as u32);
    }
    Ok(next)
}
