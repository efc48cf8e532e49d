//! Bytes of the source read past the kernel's page cache, so that what the mount's pages hold is not held twice.
//!
//! Where the source's file system can read directly, it does; else what was read is dropped behind the reader, which
//! leaves reading ahead to the source.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::{Arc, OnceLock};

use hotset_cache::source::{Source, Stamp};
use rustix::fs::{Advice, AtFlags, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::Store;

/// The files themselves, read past the kernel's page cache. Writes go through the page cache.
#[derive(Clone, Copy, Debug)]
pub struct PastCache;

impl Store for PastCache {
    fn open(&self, file: Arc<File>) -> Arc<dyn Source> {
        Arc::new(Past { file, direct: OnceLock::new() })
    }
}

struct Past {
    file: Arc<File>,
    /// The same file, opened once more when it is read first; none where that cannot be.
    direct: OnceLock<Option<Direct>>,
}

/// A file that is read directly, and the alignment that its file system requires.
struct Direct {
    file: File,
    memory: usize,
    offset: u64,
}

/// The alignment assumed where the file system does not report one.
const ALIGNMENT: u32 = 4096;

thread_local! {
    /// The buffer of direct reads, one read after the other.
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Direct {
    fn open(file: &File) -> io::Result<Option<Direct>> {
        // Nothing is read that may not be.
        if rustix::fs::fcntl_getfl(file)?.contains(OFlags::WRONLY) {
            return Ok(None);
        }
        let about = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)?;
        let is_told = about.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
        let (memory, offset) = match is_told {
            true => (about.stx_dio_mem_align, about.stx_dio_offset_align),
            false => (ALIGNMENT, ALIGNMENT),
        };
        if memory == 0 || offset == 0 {
            return Ok(None);
        }
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = (OFlags::DIRECT | OFlags::CLOEXEC).bits() as i32;
        let file = File::options().read(true).custom_flags(flags).open(path)?;
        Ok(Some(Direct { file, memory: memory as usize, offset: offset.into() }))
    }

    /// Reads bytes from `offset` on; `None` if they cannot be read so.
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        // The kernel asks for whole pages: this is what is left of a read that met the end, and storage would be asked
        // for its last block once more only to tell so.
        if !offset.is_multiple_of(self.offset) {
            return Ok(None);
        }
        let length = (buffer.len() as u64).next_multiple_of(self.offset) as usize;
        READ.with_borrow_mut(|room| {
            if room.len() < length + self.memory {
                room.resize(length + self.memory, 0);
            }
            let at = room.as_ptr().align_offset(self.memory);
            let Some(aligned) = room.get_mut(at..at + length) else { return Ok(None) };
            let read = match FileExt::read_at(&self.file, aligned, offset) {
                Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => return Ok(None),
                read => read?,
            };
            let done = read.min(buffer.len());
            buffer[..done].copy_from_slice(&aligned[..done]);
            Ok(Some(done))
        })
    }
}

impl Source for Past {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        // A file that cannot be opened for direct reads is read through the page cache.
        let direct = self.direct.get_or_init(|| Direct::open(&self.file).ok().flatten());
        if let Some(direct) = direct
            && let Some(done) = direct.read(buffer, offset)?
        {
            return Ok(done);
        }
        let done = FileExt::read_at(self.file.as_ref(), buffer, offset)?;
        let page = rustix::param::page_size() as u64;
        let (first, end) = (offset / page * page, (offset + done as u64).next_multiple_of(page));
        // What stays is held twice, and nothing else.
        let _ = rustix::fs::fadvise(&self.file, first, NonZeroU64::new(end - first), Advice::DontNeed);
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        Source::write_at(self.file.as_ref(), bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<(u64, usize)> {
        self.file.append(bytes)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        Source::set_len(self.file.as_ref(), size)
    }

    fn stamp(&self) -> io::Result<Stamp> {
        self.file.stamp()
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        self.file.sync(data_only)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// On file systems that read directly, and (tmpfs) on one that may not.
    #[test]
    fn every_byte_is_read_wherever_reads_begin_and_end() {
        let here = tempfile::Builder::new().tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        for mut named in [here, tempfile::NamedTempFile::new().unwrap()] {
            let bytes: Vec<u8> = (0..20_001u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            named.write_all(&bytes).unwrap();
            let source = PastCache.open(Arc::new(named.reopen().unwrap()));
            for (offset, length) in
                [(0, 1), (0, 20_001), (1, 4096), (4095, 2), (8192, 4096), (19_999, 500), (20_000, 1)]
            {
                let mut read = vec![0; length];
                let done = hotset_cache::source::read_full(source.as_ref(), &mut read, offset as u64).unwrap();
                assert_eq!(read[..done], bytes[offset..(offset + length).min(20_001)], "{length} bytes from {offset}");
            }
            for behind in [20_001, 20_480, 1 << 20] {
                assert_eq!(source.read_at(&mut [0; 10], behind).unwrap(), 0);
            }
        }
    }

    #[test]
    fn what_was_read_is_not_kept_by_the_page_cache() {
        let mut named = tempfile::Builder::new().tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        named.write_all(&vec![7; 1 << 20]).unwrap();
        named.as_file().sync_all().unwrap();
        let file = Arc::new(named.reopen().unwrap());
        // One that cannot be read directly as well.
        let both = [OnceLock::new(), OnceLock::from(None)];
        for direct in both {
            rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
            let past = Past { file: file.clone(), direct };
            assert_eq!(past.read_at(&mut vec![0; 1 << 20], 0).unwrap(), 1 << 20);
            let mut kept = [0; 4096];
            let flags = rustix::io::ReadWriteFlags::NOWAIT;
            let read = rustix::io::preadv2(&file, &mut [io::IoSliceMut::new(&mut kept)], 0, flags);
            if read == Err(Errno::OPNOTSUPP) {
                return println!("NOT RUN: this file system does not tell what its page cache holds");
            }
            assert_eq!(read, Err(Errno::AGAIN), "it is in the page cache");
        }
    }

    #[test]
    fn who_may_only_write_reads_nothing() {
        let named = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(named.path(), "secret").unwrap();
        let writer = Arc::new(File::options().write(true).open(named.path()).unwrap());
        assert!(PastCache.open(writer).read_at(&mut [0; 6], 0).is_err());
    }
}
