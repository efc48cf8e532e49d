//! A directory as what the kernel's requests are about: numbers and handles become nodes and open files.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hotset_cache::workers::FailureDomain;
use hotset_cache::{FileCache, Upcoming};
use hotset_core::request::Op;
use rustix::fs::{OFlags, RenameFlags, Stat, StatVfs};

use super::Tree;
use crate::Mode;
use crate::served::credentials::Caller;
use crate::served::handles::Data;
use crate::served::listing::Listed;
use crate::served::{Attributes, Closing, Found, Listing, NewMode, Seen, Served, Validity};

impl Served for Tree {
    fn cache(&self) -> Option<&Arc<FileCache>> {
        Tree::cache(self)
    }

    fn mode(&self) -> Mode {
        self.options.mode
    }

    fn validity(&self) -> Validity {
        self.metadata.validity()
    }

    fn believes(&self) -> bool {
        self.metadata.believes()
    }

    fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    fn is_idle(&self) -> bool {
        self.files.is_empty() && self.directories.is_empty()
    }

    fn part(&self, number: u64) -> FailureDomain {
        self.node(number).map(|node| node.part()).unwrap_or_default()
    }

    fn part_of(&self, parent: u64, name: &OsStr) -> FailureDomain {
        self.node(parent).map(|parent| parent.part_of(name)).unwrap_or_default()
    }

    fn data(&self, handle: u64) -> io::Result<Arc<Data>> {
        self.files.look(handle, |open| open.data.clone())
    }

    fn look_up(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<Found> {
        Tree::look_up(self, parent, name, caller)
    }

    fn forget(&self, number: u64, times: u64) {
        Tree::forget(self, number, times);
    }

    fn stat(&self, number: u64) -> io::Result<(Stat, Duration)> {
        Tree::stat(self, number)
    }

    fn open(&self, number: u64, flags: u32, caller: Caller) -> io::Result<(u64, Seen)> {
        let (open, seen) = Tree::open(self, number, flags, caller)?;
        Ok((self.hold(open), seen))
    }

    fn open_files(&self) -> usize {
        self.files.len()
    }

    fn path(&self, handle: u64) -> String {
        self.files.look(handle, |open| open.node.name()).unwrap_or_default()
    }

    fn prefetch(&self, upcoming: &Upcoming) -> io::Result<bool> {
        Tree::prefetch(self, upcoming)
    }

    fn release(self: Arc<Self>, handle: u64) -> Closing {
        let open = Tree::release(&self, handle);
        Box::new(move || open.iter().for_each(|open| self.write_last(open)))
    }

    fn open_directory(&self, number: u64, caller: Caller) -> io::Result<(u64, Listing)> {
        let (open, listing) = Tree::open_directory(self, number, caller)?;
        Ok((self.directories.add(open), listing))
    }

    fn list(
        &self,
        number: u64,
        handle: u64,
        place: u64,
        caller: Caller,
        take: &mut dyn FnMut(&Listed) -> bool,
    ) -> io::Result<()> {
        let mut bytes = 0;
        self.directories.get(handle)?.list(place, |listed| {
            let is_taken = take(listed);
            bytes += if is_taken { 24 + listed.name.len() as u64 } else { 0 };
            is_taken
        })?;
        if let Ok(node) = self.node(number) {
            self.note(Op::List, &node, caller, bytes);
        }
        Ok(())
    }

    fn release_directory(&self, handle: u64) -> Closing {
        let open = self.directories.close(handle);
        Box::new(move || drop(open))
    }

    fn space(&self, number: u64) -> io::Result<StatVfs> {
        Tree::space(self, number)
    }

    fn read_link(&self, number: u64) -> io::Result<Vec<u8>> {
        Tree::read_link(self, number)
    }

    fn seek(&self, handle: u64, offset: u64, is_hole: bool) -> io::Result<u64> {
        Tree::seek(self, &*self.files.get(handle)?, offset, is_hole)
    }

    fn xattr(&self, number: u64, name: &OsStr, caller: Caller) -> io::Result<Vec<u8>> {
        Tree::xattr(self, number, name, caller)
    }

    fn xattrs(&self, number: u64, caller: Caller) -> io::Result<Vec<u8>> {
        Tree::xattrs(self, number, caller)
    }

    fn set_xattr(&self, number: u64, name: &OsStr, value: &[u8], flags: u32, caller: Caller) -> io::Result<()> {
        Tree::set_xattr(self, number, name, value, flags, caller)
    }

    fn remove_xattr(&self, number: u64, name: &OsStr, caller: Caller) -> io::Result<()> {
        Tree::remove_xattr(self, number, name, caller)
    }

    fn set_attributes(
        &self,
        number: u64,
        change: &Attributes,
        open: Option<u64>,
        caller: Caller,
    ) -> io::Result<(Stat, Duration)> {
        let open = open.and_then(|handle| self.files.get(handle).ok());
        let stat = Tree::set_attributes(self, number, change, open.as_deref(), caller)?;
        Ok((stat, self.validity().attributes))
    }

    fn make_node(&self, parent: u64, name: &OsStr, mode: NewMode, device: u32, caller: Caller) -> io::Result<Found> {
        Tree::make_node(self, parent, name, mode, device, caller)
    }

    fn make_directory(&self, parent: u64, name: &OsStr, mode: NewMode, caller: Caller) -> io::Result<Found> {
        Tree::make_directory(self, parent, name, mode, caller)
    }

    fn make_link(&self, parent: u64, name: &OsStr, target: &Path, caller: Caller) -> io::Result<Found> {
        Tree::make_link(self, parent, name, target, caller)
    }

    fn link(&self, number: u64, parent: u64, name: &OsStr, caller: Caller) -> io::Result<Found> {
        Tree::link(self, number, parent, name, caller)
    }

    fn unlink(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<()> {
        Tree::unlink(self, parent, name, caller)
    }

    fn remove_directory(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<()> {
        Tree::remove_directory(self, parent, name, caller)
    }

    fn rename(&self, from: (u64, &OsStr), to: (u64, &OsStr), flags: RenameFlags, caller: Caller) -> io::Result<()> {
        Tree::rename(self, from, to, flags, caller)
    }

    fn create(
        &self,
        parent: u64,
        name: &OsStr,
        mode: NewMode,
        flags: u32,
        caller: Caller,
    ) -> io::Result<(Found, u64, Seen)> {
        let (found, open, seen) = Tree::create(self, parent, name, mode, flags, caller)?;
        Ok((found, self.hold(open), seen))
    }

    fn drop_privileges(&self, handle: u64) -> io::Result<bool> {
        Tree::drop_privileges(self, &*self.files.get(handle)?)
    }

    fn write(
        &self,
        handle: u64,
        offset: u64,
        data: &[u8],
        flags: OFlags,
        may_wait: bool,
    ) -> io::Result<(usize, Option<u64>)> {
        Tree::write(self, &*self.files.get(handle)?, offset, data, flags, may_wait)
    }

    fn allocate(&self, handle: u64, offset: u64, length: u64, mode: u32) -> io::Result<()> {
        Tree::allocate(self, &*self.files.get(handle)?, offset, length, mode)
    }

    fn flush(&self, handle: u64, _caller: Caller) -> io::Result<()> {
        Tree::flush(self, &*self.files.get(handle)?)
    }

    fn sync(&self, handle: u64, data_only: bool) -> io::Result<()> {
        Tree::sync(self, &*self.files.get(handle)?, data_only)
    }

    fn sync_directory(&self, handle: u64) -> io::Result<()> {
        Tree::sync_directory(self, &*self.directories.get(handle)?)
    }
}
