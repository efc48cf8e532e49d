//! Recording the memory accesses of an unmodified program: it runs under valgrind's lackey, whose log becomes a `.hst`
//! trace while the program runs.
//!
//! Lackey reports every instruction and every load and store, and valgrind every system call, in one stream and in
//! order. Loads and stores become references to pages, instructions are counted, and `mmap`, `munmap` and `mremap`
//! create and remove objects. Allocations are seen too: the C library is configured, by its environment variable, to
//! take each allocation of at least [`OBJECT_BYTES`] bytes from the system by a separate mapping.
//!
//! Not seen: memory that the system reads or writes in system calls, fetches of instructions as references, and
//! programs that the program starts. A program of tight loops runs ten thousand times slower than without valgrind
//! (`docs/guide/fit-a-program.md`).

mod lackey;
mod line;

use std::ffi::OsString;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use hotset_trace::TraceError;
use hotset_trace::memory::{MemoryBatch, MemoryMeta};
use hotset_trace::native::{Header, MemoryWriter, Stats};

use crate::record::channel::{Channel, Unhurried};
use crate::record::signals::{Forwarder, Target};
use crate::record::{PROGRESS_INTERVAL, RecordError, tracer};
use lackey::Lackey;

/// Allocations from this size on are objects: APR's threshold.
pub const OBJECT_BYTES: u32 = 40 << 10;

/// Bytes of a page.
const PAGE_BYTES: u32 = 4096;

/// How far a recording has come.
#[derive(Clone, Copy, Debug)]
pub struct MemoryProgress {
    /// References recorded.
    pub references: u64,
    /// Instructions executed.
    pub instructions: u64,
}

/// The result of a recording of memory.
#[derive(Clone, Debug)]
pub struct MemorySummary {
    /// The totals of the trace.
    pub stats: Stats,
    /// How the program ended; its own status.
    pub status: ExitStatus,
    /// What could not be recorded: one sentence each.
    pub remarks: Vec<String>,
    /// Time that the program took, in seconds.
    pub seconds: f64,
}

/// Runs `command`, a program and its arguments, and writes what it does to its memory to `output`; `progress` is called
/// now and then.
pub fn record(
    command: &[OsString],
    output: &Path,
    mut progress: impl FnMut(MemoryProgress),
) -> Result<MemorySummary, RecordError> {
    tracer::find_program(command)?;
    check()?;
    let channel = Channel::open()?;
    let signals = Forwarder::install()?;
    let started = Instant::now();
    let child = valgrind(&channel.path()).args(command).spawn();
    let child = child.map_err(|source| RecordError::System { doing: "cannot start valgrind", source })?;
    signals.forward_to(Target::Itself(child.id()));
    let Channel { log, hold, directory } = channel;
    let ended = std::thread::spawn(move || wait(child, hold));
    let recorded = convert(&log, command, output, &mut progress);
    if recorded.is_err() {
        // The program runs on to its end all the same.
        std::io::copy(&mut &log, &mut std::io::sink()).ok();
    }
    let status = ended.join().unwrap_or_else(|_| Err(std::io::Error::other("the waiting thread has failed")));
    drop((signals, directory));
    let (stats, remarks) = recorded?;
    let status = status.map_err(|source| RecordError::System { doing: "cannot wait for valgrind", source })?;
    if stats.references == 0 {
        return Err(RecordError::NothingOfMemory { status });
    }
    Ok(MemorySummary { stats, status, remarks, seconds: started.elapsed().as_secs_f64() })
}

/// valgrind with its log at `log`; the program and its arguments are to follow.
fn valgrind(log: &Path) -> Command {
    let mut path = OsString::from("--log-file=");
    path.push(log);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["-q", "--tool=lackey", "--basic-counts=no", "--trace-mem=yes", "--trace-syscalls=yes"]);
    valgrind.args(["--child-silent-after-fork=yes", "--trace-children=no"]).arg(path);
    valgrind.env("MALLOC_MMAP_THRESHOLD_", OBJECT_BYTES.to_string());
    valgrind
}

/// Makes sure that valgrind and its lackey are there and can run a program.
fn check() -> Result<(), RecordError> {
    let output = valgrind(Path::new("/dev/null")).arg("/bin/true").stdin(Stdio::null()).output();
    let output = output.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => RecordError::NoValgrind,
        _ => RecordError::System { doing: "cannot start valgrind", source: error },
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().trim().to_owned();
    Err(RecordError::UnfitValgrind { said })
}

/// Reads the log to its end and writes the trace.
fn convert(
    log: &File,
    command: &[OsString],
    output: &Path,
    progress: &mut impl FnMut(MemoryProgress),
) -> Result<(Stats, Vec<String>), RecordError> {
    let failed = |doing| move |source| RecordError::System { doing, source };
    let log = log.try_clone().map_err(failed("cannot read the log of valgrind"))?;
    let mut lackey = Lackey::new(BufReader::with_capacity(1 << 20, Unhurried::new(log)));
    let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let meta = MemoryMeta { page_bytes: PAGE_BYTES, has_writes: true };
    let header = Header::of_memory(&meta).with("source", "valgrind lackey").with("command", &words.join(" "));
    let file = File::create(output).map_err(|error| TraceError::io(output, "cannot create the trace", error))?;
    let mut writer = MemoryWriter::new(std::io::BufWriter::new(file), output, &header)?;
    let mut batch = MemoryBatch::default();
    let mut told = Instant::now();
    loop {
        lackey.read(&mut batch).map_err(failed("cannot read the log of valgrind"))?;
        if batch.is_empty() {
            return Ok((writer.finish()?, lackey.remarks()));
        }
        writer.push(&batch)?;
        if told.elapsed() > PROGRESS_INTERVAL {
            progress(MemoryProgress { references: lackey.references(), instructions: batch.instructions });
            told = Instant::now();
        }
    }
}

/// Waits for valgrind, and closes the other end of the channel, without which the log would never end.
fn wait(mut child: Child, hold: File) -> std::io::Result<ExitStatus> {
    let status = child.wait();
    drop(hold);
    status
}
