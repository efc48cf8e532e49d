//! Signals while a program is being recorded: the recorder outlives them, and passes on those that only it has got.

use std::{
    fs, io,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
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

/// True while nothing is being recorded: signals then do what they do by default. A handler that was installed once stays, so it has
/// to be told.
static IDLE: LazyLock<io::Result<Arc<AtomicBool>>> = LazyLock::new(|| {
    let idle = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        register_conditional_default(signal, idle.clone())?;
    }
    Ok(idle)
});

/// Passes signals on to the program while it is being recorded.
pub(super) struct Forwarder {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    /// The tracer's process id; 0 before it is started.
    tracer: Arc<AtomicU32>,
}

impl Forwarder {
    /// From now on the signals that would end the recorder do not.
    pub(super) fn install() -> Result<Forwarder, RecordError> {
        let failed = |source| RecordError::System { doing: "cannot handle signals", source };
        let mut signals = SignalsInfo::<WithOrigin>::new(SIGNALS).map_err(failed)?;
        set_idle(false).map_err(failed)?;
        let handle = signals.handle();
        let tracer = Arc::new(AtomicU32::new(0));
        let of = tracer.clone();
        let thread = thread::spawn(move || {
            for origin in signals.forever() {
                // One typed at the terminal has no sender, and has reached the program as well.
                if origin.process.is_some() {
                    pass_on(origin.signal, of.load(Ordering::Acquire));
                }
            }
        });
        Ok(Forwarder { handle, thread: Some(thread), tracer })
    }

    /// Signals go to the program that process `tracer` has started.
    pub(super) fn forward_to_child_of(&self, tracer: u32) {
        self.tracer.store(tracer, Ordering::Release);
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

fn pass_on(signal: i32, tracer: u32) {
    let children = fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children")).unwrap_or_default();
    let program = children.split_whitespace().next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    if let (Some(program), Some(signal)) = (program, Signal::from_named_raw(signal)) {
        // The program may have ended meanwhile.
        kill_process(program, signal).ok();
    }
}
