//! The thread that pages.

use std::io;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hotset_pager::control::{Control, State};
use hotset_pager::{Owned, Owners, PAGE, Pager, PagerError, PagerSettings, Region};

use crate::arena::{self, Mode};
use crate::fork::WORKER;

/// Address space for paged memory: 256 GiB, of which only touched pages take memory.
const PAGES: u32 = 1 << 26;
/// Space on the device is reserved in steps of 64 MiB.
const STEP: u32 = (64 << 20) / PAGE as u32;
/// A round, in which the age of freed memory is counted.
const ROUND: Duration = Duration::from_millis(50);
/// Freed memory serves new allocations of its size for so many rounds before it is cleared, unless there is much of it.
const KEEP: u32 = 10;

/// Asks the allocations for the owners of pages.
struct Allocations;

impl Owners for Allocations {
    fn owners(&self, pages: &[u32], owned: &mut Vec<Owned>) {
        let shared = arena::lock();
        owned.extend(pages.iter().map(|&page| shared.heap.owner(page)));
    }
}

/// Pages until the process ends. If that is impossible, all memory becomes ordinary, or stays in memory.
pub(crate) fn run(control: &'static Control, settings: &'static PagerSettings) {
    WORKER.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Release);
    let ended = catch_unwind(AssertUnwindSafe(|| match prepare(control, settings) {
        // The program uses the region as long as it lives, also if this thread ends.
        Ok(pager) => page(control, settings.frames, &mut ManuallyDrop::new(pager)),
        Err(error) => error,
    }));
    // Large allocations are ordinary from here on. Paged memory stays in the page cache as long as the kernel likes.
    arena::change_mode(Mode::Starting, Mode::Off);
    arena::change_mode(Mode::On, Mode::Off);
    arena::wake_allocators();
    let (state, why) = match ended {
        Ok(error @ PagerError::Lost { .. }) => (State::Failed, error.to_string()),
        Ok(error) => (State::Stopped, error.to_string()),
        Err(_) => (State::Stopped, "the pager has failed, a bug; please report it".to_owned()),
    };
    control.set_message(&why);
    control.set_state(state);
    if state == State::Failed {
        // A page that was not written may be read back wrongly if the kernel drops it.
        // SAFETY: the default action of the signal ends the process.
        unsafe {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
            libc::kill(libc::getpid(), libc::SIGBUS);
        }
    }
}

/// Makes the region, and opens it to allocations.
fn prepare(control: &Control, settings: &PagerSettings) -> Result<Pager, PagerError> {
    // The thread gets a table of descriptors of its own. The program cannot close the pager's files, nor find them, and
    // the pager keeps no file of the program open.
    // SAFETY: no code of this thread uses a descriptor of the program.
    let alone = unsafe { libc::close_range(0, u32::MAX, libc::CLOSE_RANGE_UNSHARE as i32) };
    if alone != 0 {
        return Err(PagerError::Kernel { what: "close_range", source: io::Error::last_os_error() });
    }
    Pager::prepare_thread();
    let mut region = Region::create(&settings.folder, PAGES)?;
    region.try_out()?;
    let pager = Pager::new(region, settings.clone())?;
    let (base, pages) = (pager.region().base(), pager.region().pages());
    arena::lock().heap = hotset_pager::Heap::new(pages);
    arena::place(base, pages as usize * PAGE);
    arena::set_mode(Mode::On);
    control.set_state(State::Paging);
    arena::wake_allocators();
    Ok(pager)
}

/// Pages until a call fails, and returns its error.
fn page(control: &Control, frames: u32, pager: &mut Pager) -> PagerError {
    let mut aged = Instant::now();
    loop {
        let sleep = match pager.step(&Allocations) {
            Ok(sleep) => sleep,
            Err(error) => return error,
        };
        control.set_counts(pager.counts());
        let mut shared = arena::wait_for_work(arena::lock(), sleep);
        let was_crowded = std::mem::replace(&mut shared.is_crowded, pager.is_crowded());
        if was_crowded && !shared.is_crowded {
            arena::wake_allocators();
        }
        let needed = std::mem::take(&mut shared.needed);
        if aged.elapsed() >= ROUND {
            aged = Instant::now();
            shared.heap.age();
        }
        let is_much = shared.heap.freed_pages() > frames / 8;
        let freed = shared.heap.take_freed(if is_much { 0 } else { KEEP });
        drop(shared);
        if needed > pager.region().reserved() {
            grow(pager, needed);
        }
        for range in freed {
            if let Err(error) = pager.clear(range.clone()) {
                return error;
            }
            arena::lock().heap.give_clear(range);
        }
    }
}

/// Reserves space for more pages, or refuses them.
fn grow(pager: &mut Pager, needed: u32) {
    let generous = needed.saturating_add(STEP).min(pager.region().pages());
    let done = pager.grow(generous).or_else(|_| pager.grow(needed));
    let mut shared = arena::lock();
    match done {
        Ok(()) => shared.heap.grow(pager.region().reserved()),
        Err(_) => shared.refused += 1,
    }
    drop(shared);
    arena::wake_allocators();
}
