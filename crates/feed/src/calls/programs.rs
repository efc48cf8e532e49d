//! The programs that report system calls, attached.

use std::error;
use std::io;
use std::sync::atomic::Ordering;

use aya::maps::{Array, HashMap, MapData, MapError, ProgramArray, RingBuf};
use aya::programs::{ProgramError, RawTracePoint};
use aya::{Ebpf, EbpfLoader, Pod, include_bytes_aligned};

use super::{CallOptions, Record, Watch, places, table};
use crate::bpf::object::{Words, map_fd, refusal};
use crate::{Error, Result};

/// Built by `make bpf`.
static OBJECT: &[u8] = include_bytes_aligned!("../../bpf/calls.bpf.o");

/// Which program is called where. Calls come last, so that nothing is missed of what they need.
const PROGRAMS: [(&str, &str); 6] = [
    ("on_fork", "sched_process_fork"),
    ("on_end", "sched_process_exit"),
    ("on_exec", "sched_process_exec"),
    ("on_join", "cgroup_attach_task"),
    ("on_exit", "sys_exit"),
    ("on_enter", "sys_enter"),
];

/// Functions that are hooked in addition if queries of the page cache are recorded; older kernels lack the last two.
const OF_PAGE_CACHE: [(&str, &str); 3] = [
    ("on_add", "mm_filemap_add_to_page_cache"),
    ("on_around", "mm_filemap_map_pages"),
    ("on_fault", "mm_filemap_fault"),
];

/// The function that runs when a request is submitted to io_uring, and the kernel's event for it: its name, and the
/// name before Linux 6.3.
const ON_REQUEST: &str = "on_request";
const REQUESTS: [&str; 2] = ["io_uring_submit_req", "io_uring_submit_sqe"];

/// The program that runs when a list of requests was submitted (io_submit), and the map through which it continues
/// itself.
const ON_SUBMITTED: &str = "on_submitted";
const AGAIN: &str = "again";

/// Words of the map `losses`.
const LOST: usize = 0;
const FOREIGN: usize = 1;
const UNSEEN: usize = 2;

/// The map `config`, as bytes.
const CONFIG_BYTES: usize = 520;

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Config([u8; CONFIG_BYTES]);

// SAFETY: an array of bytes has no padding and no forbidden values.
unsafe impl Pod for Config {}

/// Attached programs; all leave the kernel when this is dropped.
pub struct Calls {
    /// Holds what is attached.
    _ebpf: Ebpf,
    /// A program goes on with itself only while this is open.
    _again: ProgramArray<MapData>,
    watched: HashMap<MapData, u32, u32>,
    ring: RingBuf<MapData>,
    losses: Words,
    sees_rings: bool,
}

impl Calls {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    ///
    /// [`Error::NoCalls`]: the kernel does not describe itself, or refuses.
    pub fn open(choice: &CallOptions) -> Result<Calls> {
        if cfg!(target_endian = "big") {
            let why = "its programs are built for processors that keep the low byte first".to_owned();
            return Err(Error::NoCalls { why });
        }
        let (mut config, sees_rings) = places::config(choice.everybody, choice.group.as_ref(), choice.page_cache)
            .map_err(|why| Error::NoCalls { why })?;
        Calls::load(choice, &mut config, sees_rings).map_err(|error| Error::NoCalls { why: refusal(error.as_ref()) })
    }

    fn load(
        choice: &CallOptions,
        config: &mut [u8],
        sees_rings: bool,
    ) -> std::result::Result<Calls, Box<dyn error::Error>> {
        let mut ebpf = EbpfLoader::new().map_max_entries("ring", choice.buffer).load(OBJECT)?;
        // While the object still holds its maps.
        let events = || choice.page_cache.then_some(OF_PAGE_CACHE).into_iter().flatten().chain(PROGRAMS);
        for (name, _) in events() {
            program(&mut ebpf, name)?.load()?;
        }
        let sees_rings = sees_rings && program(&mut ebpf, ON_REQUEST)?.load().is_ok();
        // Not every kernel lets a program of this kind go on with itself.
        let on_submitted = program(&mut ebpf, ON_SUBMITTED)?;
        let on_submitted = match on_submitted.load() {
            Ok(()) => Some(on_submitted.fd()?.try_clone()?),
            Err(_) => None,
        };
        config[places::SEES_LISTS].copy_from_slice(&u32::from(on_submitted.is_some()).to_ne_bytes());
        let map = |ebpf: &mut Ebpf, name: &str| ebpf.take_map(name).ok_or_else(|| format!("the object has no {name}"));
        Array::try_from(map(&mut ebpf, "config")?)?.set(0, Config(config.try_into()?), 0)?;
        let mut looks: Array<MapData, [u8; 16]> = Array::try_from(map(&mut ebpf, "looks")?)?;
        for (_, number, look) in table::CALLS.iter().chain(table::OLD_CALLS) {
            looks.set(u32::try_from(*number)?, look.bytes(), 0)?;
        }
        let mut again = ProgramArray::try_from(map(&mut ebpf, AGAIN)?)?;
        if let Some(on_submitted) = &on_submitted {
            again.set(0, on_submitted, 0)?;
        }
        let losses = Words::of(map_fd(&ebpf, "losses")?, 3)?;
        let ring = RingBuf::try_from(map(&mut ebpf, "ring")?)?;
        let watched = HashMap::try_from(map(&mut ebpf, "watched")?)?;
        for (name, event) in events() {
            program(&mut ebpf, name)?.attach(event).map_err(|error| unheard(event, &error))?;
        }
        if on_submitted.is_some() {
            program(&mut ebpf, ON_SUBMITTED)?.attach("sys_exit")?;
        }
        let on_request = program(&mut ebpf, ON_REQUEST)?;
        let sees_rings = sees_rings && REQUESTS.into_iter().any(|event| on_request.attach(event).is_ok());
        Ok(Calls { _ebpf: ebpf, _again: again, watched, ring, losses, sees_rings })
    }

    /// Records a process from now on.
    ///
    /// # Errors
    ///
    /// The kernel holds no more processes.
    pub fn watch(&mut self, process: u32, how: Watch) -> Result<()> {
        self.watched.insert(process, how as u32, 0).map_err(|error| Error::Io {
            what: format!("record process {process}"),
            error: match error {
                MapError::SyscallError(error) => error.io_error,
                other => io::Error::other(other),
            },
        })
    }

    /// Stops recording a process. Its children are still recorded.
    pub fn unwatch(&mut self, process: u32) {
        // It fails only if the process is not watched.
        let _ = self.watched.remove(&process);
    }

    /// True if a chosen process is still there.
    pub fn has_watched(&self) -> bool {
        self.watched.keys().next().is_some()
    }

    /// Hands on what waits, in order, `most` records at most; returns how many.
    pub fn drain(&mut self, most: usize, mut each: impl FnMut(Record)) -> usize {
        for records in 0..most {
            match self.ring.next() {
                Some(bytes) => Record::parse(&bytes).map_or((), &mut each),
                None => return records,
            }
        }
        most
    }

    /// Records that found no room, in all.
    pub fn lost(&self) -> u64 {
        self.losses.all()[LOST].load(Ordering::Acquire)
    }

    /// Requests that were submitted and could not be looked at.
    pub fn unseen(&self) -> u64 {
        self.losses.all()[UNSEEN].load(Ordering::Acquire)
    }

    /// True if requests to io_uring are recorded.
    pub fn sees_rings(&self) -> bool {
        self.sees_rings
    }

    /// Calls of programs for another kind of processor (32 bits), which are not recorded.
    pub fn foreign(&self) -> u64 {
        self.losses.all()[FOREIGN].load(Ordering::Acquire)
    }
}

fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> std::result::Result<&'a mut RawTracePoint, Box<dyn error::Error>> {
    let program = ebpf.program_mut(name).ok_or_else(|| format!("the object has no program {name}"))?;
    Ok(program.try_into()?)
}

/// Why an event cannot be listened to.
fn unheard(event: &str, error: &ProgramError) -> String {
    match error {
        ProgramError::SyscallError(call) if call.io_error.kind() == io::ErrorKind::NotFound => {
            format!("it does not have the event {event}; Linux 6.12 and newer do: record without the page cache")
        }
        _ => format!("the event {event}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use aya::sys::SyscallError;

    use super::*;

    #[test]
    fn an_event_that_is_not_there_is_told_from_one_that_is_refused() {
        let refused = |kind: io::ErrorKind| {
            let (call, io_error) = ("bpf_raw_tracepoint_open", io::Error::from(kind));
            unheard("mm_filemap_fault", &ProgramError::SyscallError(SyscallError { call, io_error }))
        };
        assert!(refused(io::ErrorKind::NotFound).contains("record without the page cache"));
        assert!(!refused(io::ErrorKind::PermissionDenied).contains("--page-cache"));
    }
}
