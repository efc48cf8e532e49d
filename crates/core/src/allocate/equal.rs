//! Equal shares: the allocator that knows nothing.

/// `total` divided by `parts`; the first ones have a block more where it does not come out even.
pub fn divide(total: u32, parts: usize) -> Vec<u32> {
    let count = u32::try_from(parts).unwrap_or(u32::MAX);
    (0..count).map(|part| total / count + u32::from(part < total % count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_have_a_block_more() {
        assert_eq!(divide(10, 4), [3, 3, 2, 2]);
        assert_eq!(divide(2, 3), [1, 1, 0]);
        assert_eq!(divide(2, 0), []);
    }
}
