//! Content of a log other than file references: counted, and reported in sentences.

use std::collections::BTreeMap;

/// Objects that are read and written like files but have no blocks on storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Pipes and FIFOs without a name.
    Pipe,
    /// Sockets.
    Socket,
    /// Terminals, `/dev/null` and other character devices.
    Device,
    /// `/proc` and `/sys`.
    System,
    /// `/dev/shm`: memory under a name.
    SharedMemory,
    /// memfd, eventfd, epoll and other objects without a name.
    Anonymous,
    /// Descriptors of which nothing is known.
    Unknown,
}

impl Class {
    const ALL: [Class; 7] = [
        Class::Pipe,
        Class::Socket,
        Class::Device,
        Class::System,
        Class::SharedMemory,
        Class::Anonymous,
        Class::Unknown,
    ];

    fn describe(self) -> &'static str {
        match self {
            Class::Pipe => "pipes",
            Class::Socket => "sockets",
            Class::Device => "terminals, /dev/null and other devices",
            Class::System => "/proc and /sys",
            Class::SharedMemory => "shared memory (/dev/shm)",
            Class::Anonymous => "anonymous memory, eventfd, epoll and others",
            Class::Unknown => "descriptors of unknown origin",
        }
    }
}

/// Other things that a user should know of a log, each counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Oddity {
    /// A read, write or map that failed.
    FailedTransfer,
    /// A path that strace could not read, and showed as an address.
    UnreadablePath,
    /// A path that strace cut.
    CutPath,
    /// A request at the end of a file whose size was not known (`O_APPEND`).
    UnknownEnd,
    /// A descriptor from before the log began, taken to stand at byte 0.
    InheritedDescriptor,
    /// A descriptor whose file, as strace shows it, is not the one it was opened on.
    Surprise,
    /// A call of which the log only holds the end.
    HeadlessCall,
    /// A process whose parent is not in the log.
    Stray,
    /// A new process for which several could be the parent.
    GuessedParent,
    /// A read or write at a position that another process moved at the same moment.
    SharedPosition,
    /// A page of a mapped file was touched whose name was not told.
    UnnamedTouch,
}

impl Oddity {
    const COUNT: usize = 11;

    fn describe(self, count: u64) -> String {
        match self {
            Oddity::FailedTransfer => format!("{count} reads, writes and maps failed and do not count as references"),
            Oddity::UnreadablePath => {
                format!("{count} calls name a path at an address that could not be read and are not in the trace")
            }
            Oddity::CutPath => {
                format!("{count} calls name a path that is cut in the log; each cut path counts as a file")
            }
            Oddity::UnknownEnd => format!(
                "{count} appending writes met a file of unknown size; their offsets count from the first byte seen"
            ),
            Oddity::InheritedDescriptor => {
                format!("{count} descriptors were open before the log began and are taken to stand at byte 0")
            }
            Oddity::Surprise => format!(
                "{count} descriptors turned out to lead to another file than the calls before had said, and were followed there"
            ),
            Oddity::HeadlessCall => format!("{count} calls began before the log and are not in the trace"),
            Oddity::Stray => format!(
                "{count} processes, or their parents, began before the log; of their open files only those that the log shows are known"
            ),
            Oddity::GuessedParent => format!("{count} processes could have had several parents; the latest was taken"),
            Oddity::SharedPosition => format!(
                "{count} reads and writes shared a position with others at the same moment; the position at their start is used"
            ),
            Oddity::UnnamedTouch => format!(
                "{count} first touches of mapped pages belong to files whose names were not told and are not in the trace"
            ),
        }
    }

    const ALL: [Oddity; Oddity::COUNT] = [
        Oddity::FailedTransfer,
        Oddity::UnreadablePath,
        Oddity::CutPath,
        Oddity::UnknownEnd,
        Oddity::InheritedDescriptor,
        Oddity::Surprise,
        Oddity::HeadlessCall,
        Oddity::Stray,
        Oddity::GuessedParent,
        Oddity::SharedPosition,
        Oddity::UnnamedTouch,
    ];
}

/// Calls that move file data without being seen one by one; the first two are seen if requests to io_uring are
/// reported.
const BLIND: [&str; 5] = ["io_uring_setup", "io_uring_enter", "io_setup", "io_submit", "process_vm_readv"];

/// Names that are counted separately; a file that is not a log could hold any number of them.
const MOST_NAMES: usize = 64;

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct Unattributed {
    calls: [u64; Class::ALL.len()],
    bytes: [u64; Class::ALL.len()],
    oddities: [u64; Oddity::COUNT],
    others: BTreeMap<Box<[u8]>, u64>,
    more_others: u64,
    /// Requests to io_uring are reported.
    sees_rings: bool,
}

impl Unattributed {
    /// Nothing counted yet, by a recorder that sees requests to io_uring or not.
    pub(crate) fn new(sees_rings: bool) -> Unattributed {
        Unattributed { sees_rings, ..Unattributed::default() }
    }

    /// Counts a call on an object that is not a file.
    pub(crate) fn call(&mut self, class: Class, bytes: u64) {
        self.calls[class as usize] += 1;
        self.bytes[class as usize] = self.bytes[class as usize].saturating_add(bytes);
    }

    /// Counts an oddity.
    pub(crate) fn odd(&mut self, oddity: Oddity) {
        self.oddities[oddity as usize] += 1;
    }

    /// Counts a call that has no counterpart in a trace.
    pub(crate) fn other(&mut self, name: &[u8]) {
        if let Some(count) = self.others.get_mut(name) {
            *count += 1;
        } else if self.others.len() < MOST_NAMES {
            self.others.insert(name.into(), 1);
        } else {
            self.more_others += 1;
        }
    }

    /// One sentence each.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let classes = Class::ALL.into_iter().filter(|class| self.calls[*class as usize] > 0).map(|class| {
            let (calls, bytes) = (self.calls[class as usize], self.bytes[class as usize]);
            format!("{calls} calls on {} moved {bytes} bytes and are not in the trace", class.describe())
        });
        let oddities = Oddity::ALL.into_iter().filter(|oddity| self.oddities[*oddity as usize] > 0);
        let oddities = oddities.map(|oddity| oddity.describe(self.oddities[oddity as usize]));
        classes.chain(oddities).chain(self.blind()).chain(self.without_counterpart()).collect()
    }

    fn blind(&self) -> Option<String> {
        let blind = if self.sees_rings { &BLIND[2..] } else { &BLIND };
        let used: Vec<&str> = blind.iter().copied().filter(|name| self.others.contains_key(name.as_bytes())).collect();
        let used = (!used.is_empty()).then(|| used.join(", "))?;
        Some(format!("the program also reads or writes through {used}: those references cannot be seen"))
    }

    fn without_counterpart(&self) -> Option<String> {
        let total = self.others.values().sum::<u64>() + self.more_others;
        let mut names: Vec<(&[u8], u64)> = self.others.iter().map(|(name, count)| (&**name, *count)).collect();
        names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut listed: Vec<String> =
            names.iter().map(|(name, count)| format!("{count} {}", name.escape_ascii())).collect();
        if self.more_others > 0 {
            listed.push(format!("{} others", self.more_others));
        }
        (total > 0)
            .then(|| format!("{total} calls reference no file blocks or inodes by themselves: {}", listed.join(", ")))
    }
}
