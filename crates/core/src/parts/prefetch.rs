//! Telling the processor what the next references will touch.

/// Fetches the cache line of `items[index]`; out of range or on another processor it does nothing.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    line(items.as_ptr().wrapping_add(index).cast());
}

/// Fetches the first and the last cache line of `items[index]`, for items that need not lie in one line.
#[inline(always)]
pub fn prefetch_across<T>(items: &[T], index: usize) {
    let first: *const u8 = items.as_ptr().wrapping_add(index).cast();
    line(first);
    line(first.wrapping_add(size_of::<T>().saturating_sub(1)));
}

/// Fetches the cache line of an address.
#[inline(always)]
fn line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above; nothing but the cache is changed.
    unsafe {
        use std::arch::asm;
        asm!("prfm pldl1keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", not(miri)))))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_index_may_be_fetched() {
        for index in [0, 2, 3, 1 << 20, usize::MAX] {
            prefetch(&[1u64, 2, 3], index);
            prefetch::<u64>(&[], index);
            prefetch_across(&[[1u32; 3]], index);
            prefetch_across::<[u64; 9]>(&[], index);
        }
    }
}
