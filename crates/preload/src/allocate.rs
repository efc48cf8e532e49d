//! The C functions that allocate memory.

use std::ffi::{c_int, c_void};
use std::ptr::{copy_nonoverlapping, null_mut};

use hotset_pager::{OBJECT_BYTES, PAGE};

use crate::arena::{self, Mode};
use crate::next::set_errno;
use crate::{next, start};

/// `malloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    if next::is_looking() {
        return next::early(bytes);
    }
    // SAFETY: the next function takes any size.
    start::allocate(bytes, false).unwrap_or_else(|| unsafe { next::malloc(bytes) })
}

/// `calloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    let whole = count.checked_mul(bytes);
    if next::is_looking() {
        return whole.map_or(null_mut(), next::early);
    }
    let paged = whole.and_then(|bytes| start::allocate(bytes, true));
    // SAFETY: the next function takes any sizes.
    paged.unwrap_or_else(|| unsafe { next::calloc(count, bytes) })
}

/// `free`.
///
/// # Safety
/// As in C: `at` is null, or was returned by a function here and not freed since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(at: *mut c_void) {
    if arena::contains(at) {
        // SAFETY: the C library returns the place of this thread's number.
        let error = unsafe { *libc::__errno_location() };
        release(at);
        set_errno(error);
    } else if !at.is_null() && next::early_size(at).is_none() {
        // SAFETY: the memory is not from here, so it is from the next allocator.
        unsafe { next::free(at) };
    }
}

/// Frees paged memory. A pointer that is not the begin of an allocation is ignored.
fn release(at: *mut c_void) {
    let mut shared = arena::lock();
    let Some(freed) = shared.heap.remove(arena::page(at)) else { return };
    let bytes = freed.pages as usize * PAGE;
    if arena::mode() == Mode::Forked {
        drop(shared);
        // SAFETY: the pages are private memory of the freed allocation.
        unsafe { next::madvise(at, bytes, libc::MADV_DONTNEED) };
        return;
    }
    if freed.is_protected {
        // SAFETY: as above, but shared. On failure the pages are lost, not reused.
        if unsafe { next::mprotect(at, bytes, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
            return;
        }
    }
    shared.heap.give_freed(freed.start..freed.start + freed.pages);
}

/// `realloc`.
///
/// # Safety
/// As in C: `at` is null, or was returned by a function here and not freed since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(at: *mut c_void, bytes: usize) -> *mut c_void {
    if at.is_null() {
        // SAFETY: any size is allowed.
        return unsafe { malloc(bytes) };
    }
    if arena::contains(at) {
        // SAFETY: the caller's.
        return unsafe { move_paged(at, bytes) };
    }
    if let Some(size) = next::early_size(at) {
        // SAFETY: any size is allowed.
        let new = unsafe { malloc(bytes) };
        // SAFETY: both blocks have that many bytes, and are distinct.
        unsafe { copy(at, new, size.min(bytes)) };
        return new;
    }
    // SAFETY: `at` is from the next allocator.
    let old = unsafe { next::malloc_usable_size(at) };
    if old >= bytes || bytes < OBJECT_BYTES {
        // SAFETY: as above.
        return unsafe { next::realloc(at, bytes) };
    }
    match start::allocate(bytes, false) {
        Some(new) => {
            // SAFETY: the old block has `old` bytes and is distinct from the new one, which is larger.
            unsafe {
                copy(at, new, old);
                next::free(at);
            }
            new
        }
        // SAFETY: as above.
        None => unsafe { next::realloc(at, bytes) },
    }
}

/// Changes the size of paged memory.
unsafe fn move_paged(at: *mut c_void, bytes: usize) -> *mut c_void {
    let page = arena::page(at);
    let mut shared = arena::lock();
    let Some(pages) = shared.heap.pages_at(page) else { return null_mut() };
    if bytes >= OBJECT_BYTES && arena::mode() == Mode::On && shared.heap.resize(page, bytes) {
        return at;
    }
    drop(shared);
    if bytes == 0 {
        release(at);
        return null_mut();
    }
    // SAFETY: any size is allowed.
    let new = unsafe { malloc(bytes) };
    if !new.is_null() {
        // SAFETY: both blocks have that many bytes, and are distinct.
        unsafe { copy(at, new, bytes.min(pages as usize * PAGE)) };
        release(at);
    }
    new
}

/// Copies bytes, unless there is no target.
unsafe fn copy(from: *const c_void, to: *mut c_void, bytes: usize) {
    if !to.is_null() {
        // SAFETY: the caller's.
        unsafe { copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), bytes) };
    }
}

/// `reallocarray`.
///
/// # Safety
/// As in C: `at` is null, or was returned by a function here and not freed since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(at: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    match count.checked_mul(bytes) {
        // SAFETY: the caller's.
        Some(whole) => unsafe { realloc(at, whole) },
        None => {
            set_errno(libc::ENOMEM);
            null_mut()
        }
    }
}

/// Allocates paged memory with an alignment, if pages have it.
fn aligned(alignment: usize, bytes: usize) -> Option<*mut c_void> {
    let has_it = alignment.is_power_of_two() && alignment <= PAGE;
    if has_it { start::allocate(bytes, false) } else { None }
}

/// `posix_memalign`.
///
/// # Safety
/// As in C: `out` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    let is_valid = alignment.is_multiple_of(size_of::<usize>());
    match if is_valid { aligned(alignment, bytes) } else { None } {
        Some(at) => {
            // SAFETY: the caller's.
            unsafe { out.write(at) };
            0
        }
        // SAFETY: the caller's.
        None => unsafe { next::posix_memalign(out, alignment, bytes) },
    }
}

/// `aligned_alloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the next function refuses what is not an alignment.
    aligned(alignment, bytes).unwrap_or_else(|| unsafe { next::aligned_alloc(alignment, bytes) })
}

/// `memalign`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the next function takes any alignment.
    aligned(alignment, bytes).unwrap_or_else(|| unsafe { next::memalign(alignment, bytes) })
}

/// `valloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn valloc(bytes: usize) -> *mut c_void {
    // SAFETY: the next function takes any size.
    aligned(PAGE, bytes).unwrap_or_else(|| unsafe { next::valloc(bytes) })
}

/// `pvalloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvalloc(bytes: usize) -> *mut c_void {
    // SAFETY: the next function takes any size.
    aligned(PAGE, bytes).unwrap_or_else(|| unsafe { next::pvalloc(bytes) })
}

/// `malloc_usable_size`.
///
/// # Safety
/// As in C: `at` is null, or was returned by a function here and not freed since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(at: *mut c_void) -> usize {
    if arena::contains(at) {
        return arena::lock().heap.pages_at(arena::page(at)).map_or(0, |pages| pages as usize * PAGE);
    }
    // SAFETY: the memory is from the next allocator, unless it was allocated during a lookup.
    next::early_size(at).unwrap_or_else(|| unsafe { next::malloc_usable_size(at) })
}
