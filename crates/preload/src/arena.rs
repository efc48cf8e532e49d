//! The state of the library: where paged memory lies, and which allocations are in it.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hotset_pager::{Heap, PAGE, Placed};

/// How long an allocation waits for the worker before it goes to ordinary memory. The worker may wait for a lock of
/// the loader that the allocating thread holds.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long an allocation waits while far more is in memory than allowed.
const CROWDED: Duration = Duration::from_millis(100);

/// What the library does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing: all memory is ordinary.
    Off = 0,
    /// The next large allocation starts the worker.
    Ready = 1,
    /// The worker starts.
    Starting = 2,
    /// Large allocations are paged.
    On = 3,
    /// This is a child by `fork`: paged memory has become ordinary memory at the same addresses.
    Forked = 4,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::Off as u8);

/// Returns the mode.
pub(crate) fn mode() -> Mode {
    match MODE.load(Ordering::Acquire) {
        1 => Mode::Ready,
        2 => Mode::Starting,
        3 => Mode::On,
        4 => Mode::Forked,
        _ => Mode::Off,
    }
}

/// Sets the mode.
pub(crate) fn set_mode(mode: Mode) {
    MODE.store(mode as u8, Ordering::Release);
}

/// Moves from one mode to another; false if another thread was faster.
pub(crate) fn change_mode(from: Mode, to: Mode) -> bool {
    MODE.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// First address of paged memory.
static BASE: AtomicUsize = AtomicUsize::new(0);
/// Bytes of paged memory; 0 as long as there is none.
static LEN: AtomicUsize = AtomicUsize::new(0);

/// Sets where paged memory lies, once.
pub(crate) fn place(base: usize, len: usize) {
    BASE.store(base, Ordering::Relaxed);
    LEN.store(len, Ordering::Release);
}

/// Returns the first address and the length of paged memory.
pub(crate) fn extent() -> (usize, usize) {
    // In this order, a length is never seen without its address.
    let len = LEN.load(Ordering::Acquire);
    (BASE.load(Ordering::Relaxed), len)
}

/// True if `at` is in paged memory.
pub(crate) fn contains(at: *const c_void) -> bool {
    let (base, len) = extent();
    (at as usize).wrapping_sub(base) < len
}

/// Returns the pages that `bytes` bytes at `at` share with paged memory; `None` if there are none.
pub(crate) fn pages(at: *const c_void, bytes: usize) -> Option<Range<u32>> {
    let (base, len) = extent();
    let (from, to) = ((at as usize).max(base), (at as usize).saturating_add(bytes).min(base.saturating_add(len)));
    (len > 0 && from < to).then(|| ((from - base) / PAGE) as u32..(to - base).div_ceil(PAGE) as u32)
}

/// Returns the page of an address in paged memory.
pub(crate) fn page(at: *const c_void) -> u32 {
    ((at as usize - extent().0) / PAGE) as u32
}

/// Returns the address of a page.
pub(crate) fn address(page: u32) -> *mut c_void {
    (extent().0 + page as usize * PAGE) as *mut c_void
}

/// What allocating threads and the worker share.
pub(crate) struct Shared {
    /// The allocations.
    pub(crate) heap: Heap,
    /// Pages that a thread waits for to become usable.
    pub(crate) needed: u32,
    /// Requests for pages that the device had no space for.
    pub(crate) refused: u64,
    /// Far more is in memory than allowed.
    pub(crate) is_crowded: bool,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { heap: Heap::new(0), needed: 0, refused: 0, is_crowded: false });
/// The worker has something to do.
static WORK: Condvar = Condvar::new();
/// The worker has done something.
static DONE: Condvar = Condvar::new();

/// Locks the shared state. Only the next allocator is called under it.
pub(crate) fn lock() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes threads that wait for the worker.
pub(crate) fn wake_allocators() {
    DONE.notify_all();
}

/// Waits for work, at most for `time`.
pub(crate) fn wait_for_work(shared: MutexGuard<'static, Shared>, time: Duration) -> MutexGuard<'static, Shared> {
    WORK.wait_timeout(shared, time).unwrap_or_else(PoisonError::into_inner).0
}

/// Waits until the worker has started. False if it did not, or not in time.
pub(crate) fn wait_for_start() -> bool {
    let (deadline, mut shared) = (Instant::now() + PATIENCE, lock());
    while mode() == Mode::Starting {
        let Some(left) = deadline.checked_duration_since(Instant::now()) else { return false };
        shared = DONE.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    drop(shared);
    mode() == Mode::On
}

/// Locks the shared state, after a wait if far more is in memory than allowed: a program that goes on to allocate would
/// fill it faster than pages leave.
fn wait_for_room() -> MutexGuard<'static, Shared> {
    let mut shared = lock();
    let deadline = if shared.is_crowded { Instant::now() + CROWDED } else { return shared };
    while shared.is_crowded
        && mode() == Mode::On
        && let Some(left) = deadline.checked_duration_since(Instant::now())
    {
        shared = DONE.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    shared
}

/// Allocates paged memory; `None` if it must come from elsewhere.
pub(crate) fn allocate(bytes: usize, zeroed: bool) -> Option<*mut c_void> {
    let (deadline, mut shared) = (Instant::now() + PATIENCE, wait_for_room());
    let refused = shared.refused;
    loop {
        match shared.heap.allocate(bytes, zeroed) {
            Placed::At(page) => return Some(address(page)),
            Placed::Old(page) => {
                drop(shared);
                // SAFETY: the new allocation has these bytes, and nothing else uses it yet.
                unsafe { address(page).write_bytes(0, bytes) };
                return Some(address(page));
            }
            Placed::Full => return None,
            Placed::Needs(pages) => shared.needed = shared.needed.max(pages),
        }
        let left = deadline.checked_duration_since(Instant::now())?;
        if shared.refused != refused || mode() != Mode::On {
            return None;
        }
        WORK.notify_one();
        shared = DONE.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}
