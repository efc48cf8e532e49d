//! Options that choose requests and cut them into blocks, as the command has them.

use std::fs;
use std::path::{Path, PathBuf};

use hotset_cache::machine;
use hotset_core::classify::Rules;
use hotset_core::spec::Value;
use hotset_sim::select::{Filter, Names, Ops, Place, Selection, Warmup};
use hotset_sim::{BlockSize, Deletes, Maps, Options, Ttl};
use pyo3::prelude::*;

use crate::failure::{of_option, refused};

/// Which requests of a trace are taken, in words.
#[derive(Clone, Default, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Chosen {
    app: Vec<String>,
    file: Vec<String>,
    exclude: Vec<String>,
    ops: Option<String>,
    from_: Option<String>,
    to: Option<String>,
}

impl Chosen {
    /// Both choices. A part that both make is refused.
    pub fn and(&self, other: Chosen) -> PyResult<Chosen> {
        let twice = |name: &str| refused(format!("{name} is given twice: expected once"));
        let list = |name: &str, one: &[String], other: Vec<String>| match (one, &*other) {
            ([], _) => Ok(other),
            (one, []) => Ok(one.to_vec()),
            _ => Err(twice(name)),
        };
        let word = |name: &str, one: &Option<String>, other: Option<String>| match (one, &other) {
            (Some(_), Some(_)) => Err(twice(name)),
            _ => Ok(one.clone().or(other)),
        };
        Ok(Chosen {
            app: list("app", &self.app, other.app)?,
            file: list("file", &self.file, other.file)?,
            exclude: list("exclude", &self.exclude, other.exclude)?,
            ops: word("ops", &self.ops, other.ops)?,
            from_: word("from", &self.from_, other.from_)?,
            to: word("to", &self.to, other.to)?,
        })
    }

    /// Its condition on a request.
    pub fn filter(&self) -> PyResult<Filter> {
        let names = |option: &str, patterns: &[String]| of_option(option, Names::new(patterns.to_vec()));
        let place = |option, text: &Option<String>| of_option(option, text.as_deref().map(Place::parse).transpose());
        Ok(Filter {
            apps: names("app", &self.app)?,
            files: names("file", &self.file)?,
            exclude: names("exclude", &self.exclude)?,
            ops: of_option("ops", self.ops.as_deref().map(Ops::parse).transpose())?,
            from: place("from_", &self.from_)?,
            to: place("to", &self.to)?,
        })
    }
}

/// What counts of the requests that are taken, in words.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Counted {
    warmup: Option<String>,
    count_only: Option<String>,
}

impl Counted {
    /// What counts of these requests.
    pub fn of(&self, only: Filter) -> PyResult<Selection> {
        Ok(Selection {
            only,
            warmup: of_option("warmup", self.warmup.as_deref().map(Warmup::parse).transpose())?,
            count_only: of_option(
                "count_only",
                self.count_only.as_deref().map_or(Ok(Filter::default()), Filter::parse),
            )?,
        })
    }
}

/// How requests are cut into blocks, in words.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Cut {
    block: Option<String>,
    maps: String,
    memory: Option<String>,
    deletes: String,
    ttl: String,
}

impl Cut {
    /// The simulator's options.
    pub fn options(&self) -> PyResult<Options> {
        let memory = of_option("memory", self.memory.as_deref().map(Value::capacity).transpose())?;
        let maps = one_of("maps", &self.maps, &[("auto", Maps::Auto), ("all", Maps::All), ("none", Maps::None)])?;
        let deletes = one_of("deletes", &self.deletes, &[("apply", Deletes::Apply), ("ignore", Deletes::Ignore)])?;
        let ttl = one_of("ttl", &self.ttl, &[("apply", Ttl::Apply), ("ignore", Ttl::Ignore)])?;
        Ok(Options {
            block: of_option("block", self.block.as_deref().map(BlockSize::parse).transpose())?,
            maps,
            deletes,
            ttl,
            memory_bytes: memory.unwrap_or_else(machine::budget),
            ..Options::default()
        })
    }
}

/// The meaning of a word.
pub fn one_of<T: Copy>(option: &str, word: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, meant)| *meant);
    let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| refused(format!("{option}=: {word:?} is not known: expected one of {}", names())))
}

/// Bytes of a size, in the words of the argument `memory`.
#[pyfunction]
pub fn bytes_of(text: &str) -> PyResult<u64> {
    of_option("memory", Value::capacity(text))
}

/// Memory that this machine has to give, in bytes: half of what is available.
#[pyfunction]
pub fn budget() -> u64 {
    machine::budget()
}

/// Classes of data from a file.
pub fn classes(path: Option<&PathBuf>) -> PyResult<Option<Rules>> {
    path.map(|path| rules(path)).transpose()
}

fn rules(path: &Path) -> PyResult<Rules> {
    let text = fs::read_to_string(path)?;
    Rules::from_toml(&text).map_err(|error| refused(error.locate(&path.display().to_string(), &text)))
}
