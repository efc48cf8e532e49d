//! What Linux does for files and memory, and other systems do otherwise, or not at all.

#[cfg(target_os = "linux")]
pub(crate) use linux::{append, let_go, reserve, resize};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{append, let_go, reserve, resize};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{self, IoSlice};

    use memmap2::{MmapMut, RemapOptions};
    use rustix::fs::{Advice, FallocateFlags};
    use rustix::io::{Errno, ReadWriteFlags};

    /// Writes bytes behind the end of a file, perhaps fewer than given; tells where they begin, and how many. The
    /// file's own position tells where; nothing else uses it.
    pub(crate) fn append(file: &File, bytes: &[u8]) -> io::Result<(u64, usize)> {
        const AT_POSITION: u64 = u64::MAX;
        let done = rustix::io::pwritev2(file, &[IoSlice::new(bytes)], AT_POSITION, ReadWriteFlags::APPEND)?;
        Ok((rustix::fs::tell(file)? - done as u64, done))
    }

    /// Gives a file a size, with room on the disk for all of it.
    pub(crate) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
            // Where nothing can be reserved it is found out when it is written.
            Err(Errno::OPNOTSUPP) => file.set_len(bytes),
            reserved => Ok(reserved?),
        }
    }

    /// Tells the system that it need not keep these bytes of a file in memory; none are all behind `offset`.
    pub(crate) fn let_go(file: &File, offset: u64, bytes: usize) {
        let _ = rustix::fs::fadvise(file, offset, (bytes as u64).try_into().ok(), Advice::DontNeed);
    }

    /// Gives memory another size, perhaps elsewhere. What fits keeps its bytes, and no page is copied.
    pub(crate) fn resize(memory: &mut MmapMut, bytes: usize) -> io::Result<()> {
        // SAFETY: no reference into the memory exists: it is borrowed for the call.
        unsafe { memory.remap(bytes, RemapOptions::new().may_move(true)) }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;

    use memmap2::MmapMut;

    /// Appends bytes to a file, perhaps fewer than given; returns their offset and number. Concurrent appends of other
    /// processes may be lost.
    pub(crate) fn append(file: &File, bytes: &[u8]) -> io::Result<(u64, usize)> {
        let end = file.metadata()?.len();
        Ok((end, file.write_at(bytes, end)?))
    }

    /// Gives a file a size. Nothing is reserved: a full disk is detected at the write.
    pub(crate) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
        file.set_len(bytes)
    }

    /// This system has no such advice.
    pub(crate) fn let_go(_file: &File, _offset: u64, _bytes: usize) {}

    /// Gives memory another size, elsewhere. What fits keeps its bytes, which are copied.
    pub(crate) fn resize(memory: &mut MmapMut, bytes: usize) -> io::Result<()> {
        let mut other = MmapMut::map_anon(bytes)?;
        let kept = memory.len().min(bytes);
        other[..kept].copy_from_slice(&memory[..kept]);
        *memory = other;
        Ok(())
    }
}
