//! Shows a trace in one view.

use hashbrown::HashMap;
use std::ops::Range;
use std::sync::Arc;

use hotset_core::classify::{Class, Classifier, FileFacts, Rules};
use hotset_core::request::{FLAG_CONTINUED, FLAG_EXECUTABLE, Kind, Op, Request};
use hotset_core::view::{Parts, View};
use hotset_trace::Addressing;

use super::cut::{Cutter, Space};
use super::names::{Names, Object, Touch};
use super::requests::Requests;
use crate::error::SimError;

/// A trace in one view: a block number a reference, what its request is like, and what happens between references.
pub(crate) struct Shown {
    pub rules: Rules,
    /// Bytes of a block, by class.
    pub block_bytes: Vec<u64>,
    pub ids: Arc<Vec<u32>>,
    /// In the order of their references, all of which are in one.
    pub spans: Vec<Span>,
    pub addresses: Arc<[u64]>,
    /// In the order of their positions.
    pub events: Vec<Event>,
    /// The blocks that events speak of.
    pub event_blocks: Vec<u32>,
}

/// The references of one request, or of a record of the trace that goes on with the request before it. It begins where the span before
/// ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Position behind its last reference.
    pub end: u64,
    pub app: u32,
    pub class: Class,
    pub write: bool,
    /// It goes on with the request before it.
    pub continues: bool,
}

/// Something at a position of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Position of the reference that it comes before, or is about.
    pub at: u64,
    pub what: What,
    /// Where its blocks are in `event_blocks`.
    pub blocks: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The blocks are void.
    Remove,
    /// The bytes that the reference asks for may still be in these blocks of another class, which the file was of before.
    Elsewhere(Class),
}

impl Shown {
    /// References.
    pub fn len(&self) -> usize {
        self.ids.len()
    }
}

/// Shows `requests` in `view`, which classifies.
pub(crate) fn show(requests: &Requests, view: &View) -> Result<Shown, SimError> {
    let mut show = Show::new(requests, view);
    for (request, size) in requests.iter() {
        show.request(request, size)?;
    }
    let mut shown = show.shown;
    shown.ids = Arc::new(show.ids);
    shown.addresses = show.cutter.into_addresses().into();
    Ok(shown)
}

struct Show<'a> {
    requests: &'a Requests,
    classifier: Classifier,
    parts: Option<&'a Parts>,
    names: Option<Names>,
    cutter: Cutter,
    files: HashMap<u32, File>,
    touches: Vec<Touch>,
    scratch: Vec<u32>,
    ids: Vec<u32>,
    shown: Shown,
}

/// What is known of a file so far.
#[derive(Default)]
struct File {
    size: Option<u64>,
    /// The class of its last data, and the one before that was cut otherwise.
    class: Option<Class>,
    former: Option<Class>,
    /// Its blocks with the first byte of each; the inode has none.
    blocks: Vec<(Option<u64>, u32)>,
}

impl<'a> Show<'a> {
    fn new(requests: &'a Requests, view: &'a View) -> Show<'a> {
        let rules = view.rules.clone().expect("a view that is not the plain one classifies");
        let uniform = |_| requests.block;
        let block_bytes = match &view.parts {
            Some(parts) => (0..rules.classes().len()).map(|class| parts.block_bytes_of(class as Class)).collect(),
            None => (0..rules.classes().len()).map(uniform).collect(),
        };
        Show {
            requests,
            classifier: Classifier::new(rules.clone()),
            parts: view.parts.as_ref(),
            names: view.metadata.map(Names::new),
            cutter: Cutter::new(),
            files: HashMap::new(),
            touches: Vec::new(),
            scratch: Vec::new(),
            ids: Vec::new(),
            shown: Shown {
                rules,
                block_bytes,
                ids: Arc::default(),
                spans: Vec::new(),
                addresses: Arc::new([]),
                events: Vec::new(),
                event_blocks: Vec::new(),
            },
        }
    }

    fn request(&mut self, request: &Request, size: Option<u64>) -> Result<(), SimError> {
        self.note_size(request, size);
        if self.names.is_some() {
            self.touch_names(request)?;
        }
        if request.failed() {
            return Ok(());
        }
        match request.op() {
            Op::Read | Op::Write => self.data(request),
            Op::Map if self.requests.maps => self.data(request),
            // A program that is run is read as a whole.
            Op::Exec if self.names.is_some() => self.whole_file(request),
            Op::Unlink => {
                self.void(request.file, |_| true);
                Ok(())
            }
            Op::Truncate => {
                self.void(request.file, |start| start.is_some_and(|start| start >= request.offset));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The size of the file at this request: what the trace says, or what writes and cuts have made of it.
    fn note_size(&mut self, request: &Request, size: Option<u64>) {
        let known = self.requests.file(request.file).size;
        let file = self.files.entry(request.file).or_insert_with(|| File { size: known, ..File::default() });
        if size.is_some() {
            file.size = size;
        }
        let end = request.offset.saturating_add(u64::from(request.length));
        match request.op() {
            Op::Write if !request.failed() && size.is_none() => file.size = Some(file.size.unwrap_or(0).max(end)),
            Op::Truncate if !request.failed() => file.size = Some(request.offset),
            _ => {}
        }
    }

    fn touch_names(&mut self, request: &Request) -> Result<(), SimError> {
        let Some(names) = &mut self.names else { return Ok(()) };
        self.touches.clear();
        names.touch(request, &self.requests.file(request.file).path, &mut self.touches);
        for touch in std::mem::take(&mut self.touches) {
            let op = if touch.write { Op::Write } else { Op::Read };
            let request = Request { op: op as u8, kind: touch.kind as u8, flags: 0, ..*request };
            let class = self.class(&request);
            let space = Space { object: touch.object, inode: touch.kind == Kind::Inode, part: self.part(class) };
            self.cut(&request, class, space, touch.offset, touch.length.into())?;
        }
        Ok(())
    }

    fn whole_file(&mut self, request: &Request) -> Result<(), SimError> {
        let size = self.files.get(&request.file).and_then(|file| file.size).unwrap_or(0);
        let length = u32::try_from(size).unwrap_or(u32::MAX);
        let whole =
            Request { op: Op::Read as u8, kind: Kind::Executable as u8, offset: 0, length, flags: 0, ..*request };
        self.data(&whole)
    }

    fn data(&mut self, request: &Request) -> Result<(), SimError> {
        let mut request = *request;
        if request.flags & FLAG_EXECUTABLE != 0 {
            request.kind = Kind::Executable as u8;
        }
        let class = self.class(&request);
        let former = self.former_class(request.file, class);
        let space = Space { object: Object::File(request.file), inode: false, part: self.part(class) };
        let (offset, length) = self.range(&request);
        let first = self.ids.len();
        self.cut(&request, class, space, offset, length)?;
        if let Some(former) = former {
            self.look_elsewhere(first, space, class, former, offset..offset.saturating_add(length))?;
        }
        Ok(())
    }

    /// The bytes that a request touches. An object is its own first byte.
    fn range(&self, request: &Request) -> (u64, u64) {
        match self.requests.meta.addressing {
            Addressing::Objects => (request.offset.saturating_mul(self.requests.block), 1),
            Addressing::Bytes { .. } => (request.offset, request.length.into()),
        }
    }

    fn class(&mut self, request: &Request) -> Class {
        let info = self.requests.file(request.file);
        let size = self.files.get(&request.file).and_then(|file| file.size);
        let facts = FileFacts { path: &info.path, size, kind: info.kind, app: self.requests.app(request.app) };
        self.classifier.class(request, &facts)
    }

    fn part(&self, class: Class) -> u8 {
        self.parts.map_or(0, |parts| parts.of_class[usize::from(class)])
    }

    /// The class whose part may still hold data of a file that is of `class` now.
    fn former_class(&mut self, number: u32, class: Class) -> Option<Class> {
        let parts = self.parts?;
        let file = self.files.get_mut(&number)?;
        let part = |class: Class| parts.of_class[usize::from(class)];
        if let Some(before) = file.class.replace(class)
            && part(before) != part(class)
        {
            file.former = Some(before);
        }
        file.former.filter(|&former| part(former) != part(class))
    }

    /// Appends the references of one request.
    fn cut(&mut self, request: &Request, class: Class, space: Space, offset: u64, length: u64) -> Result<(), SimError> {
        let block = self.shown.block_bytes[usize::from(class)];
        let first = self.ids.len();
        let known = self.cutter.distinct();
        self.cutter.cut(space, block, offset, length, &mut self.ids)?;
        if self.ids.len() == first {
            return Ok(());
        }
        self.shown.spans.push(Span {
            end: self.ids.len() as u64,
            app: request.app,
            class,
            write: request.op() == Op::Write,
            continues: request.flags & FLAG_CONTINUED != 0,
        });
        if let Object::File(file) = space.object {
            let start = |index: usize| (!space.inode).then(|| (offset / block + index as u64) * block);
            let new = self.ids[first..].iter().enumerate().filter(|(_, id)| **id >= known);
            let blocks = new.map(|(index, &id)| (start(index), id));
            self.files.entry(file).or_default().blocks.extend(blocks);
        }
        Ok(())
    }

    /// Notes for each reference from `first` on which blocks of the former class hold the same bytes.
    fn look_elsewhere(
        &mut self,
        first: usize,
        space: Space,
        class: Class,
        former: Class,
        bytes: Range<u64>,
    ) -> Result<(), SimError> {
        let (block, before) = (self.shown.block_bytes[usize::from(class)], self.shown.block_bytes[usize::from(former)]);
        let elsewhere = Space { part: self.part(former), ..space };
        for index in first..self.ids.len() {
            let start = (bytes.start / block + (index - first) as u64) * block;
            let (from, to) = (start.max(bytes.start), (start.saturating_add(block)).min(bytes.end));
            self.scratch.clear();
            self.cutter.cut(elsewhere, before, from, to.saturating_sub(from), &mut self.scratch)?;
            let blocks = std::mem::take(&mut self.scratch);
            self.event(index as u64, What::Elsewhere(former), &blocks);
            self.scratch = blocks;
        }
        Ok(())
    }

    /// The blocks of a file for which `is_void` holds, by their first bytes, are worth nothing any more.
    fn void(&mut self, number: u32, is_void: impl Fn(Option<u64>) -> bool) {
        if self.names.is_none() {
            return;
        }
        let Some(file) = self.files.get(&number) else { return };
        let blocks: Vec<u32> = file.blocks.iter().filter(|(start, _)| is_void(*start)).map(|&(_, id)| id).collect();
        if !blocks.is_empty() {
            self.event(self.ids.len() as u64, What::Remove, &blocks);
        }
    }

    fn event(&mut self, at: u64, what: What, blocks: &[u32]) {
        let start = self.shown.event_blocks.len();
        self.shown.event_blocks.extend(blocks);
        self.shown.events.push(Event { at, what, blocks: start..start + blocks.len() });
    }
}
