//! Objects as what the kernel's requests are about.

use std::ffi::OsStr;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hotset_cache::workers::FailureDomain;
use hotset_cache::{About, FileCache, Upcoming};
use hotset_core::request::Op;
use rustc_hash::FxHasher;
use rustix::fs::{OFlags, RenameFlags, Stat, StatVfs};
use rustix::io::Errno;

use super::listing::OpenDirectory;
use super::{BEST, LONGEST, Objects, Open, SECTOR, part};
use crate::Mode;
use crate::served::LONGEST as FOR_GOOD;
use crate::served::credentials::Caller;
use crate::served::handles::Data;
use crate::served::listing::Listed;
use crate::served::{Attributes, Closing, Found, Listing, NewMode, Seen, Served, Validity};

/// The free space reported where it is unknown, in bytes: a pebibyte.
const ROOM: u64 = 1 << 50;

impl Served for Objects {
    fn cache(&self) -> Option<&Arc<FileCache>> {
        self.usable()
    }

    fn mode(&self) -> Mode {
        self.options.mode
    }

    fn validity(&self) -> Validity {
        // A missing name may have been looked up long ago, and its remaining validity cannot be passed to the kernel.
        Validity { names: self.age().min(FOR_GOOD), attributes: FOR_GOOD, nothing: Duration::ZERO }
    }

    fn believes(&self) -> bool {
        !self.believed().is_zero()
    }

    fn stop(&self) {
        self.stopped.get_or_init(Instant::now);
    }

    fn is_idle(&self) -> bool {
        self.files.is_empty() && self.directories.is_empty()
    }

    fn part(&self, number: u64) -> FailureDomain {
        part(number)
    }

    fn part_of(&self, parent: u64, name: &OsStr) -> FailureDomain {
        let mut hasher = FxHasher::default();
        (parent, name).hash(&mut hasher);
        part(hasher.finish())
    }

    fn data(&self, handle: u64) -> io::Result<Arc<Data>> {
        self.files.look(handle, |open| open.data.clone())
    }

    fn look_up(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<Found> {
        let parent = self.directory(parent)?;
        self.look_up_path(parent.join(name).ok_or(Errno::NOENT)?, caller)
    }

    fn forget(&self, number: u64, times: u64) {
        self.nodes.forget(number, times);
        self.usable().into_iter().for_each(|cache| self.nodes.sift(|file| cache.forget(file)));
    }

    fn stat(&self, number: u64) -> io::Result<(Stat, Duration)> {
        Ok(self.told(&*self.nodes.get(number)?))
    }

    fn open(&self, number: u64, flags: u32, caller: Caller) -> io::Result<(u64, Seen)> {
        self.check_goes_on()?;
        let node = self.nodes.get(number)?;
        let flags = OFlags::from_bits_retain(flags);
        // All that the kernel has of it is of this version.
        if flags.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::TRUNC | OFlags::APPEND) {
            return Ok((self.open_to_write(&node, flags, caller)?, Seen::Known));
        }
        if node.growth().is_some() {
            return Err(self.no_version(&node));
        }
        self.check_is_same(&node)?;
        let data = Arc::new(Objects::data(self, &node, caller)?);
        self.read_siblings(&node);
        Ok((self.files.add(Open { data, written: None }), Seen::Known))
    }

    fn open_files(&self) -> usize {
        self.files.len()
    }

    fn path(&self, _handle: u64) -> String {
        // An object has one key for ever.
        String::new()
    }

    fn prefetch(&self, upcoming: &Upcoming) -> io::Result<bool> {
        Objects::prefetch(self, upcoming)
    }

    fn release(self: Arc<Self>, handle: u64) -> Closing {
        self.close_file(handle)
    }

    fn open_directory(&self, number: u64, _caller: Caller) -> io::Result<(u64, Listing)> {
        self.check_goes_on()?;
        let node = self.directory(number)?;
        let known = self.names.listed(&node.path, self.age());
        self.count(About::Listings, known.is_some());
        Ok((self.directories.add(OpenDirectory::new(node, known, self.room.clone())), Listing::Passing))
    }

    fn list(
        &self,
        _number: u64,
        handle: u64,
        place: u64,
        caller: Caller,
        take: &mut dyn FnMut(&Listed) -> bool,
    ) -> io::Result<()> {
        let directory = self.directories.get(handle)?;
        let mut bytes = 0;
        directory.list(&self.store, &self.names, self.writes.as_ref(), place, &mut |listed| {
            let is_taken = take(listed);
            bytes += if is_taken { 24 + listed.name.len() as u64 } else { 0 };
            is_taken
        })?;
        self.note(Op::List, &directory.node, caller, bytes);
        Ok(())
    }

    fn release_directory(&self, handle: u64) -> Closing {
        let open = self.directories.close(handle);
        Box::new(move || drop(open))
    }

    /// The size of the store is unknown; a writable mount reports free space.
    fn space(&self, _number: u64) -> io::Result<StatVfs> {
        let mut space = rustix::fs::statvfs("/")?;
        let room = if self.writes.is_some() { ROOM / SECTOR } else { 0 };
        (space.f_blocks, space.f_bfree, space.f_bavail) = (room, room, room);
        (space.f_files, space.f_ffree, space.f_favail) = (0, 0, 0);
        (space.f_bsize, space.f_frsize, space.f_namemax) = (BEST.into(), SECTOR, LONGEST);
        Ok(space)
    }

    fn set_xattr(&self, _number: u64, _name: &OsStr, _value: &[u8], _flags: u32, _caller: Caller) -> io::Result<()> {
        Err(Errno::OPNOTSUPP.into())
    }

    fn remove_xattr(&self, _number: u64, _name: &OsStr, _caller: Caller) -> io::Result<()> {
        Err(Errno::OPNOTSUPP.into())
    }

    fn set_attributes(
        &self,
        number: u64,
        change: &Attributes,
        open: Option<u64>,
        caller: Caller,
    ) -> io::Result<(Stat, Duration)> {
        self.set(number, change, open, caller)
    }

    fn make_node(&self, parent: u64, name: &OsStr, mode: NewMode, _device: u32, caller: Caller) -> io::Result<Found> {
        self.make_object(parent, name, mode.mode, caller)
    }

    fn make_directory(&self, parent: u64, name: &OsStr, _mode: NewMode, _caller: Caller) -> io::Result<Found> {
        self.make_path(parent, name)
    }

    fn make_link(&self, _parent: u64, _name: &OsStr, _target: &Path, _caller: Caller) -> io::Result<Found> {
        Err(Errno::PERM.into())
    }

    fn link(&self, _number: u64, _parent: u64, _name: &OsStr, _caller: Caller) -> io::Result<Found> {
        Err(Errno::PERM.into())
    }

    fn unlink(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<()> {
        self.remove_object(parent, name, caller)
    }

    fn remove_directory(&self, parent: u64, name: &OsStr, _caller: Caller) -> io::Result<()> {
        self.remove_path(parent, name)
    }

    fn rename(&self, from: (u64, &OsStr), to: (u64, &OsStr), flags: RenameFlags, caller: Caller) -> io::Result<()> {
        self.move_object(from, to, flags, caller)
    }

    fn create(
        &self,
        parent: u64,
        name: &OsStr,
        _mode: NewMode,
        flags: u32,
        caller: Caller,
    ) -> io::Result<(Found, u64, Seen)> {
        // An object that is there is another one from now on.
        self.create_file(parent, name, flags, caller).map(|(found, handle)| (found, handle, Seen::Same))
    }

    fn write(
        &self,
        handle: u64,
        offset: u64,
        data: &[u8],
        flags: OFlags,
        _may_wait: bool,
    ) -> io::Result<(usize, Option<u64>)> {
        self.write_to(handle, offset, data, flags)
    }

    fn allocate(&self, _handle: u64, _offset: u64, _length: u64, _mode: u32) -> io::Result<()> {
        Err(Errno::OPNOTSUPP.into())
    }

    fn flush(&self, handle: u64, caller: Caller) -> io::Result<()> {
        self.flush_file(handle, caller)
    }

    fn sync(&self, handle: u64, _data_only: bool) -> io::Result<()> {
        self.sync_file(handle)
    }

    fn cuts_at_open(&self) -> bool {
        true
    }

    fn end(&self) -> io::Result<()> {
        self.end_writes()
    }
}
