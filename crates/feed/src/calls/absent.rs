//! Calls in a build without the feature `bpf`: they are refused, so no value of them exists.
#![expect(missing_docs, reason = "the file that this one stands for documents each item")]

use std::convert::Infallible;

use super::{CallOptions, Record, Watch};
use crate::{ABSENT, Error, Result};

pub struct Calls(Infallible);

impl Calls {
    pub fn open(_: &CallOptions) -> Result<Calls> {
        Err(Error::NoCalls { why: ABSENT.to_owned() })
    }

    pub fn watch(&mut self, _: u32, _: Watch) -> Result<()> {
        match self.0 {}
    }

    pub fn unwatch(&mut self, _: u32) {
        match self.0 {}
    }

    pub fn has_watched(&self) -> bool {
        match self.0 {}
    }

    pub fn drain(&mut self, _: usize, _: impl FnMut(Record)) -> usize {
        match self.0 {}
    }

    pub fn lost(&self) -> u64 {
        match self.0 {}
    }

    pub fn unseen(&self) -> u64 {
        match self.0 {}
    }

    pub fn sees_rings(&self) -> bool {
        match self.0 {}
    }

    pub fn foreign(&self) -> u64 {
        match self.0 {}
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        match self.0 {}
    }
}
