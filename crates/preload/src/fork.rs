//! `fork`: the child gets a copy of paged memory as ordinary memory at the same addresses.
//!
//! A copy is exact only if no other thread writes meanwhile. A fork of a program with several threads therefore fails
//! with `EAGAIN` once memory is paged. `vfork`, `posix_spawn` and `system` are not affected: their child has no memory
//! of its own. A child by a bare `clone` lacks paged memory, so that it ends when it uses it.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::fs;
use std::ops::Range;
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use hotset_pager::PAGE;

use crate::arena::{self, Mode, Shared};
use crate::next::{self, set_errno};

/// Attempts, one each millisecond, to see that threads which were joined have ended.
const ATTEMPTS: u32 = 20;

/// The thread of the worker; 0 before it starts.
pub(crate) static WORKER: AtomicI32 = AtomicI32::new(0);

/// What the handlers of one fork share. Only the forking thread uses it, under the lock of the allocations.
struct Fork {
    lock: UnsafeCell<Option<MutexGuard<'static, Shared>>>,
    /// The child closes it when it has its copy.
    copied: UnsafeCell<[c_int; 2]>,
}

// SAFETY: the fields are used between `prepare` and the handler behind the fork, by the thread that has the lock.
unsafe impl Sync for Fork {}

static FORK: Fork = Fork { lock: UnsafeCell::new(None), copied: UnsafeCell::new([-1; 2]) };
/// The fork under way is refused.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Registers the handlers.
pub(crate) fn register() -> bool {
    // SAFETY: the handlers are functions of this library, which is never unloaded.
    unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) == 0 }
}

/// `fork`. Fails with `EAGAIN` where the child could not have an exact copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> libc::pid_t {
    // SAFETY: the next function takes no argument.
    let child = unsafe { next::fork() };
    if child > 0 && REFUSED.swap(false, Ordering::AcqRel) {
        // SAFETY: the child has ended at once; no status is asked for.
        unsafe { libc::waitpid(child, null_mut(), 0) };
        set_errno(libc::EAGAIN);
        return -1;
    }
    child
}

fn is_paging() -> bool {
    arena::extent().1 > 0 && arena::mode() != Mode::Forked
}

extern "C" fn prepare() {
    if !is_paging() {
        return;
    }
    let shared = arena::lock();
    let (base, len) = arena::extent();
    let mut copied = [-1; 2];
    let may_copy = shared.heap.is_empty() || (!shared.heap.has_protected() && is_alone());
    // SAFETY: the pipe's place is valid; the advice is about this library's own mapping, whose content it keeps.
    let is_ready = may_copy
        && unsafe {
            libc::pipe2(copied.as_mut_ptr(), libc::O_CLOEXEC) == 0
                && next::madvise(base as *mut c_void, len, libc::MADV_DOFORK) == 0
        };
    REFUSED.store(!is_ready, Ordering::Release);
    // SAFETY: this thread has the lock.
    unsafe {
        *FORK.copied.get() = copied;
        *FORK.lock.get() = Some(shared);
    }
}

extern "C" fn in_parent() {
    if !is_paging() {
        return;
    }
    let (base, len) = arena::extent();
    // SAFETY: this thread has the lock until it drops the guard. The descriptors are those of `prepare`.
    unsafe {
        next::madvise(base as *mut c_void, len, libc::MADV_DONTFORK);
        let [from, to] = std::mem::replace(&mut *FORK.copied.get(), [-1; 2]);
        // The worker goes on while the child copies.
        drop((*FORK.lock.get()).take());
        if to >= 0 {
            libc::close(to);
            let mut byte = 0u8;
            while libc::read(from, (&raw mut byte).cast(), 1) < 0 && *libc::__errno_location() == libc::EINTR {}
            libc::close(from);
        }
    }
}

extern "C" fn in_child() {
    if !is_paging() {
        return;
    }
    if REFUSED.load(Ordering::Acquire) {
        // SAFETY: the child has done nothing yet.
        unsafe { libc::_exit(127) };
    }
    // SAFETY: the child's only thread has the copy of the lock.
    let shared = unsafe { (*FORK.lock.get()).take() };
    let mut end = 0;
    for range in shared.iter().flat_map(|shared| shared.heap.ranges()) {
        let is_copied = unmap(end..range.start) && copy(range.clone());
        if !is_copied {
            let message = b"hotset: a forked process has no memory for its copy of paged memory, and ends\n";
            // SAFETY: the message is valid; the child ends.
            unsafe {
                libc::write(2, message.as_ptr().cast(), message.len());
                libc::_exit(127);
            }
        }
        end = range.end;
    }
    unmap(end..(arena::extent().1 / PAGE) as u32);
    arena::set_mode(Mode::Forked);
    drop(shared);
    // SAFETY: the descriptors are those of `prepare`.
    unsafe {
        let [from, to] = std::mem::replace(&mut *FORK.copied.get(), [-1; 2]);
        libc::close(from);
        libc::close(to);
    }
}

/// Removes pages that no allocation has.
fn unmap(pages: Range<u32>) -> bool {
    let bytes = pages.len() * PAGE;
    // SAFETY: no allocation is in these pages.
    bytes == 0 || unsafe { next::munmap(arena::address(pages.start), bytes) } == 0
}

/// Replaces pages by a private copy.
fn copy(pages: Range<u32>) -> bool {
    let (from, bytes) = (arena::address(pages.start), pages.len() * PAGE);
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the new mapping is apart from all others until it takes the place of the pages, which have been copied.
    unsafe {
        let to = next::mmap(null_mut(), bytes, protection, flags, -1, 0);
        if to == libc::MAP_FAILED {
            return false;
        }
        for offset in (0..bytes).step_by(PAGE) {
            let page = from.cast::<[u64; PAGE / 8]>().byte_add(offset);
            if (*page).iter().any(|&word| word != 0) {
                copy_nonoverlapping(page, to.cast::<[u64; PAGE / 8]>().byte_add(offset), 1);
            }
        }
        next::mremap(to, bytes, bytes, libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, from) == from
    }
}

/// True if the process has no thread besides this one and the worker.
fn is_alone() -> bool {
    let worker = WORKER.load(Ordering::Acquire).to_string();
    (0..ATTEMPTS).any(|attempt| {
        if attempt > 0 {
            sleep(Duration::from_millis(1));
        }
        let Ok(threads) = fs::read_dir("/proc/self/task") else { return false };
        threads.flatten().filter(|thread| thread.file_name() != *worker).count() == 1
    })
}
