//! Progress bars on standard error, when it is a terminal, of what takes longer than a moment.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use hotset_sim::{Observer, Progress};
use hotset_trace::TraceReader;
use hotset_trace::input::Progress as Position;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::options::traces::{say, say_remarks};

/// Shows the stages of a sweep, and says what readers remark: once a trace, however often it is read.
#[derive(Default)]
pub(crate) struct Terminal {
    told: Mutex<HashSet<String>>,
}

impl Terminal {
    /// A terminal without the remarks on the trace of this name.
    pub(crate) fn without_remarks_on(name: &str) -> Terminal {
        Terminal { told: Mutex::new(HashSet::from([name.to_owned()])) }
    }
}

impl Observer for Terminal {
    fn reading<'a>(&'a self, trace: &str, position: &'a Position) -> Box<dyn Progress + 'a> {
        Box::new(Reading::new(trace, position))
    }

    fn read(&self, trace: &str, reader: &dyn TraceReader) {
        let is_new = self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(trace.to_owned());
        if is_new {
            say_remarks(trace, reader);
        }
    }

    fn note(&self, trace: &str, note: &str) {
        say(trace, note);
    }

    fn replaying<'a>(&'a self, cells: usize, references: Option<u64>) -> Box<dyn Progress + 'a> {
        Box::new(Replaying::new(cells, references))
    }
}

/// How long something goes on before a bar is drawn.
const MOMENT: Duration = Duration::from_secs(1);

/// A bar that is drawn once a moment has passed.
struct Bar {
    bar: ProgressBar,
    begun: Instant,
    drawn: Once,
}

impl Bar {
    fn new(bar: ProgressBar, template: &str) -> Bar {
        bar.set_draw_target(ProgressDrawTarget::hidden());
        Bar { bar: bar.with_style(style(template)), begun: Instant::now(), drawn: Once::new() }
    }

    /// The bar, for further counts.
    fn told(&self) -> &ProgressBar {
        if self.begun.elapsed() >= MOMENT {
            self.drawn.call_once(|| self.bar.set_draw_target(ProgressDrawTarget::stderr()));
        }
        &self.bar
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A trace being read: how far through the file, and how much of it so far.
pub(crate) struct Reading {
    bar: Bar,
    position: Position,
    done: AtomicU64,
    /// The counted unit.
    noun: &'static str,
}

impl Reading {
    pub(crate) fn new(name: &str, position: &Position) -> Reading {
        let bar = match position.total() {
            Some(bytes) => Bar::new(ProgressBar::new(bytes), "{prefix} {bar:30} {percent:>3}% {msg}  {left} left"),
            None => Bar::new(ProgressBar::new_spinner(), "{prefix} {spinner} {msg}"),
        };
        bar.told().set_prefix(format!("reading {name}"));
        Reading { bar, position: position.clone(), done: AtomicU64::new(0), noun: "references" }
    }

    /// The same, for a unit other than references.
    pub(crate) fn counting(mut self, noun: &'static str) -> Reading {
        self.noun = noun;
        self
    }
}

impl Progress for Reading {
    fn advance(&self, references: u64) {
        let all = self.done.fetch_add(references, Ordering::Relaxed) + references;
        let bar = self.bar.told();
        bar.set_position(self.position.bytes());
        bar.set_message(format!("{} {}", HumanCount(all), self.noun));
    }
}

/// Cells being replayed: references replayed of all there are to replay, their rate and the time left.
struct Replaying(Bar);

impl Replaying {
    /// `references` is `None` when it is not known how long the trace is.
    fn new(cells: usize, references: Option<u64>) -> Replaying {
        let bar = match references {
            Some(each) => {
                let whole = ProgressBar::new(each * cells as u64);
                Bar::new(whole, "{prefix} {bar:30} {percent:>3}%  {rate}  {left} left")
            }
            None => Bar::new(ProgressBar::new_spinner(), "{prefix} {spinner} {rate}"),
        };
        bar.told().set_prefix(format!("replaying {cells} {}", if cells == 1 { "cell" } else { "cells" }));
        Replaying(bar)
    }
}

impl Progress for Replaying {
    fn advance(&self, references: u64) {
        self.0.told().inc(references);
    }
}

/// A program being recorded.
pub(crate) struct Recording(ProgressBar);

impl Recording {
    /// Says nothing unless `shown`.
    pub(crate) fn new(shown: bool) -> Recording {
        let bar = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        Recording(bar.with_style(style("recording {spinner} {msg}  {elapsed}")))
    }

    /// Shows what has been counted so far.
    pub(crate) fn show(&self, counted: &[String]) {
        self.0.set_message(counted.join(", "));
        self.0.tick();
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A trace being made.
pub(crate) struct Making(Bar);

impl Making {
    pub(crate) fn new() -> Making {
        Making(Bar::new(ProgressBar::new_spinner(), "making {spinner} {human_pos} requests  {elapsed}"))
    }
}

impl Progress for Making {
    fn advance(&self, requests: u64) {
        self.0.told().inc(requests);
    }
}

fn style(template: &str) -> ProgressStyle {
    let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{:.1}M references/s", state.per_sec() / 1e6);
    };
    let left = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{}", HumanDuration(Duration::from_secs(state.eta().as_secs())));
    };
    ProgressStyle::with_template(template)
        .expect("the templates above are well formed")
        .with_key("rate", rate)
        .with_key("left", left)
        .progress_chars("━━─")
}
