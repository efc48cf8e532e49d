//! Asking a store.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::StreamExt;
use object_store::list::PaginatedListOptions;
use object_store::path::Path;
use object_store::{Attribute, GetOptions, GetRange, GetResult, ListResult, ObjectMeta, ObjectStore};

use crate::client::bandwidth::{Bandwidth, Bytes};
use crate::client::calls::{Calls, UnderWay};
use crate::client::connect::{Connected, Environment};
use crate::client::hedge::Hedging;
use crate::client::in_flight::Room;
use crate::error::StoreError;
use crate::http::bounded::MOST;
use crate::http::limits::AGAIN;
use crate::limits::{Hedged, Limits, Moved};
use crate::location::Location;
use crate::object::{LONGEST, Object, Page};

/// A directory of a store. Its calls wait for the answer, and may be made by many threads at once.
pub struct Store {
    pub(crate) connected: Connected,
    pub(crate) calls: Calls,
    /// For what is written.
    pub(crate) sending: Arc<Room>,
    location: Location,
    requests: usize,
    hedging: Arc<Hedging>,
    pub(crate) bandwidth: Arc<Bandwidth>,
}

/// Bytes that are asked for at once.
const PIECE: usize = MOST / 2;

impl Store {
    /// Prepares to ask a store; nothing is asked yet.
    ///
    /// # Errors
    ///
    /// Settings or credentials are missing or malformed.
    pub fn open(location: &Location, limits: Limits) -> Result<Store, StoreError> {
        Store::open_in(location, limits, Environment::of_process())
    }

    /// The same with these variables in place of those of the environment.
    pub fn open_with(
        location: &Location,
        limits: Limits,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Store, StoreError> {
        Store::open_in(location, limits, variables.into_iter().collect())
    }

    fn open_in(location: &Location, limits: Limits, environment: Environment) -> Result<Store, StoreError> {
        let calls = Calls::new(limits.requests, limits.timeout)
            .map_err(|error| StoreError::Settings(format!("no thread can be started for the store: {error}")))?;
        let connected = Connected::new(location, &limits, &environment)?;
        let hedging = Arc::new(Hedging::new(limits.hedges));
        let (requests, location) = (limits.requests, location.clone());
        let (sending, bandwidth) = (Room::new(requests, limits.timeout), Arc::new(Bandwidth::new(limits.bandwidth)));
        Ok(Store { connected, calls, sending, location, requests, hedging, bandwidth })
    }

    /// Requests that are under way at a time, at most.
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// Bytes read so far, and how many of them twice.
    pub fn hedged(&self) -> Hedged {
        self.hedging.counts()
    }

    /// How many bytes were read and written so far.
    pub fn moved(&self) -> Moved {
        self.bandwidth.moved()
    }

    /// What tells this store from others of the same [location](Store::location), whatever setting says so: where it
    /// was asked for listings, and whose keys were used. None if it was not asked yet. Not to be shown.
    pub fn identity(&self) -> Option<String> {
        let account = self.connected.account.as_deref().unwrap_or_default();
        self.connected.asked.address().map(|address| format!("{} {address} {account}", self.location))
    }

    /// Where it is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The key of a path below the location; none if no object can be called so.
    pub(crate) fn key(&self, path: &str) -> Option<Path> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        let key = parts.fold(self.location.prefix.to_string(), |key, part| {
            if key.is_empty() { part.to_owned() } else { format!("{key}/{part}") }
        });
        Path::parse(&key).ok()
    }

    /// The object at a path below the location, as it is now.
    pub fn head(&self, path: &str) -> Result<Object, StoreError> {
        Ok(self.head_with(path, "")?.0)
    }

    /// The same, and what its metadata has by this name.
    pub(crate) fn head_with(&self, path: &str, name: &'static str) -> Result<(Object, Option<String>), StoreError> {
        let (store, key) = (self.connected.objects.clone(), self.key(path).ok_or(StoreError::Missing)?);
        self.calls.wait(async move {
            let asked = GetOptions { head: true, ..GetOptions::default() };
            let GetResult { meta, attributes, .. } = store.get_opts(&key, asked).await?;
            let told = attributes.get(&Attribute::Metadata(name.into())).map(|value| value.to_string());
            if Object::is_brief(&meta) { Ok((Object::new(meta), told)) } else { Err(StoreError::Answer(None)) }
        })
    }

    /// A part of what lies right in a directory: the first one, or the one behind `next` of the one before. An object
    /// whose key ends with a slash, which some programs make so that a directory can be seen, is none.
    pub fn list(&self, directory: &str, next: Option<String>) -> Result<Page, StoreError> {
        let key = self.key(directory).ok_or(StoreError::Missing)?;
        let Some(store) = self.connected.lists.clone() else {
            return Err(StoreError::Location("a web server does not tell what is in a directory".to_owned()));
        };
        self.calls.wait(async move {
            let prefix = if key.as_ref().is_empty() { None } else { Some(format!("{key}/")) };
            let mut left = AGAIN;
            loop {
                let (delimiter, page_token) = (Some("/".into()), next.clone());
                let options = PaginatedListOptions { delimiter, page_token, ..PaginatedListOptions::default() };
                match store.list_paginated(prefix.as_deref(), options).await.map_err(StoreError::from) {
                    // The list may have been cut on its way.
                    Err(StoreError::Cut) if left > 0 => left -= 1,
                    Err(error) => return Err(error),
                    Ok(listed) => return page(&key, listed.result, listed.page_token),
                }
            }
        })
    }

    /// Bytes of an object, all of them or an error; the range is to lie within it.
    pub fn read(&self, object: &Object, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.begin_read(object, range).wait()
    }

    /// The same, to be waited for later.
    pub(crate) fn begin_read(&self, object: &Object, range: Range<u64>) -> UnderWay<Vec<u8>> {
        let (store, object) = (self.connected.objects.clone(), object.clone());
        let (hedging, at_once, bandwidth) = (self.hedging.clone(), self.calls.at_once(), self.bandwidth.clone());
        let length = (range.end - range.start) as usize;
        let (turn, bytes) = (self.bandwidth.clone(), Bytes::Read(length as u64));
        let begun = AtomicBool::new(false);
        self.calls.begin_after(async move { turn.turn(bytes).await }, async move {
            let ask = || {
                // One that is made a second time is not held back, but what comes after it is.
                if begun.swap(true, Ordering::Relaxed) {
                    bandwidth.book(bytes, Instant::now());
                }
                whole(store.as_ref(), &object, range.clone())
            };
            hedging.read(length, &at_once, ask).await
        })
    }
}

/// Bytes of an object, asked for again from where they end if they are too few.
async fn whole(store: &dyn ObjectStore, object: &Object, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
    let length = (range.end - range.start) as usize;
    let (mut bytes, mut left) = (Vec::with_capacity(length), AGAIN);
    while bytes.len() < length {
        let piece = PIECE.min(length - bytes.len());
        let (first, wanted) = (range.start + bytes.len() as u64, bytes.len() + piece);
        append(store, object, first..first + piece as u64, &mut bytes).await?;
        if bytes.len() < wanted && left == 0 {
            return Err(StoreError::Truncated);
        }
        left -= usize::from(bytes.len() < wanted);
    }
    Ok(bytes)
}

/// Appends bytes of an object, perhaps fewer than asked for.
async fn append(
    store: &dyn ObjectStore,
    object: &Object,
    range: Range<u64>,
    bytes: &mut Vec<u8>,
) -> Result<(), StoreError> {
    let end = bytes.len() + (range.end - range.start) as usize;
    let asked = GetOptions { range: Some(GetRange::Bounded(range)), ..object.conditions() };
    let got = match store.get_opts(object.location(), asked).await.map_err(StoreError::from) {
        // It is shorter than it was.
        Err(StoreError::Answer(Some(416))) => return Err(StoreError::Changed),
        got => got?,
    };
    // Not every server looks at conditions.
    if !object.is_of(&Object::new(got.meta.clone())) {
        return Err(StoreError::Changed);
    }
    let mut stream = got.into_stream();
    while let Some(some) = stream.next().await {
        let some = some?;
        if bytes.len() + some.len() > end {
            return Err(StoreError::Answer(None));
        }
        bytes.extend_from_slice(&some);
    }
    Ok(())
}

/// Bytes of the longest token that is taken with which a listing goes on.
const LONGEST_TOKEN: usize = 64 << 10;

/// What lies right in the directory `key`.
fn page(key: &Path, listed: ListResult, next: Option<String>) -> Result<Page, StoreError> {
    if next.as_ref().is_some_and(|next| next.len() > LONGEST_TOKEN) {
        return Err(StoreError::Answer(None));
    }
    let is_there = !listed.objects.is_empty() || !listed.common_prefixes.is_empty();
    let is_in =
        |path: &Path| path.as_ref().len() <= LONGEST && path.prefix_match(key).is_some_and(|parts| parts.count() == 1);
    let name = |path: Path| path.filename().map(str::to_owned);
    let directories = listed.common_prefixes.into_iter().filter(&is_in).filter_map(name).collect();
    let is_served = |meta: &ObjectMeta| is_in(&meta.location) && Object::is_brief(meta);
    let objects = listed.objects.into_iter().filter(is_served).map(Object::new);
    Ok(Page { is_there, directories, objects: objects.collect(), next: next.filter(|next| !next.is_empty()) })
}
