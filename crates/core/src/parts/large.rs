//! Large arrays that are read at random.
//!
//! Such an array spans more small pages than the processor's address cache holds, so that every access would also look
//! up its page. Asking for huge pages (2 MB) before the array is first touched avoids that, where the system offers
//! them on request.

/// Arrays below this many bytes are left alone.
#[cfg(target_os = "linux")]
const WORTH_BYTES: usize = 4 << 20;

/// A vector of `len` copies of `value`, on huge pages if it is large.
pub fn filled<T: Copy>(value: T, len: usize) -> Vec<T> {
    let mut items: Vec<T> = Vec::with_capacity(len);
    advise(items.spare_capacity_mut());
    items.resize(len, value);
    items
}

#[cfg(target_os = "linux")]
fn advise<T>(memory: &mut [T]) {
    let bytes = size_of_val(memory);
    if bytes < WORTH_BYTES {
        return;
    }
    let page = rustix::param::page_size();
    let start = memory.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(page);
    let whole = (bytes - skip) / page * page;
    // SAFETY: the range lies inside `memory`, which is borrowed mutably, and this advice does not change its contents.
    // A refusal leaves small pages, which are as correct.
    let _ = unsafe { rustix::mm::madvise(start.add(skip).cast(), whole, rustix::mm::Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_memory: &mut [T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_and_small_vectors_hold_what_they_should() {
        for len in [0, 1, 1000, 3_000_001] {
            assert_eq!(filled(7u32, len), vec![7u32; len]);
        }
    }
}
