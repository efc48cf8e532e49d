//! A trace of which only a selection is read.

use hotset_core::request::{FLAG_CONTINUED, FLAG_UNCOUNTED, Op, Request};
use hotset_core::setting::SettingName;
use hotset_core::view::{Cutting, Maps};
use hotset_trace::{Batch, Meta, Tables, TraceError, TraceReader};

use super::{Filter, Place, Selection, Warmup};
use crate::error::SimError;
use crate::expand::options::Options;

/// A selection of a trace, a trace like any other. Requests that are not counted are flagged [`FLAG_UNCOUNTED`].
///
/// Places in the trace count the references of the whole trace, as it is cut into blocks; a request belongs to the
/// place of its first reference. The warm-up counts those that are left.
pub struct Selected<R> {
    reader: R,
    cutting: Cutting,
    maps: Maps,
    warmup: Option<Warmup>,
    only: Judge,
    counted: Judge,
    /// Time of the first request of the trace, and of the first one that is left.
    first: Option<u64>,
    first_left: Option<u64>,
    /// References so far, and of these those that are left.
    references: u64,
    left: u64,
    /// The decision on the request before: whether it stays, and its flag. A request that continues it has the same
    /// decision.
    last: Option<u16>,
    /// Bytes of mappings that do not count as reads.
    unmapped_bytes: u64,
    has_ended: bool,
}

/// A filter with what it has decided of files and applications.
struct Judge {
    filter: Filter,
    is_everything: bool,
    apps: Vec<Option<bool>>,
    files: Vec<Option<bool>>,
}

impl<R: TraceReader> Selected<R> {
    /// The selection of a trace, cut as `options` say. Fails if it contains times and the trace has none, or if its
    /// warm-up is a share that was not [resolved](Selection::resolve).
    pub fn new(reader: R, selection: &Selection, options: &Options) -> Result<Selected<R>, SimError> {
        let Selection { only, warmup, count_only } = selection;
        let needs_times = only.needs_times() || count_only.needs_times() || matches!(warmup, Some(Warmup::Time(_)));
        if needs_times && !reader.meta().has_time {
            return Err(SimError::NoTimeToSelect);
        }
        if selection.needs_length() {
            return Err(SimError::UnknownLength);
        }
        Ok(Selected {
            cutting: options.cutting(reader.meta()),
            reader,
            maps: options.maps,
            warmup: *warmup,
            only: Judge::new(only),
            counted: Judge::new(count_only),
            first: None,
            first_left: None,
            references: 0,
            left: 0,
            last: None,
            unmapped_bytes: 0,
            has_ended: false,
        })
    }

    /// The flags that a request gets if it stays.
    fn judge(&mut self, request: &Request) -> Option<u16> {
        let since = request.time.saturating_sub(*self.first.get_or_insert(request.time));
        let (position, references) = (self.references, self.cutting.references(request));
        self.references += references;
        let tables = self.reader.tables();
        if request.flags & FLAG_CONTINUED == 0 {
            self.last = None;
            if self.only.admits(request, tables, since, position) {
                let since_left = request.time.saturating_sub(*self.first_left.get_or_insert(request.time));
                let is_counted = !self.warms_up(since_left) && self.counted.admits(request, tables, since, position);
                self.last = Some(if is_counted { 0 } else { FLAG_UNCOUNTED });
            }
        }
        if self.last.is_some() {
            self.left += references;
            self.unmapped_bytes = self.unmapped_bytes.saturating_add(unmapped(self.maps, request));
        }
        self.last
    }

    fn warms_up(&self, since: u64) -> bool {
        match self.warmup {
            None => false,
            Some(Warmup::Time(time)) => since < time,
            Some(Warmup::References(count)) => self.left < count,
            Some(Warmup::Share(_)) => unreachable!("refused when the selection was made"),
        }
    }

    /// True if no later request can stay.
    fn is_over(&self) -> bool {
        matches!(self.only.filter.to, Some(Place::Reference(end)) if self.references >= end)
    }

    /// Takes out of a batch what does not stay.
    fn sift(&mut self, batch: &mut Batch) {
        let mut kept = 0;
        for at in 0..batch.requests.len() {
            let mut request = batch.requests[at];
            if let Some(flags) = self.judge(&request) {
                request.flags |= flags;
                batch.requests[kept] = request;
                if let Some(&size) = batch.file_sizes.get(at) {
                    batch.file_sizes[kept] = size;
                }
                if let Some(&ttl) = batch.ttls.get(at) {
                    batch.ttls[kept] = ttl;
                }
                kept += 1;
            }
        }
        batch.requests.truncate(kept);
        batch.file_sizes.truncate(kept);
        batch.ttls.truncate(kept);
    }

    /// True if every request stays as it is.
    fn passes_all(&self) -> bool {
        self.only.is_everything && self.counted.is_everything && self.warmup.is_none()
    }
}

impl<R: TraceReader> TraceReader for Selected<R> {
    fn meta(&self) -> &Meta {
        self.reader.meta()
    }

    fn tables(&self) -> &Tables {
        self.reader.tables()
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        loop {
            if self.has_ended || self.is_over() {
                batch.clear();
                return Ok(());
            }
            self.reader.read(batch)?;
            if batch.is_empty() {
                self.has_ended = true;
                return Ok(());
            }
            if self.passes_all() {
                let unmapped: u64 = batch.requests.iter().map(|request| unmapped(self.maps, request)).sum();
                self.unmapped_bytes = self.unmapped_bytes.saturating_add(unmapped);
                return Ok(());
            }
            self.sift(batch);
            if !batch.is_empty() {
                return Ok(());
            }
        }
    }

    fn skipped(&self) -> u64 {
        self.reader.skipped()
    }

    fn held_bytes(&self) -> u64 {
        self.reader.held_bytes()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.reader.remarks();
        remarks.extend(remark(self.maps, self.unmapped_bytes));
        for judge in [&self.only, &self.counted] {
            remarks.extend(judge.idle(self.reader.tables()));
        }
        remarks
    }
}

/// Bytes of a request that maps a range, if that does not count as a read.
fn unmapped(maps: Maps, request: &Request) -> u64 {
    let is_left_out = request.op == Op::Map as u8 && !request.failed() && !maps.count(request);
    if is_left_out { request.length.into() } else { 0 }
}

impl Judge {
    fn new(filter: &Filter) -> Judge {
        Judge { filter: filter.clone(), is_everything: filter.is_everything(), apps: Vec::new(), files: Vec::new() }
    }

    /// True if the filter admits a request so many nanoseconds after the first one, behind so many references.
    fn admits(&mut self, request: &Request, tables: &Tables, since: u64, position: u64) -> bool {
        if self.is_everything {
            return true;
        }
        let Filter { apps, files, exclude, from, to, .. } = &self.filter;
        let is_within = from.is_none_or(|from| from.is_reached(since, position))
            && !to.is_some_and(|to| to.is_reached(since, position));
        is_within
            && self.filter.admits_op(request.op())
            && (apps.is_empty()
                || decided(&mut self.apps, request.app, || {
                    apps.has(tables.apps.get(request.app as usize).map_or("", String::as_str))
                }))
            && (files.is_empty() && exclude.is_empty()
                || decided(&mut self.files, request.file, || {
                    let path = tables.files.get(request.file as usize).map_or("", |info| info.path.as_str());
                    (files.is_empty() || files.has(path)) && !exclude.has(path)
                }))
    }

    /// The remark on patterns that match nothing.
    fn idle(&self, tables: &Tables) -> Vec<String> {
        let files = || tables.files.iter().map(|info| info.path.as_str());
        let Filter { apps, files: wanted, exclude, .. } = &self.filter;
        let idle = [
            ("app", apps.idle(tables.apps.iter().map(String::as_str))),
            ("file", wanted.idle(files())),
            ("exclude", exclude.idle(files())),
        ];
        let told = idle.into_iter().flat_map(|(key, patterns)| {
            patterns.into_iter().map(move |pattern| match key {
                "app" => format!("{key}={pattern} is the name of no application of the trace"),
                _ => format!("{key}={pattern} matches no file of the trace"),
            })
        });
        told.collect()
    }
}

/// The decision on a file or an application, made once.
fn decided(known: &mut Vec<Option<bool>>, number: u32, decide: impl FnOnce() -> bool) -> bool {
    let number = number as usize;
    if number >= known.len() {
        known.resize(number + 1, None);
    }
    *known[number].get_or_insert_with(decide)
}

/// The remark for a user who did not choose, if mappings of so many bytes are left out.
fn remark(maps: Maps, bytes: u64) -> Option<String> {
    const UNITS: [&str; 5] = ["B", "K", "M", "G", "T"];
    let is_told = maps == Maps::Auto && bytes > 0;
    let mut unit = 0;
    while unit + 1 < UNITS.len() && bytes >> (10 * (unit + 1)) >= 10 {
        unit += 1;
    }
    is_told.then(|| {
        format!(
            "mappings of {}{} are left out, since nothing tells what was touched of them ({} counts each as a read of its whole range)",
            bytes >> (10 * unit),
            UNITS[unit],
            SettingName("maps").of("all")
        )
    })
}
