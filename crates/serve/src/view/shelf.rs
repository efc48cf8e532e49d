//! The page of directories: what there is, what is being replayed, what runs; and what the page asks for next.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hotset_core::registry;
use hotset_results::Results;
use hotset_sim::advise;
use hotset_sim::sweep::SIZES;
use hotset_trace::Format;
use serde::Serialize;

use super::Spelling;
use super::jobs::{Job, Jobs};
use super::library::{Found, Item, Kind, Library};
use super::live::Live;
use crate::http::{Asked, Page};
use crate::report;

/// Directories to choose from.
#[derive(Clone)]
pub struct Shelf {
    roots: Vec<PathBuf>,
    formats: Vec<Format>,
    spelling: Arc<dyn Spelling>,
    library: Arc<Mutex<Library>>,
    jobs: Jobs,
    live: Live,
}

/// The first data of the page.
#[derive(Serialize)]
struct Begin {
    version: u32,
    hotset: &'static str,
    directories: Vec<String>,
    /// Names of schemes, to choose from.
    schemes: Vec<&'static str>,
    /// The replay that runs if nothing else is requested.
    policies: String,
    sizes: &'static str,
}

/// A refusal, in a sentence.
#[derive(Serialize)]
struct Refused {
    error: String,
}

/// The replay that was started.
#[derive(Serialize)]
struct Begun {
    number: u64,
}

/// Version of what the page and its server tell each other.
const VERSION: u32 = 1;

impl Shelf {
    /// The results and traces below these directories, or in these files. `spelling` spells the commands of the pages.
    ///
    /// # Errors
    ///
    /// A root does not exist, or the thread that replays cannot be started.
    pub fn new(roots: &[PathBuf], formats: Vec<Format>, spelling: Arc<dyn Spelling>) -> io::Result<Shelf> {
        if let Some(missing) = roots.iter().find(|root| !root.exists()) {
            let message = format!("{}: no such file or directory", missing.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        let cannot = |error| io::Error::other(format!("cannot start a thread: {error}"));
        let jobs = Jobs::start(formats.clone()).map_err(cannot)?;
        let library = Arc::new(Mutex::new(Library::new(roots.to_vec(), formats.clone())));
        Ok(Shelf { roots: roots.to_vec(), formats, spelling, library, jobs, live: Live::default() })
    }

    /// Ends what is being replayed.
    pub fn end(&self) {
        self.jobs.end();
    }

    /// What there is at a path below the secret.
    pub(super) fn page(&self, path: &str, asked: &Asked) -> Option<Page> {
        let number = |key: &str| asked.value(key).parse::<u64>().ok();
        match (path, asked.is_change) {
            ("", false) => Some(Page::html(report::of_directories(&self.begin()))),
            ("items", false) => Some(Page::json(&self.look())),
            ("results", false) => Some(self.results(&asked.value("name"))),
            ("report", false) => Some(self.report(&asked.value("name"))),
            ("run", false) => {
                let from = number("from").unwrap_or(0) as usize;
                self.jobs.look(number("number")?, from, self.spelling.as_ref(), |status| Page::json(status))
            }
            ("live", false) => Some(self.live.tell(Page::json)),
            ("run", true) => Some(match self.run(asked) {
                Ok(number) => Page::json(&Begun { number }),
                Err(error) => Page::json(&Refused { error }),
            }),
            ("stop", true) => self.jobs.stop(number("number")?).then(|| Page::json(&())),
            _ => None,
        }
    }

    fn begin(&self) -> Begin {
        let names = |specs: Vec<_>| specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        Begin {
            version: VERSION,
            hotset: env!("CARGO_PKG_VERSION"),
            directories: self.roots.iter().map(|root| root.display().to_string()).collect(),
            schemes: registry::all().map(|entry| entry.info.name).collect(),
            policies: names(advise::compared()),
            sizes: SIZES,
        }
    }

    /// All there is now.
    fn look(&self) -> Found {
        self.library.lock().unwrap_or_else(PoisonError::into_inner).look()
    }

    /// The file found under this name.
    fn find(&self, name: &str, kind: Kind) -> Option<Item> {
        self.look().items.into_iter().find(|item| item.name == name && item.kind == kind)
    }

    fn run(&self, asked: &Asked) -> Result<u64, String> {
        let name = asked.value("trace");
        let trace = self.find(&name, Kind::Trace).ok_or_else(|| format!("{name}: no such trace; reload the page"))?;
        let [policies, sizes, ops] = ["policies", "sizes", "ops"].map(|key| asked.value(key));
        self.jobs.add(Job::parse(trace.path, &policies, &sizes, &ops)?)
    }

    /// The page of a report.
    fn report(&self, name: &str) -> Page {
        match self.find(name, Kind::Report).and_then(|item| report::again(&item.path)) {
            Some(page) => Page::html(page),
            None => Page::text(format!("{name}: no such report; reload the page\n")),
        }
    }

    /// The page of a file of results, or why there is none.
    fn results(&self, name: &str) -> Page {
        let made = || {
            let item =
                self.find(name, Kind::Results).ok_or_else(|| format!("{name}: no such file; reload the page"))?;
            let mut rows = Results::default();
            rows.add(&item.path).map_err(|error| error.to_string())?;
            let (command, reading) = (self.spelling.show(&item.path), self.spelling.reading(&rows.rows));
            report::of_results(&command, &[item.path], &self.formats, &rows, reading).map_err(|error| error.to_string())
        };
        match made() {
            Ok(page) => Page::html(page),
            Err(why) => Page::text(format!("{why}\n")),
        }
    }
}
