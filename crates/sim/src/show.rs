//! From requests to references in a view that classifies: blocks of the parts' own sizes, with the inodes and
//! directories that naming a file touches.

use std::collections::VecDeque;
use std::ops::Range;

use hashbrown::HashMap;
use hotset_core::classify::{Class, FileFacts};
use hotset_core::request::Request;
use hotset_core::view::{Cutting, Former, Object, Piece, Space, Spaces, Step, View, Viewer};
use hotset_trace::{Addressing, FileInfo, Tables, UNKNOWN_SIZE};

use crate::engine::ClassFacts;
use crate::expand::{Expanded, InHand, Mark, PIECE};
use crate::requests::Requests;
use crate::window::{Event, What};

/// What a trace tells of a file that it does not name.
static UNKNOWN: FileInfo =
    FileInfo { path: String::new(), kind: hotset_core::request::Kind::Unknown, size: None, label: String::new() };

/// Requests, and what is told of them.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub requests: &'a [Request],
    /// The file's size at each request; empty where the trace does not tell it.
    pub sizes: &'a [u64],
    pub tables: &'a Tables,
}

/// Shows requests in a view, as [`crate::expand::Expander`] does in the plain one.
pub(crate) struct Shower {
    viewer: Viewer,
    times: bool,
    spaces: Spaces,
    /// By the high half of addresses: bytes of a block there.
    block_bytes: Vec<u64>,
    /// By file, where its blocks lie; empty where no file is deleted or cut.
    of_file: HashMap<u32, Vec<Place>>,
    in_hand: InHand,
    /// The request at hand, what is left of it, and how many blocks of the first step earlier pieces hold.
    request: Request,
    steps: VecDeque<Step>,
    done: u64,
}

/// Blocks of a file under one high half of addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    high: u32,
    /// The number of the first of them in its space.
    first: u64,
    bytes: u64,
    inode: bool,
}

impl Shower {
    /// A shower of `requests`, and of those that follow on them.
    pub fn new(view: &View, requests: &Requests) -> Shower {
        let &Requests { ref meta, maps, block, deletes, .. } = requests;
        let objects = meta.addressing == Addressing::Objects;
        Shower {
            viewer: Viewer::new(view, Cutting { block, maps, objects, deletes }),
            times: meta.has_time,
            spaces: Spaces::default(),
            block_bytes: Vec::new(),
            of_file: HashMap::new(),
            in_hand: InHand::default(),
            request: Request::default(),
            steps: VecDeque::new(),
            done: 0,
        }
    }

    /// The classes of the view.
    pub fn classes(&self) -> Vec<ClassFacts> {
        let names = self.viewer.rules().map_or(&[][..], |rules| rules.classes());
        let class = |(number, name): (usize, &String)| ClassFacts {
            name: name.clone(),
            block_bytes: self.viewer.block_bytes(number as Class),
        };
        names.iter().enumerate().map(class).collect()
    }

    /// By the high half of addresses, bytes of a block there.
    pub fn into_block_bytes(self) -> Vec<u64> {
        self.block_bytes
    }

    /// Appends references of `told.requests` from number `at` on to `out` until that is full, and moves `at` on. Does
    /// nothing once all of them are shown.
    pub fn show(&mut self, told: Told, at: &mut usize, out: &mut Expanded) {
        let mut shown = Vec::new();
        loop {
            while let Some(&step) = self.steps.front() {
                if out.is_full() {
                    return;
                }
                let is_whole = match step {
                    Step::Touch(piece) => self.touch(&piece, out),
                    Step::Invalidate { file, from } => self.invalidate(file, from, out),
                };
                if is_whole {
                    self.steps.pop_front();
                }
            }
            let Some(&request) = told.requests.get(*at) else { return };
            let size = told.sizes.get(*at).copied().filter(|&size| size != UNKNOWN_SIZE);
            let info = told.tables.files.get(request.file as usize).unwrap_or(&UNKNOWN);
            let app = told.tables.apps.get(request.app as usize).map_or("", String::as_str);
            let facts = FileFacts { path: &info.path, size: info.size, kind: info.kind, app };
            self.viewer.show(&request, size, &facts, &mut shown);
            self.request = request;
            self.steps.extend(shown.drain(..));
            *at += 1;
        }
    }

    /// Appends references to the blocks of a piece; true if all of them are.
    fn touch(&mut self, piece: &Piece, out: &mut Expanded) -> bool {
        let blocks = numbers(piece.block, piece.offset, piece.length);
        let begin = blocks.start + self.done;
        let end = blocks.end.min(begin.saturating_add((PIECE - out.keys.len()) as u64));
        if begin < end {
            let start = out.keys.len();
            self.number(piece.space, piece.block, begin..end, &mut out.keys);
            let mark = Mark {
                app: self.request.app,
                write: piece.write,
                is_counted: self.request.is_counted(),
                continues: piece.continues || self.done > 0,
            };
            out.mark(start as u64, mark, &mut self.in_hand);
            if out.classes.last().is_none_or(|&(_, class)| class != piece.class) {
                out.classes.push((start as u64, piece.class));
            }
            if self.times {
                out.mark_time(start as u64, self.request.time);
            }
            if let Some(former) = piece.former {
                self.look_elsewhere(piece, begin..end, start, former, out);
            }
        }
        self.done = if end < blocks.end { self.done + (end - begin) } else { 0 };
        end >= blocks.end
    }

    /// Appends the addresses of these blocks of `space`, and notes where the blocks of files lie.
    fn number(&mut self, space: Space, bytes: u64, blocks: Range<u64>, keys: &mut Vec<u64>) {
        let first = keys.len();
        keys.extend(blocks.clone().map(|number| self.spaces.address(space, number)));
        let (mut number, mut index) = (blocks.start, first);
        while number < blocks.end {
            let high = (keys[index] >> 32) as u32;
            if self.block_bytes.len() <= high as usize {
                self.block_bytes.resize(high as usize + 1, bytes);
            }
            if let (Object::File(file), true) = (space.object, self.viewer.deletes()) {
                let place = Place { high, first: number >> 32 << 32, bytes, inode: space.inode };
                let places = self.of_file.entry(file).or_default();
                if !places.contains(&place) {
                    places.push(place);
                }
            }
            // Blocks behind the next multiple of 2^32 have another high half.
            let next = (number >> 32 << 32).saturating_add(1 << 32).min(blocks.end);
            index += (next - number) as usize;
            number = next;
        }
    }

    /// Notes for each reference from `first` on, to these blocks, which blocks of the former class hold the same bytes.
    fn look_elsewhere(&mut self, piece: &Piece, blocks: Range<u64>, first: usize, former: Former, out: &mut Expanded) {
        let bytes = piece.offset..piece.offset.saturating_add(piece.length);
        for (index, number) in (first..).zip(blocks) {
            let start = number.saturating_mul(piece.block);
            let (from, to) = (start.max(bytes.start), start.saturating_add(piece.block).min(bytes.end));
            let begin = out.event_keys.len();
            let same = numbers(former.block, from, to.saturating_sub(from));
            self.number(former.space, former.block, same, &mut out.event_keys);
            self.happen(index, What::Elsewhere(former.class), begin, out);
        }
    }

    /// The blocks of a file from a byte on, or all of them and the inode, are worth nothing any more.
    fn invalidate(&mut self, file: u32, from: Option<u64>, out: &mut Expanded) -> bool {
        let begin = out.event_keys.len();
        for place in self.of_file.get(&file).map_or(&[][..], Vec::as_slice) {
            let number = match (from, place.inode) {
                (None, _) => place.first,
                (Some(_), true) => continue,
                (Some(from), false) => from.div_ceil(place.bytes).max(place.first),
            };
            if let Ok(low) = u32::try_from(number - place.first) {
                out.event_keys.push(u64::from(place.high) << 32 | u64::from(low));
            }
        }
        if out.event_keys.len() > begin {
            self.happen(out.keys.len(), What::RemoveFrom, begin, out);
        }
        true
    }

    /// Something happens to what is noted from `begin` on.
    fn happen(&self, index: usize, what: What, begin: usize, out: &mut Expanded) {
        let Request { app, time, .. } = self.request;
        out.events.push(Event { at: index as u64, app, time, what, keys: begin..out.event_keys.len() });
    }
}

/// The blocks of `block` bytes that bytes `offset..offset + length` touch.
fn numbers(block: u64, offset: u64, length: u64) -> Range<u64> {
    let end = match length {
        0 => offset / block,
        // No number is left for a block that ends with the last byte there is.
        length => (offset.saturating_add(length - 1) / block).saturating_add(1),
    };
    offset / block..end
}
