//! From requests to references in a view that classifies: blocks of the parts' own sizes, with the inodes and
//! directories that naming a file touches.

use std::collections::VecDeque;

use hashbrown::HashMap;
use hotset_core::classify::{Class, FileFacts};
use hotset_core::policy::{block_group, file_group};
use hotset_core::request::Request;
use hotset_core::view::{Blocks, Former, MetadataObject, Piece, Space, Spaces, Step, View, Viewer};
use hotset_trace::{FileInfo, UNKNOWN_SIZE};

use crate::expand::requests::{Requests, Told};
use crate::expand::{Expanded, InHand, Mark, PIECE};
use crate::window::{ClassFacts, Event, What};

/// Facts of a file that the trace does not name.
static UNKNOWN: FileInfo =
    FileInfo { path: String::new(), kind: hotset_core::request::Kind::Unknown, size: None, label: String::new() };

/// Shows requests in a view, as [`crate::expand::Expander`] does in the plain one.
pub(crate) struct Shower {
    viewer: Viewer,
    times: bool,
    spaces: Spaces,
    /// By the high half of addresses: bytes of a block there,
    block_bytes: Vec<u64>,
    /// and what type they are of.
    groups: Vec<u32>,
    /// By file, where its blocks lie; empty where no file is deleted or cut.
    of_file: HashMap<u32, Vec<Place>>,
    in_hand: InHand,
    /// The request at hand, and the type of its file.
    request: Request,
    group: u32,
    /// The rest of the request, and the number of blocks of the first step in earlier pieces.
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
        Shower {
            viewer: Viewer::new(view, requests.cutting),
            times: requests.has_time,
            spaces: Spaces::default(),
            block_bytes: Vec::new(),
            groups: Vec::new(),
            of_file: HashMap::new(),
            in_hand: InHand::default(),
            request: Request::default(),
            group: 0,
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

    /// By the high half of addresses, the type of what lies there.
    pub fn groups(&self) -> &[u32] {
        &self.groups
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
            self.group = if self.viewer.are_objects() { 0 } else { file_group(&info.path, info.kind) };
            self.steps.extend(shown.drain(..));
            *at += 1;
        }
    }

    /// Appends references to the blocks of a piece; true if all of them are.
    fn touch(&mut self, piece: &Piece, out: &mut Expanded) -> bool {
        let all = Blocks::of(piece.block, piece.offset, piece.length);
        let count = (all.count - self.done).min((PIECE - out.keys.len()) as u64);
        let blocks = Blocks { first: all.first + self.done, count };
        if count > 0 {
            let start = out.keys.len();
            self.number(piece.space, piece.block, blocks, &mut out.keys);
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
                self.look_elsewhere(piece, blocks, start, former, out);
            }
        }
        let is_whole = self.done + count == all.count;
        self.done = if is_whole { 0 } else { self.done + count };
        is_whole
    }

    /// Appends the addresses of these blocks of `space`, and notes where the blocks of files lie.
    fn number(&mut self, space: Space, bytes: u64, blocks: Blocks, keys: &mut Vec<u64>) {
        let Blocks { first: mut next, count: mut left } = blocks;
        while left > 0 {
            let high = self.spaces.high(space, next);
            self.note(space, bytes, high, next);
            // Blocks behind the next multiple of 2^32 have another high half.
            let low = next & 0xffff_ffff;
            let count = left.min((1 << 32) - low);
            keys.extend((low..low + count).map(|low| u64::from(high) << 32 | low));
            // The last number there is may be among them.
            next = next.wrapping_add(count);
            left -= count;
        }
    }

    /// Notes that block `number` of `space` lies under this high half of addresses.
    fn note(&mut self, space: Space, bytes: u64, high: u32, number: u64) {
        if self.block_bytes.len() <= high as usize {
            self.block_bytes.resize(high as usize + 1, bytes);
            self.groups.resize(high as usize + 1, block_group(&space, self.group));
        }
        if let (MetadataObject::File(file), true) = (space.object, self.viewer.deletes()) {
            let place = Place { high, first: number >> 32 << 32, bytes, inode: space.inode };
            let places = self.of_file.entry(file).or_default();
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }

    /// Notes for each reference from `first` on, to these blocks, which blocks of the former class hold the same bytes.
    fn look_elsewhere(&mut self, piece: &Piece, blocks: Blocks, first: usize, former: Former, out: &mut Expanded) {
        let bytes = piece.offset..piece.offset.saturating_add(piece.length);
        for (index, number) in (first..).zip(blocks.numbers()) {
            let start = number.saturating_mul(piece.block);
            let (from, to) = (start.max(bytes.start), start.saturating_add(piece.block).min(bytes.end));
            let begin = out.event_keys.len();
            let same = Blocks::of(former.block, from, to.saturating_sub(from));
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hotset_core::classify::{Rule, Rules};
    use hotset_core::random::Rng;
    use hotset_core::request::Op;
    use hotset_core::view::BlockSize;
    use hotset_trace::{Addressing, Batch, Meta};

    use super::*;
    use crate::references::References;
    use crate::references::numbering::{self, Numbering};
    use crate::{Deletes, Maps, Options};

    /// The plain view of requests.
    fn plain(meta: &Meta, options: &Options, requests: &[Request]) -> References {
        let (mut expander, mut numbering) = (options.expander(meta), Numbering::default());
        let (mut rest, mut expanded) = (requests, Expanded::default());
        while !rest.is_empty() {
            expanded.clear();
            expander.expand(&mut rest, &mut expanded).unwrap();
            numbering.append(&expanded).unwrap();
        }
        numbering.finish()
    }

    /// The view of requests that distinguishes small files from large ones.
    fn shown(meta: &Meta, options: &Options, requests: &[Request]) -> References {
        let rule = Rule { class: "large".into(), min_size: Some(10_000), ..Rule::default() };
        let view = View { rules: Some(Rules::new(vec![rule]).unwrap()), ..View::default() };
        let mut held = Requests::new(meta, options);
        held.append(&Batch { requests: requests.to_vec(), ..Batch::new() });
        numbering::show(&held, &view, "test").unwrap()
    }

    /// Requests of every kind to places near and far, or to objects with ids of any size.
    fn requests(random: &mut Rng, addressing: Addressing, count: u32) -> Vec<Request> {
        let request = |_| {
            let near = u64::from(random.below(50));
            let offset = match (addressing, random.below(20)) {
                (Addressing::Objects, _) => near.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                (_, 0) => near << 45,
                (_, 1) => u64::MAX - near * 1000,
                _ => near * 1000,
            };
            let file = if addressing == Addressing::Objects { 0 } else { random.below(5) };
            let length = if random.below(10) == 0 { 0 } else { random.below(30_000) };
            let op = Op::ALL[random.below(Op::ALL.len() as u32) as usize];
            Request { op: op as u8, file, offset, length, app: random.below(3), ..Request::default() }
        };
        (0..count).map(request).collect()
    }

    #[test]
    fn a_view_that_only_classifies_cuts_as_the_plain_one_does() {
        let mut random = Rng::new(7);
        for addressing in [Addressing::Bytes { unit: None }, Addressing::Objects] {
            let meta = Meta { format: "test", addressing, has_time: false, has_ops: true, sample: None };
            for block in [BlockSize::Bytes(4096), BlockSize::Bytes(3000), BlockSize::Object] {
                for (maps, deletes) in [(Maps::All, Deletes::Apply), (Maps::None, Deletes::Ignore)] {
                    let options = Options { block: Some(block), maps, deletes, ..Options::default() };
                    let requests = requests(&mut random, addressing, 2000);
                    let (plain, shown) = (plain(&meta, &options, &requests), shown(&meta, &options, &requests));
                    let case = format!("{addressing:?} {block:?} {maps:?} {deletes:?}");
                    assert_eq!(plain.ids(), shown.ids(), "{case}");
                    assert_eq!(lost(&plain), lost(&shown), "{case}");
                    assert_eq!(lost(&plain).is_empty(), deletes == Deletes::Ignore, "{case}");
                }
            }
        }
    }

    /// By position: the blocks that are lost there, of those that were referenced since they were lost last.
    fn lost(references: &References) -> Vec<(u64, Vec<u32>)> {
        let window = references.window();
        let (mut at, mut known) = (0, BTreeSet::<u32>::new());
        let mut lost = Vec::new();
        for event in window.events {
            known.extend(&window.keys[at..event.at as usize]);
            at = event.at as usize;
            let blocks = &window.event_keys[event.keys.clone()];
            let mut blocks: Vec<u32> = blocks.iter().copied().filter(|block| known.remove(block)).collect();
            blocks.sort_unstable();
            lost.push((event.at, blocks));
        }
        lost.retain(|(_, blocks)| !blocks.is_empty());
        lost
    }
}
