//! Steering that is shown while it runs, for `hotset top` and as metrics; and a mount whose pages a policy decides.

mod mount;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hotset_cache::OrderProgress;
use hotset_core::policy::PolicySpec;
use hotset_feed::{Feed, FeedOptions, Kind, available};
use hotset_mount::AppBy;
use hotset_steer::{
    Directories, Ground, Naming, Over, PAGE, Report, Session, State, SteerError, pages_per_stamp, tells_applications,
};
use serde::Serialize;
use serde_json::Value;

use crate::control::metrics::{estimates, line, metric};
use crate::control::{Changed, Socket, Subject, told};

pub use mount::{MountFiles, PrepareError, Prepared, Steering};

/// The largest age of a shown state.
const OFTEN: Duration = Duration::from_secs(1);

/// The best feed that can be had for a policy on blocks of `block` bytes: one that tells every single read where that
/// is `exact`, one that tells processes where the policy treats applications apart.
///
/// # Errors
///
/// Why there is none.
pub fn feed(policy: &PolicySpec, block: u64, exact: bool) -> Result<Box<dyn Feed>, String> {
    let options = FeedOptions { pages_per_stamp: pages_per_stamp(block), ..FeedOptions::default() };
    let by_app = tells_applications(policy);
    let kinds = match (exact, by_app) {
        (true, _) => &[Kind::Ring][..],
        (false, true) => &[Kind::Ring, Kind::Tracefs],
        (false, false) => &Kind::ALL,
    };
    let mut opened = kinds.iter().filter_map(|&kind| hotset_feed::open(kind, &options).ok());
    opened.next().ok_or_else(|| available().to_string())
}

/// Names the application of a process, where the policy asks for that.
pub fn naming(policy: &PolicySpec, by: AppBy) -> Option<Naming> {
    let named = move |process: u32| {
        let user = fs::metadata(format!("/proc/{process}")).ok()?.uid();
        Some(by.name(process, user))
    };
    tells_applications(policy).then(|| Box::new(named) as Naming)
}

/// A session whose state is shown.
pub struct Shown<G = Directories> {
    /// The session.
    pub session: Session<G>,
    status: Arc<Steered>,
    told: Instant,
    /// Where clients reach it.
    sockets: Vec<Socket>,
}

impl<G: Ground> Shown<G> {
    /// Publishes the state of a session. `anew` says how its settings are changed.
    pub fn new(session: Session<G>, anew: &'static str) -> Shown<G> {
        let now = Status { report: session.report(), given_up: None };
        let status = Arc::new(Steered { now: Mutex::new(now), anew });
        Shown { session, status, told: Instant::now(), sockets: Vec::new() }
    }

    /// What answers clients.
    pub fn subject(&self) -> Arc<dyn Subject> {
        self.status.clone()
    }

    /// Keeps a socket for as long as the session lasts.
    pub fn keep(&mut self, socket: Socket) {
        self.sockets.push(socket);
    }

    /// A step of the session, whose state is published at intervals.
    ///
    /// # Errors
    ///
    /// Those of [`Session::step`].
    pub fn step(&mut self, timeout: Duration) -> Result<Option<Over>, SteerError> {
        let over = self.session.step(timeout)?;
        if self.told.elapsed() >= OFTEN {
            self.told = Instant::now();
            self.status.look().report = self.session.report();
        }
        Ok(over)
    }

    /// Nothing is steered any more, though the process goes on.
    pub fn give_up(self, why: &str) {
        self.status.look().given_up = Some(why.to_owned());
    }
}

/// The published state.
#[derive(Serialize)]
struct Status {
    #[serde(flatten)]
    report: Report,
    /// Why nothing is steered any more.
    given_up: Option<String>,
}

/// What clients are answered from.
struct Steered {
    now: Mutex<Status>,
    /// How settings are changed.
    anew: &'static str,
}

impl Steered {
    fn look(&self) -> MutexGuard<'_, Status> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subject for Steered {
    fn status(&self) -> Result<Value, String> {
        told(&*self.look())
    }

    fn metrics(&self) -> String {
        let status = self.look();
        text(&status.report, status.given_up.is_some())
    }

    fn explain(&self) -> Result<Value, String> {
        Err("only a mount explains what its policy has learnt; a steered directory has a status".to_owned())
    }

    fn set(&self, _settings: &[(String, String)]) -> Result<Changed, String> {
        Err(format!("settings cannot be changed while steering runs: {}", self.anew))
    }

    fn expect(&self, _list: Option<&Path>) -> Result<OrderProgress, String> {
        Err("an order is followed only by a mount with a cache of its own; mount in another mode".to_owned())
    }
}

/// All figures, as counters and gauges.
fn text(report: &Report, is_given_up: bool) -> String {
    let mut out = String::new();
    let counts = &report.counts;
    let page = |pages: u64| (pages * PAGE) as f64;
    let counters = [
        ("references", "Blocks referenced; repeats of the last few are one", counts.references as f64),
        ("misses", "Those that the policy did not hold", counts.misses as f64),
        ("kernel_misses", "Those that a model of the kernel alone would not have held", counts.kernel_misses as f64),
        ("read_bytes", "Bytes that came into the page cache", page(counts.pages_read)),
        ("dropped_bytes", "Bytes that have left because they were dropped", page(counts.pages_dropped)),
        ("taken_bytes", "Bytes that the kernel took though the policy held them", page(counts.pages_taken)),
        ("fetched_bytes", "Bytes that were fetched because the policy wanted them", page(counts.pages_fetched)),
        ("left_to_kernel", "Blocks that did not leave however often they were dropped", counts.left_to_kernel as f64),
        ("failed", "Drops and fetches that failed as such", counts.failed as f64),
        ("lost_events", "Events that the kernel could not tell", counts.lost as f64),
        ("rebuilds", "Times that everything was asked anew because events were lost", report.rebuilt as f64),
        ("seconds", "Seconds in all", report.seconds),
        ("steered_seconds", "Of them, those in which it steered", report.seconds_steered),
        ("cpu_seconds", "Seconds of processor time", report.cpu_seconds),
    ];
    for (name, help, value) in counters {
        let name = format!("steer_{name}_total");
        metric(&mut out, &name, "counter", help);
        line(&mut out, &name, None, value);
    }
    for (name, help) in [("references", "Blocks referenced by the application"), ("misses", "Those that were missed")] {
        let name_of = format!("steer_app_{name}_total");
        for (index, app) in report.apps.iter().enumerate() {
            if index == 0 {
                metric(&mut out, &name_of, "counter", help);
            }
            let value = if name == "misses" { app.misses } else { app.references };
            line(&mut out, &name_of, Some(("app", &app.name)), value);
        }
    }
    let state = |state: State| f64::from(u8::from(report.state == state && !is_given_up));
    let mut gauges = vec![
        ("steering", "1 while the kernel is made to hold what the policy holds", state(State::Steering)),
        ("resting", "1 while reads are not followed", state(State::Resting)),
        ("given_up", "1 if nothing is steered any more", f64::from(u8::from(is_given_up))),
        ("blocks", "Blocks that the policy may hold", f64::from(report.blocks)),
        ("blocks_held", "Blocks that it holds", f64::from(report.blocks_held)),
        ("blocks_pending", "Blocks that wait to be dropped", report.blocks_pending as f64),
        ("block_bytes", "Bytes of a block", report.block_bytes as f64),
        ("resident_bytes", "Bytes of watched files that are resident", page(report.pages_resident)),
        ("files", "Files that are watched", report.files as f64),
        ("files_unwatched", "Files without a place in the kernel's table", report.files_unwatched as f64),
        ("lag_mean_seconds", "How old events were when they were handled, on average", report.lag_mean),
        ("lag_worst_seconds", "How old the oldest was", report.lag_worst),
    ];
    if let Some(memory) = report.memory {
        gauges.push(("policy_bytes", "Bytes that the policy may hold", memory.policy as f64));
        gauges.push(("kernel_bytes", "Bytes that the kernel alone would hold", memory.kernel as f64));
        gauges.push(("slack_bytes", "Bytes that are left between them", memory.slack as f64));
    }
    if let Some(gain) = report.proof.as_ref().and_then(|proof| proof.read) {
        gauges.push(("saved_ratio", "Bytes that need not be read for each byte referenced, measured", gain.saved));
        let half = gain.half.unwrap_or(f64::INFINITY);
        gauges.push(("saved_ratio_half_interval", "Half of its 95 % interval", half));
    }
    for (name, help, value) in gauges {
        let name = format!("steer_{name}");
        metric(&mut out, &name, "gauge", help);
        line(&mut out, &name, None, if value == f64::INFINITY { "+Inf".to_owned() } else { value.to_string() });
    }
    estimates(&mut out, &report.what_if, report.eviction_ages.as_ref());
    out
}
