//! Replays that the page requests, one after another on a thread. A job replays scheme by scheme, so that rows arrive
//! meanwhile and a scheme that cannot run does not keep the others from running. It can be stopped at any time.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{io, thread};

use hotset_cache::machine;
use hotset_core::policy::PolicySpec;
use hotset_core::spec::{SizeSpec, SpecError};
use hotset_sim::select::{Filter, Ops, Selection};
use hotset_sim::sweep::{SIZES, Sweep};
use hotset_sim::{Options, SimError, Watch};
use hotset_trace::{Format, OpenOptions};
use serde::Serialize;
use serde_json::Value;

use super::Spelling;

/// Jobs that are remembered, those that wait included.
const MOST: usize = 16;

/// Schemes of a job.
const MOST_SCHEMES: usize = 100;

/// Rows of a job.
const MOST_ROWS: usize = 20_000;

/// A replay of a trace under schemes at sizes.
#[derive(Clone)]
pub struct Job {
    /// The trace.
    pub trace: PathBuf,
    /// The schemes, as specs.
    pub schemes: Vec<String>,
    /// The sizes, separated by commas.
    pub sizes: String,
    /// The operations whose requests are replayed; `None` for all.
    pub ops: Option<Ops>,
}

impl Job {
    /// Reads the words of a request: schemes and sizes separated by commas, and `all`, `reads` or `writes`.
    pub(super) fn parse(trace: PathBuf, schemes: &str, sizes: &str, ops: &str) -> Result<Job, String> {
        let wrong = |what: &str, text: &str, error: SpecError| format!("{what}: {}", error.render(text));
        let specs = PolicySpec::parse_list(schemes).or_else(|error| {
            // A trace of memory has other schemes.
            PolicySpec::parse_paging_list(schemes).map_err(|_| wrong("schemes", schemes, error))
        })?;
        let sizes = if sizes.trim().is_empty() { SIZES } else { sizes };
        SizeSpec::parse(sizes).map_err(|error| wrong("sizes", sizes, error))?;
        let ops = match ops {
            "" | "all" => None,
            "reads" | "writes" => Some(Ops::parse(ops)?),
            other => return Err(format!("requests: found {other:?}; expected all, reads or writes")),
        };
        if specs.len() > MOST_SCHEMES {
            return Err(format!("schemes: {} are asked for; expected {MOST_SCHEMES} at most", specs.len()));
        }
        Ok(Job { trace, schemes: specs.iter().map(ToString::to_string).collect(), sizes: sizes.to_owned(), ops })
    }

    /// The rows of one of the schemes, or why it has none.
    fn replay(&self, scheme: &str, formats: &[Format], watch: &Watch) -> Result<Vec<Value>, String> {
        let open = || hotset_trace::open(&self.trace, formats, &OpenOptions::default());
        let of_memory = open().map_err(|error| error.to_string())?.reader.memory().is_some();
        let policies = match of_memory {
            true => PolicySpec::parse_paging_list(scheme),
            false => PolicySpec::parse_list(scheme),
        };
        let wrong_size = |error: SpecError| format!("sizes: {}", error.render(&self.sizes));
        let sweep = Sweep {
            of_memory,
            options: Options { memory_bytes: machine::budget(), ..Options::default() },
            selection: Selection { only: Filter { ops: self.ops, ..Filter::default() }, ..Selection::default() },
            bounds: true,
            ..Sweep::new(
                policies.map_err(|error| format!("schemes: {}", error.render(scheme)))?,
                SizeSpec::parse(&self.sizes).map_err(wrong_size)?,
            )
        };
        let swept = sweep.run(&self.trace.display().to_string(), open, watch).map_err(|error| match error {
            SimError::Sizes(error) => wrong_size(error),
            error => error.to_string(),
        })?;
        let rows = swept.rows.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>();
        rows.map_err(|error| error.to_string())
    }

    /// The same. A panic of the replay is an error of the scheme.
    fn replay_caught(&self, scheme: &str, formats: &[Format], watch: &Watch) -> Result<Vec<Value>, String> {
        let replay = AssertUnwindSafe(|| self.replay(scheme, formats, watch));
        panic::catch_unwind(replay).unwrap_or_else(|panic| match watch.is_stopped() {
            true => Ok(Vec::new()),
            false => Err(format!("{scheme}: the replay has panicked, which is a bug in hotset: {}", text_of(&*panic))),
        })
    }
}

/// The message of a panic.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// How far a job is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Waiting,
    Running,
    Done,
    Stopped,
}

/// A job that was accepted.
struct Entry {
    number: u64,
    state: State,
    job: Arc<Job>,
    /// Schemes whose rows are all there, or that have failed.
    done: usize,
    rows: Vec<Value>,
    /// Remarks on the trace and errors of schemes, each line once.
    words: Vec<String>,
}

/// A job as the page sees it.
#[derive(Serialize)]
pub(super) struct Status<'a> {
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
    entries: VecDeque<Entry>,
    next: u64,
    /// The job that is at work, and what stops it.
    working: Option<(u64, Arc<Watch>)>,
    is_over: bool,
}

/// All jobs. The thread that works on them ends with [`Jobs::end`].
#[derive(Clone, Default)]
pub(super) struct Jobs(Arc<(Mutex<Shared>, Condvar)>);

impl Jobs {
    /// Starts working in a separate thread, on traces in these formats.
    pub fn start(formats: Vec<Format>) -> io::Result<Jobs> {
        let jobs = Jobs::default();
        let own = jobs.clone();
        thread::Builder::new().name("replays".to_owned()).spawn(move || own.work(&formats))?;
        Ok(jobs)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a job; gives its number, or says why not.
    pub fn add(&self, job: Job) -> Result<u64, String> {
        let mut shared = self.lock();
        if shared.entries.len() == MOST {
            let ended = shared.entries.iter().position(|entry| matches!(entry.state, State::Done | State::Stopped));
            let ended = ended.ok_or_else(|| format!("{MOST} replays wait already: stop one of them first"))?;
            shared.entries.remove(ended);
        }
        let number = shared.next;
        shared.next += 1;
        let (state, job) = (State::Waiting, Arc::new(job));
        shared.entries.push_back(Entry { number, state, job, done: 0, rows: Vec::new(), words: Vec::new() });
        self.0.1.notify_all();
        Ok(number)
    }

    /// Stops a job; the rows that it has stay.
    pub fn stop(&self, number: u64) -> bool {
        let mut shared = self.lock();
        let Some(entry) = shared.find(number) else { return false };
        if matches!(entry.state, State::Waiting | State::Running) {
            entry.state = State::Stopped;
        }
        if let Some((_, watch)) = shared.working.as_ref().filter(|(at_work, _)| *at_work == number) {
            watch.stop();
        }
        true
    }

    /// Stops all of them.
    pub fn end(&self) {
        let mut shared = self.lock();
        shared.is_over = true;
        shared.entries.clear();
        shared.working.iter().for_each(|(_, watch)| watch.stop());
        self.0.1.notify_all();
    }

    /// Shows `look` the state of a job, with its rows from number `from` on.
    pub fn look<T>(
        &self,
        number: u64,
        from: usize,
        spelling: &dyn Spelling,
        look: impl FnOnce(&Status) -> T,
    ) -> Option<T> {
        let mut shared = self.lock();
        let entry = shared.find(number)?;
        Some(look(&Status {
            number,
            state: entry.state,
            command: spelling.replay(&entry.job),
            schemes: entry.job.schemes.len(),
            done: entry.done,
            words: &entry.words,
            all_rows: entry.rows.len(),
            rows: entry.rows.get(from..).unwrap_or_default(),
        }))
    }

    /// Replays one scheme after another until all is over.
    fn work(&self, formats: &[Format]) {
        while let Some((number, job, at, watch)) = self.next() {
            let replayed = job.replay_caught(&job.schemes[at], formats, &watch);
            let mut shared = self.lock();
            shared.working = None;
            // One that was stopped has not had all rows of its scheme.
            let Some(entry) = shared.find(number).filter(|entry| entry.state == State::Running) else { continue };
            entry.done += 1;
            watch.remarks().iter().for_each(|remark| entry.say(remark));
            match replayed {
                Ok(rows) => {
                    let left = MOST_ROWS - entry.rows.len();
                    entry.rows.extend(rows.into_iter().take(left));
                }
                Err(why) => entry.say(&why),
            }
        }
    }

    /// Waits for the next scheme to replay, of the job with this number, and makes what stops it; `None` when all is
    /// over.
    fn next(&self) -> Option<(u64, Arc<Job>, usize, Arc<Watch>)> {
        let mut shared = self.lock();
        loop {
            if shared.is_over {
                return None;
            }
            let is_next = |entry: &&mut Entry| matches!(entry.state, State::Waiting | State::Running);
            match shared.entries.iter_mut().find(is_next) {
                Some(entry) if entry.done == entry.job.schemes.len() => entry.state = State::Done,
                Some(entry) => {
                    entry.state = State::Running;
                    let (number, job, at, watch) =
                        (entry.number, entry.job.clone(), entry.done, Arc::<Watch>::default());
                    shared.working = Some((number, watch.clone()));
                    return Some((number, job, at, watch));
                }
                None => shared = self.0.1.wait(shared).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Shared {
    fn find(&mut self, number: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.number == number)
    }
}

impl Entry {
    fn say(&mut self, words: &str) {
        for line in words.lines().filter(|line| !line.is_empty()) {
            if self.words.iter().all(|known| known != line) {
                self.words.push(line.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hotset_trace::formats::BUILTIN;

    use super::*;

    #[test]
    fn a_stopped_replay_unwinds_without_an_error_and_a_panic_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        let lines: String = (0..100).map(|at| format!("{},4096\n", at * 4096)).collect();
        std::fs::write(&path, format!("offset,size\n{lines}")).unwrap();
        let job = Job::parse(path, "lru", "10 blocks", "").unwrap();
        let watch = Watch::default();
        assert_eq!(job.replay_caught("lru", BUILTIN, &watch).unwrap().len(), 1);
        watch.stop();
        assert_eq!(job.replay_caught("lru", BUILTIN, &watch).unwrap().len(), 0);
        let panic = panic::catch_unwind(|| panic!("a {}", "message")).unwrap_err();
        assert_eq!(text_of(&*panic), "a message");
    }
}
