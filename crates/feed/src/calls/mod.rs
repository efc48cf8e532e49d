//! System calls of chosen processes as the kernel sees them, by BPF: for recordings.
//!
//! Idea: a program that is called as each system call begins and ends looks at what the call works on: names, the file
//! behind a descriptor, its position and size. The recorded process is never stopped. Nothing stays in the kernel when
//! [`Calls`] is dropped or its process is killed.
//!
//! Rights: root, or CAP_BPF and CAP_PERFMON.

#[cfg(not(feature = "bpf"))]
mod absent;
#[cfg(feature = "bpf")]
mod places;
#[cfg(feature = "bpf")]
mod programs;
mod record;
mod table;

#[cfg(not(feature = "bpf"))]
pub use absent::Calls;
#[cfg(feature = "bpf")]
pub use programs::Calls;
pub use record::{BASE, Called, FILE, Identity, MAPPED, Named, OPENED, OnFile, Record, TEXT, Touched, What, Who};
pub use table::{Look, entry};

/// The recorded processes, and the buffer size.
#[derive(Clone, Debug)]
pub struct CallOptions {
    /// Every process except this one.
    pub everybody: bool,
    /// Processes that are moved into this control group, from then on.
    pub group: Option<CgroupPath>,
    /// Also what the page cache had of each read, and first touches of the pages of mapped files.
    pub page_cache: bool,
    /// Bytes of records that may wait for [`Calls::drain`]: a power of two of at least a page.
    pub buffer: u32,
}

impl Default for CallOptions {
    /// Only watched processes; 32 MiB.
    fn default() -> CallOptions {
        CallOptions { everybody: false, group: None, page_cache: false, buffer: 32 << 20 }
    }
}

/// How a process is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// With the processes that it makes.
    Fully = 1,
    /// Only those that it makes.
    ItsChildren = 2,
}

/// A control group: its hierarchy's number (0 in version 2) and its path from the hierarchy's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupPath {
    /// The number, as `/proc/self/cgroup` has it.
    pub hierarchy: u32,
    /// The path, beginning with `/`.
    pub path: Vec<u8>,
}
