//! Options of recordings: the meaning of "application", and facts from before the recording.

/// The meaning of "application".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Apps {
    /// A program, whichever processes run it: `cc1`.
    #[default]
    Program,
    /// A process with its threads: `cc1 4711`.
    Process,
    /// The control group of a process, where [`StraceOptions::group_of`] tells it.
    Group,
}

/// A file that was open before the log began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// Its path.
    pub path: Vec<u8>,
    /// The position of the next read or write.
    pub offset: u64,
    /// Writes go to the end (`O_APPEND`).
    pub append: bool,
    /// The file's size in bytes.
    pub size: u64,
}

/// How to read a log.
#[derive(Clone, Debug, Default)]
pub struct StraceOptions {
    /// Malformed lines are counted and skipped instead of being errors.
    pub skip_bad: bool,
    /// Requests are handed over as soon as the log pauses, not only by full batches. For logs that are being written.
    pub prompt: bool,
    /// What counts as an application.
    pub apps: Apps,
    /// Where the first process works; otherwise it is taken from the log, if made with `-y`.
    pub directory: Option<Vec<u8>>,
    /// Files that the first process had open.
    pub inherited: Vec<Inherited>,
    /// The offsets of reads and writes are reported beside the calls.
    pub positions_told: bool,
    /// Requests to io_uring are reported.
    pub sees_rings: bool,
    /// First touches of pages are reported, too: a mapping does not count as a reference then.
    pub touches_told: bool,
    /// Tells the control group of a process. Only of use while the process runs.
    pub group_of: Option<fn(u32) -> Option<String>>,
    /// Tells the size of a program's file that the log does not tell. Only of use while the program runs.
    pub file_size_of: Option<fn(&str) -> Option<u64>>,
}
