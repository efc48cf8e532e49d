//! The types of this crate in a build without the feature `stores`. Every location is refused, so no value of them
//! exists.
#![expect(missing_docs, reason = "the files that this one stands for document each item")]

use std::convert::Infallible;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use crate::{Hedged, Limits, Moved, StoreError};

pub const PART: usize = 8 << 20;
pub const MOST_PARTS: usize = 10_000;

#[derive(Clone)]
pub struct Location(Infallible);

pub struct Store(Infallible);

#[derive(Clone, Debug)]
pub struct Object(Infallible);

pub struct Page {
    pub is_there: bool,
    pub directories: Vec<String>,
    pub objects: Vec<Object>,
    pub next: Option<String>,
}

#[derive(Clone)]
pub struct Stored(Infallible);

pub struct ObjectStream(Infallible);

pub struct Upload(Infallible);

impl Location {
    pub fn parse(_: &str) -> Result<Location, StoreError> {
        Err(StoreError::Location("this build has no object stores: build hotset with the feature `stores`".to_owned()))
    }

    pub fn parse_served(text: &str) -> Result<Location, StoreError> {
        Location::parse(text)
    }

    pub fn is_web(&self) -> bool {
        match self.0 {}
    }

    pub fn has_prefix(&self) -> bool {
        match self.0 {}
    }

    pub fn permit_redirect(&mut self, _: &str) -> Result<(), StoreError> {
        match self.0 {}
    }
}

impl fmt::Display for Location {
    fn fmt(&self, _: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {}
    }
}

impl Store {
    pub fn open(location: &Location, _: Limits) -> Result<Store, StoreError> {
        match location.0 {}
    }

    pub fn requests(&self) -> usize {
        match self.0 {}
    }

    pub fn hedged(&self) -> Hedged {
        match self.0 {}
    }

    pub fn moved(&self) -> Moved {
        match self.0 {}
    }

    pub fn identity(&self) -> Option<String> {
        match self.0 {}
    }

    pub fn location(&self) -> &Location {
        match self.0 {}
    }

    pub fn head(&self, _: &str) -> Result<Object, StoreError> {
        match self.0 {}
    }

    pub fn list(&self, _: &str, _: Option<String>) -> Result<Page, StoreError> {
        match self.0 {}
    }

    pub fn read(&self, _: &Object, _: Range<u64>) -> Result<Vec<u8>, StoreError> {
        match self.0 {}
    }

    pub fn check(&self, _: &str) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn check_is_missing(&self, _: &str) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn put(&self, _: &str, _: Vec<u8>, _: bool) -> Result<Object, StoreError> {
        match self.0 {}
    }

    pub fn upload(self: &Arc<Store>, _: &str) -> Result<Upload, StoreError> {
        match self.0 {}
    }

    pub fn delete(&self, _: &str) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn copy(&self, _: &Object, _: &str) -> Result<Object, StoreError> {
        match self.0 {}
    }
}

impl Object {
    pub fn told(&self) -> u64 {
        match self.0 {}
    }

    pub fn name(&self) -> &str {
        match self.0 {}
    }

    pub fn size(&self) -> u64 {
        match self.0 {}
    }

    pub fn modified(&self) -> SystemTime {
        match self.0 {}
    }

    pub fn version(&self) -> String {
        match self.0 {}
    }

    pub fn names_bytes(&self) -> bool {
        match self.0 {}
    }

    pub fn is_same(&self, _: &Object) -> bool {
        match self.0 {}
    }
}

impl Stored {
    pub fn open(location: &Location, _: Limits) -> Result<Stored, StoreError> {
        match location.0 {}
    }

    pub fn size(&self) -> u64 {
        match self.0 {}
    }

    pub fn stream(&self) -> ObjectStream {
        match self.0 {}
    }
}

impl Read for ObjectStream {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

impl Upload {
    pub fn parts(&self) -> usize {
        match self.0 {}
    }

    pub fn add(&mut self, _: Vec<u8>) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn complete(self, _: bool) -> Result<Object, StoreError> {
        match self.0 {}
    }
}
