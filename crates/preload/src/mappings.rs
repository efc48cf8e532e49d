//! The C functions that change mappings, where they meet paged memory.
//!
//! Each first asks whether its range is in paged memory; if not, the next function does all. A call that would make
//! the pager act on memory that is no longer its own is refused with an error that the program may get anyway.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use hotset_pager::control::State;

use crate::arena::{self, Mode};
use crate::next::set_errno;
use crate::{next, start};

/// Returns the pages of paged memory that a call is about; `None` for other memory, and for that of a child by `fork`.
fn paged(at: *const c_void, bytes: usize) -> Option<Range<u32>> {
    arena::pages(at, bytes).filter(|_| arena::mode() != Mode::Forked)
}

fn refuse(error: c_int) -> c_int {
    set_errno(error);
    -1
}

/// `madvise`. Advice that discards the content of paged memory fills it with zeros, as private memory would be.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int {
    let Some(pages) = paged(at, bytes) else {
        // SAFETY: the caller's.
        return unsafe { next::madvise(at, bytes, advice) };
    };
    match advice {
        libc::MADV_DONTNEED => {
            let is_protected = arena::lock().heap.has_protected();
            if is_protected || arena::page(arena::address(pages.start)) != arena::page(at) {
                return refuse(libc::EINVAL);
            }
            // SAFETY: the program discards these bytes, and they are writable.
            unsafe { std::ptr::write_bytes(at.cast::<u8>(), 0, bytes) };
            0
        }
        libc::MADV_WILLNEED | libc::MADV_POPULATE_READ | libc::MADV_POPULATE_WRITE => {
            // SAFETY: the caller's; the advice changes no content.
            unsafe { next::madvise(at, bytes, advice) }
        }
        // Hints. Freed pages may keep their content.
        libc::MADV_FREE
        | libc::MADV_NORMAL
        | libc::MADV_RANDOM
        | libc::MADV_SEQUENTIAL
        | libc::MADV_HUGEPAGE
        | libc::MADV_NOHUGEPAGE
        | libc::MADV_MERGEABLE
        | libc::MADV_UNMERGEABLE
        | libc::MADV_COLD
        | libc::MADV_PAGEOUT
        | libc::MADV_DONTDUMP => 0,
        _ => refuse(libc::EINVAL),
    }
}

/// `munmap`. Paged memory is freed only by `free`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(at: *mut c_void, bytes: usize) -> c_int {
    match paged(at, bytes) {
        Some(_) => refuse(libc::EINVAL),
        // SAFETY: the caller's.
        None => unsafe { next::munmap(at, bytes) },
    }
}

/// `mmap`. Nothing is mapped over paged memory.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    at: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    if flags & libc::MAP_FIXED != 0 && paged(at, bytes).is_some() {
        set_errno(libc::EINVAL);
        return libc::MAP_FAILED;
    }
    // SAFETY: the caller's.
    unsafe { next::mmap(at, bytes, protection, flags, fd, offset) }
}

/// `mmap64`, which is `mmap` on machines of 64 bits.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    at: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe { mmap(at, bytes, protection, flags, fd, offset) }
}

/// `mremap`. Paged memory moves only by `realloc`. The last argument is read only with `MREMAP_FIXED`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    at: *mut c_void,
    old: usize,
    new: usize,
    flags: c_int,
    target: *mut c_void,
) -> *mut c_void {
    let is_fixed = flags & libc::MREMAP_FIXED != 0;
    if paged(at, old.max(1)).is_some() || (is_fixed && paged(target, new).is_some()) {
        set_errno(libc::EINVAL);
        return libc::MAP_FAILED;
    }
    // SAFETY: the caller's.
    unsafe { next::mremap(at, old, new, flags, target) }
}

/// `mprotect`. Paged memory takes any protection; the allocation gets all permissions back when it is freed.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(at: *mut c_void, bytes: usize, protection: c_int) -> c_int {
    if let Some(pages) = paged(at, bytes) {
        arena::lock().heap.protect(pages);
    }
    // SAFETY: the caller's.
    unsafe { next::mprotect(at, bytes, protection) }
}

/// `mlock`. Paged memory cannot be locked.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlock(at: *const c_void, bytes: usize) -> c_int {
    match paged(at, bytes) {
        Some(_) => refuse(libc::ENOMEM),
        // SAFETY: the caller's.
        None => unsafe { next::mlock(at, bytes) },
    }
}

/// `mlock2`. Paged memory cannot be locked.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlock2(at: *const c_void, bytes: usize, flags: c_int) -> c_int {
    match paged(at, bytes) {
        Some(_) => refuse(libc::ENOMEM),
        // SAFETY: the caller's.
        None => unsafe { next::mlock2(at, bytes, flags) },
    }
}

/// `mlockall`. A program that locks all its memory before its first large allocation is not paged; later it is
/// refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlockall(flags: c_int) -> c_int {
    if arena::change_mode(Mode::Ready, Mode::Off)
        && let Some(control) = start::control()
    {
        control.set_message("the program locks all its memory");
        control.set_state(State::Stopped);
    }
    if arena::mode() != Mode::Off || (arena::extent().1 > 0 && arena::mode() != Mode::Forked) {
        return refuse(libc::ENOMEM);
    }
    // SAFETY: the call takes no pointer.
    unsafe { next::mlockall(flags) }
}
