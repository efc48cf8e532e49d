//! Changes of a store: objects are written whole, deleted and copied; directories are only names.
//!
//! A thread that writes to an object has a separate node, and other threads keep the one of the version that the store
//! has. So an open for writing creates that node and has the kernel look the name up once more (`ESTALE`), which leads
//! this thread to the new node and no other thread.

use std::ffi::OsStr;
use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::source::{self, Source};
use hotset_cache::{Access, FileCache, FileNumber};
use hotset_core::request::{Kind, Op};
use hotset_store::{Object, StoreError};
use rustix::fs::{FileType, OFlags, RawMode, RenameFlags, Stat};
use rustix::io::Errno;

use super::bytes::stamp;
use super::names::{Change, parent_of};
use super::nodes::{Node, What};
use super::writes::{Expected, Writes};
use super::written::{Written, refused};
use super::{Objects, Open, part};
use crate::served::LONGEST as FOR_GOOD;
use crate::served::apps::{is_killed, process};
use crate::served::credentials::Caller;
use crate::served::handles::Data;
use crate::served::{Attributes, Closing, Found};

/// Bytes of an object that stores copy in one request.
const COPIED: u64 = 5 << 30;

/// So long what was closed is waited for at the end, unless something else is said: calls of a store end by themselves.
const PATIENCE: Duration = Duration::from_secs(120);

/// So long at least the store has to take what was closed, and to delete parts of what is given up.
const LEAST: Duration = Duration::from_secs(2);

impl Objects {
    /// The objects being written, if writing is allowed.
    fn writes(&self) -> io::Result<&Writes> {
        self.writes.as_ref().ok_or_else(|| Errno::ROFS.into())
    }

    /// The path of a name in a directory, which an object can have.
    fn path_in(&self, parent: u64, name: &OsStr) -> io::Result<String> {
        let path = self.directory(parent)?.join(name).ok_or(Errno::INVAL)?;
        self.store.check(&path)?;
        Ok(path)
    }

    /// Something that the kernel must not believe: it is being written.
    fn passing(&self, node: &Arc<Node>) -> Found {
        self.nodes.know(node);
        let stat = self.attributes(node);
        Found { number: node.number, stat, named: Duration::ZERO, left: Duration::ZERO }
    }

    /// The object being written under this name, for a thread that may see it.
    pub(super) fn written(&self, path: &str, caller: Caller) -> Option<Found> {
        let written = self.writes.as_ref()?.seen(path, caller.pid)?;
        Some(self.passing(&written.node))
    }

    /// True if the name refers to an object being written, or will soon.
    pub(super) fn is_written(&self, path: &str) -> bool {
        self.writes.as_ref().is_some_and(|writes| writes.find(path).is_some())
    }

    /// One that is about to be written, in place of `before`.
    fn begin(
        &self,
        path: &str,
        before: Option<Object>,
        (keeps, only_new): (bool, bool),
        (caller, promised): (Caller, Option<u32>),
    ) -> io::Result<Arc<Written>> {
        let writes = self.writes()?;
        self.settle(path)?;
        let size = before.as_ref().filter(|_| keeps).map_or(0, Object::size);
        let node = self.nodes.begin(path, size);
        let app = self.usable().map_or(0, |cache| self.app(cache, caller));
        let opener = process(caller.pid).unwrap_or(caller.pid);
        let (store, place) = (self.store.clone(), writes.place());
        let written = Written::new(store, node, (opener, app), before, (keeps, only_new), place);
        let written = Arc::new(written);
        writes.begin(written.clone(), promised)?;
        Ok(written)
    }

    /// Completes what other handles have written of an object before it is used: it must be complete, or closed.
    fn settle(&self, path: &str) -> io::Result<()> {
        match self.writes()?.pending(path) {
            Some(written) if written.is_left() => self.finish(&written),
            Some(_) => Err(Errno::BUSY.into()),
            None => Ok(()),
        }
    }

    /// Makes an object that is open for writing.
    pub(super) fn create_file(
        &self,
        parent: u64,
        name: &OsStr,
        flags: u32,
        caller: Caller,
    ) -> io::Result<(Found, u64)> {
        self.check_goes_on()?;
        let path = self.path_in(parent, name)?;
        let flags = OFlags::from_bits_retain(flags);
        let only_new = flags.contains(OFlags::EXCL);
        if !only_new && !flags.contains(OFlags::TRUNC) {
            self.check_is_missing(&path, caller)?;
        }
        let written = self.begin(&path, None, (false, only_new), (caller, None))?;
        let found = self.passing(&written.node);
        Ok((found, self.hold(written)))
    }

    /// An object that the kernel assumes to be missing may have been created meanwhile, and must not be replaced: then
    /// the kernel has to look the name up again, for the thread to write it.
    fn check_is_missing(&self, path: &str, caller: Caller) -> io::Result<()> {
        match self.store.check_is_missing(path) {
            Err(StoreError::Exists) => {
                self.names.change(path);
                self.writes()?.expect(caller.pid, Expected::new(path, false, true));
                Err(Errno::STALE.into())
            }
            done => done.map_err(|error| refused(error).into()),
        }
    }

    /// Opens an object for writing; the first time the kernel is to look its name up anew, then it is opened.
    pub(super) fn open_to_write(&self, node: &Arc<Node>, flags: OFlags, caller: Caller) -> io::Result<u64> {
        let writes = self.writes()?;
        let keeps = !flags.contains(OFlags::TRUNC);
        if let Some(written) = writes.claim(node.number, &node.path, caller.pid, keeps) {
            return Ok(self.hold(written));
        }
        let object = match &node.what {
            What::Directory => return Err(Errno::ISDIR.into()),
            What::Object(object) => object,
            What::Written(_) => return Err(self.no_version(node)),
        };
        // The kernel still knows a moved object by its previous name.
        let is_other = node.is_gone() || self.names.has_changed(&node.path, node.asked());
        let is_same = if is_other { Err(Errno::STALE.into()) } else { Ok(()) };
        match is_same.and_then(|()| if keeps { self.check_is_same(node) } else { Ok(()) }) {
            Ok(()) => drop(self.begin(&node.path, Some(object.clone()), (keeps, false), (caller, Some(caller.pid)))?),
            // The kernel repeats the look-up only once: the name then refers to the object to be written.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::STALE) => {
                writes.expect(caller.pid, Expected::new(&node.path, is_other, keeps));
            }
            Err(error) => return Err(error),
        }
        Err(Errno::STALE.into())
    }

    /// Whether the thread is about to write what it looks up, having met another version of it.
    pub(super) fn take_expected(&self, path: &str, caller: Caller) -> Option<Expected> {
        self.writes.as_ref()?.take_expected(caller.pid, path)
    }

    /// It has looked up a directory on the way there.
    pub(super) fn expect_write(&self, expected: Option<Expected>, caller: Caller) {
        self.writes.iter().zip(expected).for_each(|(writes, expected)| writes.expect(caller.pid, expected));
    }

    /// The thread that looks an object up, of which the store was asked at this time, is about to write it.
    pub(super) fn begin_expected(
        &self,
        path: &str,
        (object, asked): (&Object, Instant),
        keeps: bool,
        caller: Caller,
    ) -> io::Result<Found> {
        let is_known = !keeps || asked.elapsed() < self.believed();
        let object = if is_known { object.clone() } else { self.store.head(path)? };
        let written = self.begin(path, Some(object), (keeps, false), (caller, Some(caller.pid)))?;
        Ok(self.passing(&written.node))
    }

    /// Why an object being written cannot be opened: it is not a version yet. Once it is, the name refers to that
    /// version.
    pub(super) fn no_version(&self, node: &Node) -> io::Error {
        self.settle(&node.path).err().unwrap_or_else(|| Errno::STALE.into())
    }

    fn hold(&self, written: Arc<Written>) -> u64 {
        let (source, app) = (written.clone() as Arc<dyn Source>, written.app);
        if let Some(cache) = self.usable().filter(|cache| cache.wants(Op::Open, None)) {
            cache.note(Op::Open, self.file_of(cache, &written), app, 0, false);
        }
        let part = part(written.node.number);
        let data = Data { source, number: 0, app, executes: false, is_cached: false, stream: None, part };
        self.files.add(Open { data: Arc::new(data), written: Some(written) })
    }

    /// The number that the cache has for what is being written.
    fn file_of(&self, cache: &FileCache, written: &Written) -> FileNumber {
        let mut file = written.file.lock().unwrap_or_else(PoisonError::into_inner);
        *file.get_or_insert_with(|| cache.file(&self.shown(written.path()), Kind::Datafile))
    }

    /// The object being written through a handle.
    fn held(&self, handle: u64) -> io::Result<Arc<Written>> {
        self.files.look(handle, |open| open.written.clone())?.ok_or_else(|| Errno::BADF.into())
    }

    /// Changes what is being written, through the cache if there is one.
    fn change<T>(
        &self,
        written: &Arc<Written>,
        cached: impl FnOnce(&FileCache, &Access) -> io::Result<T>,
        plain: impl FnOnce(&Written) -> io::Result<T>,
    ) -> io::Result<T> {
        let _held = written.hold();
        if !written.is_pending() && !written.is_nameless() {
            written.check()?;
            self.writes()?.go_on(written)?;
        }
        let Some(cache) = self.usable() else { return plain(written) };
        let source = written.clone() as Arc<dyn Source>;
        let (file, app) = (self.file_of(cache, written), written.app);
        cached(cache, &Access { file, app, source: &source, stream: None, executes: false })
    }

    pub(super) fn write_to(
        &self,
        handle: u64,
        offset: u64,
        bytes: &[u8],
        flags: OFlags,
    ) -> io::Result<(usize, Option<u64>)> {
        let written = self.held(handle)?;
        if flags.contains(OFlags::APPEND) {
            let append = |cache: &FileCache, access: &Access| cache.append(access, bytes);
            let (at, done) = self.change(&written, append, |written| written.append(bytes))?;
            return Ok((done, (at != offset).then_some(at)));
        }
        let write = |cache: &FileCache, access: &Access| cache.write(access, offset, bytes);
        let done = self.change(&written, write, |written| source::write_full(written, bytes, offset))?;
        Ok((done, None))
    }

    fn set_size(&self, written: &Arc<Written>, size: u64) -> io::Result<()> {
        self.change(written, |cache, access| cache.set_len(access, size), |written| written.set_len(size))
    }

    /// Cuts or extends what is open, or an object by its name. Mode, owner and times are the store's, and stay.
    pub(super) fn set(
        &self,
        number: u64,
        change: &Attributes,
        open: Option<u64>,
        caller: Caller,
    ) -> io::Result<(Stat, Duration)> {
        self.writes()?;
        let node = self.nodes.get(number)?;
        if let Some(size) = change.size {
            match (open.and_then(|handle| self.held(handle).ok()), &node.what) {
                (Some(written), _) => self.set_size(&written, size)?,
                (None, What::Directory) => return Err(Errno::ISDIR.into()),
                (None, What::Written(_)) => return Err(self.no_version(&node)),
                (None, What::Object(object)) => self.cut(&node, object, size, caller)?,
            }
        }
        Ok(self.told(&node))
    }

    /// The attributes, and for how long the kernel may believe them.
    pub(super) fn told(&self, node: &Node) -> (Stat, Duration) {
        let left = if node.growth().is_some() { Duration::ZERO } else { FOR_GOOD };
        (self.attributes(node), left)
    }

    /// Sets the size of an object that is not open. The result is another version, which the kernel has to look up.
    fn cut(&self, node: &Node, object: &Object, size: u64, caller: Caller) -> io::Result<()> {
        self.check_is_same(node)?;
        if size == object.size() {
            return Ok(());
        }
        let written = self.begin(&node.path, Some(object.clone()), (size > 0, false), (caller, None))?;
        let done = self.set_size(&written, size).and_then(|()| self.finish(&written));
        self.drop_written(&written);
        done?;
        Err(Errno::STALE.into())
    }

    /// Has the store have all that was written.
    fn finish(&self, written: &Arc<Written>) -> io::Result<()> {
        self.publish(written, Written::finish)
    }

    /// Runs `finish`, then publishes the new version: the name refers to it, the written blocks become the cached data
    /// of it, and nothing of the previous version stays cached.
    fn publish(
        &self,
        written: &Written,
        finish: impl FnOnce(&Written) -> io::Result<Option<Object>>,
    ) -> io::Result<()> {
        let _held = written.hold();
        let (path, replaced) = (written.path(), written.replaced());
        let _sending = self.writes.as_ref().map(|writes| writes.sending(path));
        let before = replaced.as_ref().and_then(|object| self.nodes.find(path, object));
        let change = self.names.begin(path);
        let done = finish(written);
        let Some(object) = done.inspect_err(|_| before.iter().for_each(|node| node.go()))? else {
            change.nothing();
            return Ok(());
        };
        let file = written.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(cache), Some(file)) = (self.usable(), file) {
            cache.published(file, stamp(&self.store, path, &object));
            self.nodes.inherit(path, &object, file);
        }
        self.changed(change, path, &object);
        if let Some(replaced) = replaced.filter(|replaced| !replaced.is_same(&object)) {
            self.gone(path, &replaced, written.app);
        }
        Ok(())
    }

    /// Another object has this name now.
    fn changed(&self, change: Change, path: &str, object: &Object) {
        change.done(Some(object));
        // It may have been this version before, and another one meanwhile.
        self.nodes.find(path, object).into_iter().for_each(|node| node.ask(Instant::now()));
        let Some(writes) = &self.writes else { return };
        // The names must know of a directory before the set of created directories drops it.
        let mut directory = parent_of(path);
        while !directory.is_empty() {
            self.names.stored(directory, writes.has_made(directory));
            directory = parent_of(directory);
        }
        writes.stored(path);
    }

    /// The store has deleted a version. Handles that have it open may continue with its cached data.
    fn gone(&self, path: &str, object: &Object, app: u32) {
        if let Some(node) = self.nodes.find(path, object) {
            node.go();
        }
        let (Some(cache), Some(file)) = (self.usable(), self.nodes.file_of(path, object)) else { return };
        let is_read = self.files.all().iter().any(|open| open.data.is_cached && open.data.number == file);
        if !is_read && cache.wants(Op::Unlink, Some(file)) {
            cache.note(Op::Unlink, file, app, 0, false);
        }
    }

    /// One of the processes that have the handle closes it. If it is the one that opened it, all written data is
    /// completed; a child process may go on writing if the opener has not written anything itself.
    pub(super) fn flush_file(&self, handle: u64, caller: Caller) -> io::Result<()> {
        let Ok(written) = self.held(handle) else { return Ok(()) };
        if process(caller.pid).unwrap_or(caller.pid) != written.opener {
            return Ok(());
        }
        if is_killed(caller.pid) {
            // It has not said that this is all.
            written.give_up();
            self.writes()?.end(&written);
            return Err(Errno::INTR.into());
        }
        if !written.is_touched() {
            written.leave();
            return Ok(());
        }
        let done = self.finish(&written);
        if done.is_err() {
            // It does not come later, so the next one may begin.
            written.give_up();
            self.writes()?.end(&written);
        }
        done
    }

    pub(super) fn sync_file(&self, handle: u64) -> io::Result<()> {
        self.held(handle).map_or(Ok(()), |written| self.finish(&written))
    }

    /// The last one of those who have a handle has closed it.
    pub(super) fn close_file(self: Arc<Self>, handle: u64) -> Closing {
        let Some(open) = self.files.close(handle) else { return Box::new(|| {}) };
        let Some(written) = open.written.clone() else { return Box::new(move || drop(open)) };
        let closing = BeingClosed::new(self, written);
        Box::new(move || {
            let BeingClosed { objects, written } = &closing;
            // The last close cannot report errors.
            let _ = objects.publish(written, Written::finish_last);
            objects.drop_written(written);
        })
    }

    /// No handle writes to it any longer: incomplete data is given up.
    fn drop_written(&self, written: &Arc<Written>) {
        let is_lost = written.is_pending();
        written.give_up();
        self.writes.iter().for_each(|writes| writes.end(written));
        let file = written.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(cache), Some(file)) = (self.usable(), file) {
            if is_lost {
                cache.note(Op::Unlink, file, written.app, 0, false);
            }
            cache.forget(file);
        }
    }

    /// Creates an empty object; refuses every other kind but directories.
    pub(super) fn make_object(&self, parent: u64, name: &OsStr, mode: u32, caller: Caller) -> io::Result<Found> {
        self.writes()?;
        if FileType::from_raw_mode(mode as RawMode) != FileType::RegularFile {
            return Err(Errno::PERM.into());
        }
        let path = self.path_in(parent, name)?;
        let written = self.begin(&path, None, (false, true), (caller, None))?;
        let done = self.finish(&written);
        self.drop_written(&written);
        done?;
        self.look_up_path(path, caller)
    }

    pub(super) fn make_path(&self, parent: u64, name: &OsStr) -> io::Result<Found> {
        let writes = self.writes()?;
        let path = self.path_in(parent, name)?;
        if writes.has_directory(&path) {
            return Err(Errno::EXIST.into());
        }
        writes.make(&path)?;
        self.names.make(&path, self.age());
        let node = self.nodes.add(path, None, Instant::now());
        let named = self.age().min(FOR_GOOD);
        Ok(Found { number: node.number, stat: self.attributes(&node), named, left: FOR_GOOD })
    }

    pub(super) fn remove_object(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<()> {
        let writes = self.writes()?;
        let path = self.path_in(parent, name)?;
        let written = writes.find(&path);
        // An object being closed is complete before this, or never.
        let held = written.as_ref().map(|written| written.hold());
        let is_new = written.as_ref().is_some_and(|written| written.is_pending() && written.replaced().is_none());
        let object = match self.find(&path)?.0 {
            None if !is_new => return Err(Errno::NOENT.into()),
            Some(None) => return Err(Errno::ISDIR.into()),
            known => known.flatten(),
        };
        let change = self.names.begin(&path);
        if !is_new {
            self.store.delete(&path).map_err(refused)?;
        }
        if let Some(written) = &written {
            written.unlink();
            writes.end(written);
        }
        drop(held);
        writes.stay(parent_of(&path));
        change.done(None);
        let app = self.usable().map_or(0, |cache| self.app(cache, caller));
        object.iter().for_each(|object| self.gone(&path, object, app));
        Ok(())
    }

    pub(super) fn remove_path(&self, parent: u64, name: &OsStr) -> io::Result<()> {
        let writes = self.writes()?;
        let path = self.path_in(parent, name)?;
        let page = self.store.list(&path, None)?;
        if !page.directories.is_empty() || !page.objects.is_empty() {
            return Err(Errno::NOTEMPTY.into());
        }
        // An object whose key ends with a slash marks the directory, and the library cannot name it.
        if page.is_there {
            return Err(Errno::OPNOTSUPP.into());
        }
        writes.remove(&path)?;
        self.names.change(&path);
        Ok(())
    }

    /// Copies an object and then deletes it by its old name: if that ends between the two both are there.
    pub(super) fn move_object(
        &self,
        from: (u64, &OsStr),
        to: (u64, &OsStr),
        flags: RenameFlags,
        caller: Caller,
    ) -> io::Result<()> {
        let writes = self.writes()?;
        if !flags.is_empty() {
            return Err(Errno::INVAL.into());
        }
        let (from, to) = (self.path_in(from.0, from.1)?, self.path_in(to.0, to.1)?);
        if from == to {
            return Ok(());
        }
        let _moving = writes.begin_move([&from, &to])?;
        for path in [&from, &to] {
            self.settle(path)?;
            // A handle that was about to write has begun by now, or is refused.
            if let Some(written) = writes.find(path) {
                let _held = written.hold();
                if written.is_pending() {
                    return Err(Errno::BUSY.into());
                }
            }
        }
        match (self.find(&from)?.0, self.find(&to)?.0) {
            (None, _) => return Err(Errno::NOENT.into()),
            (Some(None), _) => return Err(Errno::XDEV.into()),
            (_, Some(None)) => return Err(Errno::ISDIR.into()),
            _ => {}
        }
        let object = self.store.head(&from).inspect_err(|error| {
            if matches!(error, StoreError::Missing) {
                self.names.change(&from);
            }
        })?;
        if object.size() > COPIED {
            return Err(Errno::XDEV.into());
        }
        let replaced = self.find(&to)?.0.flatten();
        let (left, reached) = (self.names.begin(&from), self.names.begin(&to));
        let copied = self.store.copy(&object, &to).map_err(|error| match error {
            // It copies otherwise, or not at all.
            StoreError::Answer(Some(400 | 405 | 501)) => Errno::XDEV,
            error => refused(error),
        })?;
        let app = self.usable().map_or(0, |cache| self.app(cache, caller));
        self.changed(reached, &to, &copied);
        replaced.iter().filter(|old| !old.is_same(&copied)).for_each(|old| self.gone(&to, old, app));
        for written in [&from, &to].into_iter().filter_map(|path| writes.find(path)) {
            written.seal();
            writes.end(&written);
        }
        self.store.delete(&from).map_err(refused)?;
        writes.stay(parent_of(&from));
        left.done(None);
        self.gone(&from, &object, app);
        Ok(())
    }

    /// It is unmounted: waits for what was closed, but not beyond the time that ending may take, and gives up what is
    /// still open or being sent.
    pub(super) fn end_writes(&self) -> io::Result<()> {
        let Some(writes) = &self.writes else { return Ok(()) };
        let since = self.stopped.get().copied().unwrap_or_else(Instant::now);
        let left = || self.options.stop_timeout.unwrap_or(PATIENCE).saturating_sub(since.elapsed()).max(LEAST);
        let (open, closing) = writes.wait(left());
        let (tell, told) = channel();
        for written in &open {
            let (written, tell) = (written.clone(), tell.clone());
            thread::spawn(move || {
                written.give_up();
                // The receiver may have stopped waiting.
                let _ = tell.send(());
            });
        }
        // Parts are deleted in the store, as far as it answers.
        let until = Instant::now() + left();
        let is_over = |_: &_| told.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok();
        open.iter().take_while(is_over).for_each(drop);
        let (Some(one), count) = (closing.first(), closing.len()) else { return Ok(()) };
        let what = if count == 1 { one.clone() } else { format!("{one} and {} other objects", count - 1) };
        Err(io::Error::other(format!(
            "data written to {what} was not sent to the store in time: the store may still have the previous version"
        )))
    }
}

/// A handle that is being closed, until this is dropped.
struct BeingClosed {
    objects: Arc<Objects>,
    written: Arc<Written>,
}

impl BeingClosed {
    fn new(objects: Arc<Objects>, written: Arc<Written>) -> BeingClosed {
        objects.writes.iter().for_each(|writes| writes.begin_close(written.path()));
        BeingClosed { objects, written }
    }
}

impl Drop for BeingClosed {
    fn drop(&mut self) {
        self.objects.writes.iter().for_each(|writes| writes.end_close(self.written.path()));
    }
}
