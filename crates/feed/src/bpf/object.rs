//! What all objects of programs need: memory shared with the kernel, and the reason of a refusal.

use std::error;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::slice;
use std::sync::atomic::AtomicU64;

use aya::Ebpf;
use aya::programs::ProgramError;
use memmap2::{MmapOptions, MmapRaw};

/// An array of 64-bit words in BPF, whose memory this process shares. The kernel's side writes to it as well.
#[derive(Debug)]
pub struct Words {
    memory: MmapRaw,
    words: usize,
}

impl Words {
    /// Shares the first `words` words of the array `map`.
    ///
    /// # Errors
    ///
    /// The kernel refuses, as when the array has fewer.
    pub fn of(map: BorrowedFd, words: usize) -> io::Result<Words> {
        let memory = MmapOptions::new().len(words * size_of::<AtomicU64>()).map_raw(map.as_raw_fd())?;
        Ok(Words { memory, words })
    }

    /// The words.
    pub fn all(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds this many bytes as long as `self` lives, is aligned to a page, and all
        // writers, the kernel included, write whole words.
        unsafe { slice::from_raw_parts(self.memory.as_ptr().cast(), self.words) }
    }
}

/// The array of this name.
pub fn map_fd<'a>(ebpf: &'a Ebpf, name: &str) -> io::Result<BorrowedFd<'a>> {
    match ebpf.map(name) {
        Some(aya::maps::Map::Array(map)) => Ok(map.fd().as_fd()),
        _ => Err(io::Error::other(format!("the object has no array {name}"))),
    }
}

/// An error with all that caused it.
pub fn chain(error: &(dyn error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// Why the kernel did not take the programs.
pub fn refusal(error: &(dyn error::Error + 'static)) -> String {
    let mut cause = Some(error);
    while let Some(inner) = cause {
        if let Some(ProgramError::LoadError { io_error, verifier_log }) = inner.downcast_ref()
            && let Some(why) = of_verifier(&verifier_log.to_string())
        {
            return format!("the kernel does not take its programs, since {why} ({io_error})");
        }
        if inner.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
            let (why, paranoia) = (chain(error), fs::read_to_string(PARANOIA).unwrap_or_default());
            let more = of_administrators(&why, &paranoia);
            return format!("BPF is not allowed here; it needs root, or CAP_BPF and CAP_PERFMON{more} ({why})");
        }
        cause = inner.source();
    }
    format!("the kernel does not take its programs: {}", chain(error))
}

/// To whom the kernel gives events; Debian's kernels know a 3, which is their default.
const PARANOIA: &str = "/proc/sys/kernel/perf_event_paranoid";

/// What else is needed where only administrators may have events.
fn of_administrators(why: &str, paranoia: &str) -> &'static str {
    match why.contains("perf_event_open") && paranoia.trim().parse::<i32>().is_ok_and(|level| level > 2) {
        true => " and, while the sysctl kernel.perf_event_paranoid is above 2, CAP_SYS_ADMIN",
        false => "",
    }
}

/// The last line of the verifier's log, which gives the reason after a list of all steps; `None` if the log is empty.
/// The verifier refuses with the same error number as missing rights.
fn of_verifier(log: &str) -> Option<String> {
    const FIGURES: [&str; 3] = ["verification time ", "stack depth ", "processed "];
    let is_reason = |line: &&str| !line.is_empty() && !FIGURES.iter().any(|figure| line.starts_with(figure));
    let reason = log.lines().map(str::trim).rfind(is_reason)?;
    Some(format!("its verifier says: {reason}"))
}

#[cfg(test)]
mod tests {
    use aya::maps::MapError;

    use super::*;

    #[test]
    fn the_verifier_is_quoted_by_its_reason() {
        let log = "0: R1=ctx() R10=fp0\n300: (61) r3 = *(u32 *)(r9 +100)\nR9 invalid mem access 'map_value_or_null'\n\
            verification time 17828 usec\nstack depth 88+80\nprocessed 275 insns (limit 1000000) max_states 0\n\n";
        assert_eq!(of_verifier(log).unwrap(), "its verifier says: R9 invalid mem access 'map_value_or_null'");
        assert_eq!((of_verifier(""), of_verifier("\n")), (None, None));
    }

    #[test]
    fn events_for_administrators_alone_are_told() {
        let why = "`perf_event_open_trace_point` failed: Permission denied (os error 13)";
        assert!(of_administrators(why, "3\n").contains("CAP_SYS_ADMIN"));
        assert_eq!(
            [(why, "2\n"), (why, ""), ("BPF_PROG_LOAD", "3\n")].map(|(why, is)| of_administrators(why, is)),
            [""; 3]
        );
    }

    #[test]
    fn a_refusal_names_the_rights_only_if_they_are_missing() {
        let failed = |kind: io::ErrorKind| {
            refusal(&MapError::CreateError { name: "ring".to_owned(), io_error: io::Error::from(kind) })
        };
        assert!(failed(io::ErrorKind::PermissionDenied).contains("CAP_BPF and CAP_PERFMON"));
        let other = failed(io::ErrorKind::OutOfMemory);
        assert!(!other.contains("CAP_BPF") && other.contains("out of memory"), "{other}");
    }
}
