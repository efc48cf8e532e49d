//! Functions whose results are cached.

use std::time::Duration;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};

use crate::cache::{Cache, life_of};
use crate::key::Key;

/// A function with a cache of its results by arguments.
#[pyclass(frozen, dict, weakref, module = "hotset")]
pub struct Cached {
    function: Py<PyAny>,
    /// The marker between arguments without names and those with names.
    mark: Py<PyAny>,
    /// The time to live of a result.
    life: Option<Duration>,
    /// The cache of the results.
    #[pyo3(get)]
    cache: Py<Cache>,
}

#[pymethods]
impl Cached {
    #[new]
    fn new(function: Py<PyAny>, cache: Py<Cache>, mark: Py<PyAny>, ttl: Option<f64>) -> PyResult<Cached> {
        Ok(Cached { function, mark, life: life_of(ttl)?, cache })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let cache = self.cache.get();
        let key = || self.key(py, args, kwargs);
        if let Some(value) = cache.find(py, &key()?)? {
            return Ok(value);
        }
        let value = self.function.call(py, args, kwargs)?;
        cache.keep(py, key()?, value.clone_ref(py), self.life)?;
        Ok(value)
    }

    /// A method of what it is looked up in.
    fn __get__(
        slf: &Bound<'_, Self>,
        instance: Option<&Bound<'_, PyAny>>,
        _owner: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        match instance.filter(|instance| !instance.is_none()) {
            None => Ok(slf.clone().into_any().unbind()),
            Some(instance) => Ok(py.import("types")?.getattr("MethodType")?.call1((slf, instance))?.unbind()),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        visit.call(&self.cache)
    }
}

impl Cached {
    /// The arguments as a key: a single number or text itself, anything else as a tuple.
    fn key(&self, py: Python<'_>, args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Key> {
        let Some(kwargs) = kwargs.filter(|kwargs| !kwargs.is_empty()) else {
            if args.len() == 1 {
                let only = args.get_item(0)?;
                if only.is_exact_instance_of::<PyInt>() || only.is_exact_instance_of::<PyString>() {
                    return Key::of(&only);
                }
            }
            return Key::of(args.as_any());
        };
        let mut parts: Vec<Py<PyAny>> = args.iter().map(Bound::unbind).collect();
        parts.push(self.mark.clone_ref(py));
        for (name, value) in kwargs.iter() {
            parts.extend([name.unbind(), value.unbind()]);
        }
        Key::of(PyTuple::new(py, parts)?.as_any())
    }
}
