//! The credentials with which the source is accessed: those of the calling process.
//!
//! A mount by root could do everything for every user. The kernel checks permissions before it sends a request, but
//! with attributes that may be a second old, and with the file that the name referred to then. So each call that
//! creates, opens, changes or removes something in the source runs with the caller's user and groups: the source's
//! kernel decides, in the same call. All capabilities are dropped meanwhile, including the one to use space and quotas
//! reserved for root.
//!
//! Linux keeps users, groups and capabilities for each thread, and a user for file systems beside the one that says who
//! may send signals to a thread, or slow it down. The C library's call for further groups changes those of all threads,
//! `rustix`'s only those of the one that calls.
//!
//! FUSE does not pass supplementary groups: they are read in `/proc` of the calling thread. That thread waits for the
//! answer, so it cannot have ended and its number cannot have been reused; the groups are used only if the thread has
//! the user and the group that the kernel passed. A thread that acts for another user, or is not visible from here, has
//! no supplementary groups. With fewer groups, a file that is closed to just one of them would be open; but there the
//! kernel, which checks mode and access list as well, refuses.

use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::process::abort;
use std::sync::Arc;

use hotset_cache::source::{Source, Stamp};
use nix::unistd::{setfsgid, setfsuid};
use rustix::fs::{Gid, Uid};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getgroups};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_thread_groups};

/// The caller of a request: user and group of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub uid: u32,
    pub gid: u32,
    pub pid: u32,
}

/// A user with groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl Credentials {
    /// Makes them those with which this thread uses file systems.
    fn take(&self) -> rustix::io::Result<()> {
        set_thread_groups(&self.groups)?;
        // These two return the previous value, not whether the change succeeded. No user has the number -1, so passing
        // it changes nothing.
        let (uid, gid) = (self.uid.as_raw(), self.gid.as_raw());
        setfsgid(gid.into());
        setfsuid(uid.into());
        let are_taken = setfsgid(u32::MAX.into()).as_raw() == gid && setfsuid(u32::MAX.into()).as_raw() == uid;
        if are_taken { Ok(()) } else { Err(Errno::PERM) }
    }
}

/// The rights of this process, which it can put aside for those of others.
#[derive(Debug)]
pub(crate) struct Rights {
    own: Credentials,
    capabilities: CapabilitySets,
}

impl Rights {
    /// What this thread has now.
    pub fn new() -> io::Result<Rights> {
        let own = Credentials { uid: geteuid(), gid: getegid(), groups: getgroups()? };
        Ok(Rights { own, capabilities: capabilities(None)? })
    }

    /// The caller's credentials, where they differ from those of this process. Without root they never differ: only the
    /// user who mounted may use the mount.
    pub fn of(&self, caller: Caller) -> io::Result<Option<Credentials>> {
        if !self.own.uid.is_root() || (caller.uid, caller.gid) == (self.own.uid.as_raw(), self.own.gid.as_raw()) {
            return Ok(None);
        }
        // To the calls below this number says "the one that is".
        if caller.uid == u32::MAX || caller.gid == u32::MAX {
            return Err(Errno::OVERFLOW.into());
        }
        let groups = status(caller.pid).ok().and_then(|status| groups(&status, caller)).unwrap_or_default();
        Ok(Some(Credentials { uid: Uid::from_raw(caller.uid), gid: Gid::from_raw(caller.gid), groups }))
    }

    /// Makes a call with these rights, if they are others. It starts no thread: that would have them for good.
    pub fn with<T>(&self, others: Option<&Credentials>, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let Some(others) = others else { return call() };
        let _back = Back { rights: self, thread: PhantomData };
        others.take()?;
        if others.uid != self.own.uid {
            set_capabilities(None, CapabilitySets { effective: CapabilitySet::empty(), ..self.capabilities })?;
        }
        call()
    }

    /// Makes a call with the caller's credentials.
    pub fn act<T>(&self, caller: Caller, call: impl FnOnce() -> rustix::io::Result<T>) -> io::Result<T> {
        self.with(self.of(caller)?.as_ref(), || Ok(call()?))
    }

    /// A file whose writes use the credentials of the process that opened it; mapped pages are written without a
    /// caller.
    pub fn writes(self: &Arc<Rights>, opener: Option<Credentials>, source: Arc<dyn Source>) -> Arc<dyn Source> {
        match opener {
            Some(opener) => Arc::new(Opened { source, opener, rights: self.clone() }),
            None => source,
        }
    }
}

/// Has this thread take its own rights back in the end, also when a call panics.
struct Back<'a> {
    rights: &'a Rights,
    /// It must not be sent to another thread.
    thread: PhantomData<*const ()>,
}

impl Drop for Back<'_> {
    fn drop(&mut self) {
        let Rights { own, capabilities } = self.rights;
        if set_capabilities(None, *capabilities).is_err() || own.take().is_err() {
            // This thread would go on to answer others with the rights of this one.
            abort();
        }
    }
}

/// A file that is changed with the rights of who opened it.
struct Opened {
    source: Arc<dyn Source>,
    opener: Credentials,
    rights: Arc<Rights>,
}

impl Source for Opened {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.source.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.rights.with(Some(&self.opener), || self.source.write_at(bytes, offset))
    }

    fn append(&self, bytes: &[u8]) -> io::Result<(u64, usize)> {
        self.rights.with(Some(&self.opener), || self.source.append(bytes))
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.rights.with(Some(&self.opener), || self.source.set_len(size))
    }

    fn stamp(&self) -> io::Result<Stamp> {
        self.source.stamp()
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        self.source.sync(data_only)
    }
}

/// The kernel's status of a thread (proc(5)).
fn status(thread: u32) -> io::Result<String> {
    // Read in one piece: the kernel makes each anew.
    let mut status = Vec::with_capacity(STATUS);
    File::open(format!("/proc/{thread}/status"))?.read_to_end(&mut status)?;
    Ok(String::from_utf8_lossy(&status).into_owned())
}

/// Bytes that normally suffice for it.
const STATUS: usize = 4096;

/// The kernel's number for a group that has none here.
const NAMELESS: u32 = 65534;

/// The further groups of a thread by its `status`, if it still has the user and group with which it asked.
fn groups(status: &str, caller: Caller) -> Option<Vec<Gid>> {
    let numbers = |name: &str| -> Option<Vec<u32>> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().map(|word| word.parse().ok()).collect()
    };
    // Real, effective, saved, and that for file systems, which counts.
    let counts = |name| numbers(name)?.get(3).copied();
    if (counts("Uid")?, counts("Gid")?) != (caller.uid, caller.gid) {
        return None;
    }
    // A group that has no number in the user namespace of this process would be taken for one that has.
    let known = numbers("Groups")?.into_iter().filter(|&gid| gid != NAMELESS);
    Some(known.map(Gid::from_raw).collect())
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rustix::thread::gettid;

    use super::*;

    const CALLER: Caller = Caller { uid: 5, gid: 6, pid: 0 };

    #[test]
    fn further_groups_are_those_of_a_thread_that_is_who_asks() {
        let status = |uid: &str, gid: &str| format!("Name:\tGroups: 0\nUid:\t{uid}\nGid:\t{gid}\nGroups:\t7 8 \n");
        let found = |status: &str| groups(status, CALLER).map(|groups| groups.iter().map(|g| g.as_raw()).collect());
        assert_eq!(found(&status("0\t5\t0\t5", "0\t6\t0\t6")), Some(vec![7, 8]));
        assert_eq!(found(&status("5\t5\t5\t5", "6\t6\t6\t6").replace('8', "65534")), Some(vec![7]));
        assert_eq!(found(&status("5\t5\t5\t0", "6\t6\t6\t6")), None, "it acts for another user");
        assert_eq!(found(&status("5\t5\t5\t5", "6\t6\t6\t0")), None);
        assert_eq!(found(&status("5\t5\t5\t5", "6\t6\t6\t6").replace("7 8", "")), Some(vec![]));
        assert_eq!(found(&status("5\t5\t5\t5", "6\t6\t6\t6").replace("7 8", "7 x")), None);
        assert_eq!((found(""), found("Uid:\t5\t5\t5\t5\n")), (None, None));
    }

    /// User, group and further groups for file systems, and whether there are capabilities.
    fn now() -> (u32, u32, Vec<u32>, bool) {
        let groups = getgroups().unwrap().iter().map(|group| group.as_raw()).collect();
        let has_rights = !capabilities(None).unwrap().effective.is_empty();
        // Whose number is effective may slow a thread down, and bind it to a processor.
        assert!(geteuid().is_root() && getegid().is_root());
        (setfsuid(u32::MAX.into()).as_raw(), setfsgid(u32::MAX.into()).as_raw(), groups, has_rights)
    }

    #[test]
    fn a_call_is_made_with_the_rights_of_who_asks_and_they_are_given_back() {
        if !geteuid().is_root() {
            eprintln!("SKIPPED: only root can take the rights of others");
            return;
        }
        let (rights, before) = (Rights::new().unwrap(), now());
        let caller = Caller { pid: gettid().as_raw_nonzero().get() as u32, ..CALLER };
        // This thread is not the caller, so its groups are not the caller's.
        let others = rights.of(caller).unwrap().unwrap();
        assert_eq!(others, Credentials { uid: Uid::from_raw(5), gid: Gid::from_raw(6), groups: Vec::new() });
        let others = Credentials { groups: vec![Gid::from_raw(9)], ..others };
        let inside = || rights.with(Some(&others), || Ok(now())).unwrap();
        assert_eq!((inside(), now()), ((5, 6, vec![9], false), before.clone()));
        let panics =
            catch_unwind(AssertUnwindSafe(|| rights.with(Some(&others), || -> io::Result<()> { panic!("in a call") })));
        assert!(panics.is_err() && now() == before);
        // A user that cannot exist.
        let nobody = Caller { uid: u32::MAX, ..CALLER };
        assert_eq!(rights.of(nobody).unwrap_err().raw_os_error(), Some(Errno::OVERFLOW.raw_os_error()));
        assert_eq!(rights.of(Caller { uid: before.0, gid: before.1, pid: 0 }).unwrap(), None);
    }
}
