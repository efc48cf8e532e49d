//! Telling the processor what the next references will touch.

/// Fetches the cache line of `items[index]`; out of range or on another processor it does nothing.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address, and wrapping_add makes no claim on the allocation.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above; nothing but the cache is changed.
    unsafe {
        use std::arch::asm;
        let address = items.as_ptr().wrapping_add(index);
        asm!("prfm pldl1keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", not(miri)))))]
    let _ = (items, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_index_may_be_fetched() {
        for index in [0, 2, 3, 1 << 20, usize::MAX] {
            prefetch(&[1u64, 2, 3], index);
            prefetch::<u64>(&[], index);
        }
    }
}
