//! Signals while a program is being recorded: the recorder outlives them, and passes on those that only it has got.

use std::{
    fs, io,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM},
    flag::register_conditional_default,
    iterator::{Handle, SignalsInfo, exfiltrator::WithOrigin},
};

use super::RecordError;

const SIGNALS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// True while nothing is being recorded: signals then have their default effect. A handler stays once it is installed,
/// so it needs this flag.
static IDLE: LazyLock<io::Result<Arc<AtomicBool>>> = LazyLock::new(|| {
    let idle = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        register_conditional_default(signal, idle.clone())?;
    }
    Ok(idle)
});

/// Where the program is.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// This process runs it.
    Itself(u32),
    /// It is the first child of this process.
    ChildOf(u32),
}

/// Passes signals on to the program while it is being recorded.
pub(crate) struct Forwarder {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    /// Known once it is started.
    target: Arc<OnceLock<Target>>,
}

impl Forwarder {
    /// From now on the signals that would end the recorder do not.
    pub(crate) fn install() -> Result<Forwarder, RecordError> {
        let failed = |source| RecordError::System { doing: "cannot handle signals", source };
        let mut signals = SignalsInfo::<WithOrigin>::new(SIGNALS).map_err(failed)?;
        set_idle(false).map_err(failed)?;
        let handle = signals.handle();
        let target = Arc::new(OnceLock::new());
        let of = target.clone();
        let thread = thread::spawn(move || {
            for origin in signals.forever() {
                // One typed at the terminal has no sender, and has reached the program as well.
                if let (Some(_), Some(&target)) = (&origin.process, of.get()) {
                    pass_on(origin.signal, target);
                }
            }
        });
        Ok(Forwarder { handle, thread: Some(thread), target })
    }

    /// Signals go there from now on. Only the first call counts.
    pub(crate) fn forward_to(&self, target: Target) {
        self.target.get_or_init(|| target);
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        set_idle(true).ok();
        self.handle.close();
        self.thread.take().map(JoinHandle::join);
    }
}

fn set_idle(idle: bool) -> io::Result<()> {
    match &*IDLE {
        Ok(flag) => flag.store(idle, Ordering::Release),
        Err(error) => return Err(io::Error::new(error.kind(), error.to_string())),
    }
    Ok(())
}

fn pass_on(signal: i32, target: Target) {
    let program = match target {
        Target::Itself(pid) => Some(pid),
        Target::ChildOf(tracer) => {
            let children = fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children")).unwrap_or_default();
            children.split_whitespace().next().and_then(|pid| pid.parse().ok())
        }
    };
    let program = program.and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
    if let (Some(program), Some(signal)) = (program, Signal::from_named_raw(signal)) {
        // The program may have ended meanwhile.
        kill_process(program, signal).ok();
    }
}
