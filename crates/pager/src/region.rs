//! The mapping that contains paged allocations.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

use rustix::fs::{Advice, FallocateFlags, Mode, OFlags, fadvise, fallocate, fstatfs, ftruncate, open};
use rustix::mm::{Advice as MapAdvice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::error::checked;
use crate::sys::{self, PageRun};
use crate::{PAGE, PagerError};

/// Magic numbers of the file systems on which the pager was tried.
const FILE_SYSTEMS: [u64; 2] = [0xef53, 0x5846_5342];

/// Runs that one call of [`Region::touched`] takes from the kernel at a time.
const RUNS: usize = 4096;

/// Pages of a range in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    /// All of them.
    pub pages: u64,
    /// Those that were written to and are not being written back.
    pub dirty: u64,
    /// Those that are being written back.
    pub writing: u64,
}

/// A shared mapping of an unlinked, private file. Page numbers count from its begin.
///
/// Every page reads as zeros until it is written to. The kernel keeps the content through all operations here except
/// [`clear`](Region::clear).
#[derive(Debug)]
pub struct Region {
    base: NonNull<u8>,
    pages: u32,
    folder: PathBuf,
    file: OwnedFd,
    pagemap: File,
    /// Ends the registration when it is closed.
    _registration: OwnedFd,
    /// Pages from the begin that have space on the device.
    reserved: u32,
    runs: Vec<PageRun>,
}

// SAFETY: the mapping is memory of the process, and belongs to no thread.
unsafe impl Send for Region {}

impl Region {
    /// Maps up to `pages` pages of a new file in `folder`, fewer if the address space is limited. No page has space
    /// on the device yet.
    ///
    /// The pages are excluded from core dumps and are not inherited by `fork`.
    pub fn create(folder: &Path, pages: u32) -> Result<Region, PagerError> {
        if rustix::param::page_size() != PAGE {
            return Err(PagerError::PageSize(rustix::param::page_size()));
        }
        let failed = |error: rustix::io::Errno| PagerError::Folder { path: folder.to_owned(), source: error.into() };
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = open(folder, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        let kind = fstatfs(&file).map_err(failed)?.f_type as u64;
        if !FILE_SYSTEMS.contains(&kind) {
            return Err(PagerError::FileSystem(folder.to_owned()));
        }
        let (base, pages) = map(&file, pages).map_err(failed)?.ok_or(PagerError::AddressSpace)?;
        let len = pages as usize * PAGE;
        let kernel = |what| move |source| PagerError::Kernel { what, source };
        let mapped = Mapped { base, len };
        // Without read-ahead by the kernel, the page cache has single pages, each of which can leave.
        for advice in [MapAdvice::Random, MapAdvice::LinuxDontFork, MapAdvice::LinuxDontDump] {
            advise(base, len, advice).map_err(kernel("madvise"))?;
        }
        let registration = sys::register(base.as_ptr() as usize, len).map_err(kernel("userfaultfd"))?;
        let pagemap = File::open("/proc/self/pagemap").map_err(kernel("/proc/self/pagemap"))?;
        std::mem::forget(mapped);
        let mut region = Region {
            base,
            pages,
            folder: folder.to_owned(),
            file,
            pagemap,
            _registration: registration,
            reserved: 0,
            runs: vec![PageRun::default(); RUNS],
        };
        region.touched(0..1, |_| ()).map_err(kernel("PAGEMAP_SCAN"))?;
        region.cached(0..1).map_err(kernel("cachestat"))?;
        Ok(region)
    }

    /// Writes, drops and rereads a page, as evictions will. Leaves the page clear.
    pub fn try_out(&mut self) -> Result<(), PagerError> {
        let path = self.folder.clone();
        let failed = |source| PagerError::Folder { path: path.clone(), source };
        self.reserve(1).map_err(failed)?;
        // SAFETY: the page is mapped, and nothing else refers to it yet.
        unsafe { ptr::write_volatile(self.base.as_ptr(), 1) };
        self.unmap(0..1).map_err(failed)?;
        self.write_back(0..1).map_err(failed)?;
        self.await_writes(0..1)?;
        self.drop_clean(0..1).map_err(failed)?;
        if self.cached(0..1).map_err(failed)?.pages > 0 {
            return Err(PagerError::Stays(path));
        }
        // SAFETY: as above.
        let read = unsafe { ptr::read_volatile(self.base.as_ptr()) };
        assert_eq!(read, 1, "the kernel has returned another byte than was written");
        self.clear(0..1).map_err(failed)
    }

    /// Returns the error of a call that failed without consequences for the content of pages.
    pub(crate) fn error(&self, source: io::Error) -> PagerError {
        PagerError::Folder { path: self.folder.clone(), source }
    }

    /// Returns the address of the first page.
    pub fn base(&self) -> usize {
        self.base.as_ptr() as usize
    }

    /// Returns the number of pages in the address space.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns the number of pages from the begin that have space on the device.
    pub fn reserved(&self) -> u32 {
        self.reserved
    }

    /// Reserves space on the device for the first `pages` pages, so that no write to them can lack it.
    pub fn reserve(&mut self, pages: u32) -> io::Result<()> {
        if pages > self.reserved {
            let (offset, len) = bytes(self.reserved..pages);
            fallocate(&self.file, FallocateFlags::empty(), offset, len)?;
            self.reserved = pages;
        }
        Ok(())
    }

    /// Calls `each` with the runs of mapped pages in `range`, in ascending order: those that were touched since they
    /// were [unmapped](Region::unmap).
    pub fn touched(&mut self, range: Range<u32>, mut each: impl FnMut(Range<u32>)) -> io::Result<()> {
        let base = self.base() as u64;
        let address = |page: u32| base + u64::from(page) * PAGE as u64;
        let page = |address: u64| ((address - base) / PAGE as u64) as u32;
        let (mut start, end) = (address(range.start), address(range.end));
        while start < end {
            let (found, walked) = sys::scan(self.pagemap.as_fd(), start, end, &mut self.runs)?;
            self.runs[..found].iter().for_each(|run| each(page(run.start)..page(run.end)));
            start = walked.max(start + PAGE as u64);
        }
        Ok(())
    }

    /// Removes the page-table entries of pages, whose content remains in the page cache.
    pub fn unmap(&self, range: Range<u32>) -> io::Result<()> {
        let (offset, len) = bytes(range);
        // SAFETY: `bytes` lies in the mapping, as page numbers do.
        let start = unsafe { self.base.add(offset as usize) };
        advise(start, len as usize, MapAdvice::LinuxDontNeed)
    }

    /// PagingCounts the pages of a range that are in the page cache.
    pub fn cached(&self, range: Range<u32>) -> io::Result<Cached> {
        let (offset, len) = bytes(range);
        let stat = sys::cache_stat(self.file.as_fd(), offset, len)?;
        Ok(Cached { pages: stat.cached, dirty: stat.dirty, writing: stat.writing })
    }

    /// Appends the pages of `range` that are in the page cache, touched or not.
    pub fn list_cached(&self, range: Range<u32>, found: &mut Vec<u32>) -> io::Result<()> {
        let (offset, len) = bytes(range.clone());
        let mut states = vec![0u8; range.len()];
        // SAFETY: the range lies in the mapping, and the kernel writes one byte for each of its pages.
        let done =
            unsafe { libc::mincore(self.base.add(offset as usize).as_ptr().cast(), len as usize, states.as_mut_ptr()) };
        checked(done.into())?;
        found.extend(range.zip(states).filter(|(_, state)| state & 1 != 0).map(|(page, _)| page));
        Ok(())
    }

    /// Starts to write back the dirty pages of a range, without waiting.
    pub fn write_back(&self, range: Range<u32>) -> io::Result<()> {
        let (offset, len) = bytes(range);
        sys::start_writing(self.file.as_fd(), offset, len)
    }

    /// Waits for writes of a range that are under way. Fails if a write of any page has failed since the last call:
    /// the content of that page exists only in the page cache.
    pub fn await_writes(&self, range: Range<u32>) -> Result<(), PagerError> {
        let (offset, len) = bytes(range);
        let lost = |source| PagerError::Lost { path: self.folder.clone(), source };
        sys::wait_for_writes(self.file.as_fd(), offset, len).map_err(lost)
    }

    /// Drops the pages of a range from the page cache that are clean and not mapped. The kernel keeps the others.
    pub fn drop_clean(&self, range: Range<u32>) -> io::Result<()> {
        let (offset, len) = bytes(range);
        Ok(fadvise(&self.file, offset, std::num::NonZeroU64::new(len), Advice::DontNeed)?)
    }

    /// Starts to read pages that are not in the page cache.
    pub fn read_ahead(&self, range: Range<u32>) -> io::Result<()> {
        let (offset, len) = bytes(range);
        Ok(fadvise(&self.file, offset, std::num::NonZeroU64::new(len), Advice::WillNeed)?)
    }

    /// Writes a page that no program uses, behind all others. Meanwhile the kernel lets no thread touch a page of the
    /// file that is not in memory, or that is clean and is written to: such threads wait until the writes that were
    /// started before have made progress. Nothing else happens to them.
    pub fn hold_back(&self) -> io::Result<()> {
        let spare = self.pages..self.pages + 1;
        let (offset, len) = bytes(spare.clone());
        rustix::io::pwrite(&self.file, &[1; PAGE], offset)?;
        self.write_back(spare)?;
        // The kernel waits for the page under the lock that faults of the file take.
        Ok(fallocate(&self.file, FallocateFlags::ZERO_RANGE, offset, len)?)
    }

    /// Replaces the content of pages by zeros, and frees their memory. The device keeps space for them.
    pub fn clear(&self, range: Range<u32>) -> io::Result<()> {
        let (offset, len) = bytes(range);
        Ok(fallocate(&self.file, FallocateFlags::ZERO_RANGE, offset, len)?)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        drop(Mapped { base: self.base, len: self.pages as usize * PAGE });
    }
}

/// A mapping that ends with this value.
struct Mapped {
    base: NonNull<u8>,
    len: usize,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and references into it do not outlive its user.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Maps as many pages as the limits of the process allow, at most `pages`. `None` if they allow too few.
fn map(file: &OwnedFd, pages: u32) -> rustix::io::Result<Option<(NonNull<u8>, u32)>> {
    use rustix::process::{Resource, getrlimit};
    // The program needs most of a limited address space itself. A file above the limit of sizes ends the program.
    let space = getrlimit(Resource::As).current.map_or(u64::MAX, |bytes| bytes / 4);
    let size = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    let most = u64::from(pages).min((space.min(size) / PAGE as u64).saturating_sub(1)) as u32;
    if most < pages.min(1024) {
        return Ok(None);
    }
    let len = most as usize * PAGE;
    ftruncate(file, (len + PAGE) as u64)?;
    // The spare page of `hold_back`.
    fallocate(file, FallocateFlags::empty(), len as u64, PAGE as u64)?;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses the address, so no existing mapping changes.
    let base = unsafe { mmap(ptr::null_mut(), len, protection, MapFlags::SHARED, file, 0)? };
    Ok(NonNull::new(base.cast()).map(|base| (base, most)))
}

/// Calls the kernel, not the C library: there, `hotset-preload` gives the program's advice another meaning.
fn advise(start: NonNull<u8>, len: usize, advice: MapAdvice) -> io::Result<()> {
    // SAFETY: the range is in a shared mapping of this crate, and no advice used here changes what it reads as.
    Ok(unsafe { madvise(start.as_ptr().cast(), len, advice) }?)
}

/// Offset and length of pages in the file.
fn bytes(range: Range<u32>) -> (u64, u64) {
    (u64::from(range.start) * PAGE as u64, range.len() as u64 * PAGE as u64)
}
