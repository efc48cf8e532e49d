//! Calls of the kernel for which no library has a safe form.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::checked;

/// Only faults of the program itself: what an unprivileged user may ask for.
const UFFD_USER_MODE_ONLY: i32 = 1;
const UFFD_API: u64 = 0xAA;
const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;
const UFFDIO_REGISTER_MODE_WP: u64 = 2;
/// Write protection is resolved by the kernel, so no thread waits for events.
const UFFD_FEATURE_WP_ASYNC: u64 = 1 << 15;
const PAGEMAP_SCAN: u64 = 0xc060_6610;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const CACHESTAT: i64 = 451;

#[repr(C)]
struct UffdApi {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct UffdRegister {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

/// A run of addresses that [`scan`] returns.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PageRun {
    /// Its first address.
    pub(crate) start: u64,
    /// The address behind it.
    pub(crate) end: u64,
    categories: u64,
}

#[repr(C)]
#[derive(Default)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    runs: u64,
    runs_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// Pages of a range of a file in the page cache.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CacheStat {
    pub(crate) cached: u64,
    pub(crate) dirty: u64,
    pub(crate) writing: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Opens a userfaultfd and registers `len` bytes at `start` for asynchronous write protection. The registration ends
/// with the descriptor. It has one effect here: the kernel maps no pages around a fault, so that a mapped page is a
/// touched page.
pub(crate) fn register(start: usize, len: usize) -> io::Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | UFFD_USER_MODE_ONLY;
    // SAFETY: the call takes no pointer.
    let raw = checked(unsafe { libc::syscall(libc::SYS_userfaultfd, flags) })?;
    // SAFETY: the kernel has just returned the descriptor, which nothing else owns.
    let fd = unsafe { OwnedFd::from_raw_fd(raw as i32) };
    let mut api = UffdApi { api: UFFD_API, features: UFFD_FEATURE_WP_ASYNC, ioctls: 0 };
    // SAFETY: the argument has the layout of `struct uffdio_api`, and lives during the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), UFFDIO_API as _, &raw mut api) }.into())?;
    let mut range = UffdRegister { start: start as u64, len: len as u64, mode: UFFDIO_REGISTER_MODE_WP, ioctls: 0 };
    // SAFETY: the argument has the layout of `struct uffdio_register`, and lives during the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), UFFDIO_REGISTER as _, &raw mut range) }.into())?;
    Ok(fd)
}

/// Writes the runs of mapped pages from `start` to `end` into `runs`. Returns their number, and the address at which
/// the walk stopped: `end`, or earlier if `runs` is full.
pub(crate) fn scan(pagemap: BorrowedFd, start: u64, end: u64, runs: &mut [PageRun]) -> io::Result<(usize, u64)> {
    let mut argument = ScanArgument {
        size: size_of::<ScanArgument>() as u64,
        start,
        end,
        runs: runs.as_mut_ptr() as u64,
        runs_len: runs.len() as u64,
        category_mask: PAGE_IS_PRESENT,
        return_mask: PAGE_IS_PRESENT,
        ..ScanArgument::default()
    };
    // SAFETY: the argument has the layout of `struct pm_scan_arg`; the kernel writes at most `runs_len` runs.
    let found = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut argument) };
    Ok((checked(found.into())? as usize, argument.walk_end))
}

/// PagingCounts the pages of a range of a file that are in the page cache.
pub(crate) fn cache_stat(file: BorrowedFd, offset: u64, len: u64) -> io::Result<CacheStat> {
    let range = [offset, len];
    let mut stat = CacheStat::default();
    // SAFETY: the arguments have the layout of `struct cachestat_range` and `struct cachestat`.
    checked(unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), &raw mut stat, 0u32) })?;
    Ok(stat)
}

/// Starts to write the dirty pages of a range of a file, without waiting for them.
pub(crate) fn start_writing(file: BorrowedFd, offset: u64, len: u64) -> io::Result<()> {
    sync_range(file, offset, len, libc::SYNC_FILE_RANGE_WRITE)
}

/// Waits for writes of a range that are under way. Fails if any write of the file has failed since the last call.
pub(crate) fn wait_for_writes(file: BorrowedFd, offset: u64, len: u64) -> io::Result<()> {
    sync_range(file, offset, len, libc::SYNC_FILE_RANGE_WAIT_BEFORE)
}

fn sync_range(file: BorrowedFd, offset: u64, len: u64, flags: u32) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    checked(unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, len as i64, flags) }.into())?;
    Ok(())
}

/// Returns the faults of this process that needed a read, or new memory, since it began.
pub(crate) fn major_faults() -> u64 {
    // SAFETY: all zeros is a value of `rusage`, a struct of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills the struct, which lives during the call.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_majflt as u64
}

/// Asks for short turns of the processor, which come sooner, for this thread. Kernels before Linux 6.12 ignore it.
pub(crate) fn take_short_turns() {
    /// Nanoseconds of a turn, the least that the kernel gives.
    const TURN: u64 = 100_000;
    // SAFETY: the call takes no pointer.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    // Size and policy (the usual one), flags, niceness and priority, then the times.
    let attributes: [u64; 6] = [48, 0, u64::from(nice.cast_unsigned()), TURN, 0, 0];
    // SAFETY: the argument has the layout of the first version of `struct sched_attr`, and lives during the call.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, attributes.as_ptr(), 0u32) };
}
