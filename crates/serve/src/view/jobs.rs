//! Replays that the page requests, one after another: each scheme is a separate `hotset simulate`, so that rows arrive
//! scheme by scheme, and a replay can be ended at any time.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use hotset_core::policy::PolicySpec;
use hotset_core::spec::{SizeSpec, SpecError};
use hotset_sim::sweep::SIZES;
use serde::Serialize;
use serde_json::Value;

use crate::shell;

/// Replays that are remembered, those that wait included.
const MOST: usize = 16;

/// Schemes of a replay.
const MOST_SCHEMES: usize = 100;

/// Rows of a replay.
const MOST_ROWS: usize = 20_000;

/// Bytes of what a scheme says beside its rows.
const LONGEST_WORDS: u64 = 64 << 10;

/// The requested replay.
pub(super) struct Wanted {
    pub trace: PathBuf,
    pub policies: String,
    pub sizes: String,
    pub ops: String,
}

/// How far a replay is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Waiting,
    Running,
    Done,
    Stopped,
}

struct Run {
    number: u64,
    state: State,
    trace: PathBuf,
    options: Vec<String>,
    schemes: Vec<String>,
    /// Schemes whose rows are all there, or that have failed.
    done: usize,
    rows: Vec<Value>,
    /// What schemes said beside their rows, each once.
    words: Vec<String>,
}

/// A replay as the page sees it.
#[derive(Serialize)]
pub(super) struct Told<'a> {
    number: u64,
    state: State,
    command: String,
    schemes: usize,
    done: usize,
    words: &'a [String],
    /// How many rows there are, and those from the one on that was asked for.
    all_rows: usize,
    rows: &'a [Value],
}

#[derive(Default)]
struct Shared {
    runs: VecDeque<Run>,
    next: u64,
    /// The process that is at work, and what for.
    working: Option<(u64, Child)>,
    is_over: bool,
}

/// All replays. What works on them ends with [`Runs::end`].
#[derive(Clone, Default)]
pub(super) struct Runs(Arc<(Mutex<Shared>, Condvar)>);

impl Runs {
    /// Starts working in a separate thread.
    pub fn start() -> std::io::Result<Runs> {
        let runs = Runs::default();
        let own = runs.clone();
        thread::Builder::new().name("replays".to_owned()).spawn(move || own.work())?;
        Ok(runs)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has something replayed; gives its number, or says why not.
    pub fn add(&self, wanted: Wanted) -> Result<u64, String> {
        let Wanted { trace, policies, sizes, ops } = wanted;
        let said = |option: &str, text: &str, error: SpecError| format!("{option}: {}", error.render(text));
        let specs = PolicySpec::parse_list(&policies).or_else(|error| {
            // A trace of memory has other schemes.
            PolicySpec::parse_paging_list(&policies).map_err(|_| said("schemes", &policies, error))
        })?;
        let sizes = if sizes.trim().is_empty() { SIZES.to_owned() } else { sizes };
        SizeSpec::parse(&sizes).map_err(|error| said("sizes", &sizes, error))?;
        let ops = match ops.as_str() {
            "" | "all" => None,
            "reads" | "writes" => Some(format!("--ops={ops}")),
            other => return Err(format!("requests: found {other:?}; expected all, reads or writes")),
        };
        if specs.len() > MOST_SCHEMES {
            return Err(format!("schemes: {} are asked for; expected {MOST_SCHEMES} at most", specs.len()));
        }
        let mut shared = self.lock();
        if shared.runs.len() == MOST {
            let ended = shared.runs.iter().position(|run| matches!(run.state, State::Done | State::Stopped));
            let ended = ended.ok_or_else(|| format!("{MOST} replays wait already: stop one of them first"))?;
            shared.runs.remove(ended);
        }
        let number = shared.next;
        shared.next += 1;
        shared.runs.push_back(Run {
            number,
            state: State::Waiting,
            trace,
            options: [format!("--size={sizes}")].into_iter().chain(ops).collect(),
            schemes: specs.iter().map(ToString::to_string).collect(),
            done: 0,
            rows: Vec::new(),
            words: Vec::new(),
        });
        self.0.1.notify_all();
        Ok(number)
    }

    /// Ends a replay; the rows that it has stay.
    pub fn stop(&self, number: u64) -> bool {
        let mut shared = self.lock();
        let Some(run) = shared.find(number) else { return false };
        if matches!(run.state, State::Waiting | State::Running) {
            run.state = State::Stopped;
        }
        if let Some((at_work, child)) = &mut shared.working
            && *at_work == number
        {
            // One that has ended needs no end.
            let _ = child.kill();
        }
        true
    }

    /// Ends all of them, and their processes.
    pub fn end(&self) {
        let mut shared = self.lock();
        shared.is_over = true;
        shared.runs.clear();
        if let Some((_, child)) = &mut shared.working {
            let _ = child.kill();
        }
        self.0.1.notify_all();
    }

    /// The state of a replay, with its rows from number `from` on.
    pub fn tell<T>(&self, number: u64, from: usize, told: impl FnOnce(&Told) -> T) -> Option<T> {
        let mut shared = self.lock();
        let run = shared.find(number)?;
        Some(told(&Told {
            number,
            state: run.state,
            command: shell::line(["hotset".into()].into_iter().chain(run.arguments(&run.schemes.join(","), &[]))),
            schemes: run.schemes.len(),
            done: run.done,
            words: &run.words,
            all_rows: run.rows.len(),
            rows: run.rows.get(from..).unwrap_or_default(),
        }))
    }

    /// Replays one scheme after another until all is over.
    fn work(&self) {
        loop {
            let mut shared = self.lock();
            let next = loop {
                if shared.is_over {
                    return;
                }
                let is_next = |run: &&mut Run| matches!(run.state, State::Waiting | State::Running);
                match shared.runs.iter_mut().find(is_next) {
                    Some(run) if run.done == run.schemes.len() => run.state = State::Done,
                    Some(run) => {
                        run.state = State::Running;
                        break (run.number, run.arguments(&run.schemes[run.done], &["--json=-"]));
                    }
                    None => shared = self.0.1.wait(shared).unwrap_or_else(PoisonError::into_inner),
                }
            };
            let (number, arguments) = next;
            let mut command = Command::new(env::current_exe().unwrap_or_else(|_| "hotset".into()));
            command.args(arguments);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            match command.spawn() {
                Ok(mut child) => {
                    let (out, err) = (child.stdout.take(), child.stderr.take());
                    shared.working = Some((number, child));
                    drop(shared);
                    self.hear(number, out, err);
                }
                Err(error) => shared.say(number, format!("the command cannot be started: {error}")),
            }
            let mut shared = self.lock();
            if let Some((_, mut child)) = shared.working.take() {
                // It has closed its output, so it ends or was ended.
                drop(shared);
                let _ = child.wait();
                shared = self.lock();
            }
            // One that was stopped has not had all rows of its scheme.
            if let Some(run) = shared.find(number)
                && run.state == State::Running
            {
                run.done += 1;
            }
        }
    }

    /// Takes in what a process says until it ends.
    fn hear(&self, number: u64, out: Option<impl Read>, err: Option<impl Read + Send + 'static>) {
        let words = thread::spawn(move || {
            let mut words = String::new();
            let Some(mut err) = err else { return words };
            // Output that is not text is not a message of hotset; the rest is read and dropped, so that the writer does
            // not wait.
            let heard = err.by_ref().take(LONGEST_WORDS).read_to_string(&mut words);
            let _ = io::copy(&mut err, &mut io::sink());
            if heard.is_ok() { words } else { String::new() }
        });
        for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
            let mut shared = self.lock();
            let Some(run) = shared.find(number) else { break };
            if let (Ok(row), true) = (serde_json::from_str(&line), run.rows.len() < MOST_ROWS) {
                run.rows.push(row);
            }
        }
        for line in words.join().unwrap_or_default().lines() {
            self.lock().say(number, line.trim_start_matches("hotset: ").trim_start_matches("error: ").to_owned());
        }
    }
}

impl Shared {
    fn find(&mut self, number: u64) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.number == number)
    }

    fn say(&mut self, number: u64, words: String) {
        if let Some(run) = self.find(number)
            && !words.is_empty()
            && !run.words.contains(&words)
        {
            run.words.push(words);
        }
    }
}

impl Run {
    /// The arguments that replay these schemes.
    fn arguments(&self, schemes: &str, more: &[&str]) -> Vec<OsString> {
        let options = self.options.iter().map(OsString::from).chain(more.iter().map(OsString::from));
        let first = ["simulate".into(), format!("--policy={schemes}").into()];
        first.into_iter().chain(options).chain(["--".into(), self.trace.clone().into()]).collect()
    }
}
