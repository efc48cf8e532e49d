//! Shows a trace in one view.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;
use hotset_core::classify::{Class, FileFacts, Rules};
use hotset_core::request::Request;
use hotset_core::view::{Cutting, Former, Object, Piece, Step, View, Viewer};
use hotset_trace::Addressing;

use super::cut::{Cutter, pieces};
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

/// The references of one request, or of a record of the trace that goes on with the request before it. It begins where
/// the span before ends.
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
    pub is_counted: bool,
    /// Its first reference reads the block to which its application referred just before.
    pub repeats: bool,
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
    /// The blocks are invalidated.
    Remove,
    /// The bytes that the reference asks for may still be in these blocks of another class, which the file was of
    /// before.
    Elsewhere(Class),
}

impl Shown {
    /// References.
    pub fn len(&self) -> usize {
        self.ids.len()
    }
}

/// Shows `requests` in `view`, which classifies. Fails if that takes more memory than is allowed; the error names the
/// policy.
pub(crate) fn show(requests: &Requests, view: &View, policy: &str) -> Result<Shown, SimError> {
    let mut show = Show::new(requests, view, policy);
    let mut steps = Vec::new();
    for (request, size) in requests.iter() {
        let info = requests.file(request.file);
        let facts = FileFacts { path: &info.path, size: info.size, kind: info.kind, app: requests.app(request.app) };
        show.viewer.show(request, size, &facts, &mut steps);
        for step in steps.drain(..) {
            match step {
                Step::Touch(piece) => show.piece(request, &piece)?,
                Step::Invalidate { file, from } => show.invalidate(file, from),
            }
        }
    }
    let mut shown = show.shown;
    shown.ids = Arc::new(show.ids);
    shown.addresses = show.cutter.into_addresses().into();
    Ok(shown)
}

struct Show<'a> {
    policy: &'a str,
    memory_allowed: u64,
    viewer: Viewer,
    cutter: Cutter,
    /// What can be invalidated; `None` where no file is deleted or cut.
    valid: Option<Valid>,
    ids: Vec<u32>,
    /// By application: the block to which it referred last.
    in_hand: HashMap<u32, u32>,
    shown: Shown,
}

/// The blocks that are worth something.
#[derive(Default)]
struct Valid {
    /// By file, its blocks by the first byte of each; the inode has none.
    of_file: HashMap<u32, BTreeSet<(Option<u64>, u32)>>,
    /// By block: it is in the set of its file.
    is_valid: Vec<bool>,
}

impl Valid {
    /// Bytes that a block costs, at most.
    const BLOCK_BYTES: usize = 40;

    /// These blocks of a file come to be worth something, if they are not: consecutive ones, the first of which has
    /// this number.
    fn note(&mut self, piece: &Piece, start: u64, ids: &[u32]) {
        let Object::File(file) = piece.space.object else { return };
        for (number, &id) in (start..).zip(ids) {
            if id as usize >= self.is_valid.len() {
                self.is_valid.resize(id as usize + 1, false);
            }
            if !std::mem::replace(&mut self.is_valid[id as usize], true) {
                let first_byte = (!piece.space.inode).then(|| number.saturating_mul(piece.block));
                self.of_file.entry(file).or_default().insert((first_byte, id));
            }
        }
    }

    /// Takes the blocks of a file from a byte on, or all of them.
    fn take(&mut self, file: u32, from: Option<u64>) -> BTreeSet<(Option<u64>, u32)> {
        let Some(blocks) = self.of_file.get_mut(&file) else { return BTreeSet::new() };
        let taken = match from {
            Some(from) => blocks.split_off(&(Some(from), 0)),
            None => std::mem::take(blocks),
        };
        taken.iter().for_each(|&(_, id)| self.is_valid[id as usize] = false);
        taken
    }
}

impl<'a> Show<'a> {
    fn new(requests: &Requests, view: &View, policy: &'a str) -> Show<'a> {
        let rules = view.rules.clone().expect("a view that is not the plain one classifies");
        let objects = requests.meta.addressing == Addressing::Objects;
        let viewer = Viewer::new(view, Cutting { block: requests.block, maps: requests.maps, objects });
        let block_bytes = (0..rules.classes().len()).map(|class| viewer.block_bytes(class as Class)).collect();
        Show {
            policy,
            memory_allowed: requests.memory_allowed,
            valid: viewer.metadata().map(|_| Valid::default()),
            viewer,
            cutter: Cutter::new(),
            ids: Vec::new(),
            in_hand: HashMap::new(),
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
        for blocks in pieces(piece.block, piece.offset, piece.length) {
            let (begin, start) = (self.ids.len(), blocks.start);
            self.cutter.number(piece.space, blocks, &mut self.ids)?;
            if let Some(valid) = &mut self.valid {
                valid.note(piece, start, &self.ids[begin..]);
            }
            self.check_memory()?;
        }
        if self.ids.len() == first {
            return Ok(());
        }
        let before = self.in_hand.insert(request.app, self.ids[self.ids.len() - 1]);
        self.shown.spans.push(Span {
            end: self.ids.len() as u64,
            clock: request.time,
            app: request.app,
            class: piece.class,
            write: piece.write,
            continues: piece.continues,
            is_counted: request.is_counted(),
            repeats: before == Some(self.ids[first]) && !piece.write,
        });
        piece.former.map_or(Ok(()), |former| self.look_elsewhere(first, piece, former))
    }

    /// Notes for each reference from `first` on which blocks of the former class hold the same bytes.
    fn look_elsewhere(&mut self, first: usize, piece: &Piece, former: Former) -> Result<(), SimError> {
        let bytes = piece.offset..piece.offset.saturating_add(piece.length);
        for index in first..self.ids.len() {
            let start = (bytes.start / piece.block + (index - first) as u64) * piece.block;
            let (from, to) = (start.max(bytes.start), (start.saturating_add(piece.block)).min(bytes.end));
            let event = self.shown.event_blocks.len();
            for blocks in pieces(former.block, from, to.saturating_sub(from)) {
                self.cutter.number(former.space, blocks, &mut self.shown.event_blocks)?;
                self.check_memory()?;
            }
            self.event(index as u64, What::Elsewhere(former.class), event);
        }
        Ok(())
    }

    /// The blocks of a file from a byte on, or all of them, are worth nothing any more.
    fn invalidate(&mut self, file: u32, from: Option<u64>) {
        let invalid = self.valid.as_mut().map_or_else(BTreeSet::new, |valid| valid.take(file, from));
        if invalid.is_empty() {
            return;
        }
        let event = self.shown.event_blocks.len();
        self.shown.event_blocks.extend(invalid.iter().map(|&(_, id)| id));
        self.event(self.ids.len() as u64, What::Remove, event);
    }

    /// Something happens to the blocks that are noted from `first` on.
    fn event(&mut self, at: u64, what: What, first: usize) {
        self.shown.events.push(Event { at, what, blocks: first..self.shown.event_blocks.len() });
    }

    /// Fails if the trace in this view takes more memory than is allowed.
    fn check_memory(&self) -> Result<(), SimError> {
        let columns = self.ids.capacity() * 4 + self.shown.event_blocks.capacity() * 4;
        let events =
            self.shown.spans.capacity() * size_of::<Span>() + self.shown.events.capacity() * size_of::<Event>();
        let valid = self.valid.as_ref().map_or(0, |valid| valid.is_valid.len() * Valid::BLOCK_BYTES);
        let held = (columns + events + valid) as u64 + self.cutter.memory_bytes();
        if held <= self.memory_allowed {
            return Ok(());
        }
        let instead = "or leave the policy out";
        Err(SimError::over_budget(self.policy, self.cutter.distinct(), self.memory_allowed, instead))
    }
}
