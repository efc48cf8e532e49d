//! Shows a trace in one view.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;
use hotset_core::classify::{Class, FileFacts, Rules};
use hotset_core::request::Request;
use hotset_core::view::{Cutting, Former, Object, Piece, Step, View, Viewer};
use hotset_trace::Addressing;

use super::cut::Cutter;
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
    /// Time of its request.
    pub clock: u64,
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
    let mut steps = Vec::new();
    for (request, size) in requests.iter() {
        let info = requests.file(request.file);
        let facts = FileFacts { path: &info.path, size: info.size, kind: info.kind, app: requests.app(request.app) };
        show.viewer.show(request, size, &facts, &mut steps);
        for step in steps.drain(..) {
            match step {
                Step::Touch(piece) => show.piece(request, &piece)?,
                Step::Void { file, from } => show.void(file, from),
            }
        }
    }
    let mut shown = show.shown;
    shown.ids = Arc::new(show.ids);
    shown.addresses = show.cutter.into_addresses().into();
    Ok(shown)
}

struct Show {
    viewer: Viewer,
    cutter: Cutter,
    /// By file, its blocks with the first byte of each; the inode has none.
    blocks: HashMap<u32, Vec<(Option<u64>, u32)>>,
    scratch: Vec<u32>,
    ids: Vec<u32>,
    shown: Shown,
}

impl Show {
    fn new(requests: &Requests, view: &View) -> Show {
        let rules = view.rules.clone().expect("a view that is not the plain one classifies");
        let objects = requests.meta.addressing == Addressing::Objects;
        let viewer = Viewer::new(view, Cutting { block: requests.block, maps: requests.maps, objects });
        let block_bytes = (0..rules.classes().len()).map(|class| viewer.block_bytes(class as Class)).collect();
        Show {
            viewer,
            cutter: Cutter::new(),
            blocks: HashMap::new(),
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

    /// Appends the references to the blocks of one piece.
    fn piece(&mut self, request: &Request, piece: &Piece) -> Result<(), SimError> {
        let first = self.ids.len();
        let known = self.cutter.distinct();
        self.cutter.cut(piece.space, piece.block, piece.offset, piece.length, &mut self.ids)?;
        if self.ids.len() == first {
            return Ok(());
        }
        self.shown.spans.push(Span {
            end: self.ids.len() as u64,
            clock: request.time,
            app: request.app,
            class: piece.class,
            write: piece.write,
            continues: piece.continues,
        });
        if let Object::File(file) = piece.space.object {
            let start =
                |index: usize| (!piece.space.inode).then(|| (piece.offset / piece.block + index as u64) * piece.block);
            let new = self.ids[first..].iter().enumerate().filter(|(_, id)| **id >= known);
            let blocks = new.map(|(index, &id)| (start(index), id));
            self.blocks.entry(file).or_default().extend(blocks);
        }
        piece.former.map_or(Ok(()), |former| self.look_elsewhere(first, piece, former))
    }

    /// Notes for each reference from `first` on which blocks of the former class hold the same bytes.
    fn look_elsewhere(&mut self, first: usize, piece: &Piece, former: Former) -> Result<(), SimError> {
        let bytes = piece.offset..piece.offset.saturating_add(piece.length);
        for index in first..self.ids.len() {
            let start = (bytes.start / piece.block + (index - first) as u64) * piece.block;
            let (from, to) = (start.max(bytes.start), (start.saturating_add(piece.block)).min(bytes.end));
            self.scratch.clear();
            self.cutter.cut(former.space, former.block, from, to.saturating_sub(from), &mut self.scratch)?;
            let blocks = std::mem::take(&mut self.scratch);
            self.event(index as u64, What::Elsewhere(former.class), &blocks);
            self.scratch = blocks;
        }
        Ok(())
    }

    /// The blocks of a file from a byte on, or all of them, are worth nothing any more.
    fn void(&mut self, file: u32, from: Option<u64>) {
        let Some(known) = self.blocks.get(&file) else { return };
        let is_void = |start: Option<u64>| from.is_none_or(|from| start.is_some_and(|start| start >= from));
        let blocks: Vec<u32> = known.iter().filter(|(start, _)| is_void(*start)).map(|&(_, id)| id).collect();
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
