//! Opening: with the caller's credentials, or with a cached handle that was opened for the caller in the same way and
//! is still valid.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use hotset_cache::{About, Stream, Upcoming};
use hotset_core::request::Op;
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{Tree, data_flags, is, stamp};
use crate::Mode as Serving;
use crate::served::credentials::{Caller, Credentials};
use crate::served::handles::{Data, Opened};
use crate::served::listing::OpenDirectory;
use crate::served::{Listing, ROOT, Seen};
use crate::tree::known::Opener;
use crate::tree::nodes::{Node, patiently};

/// The bit in the flags of an open that says that the file will be executed; known to the kernel only.
const FOR_EXECUTION: u32 = 0x20;

/// A file that has been opened with the rights of `opener`, if they are not those of this process.
pub(super) struct Granted {
    pub file: File,
    pub opener: Option<Credentials>,
    /// It was opened for appending, and can be for nothing else.
    pub only_grows: bool,
}

/// How an open file is used.
#[derive(Clone, Default)]
struct Usage {
    opener: Option<Credentials>,
    only_grows: bool,
    executes: bool,
}

/// An open file of a directory.
pub(crate) struct OpenFile {
    pub file: Arc<File>,
    pub data: Arc<Data>,
    /// Whose rights it is changed with, if they are not those of this process.
    pub opener: Option<Credentials>,
    /// It can be written to behind its end only.
    pub only_grows: bool,
    pub node: Arc<Node>,
}

impl Tree {
    /// Opens a file.
    pub fn open(&self, number: u64, flags: u32, caller: Caller) -> io::Result<(OpenFile, Seen)> {
        self.check_goes_on()?;
        let node = self.node(number)?;
        let wanted = data_flags(flags);
        if self.options.readonly && wanted.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::TRUNC) {
            return Err(Errno::ROFS.into());
        }
        if !(wanted - OFlags::NOATIME - OFlags::CLOEXEC).is_empty() {
            return self.open_to_change(&node, flags, wanted, caller);
        }
        let executes = flags & FOR_EXECUTION != 0;
        if executes {
            // It runs with what a write would have taken away from it: its owner's rights, its capabilities.
            self.write_out_of(&node)?;
        }
        let who = self.rights.of(caller)?;
        let opener = Opener { who: who.as_ref(), how: wanted.bits() | flags & FOR_EXECUTION };
        // Who executes a program need not be allowed to read it.
        let usage = Usage { opener: who.clone().filter(|_| !executes), executes, only_grows: false };
        if let Some(opened) = self.metadata.opened(&node, opener) {
            return Ok((self.used(&node, opened, usage, caller), Seen::Known));
        }
        let asked = self.metadata.ask();
        let path = node.path()?;
        let open = || patiently(|| rustix::fs::open(&path, wanted, Mode::empty()));
        let file = if executes {
            self.rights
                .with(who.as_ref(), || Ok(rustix::fs::accessat(CWD, &path, Access::EXEC_OK, AtFlags::EACCESS)?))?;
            open()?
        } else {
            self.rights.with(who.as_ref(), open)?
        };
        let opened = self.bytes(&node, file.into(), usage.opener.as_ref(), true);
        if self.metadata.believes() {
            self.metadata.learn(&node, &asked, &rustix::fs::fstat(&opened.file)?);
        }
        let seen = self.look(&node, &opened)?;
        let open = self.used(&node, opened.clone(), usage, caller);
        self.metadata.keep_open(&node, &asked, opener, &opened);
        Ok((open, seen))
    }

    fn open_to_change(
        &self,
        node: &Arc<Node>,
        flags: u32,
        wanted: OFlags,
        caller: Caller,
    ) -> io::Result<(OpenFile, Seen)> {
        self.metadata.count(About::Opens, false);
        let asked = self.metadata.ask();
        let path = node.path()?;
        let open = |wanted| rustix::fs::open(&path, wanted, Mode::empty());
        let granted = self.grant(flags, wanted - OFlags::TRUNC, caller, open)?;
        if self.metadata.believes() {
            self.metadata.learn(node, &asked, &rustix::fs::fstat(&granted.file)?);
        }
        let (open, seen) = self.opened(node, granted, caller)?;
        if wanted.contains(OFlags::TRUNC) {
            self.set_size(&open, 0)?;
        }
        Ok((open, seen))
    }

    /// Has `open` open a file with the rights of the caller, who said `flags`, and what is wanted of the source.
    pub(super) fn grant(
        &self,
        flags: u32,
        wanted: OFlags,
        caller: Caller,
        open: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>,
    ) -> io::Result<Granted> {
        let opener = self.rights.of(caller)?;
        let (file, only_grows) = self.rights.with(opener.as_ref(), || match patiently(|| open(wanted)) {
            // A file that can only be appended to (chattr +a) is opened for nothing else.
            Err(error) if is(&error, Errno::PERM) && flags & OFlags::APPEND.bits() != 0 => {
                Ok((patiently(|| open(wanted | OFlags::APPEND))?, true))
            }
            opened => Ok((opened?, false)),
        })?;
        Ok(Granted { file: file.into(), opener, only_grows })
    }

    /// A file that may be changed, and has been opened for that.
    pub(super) fn opened(&self, node: &Arc<Node>, granted: Granted, caller: Caller) -> io::Result<(OpenFile, Seen)> {
        let Granted { file, opener, only_grows } = granted;
        let opened = self.bytes(node, file, opener.as_ref(), false);
        let seen = self.look(node, &opened)?;
        Ok((self.used(node, opened, Usage { opener, only_grows, executes: false }, caller), seen))
    }

    /// The bytes of a file that has been opened with the rights of `opener`.
    fn bytes(&self, node: &Arc<Node>, file: File, opener: Option<&Credentials>, reads_only: bool) -> Opened {
        let file = Arc::new(file);
        let mut source = self.store.open(file.clone());
        if let Some(cache) = &self.cache {
            source = cache.watch(source);
        }
        let source = self.rights.writes(opener.cloned(), source);
        Opened { file, source: self.metadata.told(source, node, reads_only) }
    }

    /// Looks whether a file is what it was.
    fn look(&self, node: &Node, opened: &Opened) -> io::Result<Seen> {
        let same = match self.cache() {
            Some(cache) => cache.opened(self.number(cache, node), opened.source.as_ref())?,
            None if self.options.mode == Serving::Steered => self.is_as_before(node, opened.source.stamp()?),
            // With a cache that is not fit for use, the previous state of the file is unknown.
            None => self.cache.is_none(),
        };
        Ok(if same { Seen::Same } else { Seen::Other })
    }

    /// The opened file, as the caller uses it.
    fn used(&self, node: &Arc<Node>, opened: Opened, usage: Usage, caller: Caller) -> OpenFile {
        let (Opened { file, source }, Usage { opener, only_grows, executes }) = (opened, usage);
        let (mut number, mut app) = (0, 0);
        if let Some(cache) = self.cache() {
            number = self.number(cache, node);
            app = self.app(cache, caller);
            if cache.wants(Op::Open, Some(number)) {
                cache.note(Op::Open, number, app, 0, false);
            }
        }
        let stream = (self.options.mode == Serving::Strict && self.cache().is_some()).then(Stream::default);
        let data = Arc::new(Data { source, number, app, executes, is_cached: true, stream, part: node.part() });
        OpenFile { file, data, opener, only_grows, node: node.clone() }
    }

    /// Prefetches a file of the announced order, with the rights of this process.
    pub fn prefetch(&self, upcoming: &Upcoming) -> io::Result<bool> {
        self.check_goes_on()?;
        let Some(cache) = self.cache() else { return Ok(false) };
        let root = self.node(ROOT)?;
        let path = Path::new(&*upcoming.path).strip_prefix(root.name()).map_err(|_| Errno::NOENT)?;
        let (flags, within) = (OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, ResolveFlags::BENEATH);
        let open = || rustix::fs::openat2(root.as_ref(), path, flags, Mode::empty(), within);
        let node = self.nodes.borrow(patiently(open)?)?;
        let prefetched = match node.kind {
            FileType::RegularFile => {
                let wanted = OFlags::RDONLY | OFlags::CLOEXEC;
                let path = node.path()?;
                let file = patiently(|| rustix::fs::open(&path, wanted, Mode::empty()))?;
                let opened = self.bytes(&node, file.into(), None, true);
                cache.expect(self.number(cache, &node), &opened.source)
            }
            _ => Err(Errno::NXIO.into()),
        };
        self.forget(node.number, 1);
        prefetched
    }

    /// Opens a directory, and says what the kernel may do with its listing.
    pub fn open_directory(&self, number: u64, caller: Caller) -> io::Result<(Arc<OpenDirectory>, Listing)> {
        self.check_goes_on()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let node = self.node(number)?;
        let who = self.rights.of(caller)?;
        let opener = Opener { who: who.as_ref(), how: flags.bits() };
        if let Some(open) = self.metadata.opened_directory(&node, opener) {
            return Ok((open, Listing::Known));
        }
        let asked = self.metadata.ask();
        let path = node.path()?;
        let open = || Ok(rustix::fs::open(&path, flags, Mode::empty())?);
        let open = Arc::new(OpenDirectory::new(self.rights.with(who.as_ref(), open)?));
        if !self.metadata.keeps_listings() {
            return Ok((open, Listing::Passing));
        }
        let stat = rustix::fs::fstat(&open.descriptor)?;
        self.metadata.learn(&node, &asked, &stat);
        let listing = self.metadata.keep_listing(&node, &asked, opener, &open, stamp(&stat));
        Ok((open, listing))
    }
}
