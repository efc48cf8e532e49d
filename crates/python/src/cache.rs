//! Caches of Python's values, and of keys alone, under any policy.

use std::time::Duration;

use hotset::{Cache as Values, Facts};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::failure::of_cache;
use crate::key::{Key, raised};
use crate::turn::{Kept, LetGo, Turn, Turns, let_go};

/// A cache under a policy: step by step by `access`, in batches by `access_many`, or as a mapping with values.
#[pyclass(frozen, mapping, weakref, module = "hotset")]
pub struct Cache {
    turns: Turns<State>,
    policy: String,
    /// Behind what is kept: it is dropped last.
    _last: LetGo,
}

/// The cache, and how large it is.
struct State {
    values: Values<Key, Kept>,
    size: u64,
}

impl Cache {
    /// Works on the cache, in one turn.
    fn with<R>(&self, py: Python<'_>, work: impl FnOnce(&mut State) -> R) -> PyResult<R> {
        let mut turn = self.turns.take(py)?;
        let done = work(&mut turn);
        drop(turn);
        raised()?;
        Ok(done)
    }

    /// The value of a key, which is a reference if it is there.
    pub fn find(&self, py: Python<'_>, key: &Key) -> PyResult<Option<Py<PyAny>>> {
        self.with(py, |state| state.values.get(key).map(|value| object(py, value)))
    }

    /// Puts a value in, which is a reference; it ends after `life`, if that is given.
    pub fn keep(&self, py: Python<'_>, key: Key, value: Py<PyAny>, life: Option<Duration>) -> PyResult<()> {
        let value = Kept::new(value);
        // The value before leaves after the turn.
        let facts = Facts { life, ..Facts::default() };
        self.with(py, |state| _ = state.values.insert_with(key, value, facts))
    }

    fn refused_key(key: &Bound<'_, PyAny>) -> PyErr {
        PyKeyError::new_err(key.clone().unbind())
    }
}

/// A time to live, in seconds.
pub fn life_of(ttl: Option<f64>) -> PyResult<Option<Duration>> {
    let life = ttl.map(Duration::try_from_secs_f64).transpose();
    life.map_err(|_| PyValueError::new_err(format!("ttl={}: expected seconds, 0 or more", ttl.unwrap_or_default())))
}

fn object(py: Python<'_>, value: Kept) -> Py<PyAny> {
    value.into_object().unwrap_or_else(|| py.None())
}

/// An empty cache. It is used in turns, so it has one shard, and its policy sees each hit at once.
fn empty(policy: &str, size: u64) -> PyResult<Values<Key, Kept>> {
    let built = Values::builder(policy).capacity(size).shards(1).log_events(1).build();
    built.map_err(|error| of_cache(&error))
}

#[pymethods]
impl Cache {
    #[new]
    #[pyo3(signature = (policy = "lru", size = 1000))]
    pub fn new(policy: &str, size: u64) -> PyResult<Cache> {
        let values = empty(policy, size)?;
        Ok(Cache { turns: Turns::new(State { values, size }), policy: policy.to_owned(), _last: LetGo })
    }

    /// Refers to a key: True if it is there. If not it is put in, without a value.
    fn access(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = Key::of(key)?;
        self.with(py, |state| state.values.access(key, Kept::NOTHING))
    }

    /// Refers to keys of an array one after the other: an array that tells which of them were there.
    fn access_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let keys = py.import("hotset._arrays")?.call_method1("keys_of", (keys,))?;
        let keys: PyReadonlyArray1<'py, u64> = keys.extract()?;
        let keys = keys.as_slice()?;
        let mut turn: Turn<'_, State> = self.turns.take(py)?;
        let values = &mut turn.values;
        let pairs = keys.iter().map(|&key| (Key::of_number(key), Kept::NOTHING));
        let hits = py.detach(move || values.access_many(pairs));
        drop(turn);
        Ok(hits.into_pyarray(py))
    }

    /// The value of a key, which is a reference if it is there, and `default` otherwise.
    #[pyo3(signature = (key, default = None))]
    fn get(&self, py: Python<'_>, key: &Bound<'_, PyAny>, default: Option<Py<PyAny>>) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.find(py, &Key::of(key)?)?.or(default))
    }

    /// The value of a key without a reference, or `default`.
    #[pyo3(signature = (key, default = None))]
    fn peek(&self, py: Python<'_>, key: &Bound<'_, PyAny>, default: Option<Py<PyAny>>) -> PyResult<Option<Py<PyAny>>> {
        let key = Key::of(key)?;
        Ok(self.with(py, |state| state.values.peek(&key).map(|value| object(py, value)))?.or(default))
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.find(py, &Key::of(key)?)?.ok_or_else(|| Cache::refused_key(key))
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: Py<PyAny>) -> PyResult<()> {
        self.keep(py, Key::of(key)?, value, None)
    }

    /// Puts a value in, which is a reference. With `ttl` it ends after so many seconds: from then on it is not there.
    #[pyo3(signature = (key, value, ttl = None))]
    fn put(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: Py<PyAny>, ttl: Option<f64>) -> PyResult<()> {
        self.keep(py, Key::of(key)?, value, life_of(ttl)?)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.remove(py, key)? { Ok(()) } else { Err(Cache::refused_key(key)) }
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = Key::of(key)?;
        self.with(py, |state| state.values.contains(&key))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |state| state.values.len())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.contents(py)?)?.try_iter()
    }

    /// Takes a key out, which the policy forgets: True if it was there.
    fn remove(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = Key::of(key)?;
        self.with(py, |state| state.values.remove(&key).is_some())
    }

    /// Changes the number of keys that fit. Keys that no longer fit leave in the policy's order.
    fn resize(&self, py: Python<'_>, size: u64) -> PyResult<()> {
        self.with(py, |state| {
            state.values.resize(size).map_err(|error| of_cache(&error))?;
            state.size = size;
            Ok(())
        })?
    }

    /// The keys that are there, in no order.
    fn contents(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        Ok(self.items(py)?.into_iter().map(|(key, _)| key).collect())
    }

    /// Keys and values that are there, in the same order.
    fn items(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyAny>, Py<PyAny>)>> {
        let mut items = Vec::new();
        let visited = self.with(py, |state| {
            state.values.for_each(|key, value| items.push(key.object(py).map(|key| (key, object(py, value.clone())))))
        })?;
        visited.map_err(|error| of_cache(&error))?;
        items.into_iter().collect()
    }

    /// Takes everything out; counts begin again.
    pub fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state| {
            state.values = empty(&self.policy, state.size)?;
            Ok(())
        })?
    }

    /// The policy as it was given.
    #[getter]
    fn policy(&self) -> &str {
        &self.policy
    }

    /// Keys that fit.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |state| state.size)
    }

    /// References that found their key.
    #[getter]
    pub fn hits(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |state| state.values.stats().hits)
    }

    /// References that did not.
    #[getter]
    pub fn misses(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |state| state.values.stats().misses)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (len, size) = self.with(py, |state| (state.values.len(), state.size))?;
        Ok(format!("<hotset.Cache {}, {len} of {size}>", self.policy))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(state) = self.turns.look() else { return Ok(()) };
        let mut visited = Ok(());
        let visit_all = state.values.for_each(|key, value| {
            let objects = key.kept().into_iter().chain(value.get());
            for object in objects {
                if visited.is_ok() {
                    visited = visit.call(object);
                }
            }
        });
        debug_assert!(visit_all.is_ok(), "visiting calls no cache");
        visited
    }

    fn __clear__(&self) {
        if let Some(mut state) = self.turns.look()
            && let Ok(values) = empty(&self.policy, state.size)
        {
            state.values = values;
        }
        let_go();
    }
}
