//! Keys of a cache: numbers as they are, other objects by their own hash and equality.

use std::cell::Cell;
use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString, PyTuple};

use crate::turn::Kept;

thread_local! {
    /// The exception of a comparison of two keys, until the call that compared them ends.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// A key. Whole numbers from 0 to 2⁶⁴ − 1 are the same key whatever their type, as in a `dict`.
pub struct Key {
    /// The number, or the object's hash.
    number: u64,
    object: Kept,
}

impl Key {
    /// The key of a number.
    pub fn of_number(number: u64) -> Key {
        Key { number, object: Kept::NOTHING }
    }

    /// The key of an object. Fails as its hash does.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Key> {
        match number_of(object) {
            Some(number) => Ok(Key::of_number(number)),
            None => {
                let number = object.hash()?.cast_unsigned() as u64;
                Ok(Key { number, object: Kept::new(object.clone().unbind()) })
            }
        }
    }

    /// The object that it is the key of.
    pub fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.object.get() {
            Some(object) => Ok(object.clone_ref(py)),
            None => Ok(self.number.into_pyobject(py)?.into_any().unbind()),
        }
    }

    /// The stored key.
    pub fn kept(&self) -> Option<&Py<PyAny>> {
        self.object.get()
    }
}

/// The number that an object is.
fn number_of(object: &Bound<'_, PyAny>) -> Option<u64> {
    if object.is_exact_instance_of::<PyInt>() {
        return object.extract().ok();
    }
    let is_none = object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyTuple>()
        || object.is_exact_instance_of::<PyBytes>();
    if is_none {
        return None;
    }
    if let Ok(float) = object.cast_exact::<PyFloat>() {
        let float = float.value();
        let is_whole = float.fract() == 0.0 && (0.0..2f64.powi(64)).contains(&float);
        return is_whole.then_some(float as u64);
    }
    object.extract().ok()
}

/// What comparisons since the last call have raised.
pub fn raised() -> PyResult<()> {
    RAISED.take().map_or(Ok(()), Err)
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        if self.number != other.number {
            return false;
        }
        match (self.object.get(), other.object.get()) {
            (None, None) => true,
            (Some(one), Some(other)) => one.is(other) || Python::attach(|py| equal(one.bind(py), other.bind(py))),
            _ => false,
        }
    }
}

impl Eq for Key {}

fn equal(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> bool {
    one.eq(other).unwrap_or_else(|error| {
        RAISED.set(Some(error));
        false
    })
}
