//! From requests to references in the plain view: a reference is one block of one request.
//!
//! A short record may ask for a long range, so ranges are cut where a piece is full, and continue in the next
//! one.

pub(crate) mod expire;
pub(crate) mod options;
pub(crate) mod requests;
pub(crate) mod scan;
pub(crate) mod show;

use hotset_core::classify::Class;
use hotset_core::request::{FLAG_CONTINUED, FLAG_EXPIRED, Op, Request};
use hotset_core::view::{BlockSize, Blocks, Cutting, Segments};

use crate::bits::Bits;
use crate::error::SimError;
use crate::window::{Event, WINDOW, What};

/// References that are cut at a time, at most: those of a window.
pub(crate) const PIECE: usize = WINDOW;

/// References that have been cut but not renumbered yet.
#[derive(Default)]
pub(crate) struct Expanded {
    /// Block keys, one a reference.
    pub keys: Vec<u64>,
    /// Set where the reference writes.
    pub writes: Bits,
    /// Set where the reference goes on with the request before it.
    pub continues: Bits,
    /// Set where the reference is not counted.
    pub uncounted: Bits,
    /// Set where the reference reads the block that its application referred to just before.
    pub repeats: Bits,
    /// The application of each run of references, with the index at which the run begins.
    pub apps: Vec<(u64, u32)>,
    /// The time of each run of references that were made at the same time, with the index at which the run begins;
    /// empty unless asked for.
    pub times: Vec<(u64, u64)>,
    /// Bytes of the object that each reference is to; empty unless asked for.
    pub sizes: Vec<u32>,
    /// The class of each run of references, in the same way; empty in the plain view.
    pub classes: Vec<(u64, Class)>,
    /// What happens between references; positions are indices.
    pub events: Vec<Event>,
    /// The addresses in events.
    pub event_keys: Vec<u64>,
}

/// What references of one request have in common.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pub app: u32,
    pub write: bool,
    pub is_counted: bool,
    /// The first of them goes on with the request before it.
    pub continues: bool,
}

impl Mark {
    #[inline(always)]
    fn of(request: &Request, continues: bool) -> Mark {
        let continues = continues || request.flags & FLAG_CONTINUED != 0;
        Mark { app: request.app, write: request.op == Op::Write as u8, is_counted: request.is_counted(), continues }
    }
}

impl Expanded {
    /// True if a piece takes no more.
    pub fn is_full(&self) -> bool {
        self.keys.len() >= PIECE
    }

    pub fn clear(&mut self) {
        self.keys.clear();
        self.writes.clear();
        self.continues.clear();
        self.uncounted.clear();
        self.repeats.clear();
        self.apps.clear();
        self.times.clear();
        self.sizes.clear();
        self.classes.clear();
        self.events.clear();
        self.event_keys.clear();
    }

    /// True if nothing is referenced and nothing happens.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.events.is_empty()
    }

    /// Notes what the references from `start` on, of which there are some, have in common.
    #[inline(always)]
    pub fn mark(&mut self, start: u64, mark: Mark, in_hand: &mut InHand) {
        let end = self.keys.len() as u64;
        let (first, last) = (self.keys[start as usize], self.keys[end as usize - 1]);
        // The blocks of one request differ, so only its first can be the one in hand.
        if in_hand.replace(mark.app, last) == Some(first) && !mark.write {
            self.repeats.mark(start, start + 1);
        }
        if mark.write {
            self.writes.mark(start, end);
        }
        if !mark.is_counted {
            self.uncounted.mark(start, end);
        }
        if mark.continues {
            self.continues.mark(start, end);
        } else if end - start > 1 {
            self.continues.mark(start + 1, end);
        }
        if self.apps.last().is_none_or(|&(_, app)| app != mark.app) {
            self.apps.push((start, mark.app));
        }
    }

    /// Notes the time of the references from `start` on.
    #[inline(always)]
    pub fn mark_time(&mut self, start: u64, time: u64) {
        if self.times.last().is_none_or(|&(_, last)| last != time) {
            self.times.push((start, time));
        }
    }
}

/// By application: the block in hand, to which it referred last.
#[derive(Default)]
pub(crate) struct InHand(Vec<Option<u64>>);

impl InHand {
    /// The application refers to this block now; gives the one before.
    #[inline(always)]
    fn replace(&mut self, app: u32, key: u64) -> Option<u64> {
        let app = app as usize;
        if app >= self.0.len() {
            self.0.resize(app + 1, None);
        }
        self.0[app].replace(key)
    }
}

/// Facts of references that are noted on demand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kept {
    /// Their times.
    pub times: bool,
    /// Bytes of objects that are a block each.
    pub sizes: bool,
}

/// True of a read without flags.
#[inline(always)]
fn is_plain_read(request: &Request) -> bool {
    request.op == Op::Read as u8 && request.flags == 0
}

/// Cuts requests into block keys.
pub(crate) struct Expander {
    cutting: Cutting,
    /// Additional facts.
    kept: Kept,
    segments: Segments,
    /// Blocks of the request at hand that earlier pieces hold.
    done: u64,
    in_hand: InHand,
}

impl Expander {
    pub fn new(cutting: Cutting, kept: Kept) -> Expander {
        Expander { cutting, kept, segments: Segments::default(), done: 0, in_hand: InHand::default() }
    }

    /// Appends references of `requests` to `out` until that is full, and removes completely cut requests from the
    /// front. The rest must be passed again: its first request may be cut in part. Only data operations reference
    /// blocks.
    pub fn expand(&mut self, requests: &mut &[Request], out: &mut Expanded) -> Result<(), SimError> {
        let are_blocks = self.cutting.objects && self.cutting.block() == BlockSize::Object;
        while let Some((request, rest)) = requests.split_first()
            && !out.is_full()
        {
            if are_blocks && is_plain_read(request) {
                let plain = self.cut_plain(requests, out);
                *requests = &requests[plain..];
                continue;
            }
            if self.cutting.is_data(request) {
                let blocks = self.cutting.blocks(request);
                let room = (PIECE - out.keys.len()) as u64;
                let now = room.min(blocks.count - self.done);
                if now > 0 {
                    self.cut(request, Blocks { first: blocks.first + self.done, count: now }, out)?;
                    self.done += now;
                }
                if self.done < blocks.count {
                    return Ok(());
                }
            } else if self.cutting.deletes || request.flags & FLAG_EXPIRED != 0 {
                self.invalidate(request, out)?;
            }
            self.done = 0;
            *requests = rest;
        }
        Ok(())
    }

    /// Appends the leading requests that are plain reads of one application, each of an object that is a block, as far
    /// as there is room. Gives their number, at least 1. The same as [`cut`](Expander::cut) for each, but in one loop
    /// without decisions: most traces of objects are nothing else.
    fn cut_plain(&mut self, requests: &[Request], out: &mut Expanded) -> usize {
        let (start, app) = (out.keys.len(), requests[0].app);
        let leading = &requests[..requests.len().min(PIECE - start)];
        let mut last = self.in_hand.replace(app, requests[0].offset);
        out.keys.reserve(leading.len());
        for request in leading {
            if !is_plain_read(request) || request.app != app {
                break;
            }
            if last == Some(request.offset) {
                let at = out.keys.len() as u64;
                out.repeats.mark(at, at + 1);
            }
            last = Some(request.offset);
            out.keys.push(request.offset);
        }
        let plain = out.keys.len() - start;
        self.in_hand.replace(app, out.keys[start + plain - 1]);
        if out.apps.last().is_none_or(|&(_, before)| before != app) {
            out.apps.push((start as u64, app));
        }
        if self.kept.sizes {
            out.sizes.extend(leading[..plain].iter().map(|request| request.length));
        }
        if self.kept.times {
            (start..).zip(&leading[..plain]).for_each(|(at, request)| out.mark_time(at as u64, request.time));
        }
        plain
    }

    /// Appends blocks of a request.
    #[inline(always)]
    fn cut(&mut self, request: &Request, blocks: Blocks, out: &mut Expanded) -> Result<(), SimError> {
        let start = out.keys.len() as u64;
        match (self.cutting.block(), self.cutting.objects) {
            (BlockSize::Object, true) => {
                out.keys.push(request.offset);
                if self.kept.sizes {
                    out.sizes.push(request.length);
                }
            }
            (BlockSize::Bytes(_), true) => {
                let segment = self.segments.number(0, request.offset)?;
                out.keys.extend(blocks.numbers().map(|block| u64::from(segment) << 32 | block));
            }
            (_, false) => {
                for block in blocks.numbers() {
                    out.keys.push(self.segments.address(request.file, block)?);
                }
            }
        }
        out.mark(start, Mark::of(request, self.done > 0), &mut self.in_hand);
        if self.kept.times {
            out.mark_time(start, request.time);
        }
        Ok(())
    }

    /// The blocks of a file that is deleted, or cut at a byte, are worth nothing any more from that byte on.
    #[cold]
    fn invalidate(&mut self, request: &Request, out: &mut Expanded) -> Result<(), SimError> {
        let Some(from) = self.cutting.lost(request) else { return Ok(()) };
        let begin = out.event_keys.len();
        let what = match (self.cutting.block(), self.cutting.objects) {
            (BlockSize::Object, true) => {
                out.event_keys.push(request.offset);
                What::Remove
            }
            (BlockSize::Bytes(_), true) => {
                out.event_keys.push(u64::from(self.segments.number(0, request.offset)?) << 32);
                What::RemoveFrom
            }
            (_, false) => {
                // The block that the cut is in stays.
                let block = from.div_ceil(self.cutting.block().bytes().unwrap_or(1));
                for (high, first) in self.segments.of_file(request.file) {
                    if let Ok(low) = u32::try_from(block.max(first) - first) {
                        out.event_keys.push(u64::from(high) << 32 | u64::from(low));
                    }
                }
                What::RemoveFrom
            }
        };
        let Request { app, time, .. } = *request;
        out.events.push(Event { at: out.keys.len() as u64, app, time, what, keys: begin..out.event_keys.len() });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, file: u32, offset: u64, length: u32) -> Request {
        Request { op: op as u8, file, offset, length, ..Request::default() }
    }

    fn keys(objects: bool, block: BlockSize, mut requests: &[Request]) -> Vec<u64> {
        let mut out = Expanded::default();
        Expander::new(Cutting::new(block, objects), Kept::default()).expand(&mut requests, &mut out).unwrap();
        assert!(requests.is_empty());
        out.keys
    }

    #[test]
    fn a_range_touches_first_to_last_block() {
        let block = BlockSize::Bytes(4096);
        assert_eq!(keys(false, block, &[request(Op::Read, 0, 4095, 2)]), [0, 1]);
        assert_eq!(keys(false, block, &[request(Op::Read, 0, 4096, 4096)]), [1]);
        assert!(keys(false, block, &[request(Op::Read, 0, 7, 0)]).is_empty());
        assert_eq!(
            keys(false, BlockSize::Bytes(3000), &[request(Op::Write, 1, 2999, 3002)]),
            [1 << 32, 1 << 32 | 1, 1 << 32 | 2]
        );
    }

    /// Plain reads are cut in a loop of their own; one that is split by any other request has the same references.
    #[test]
    fn plain_reads_are_cut_like_all_others() {
        let mut random = hotset_core::random::Rng::new(2);
        let plain: Vec<Request> = (0..3 * PIECE as u64 + 77)
            .map(|at| {
                let app = random.below(50) / 49;
                let (offset, length) = (u64::from(random.below(5)), random.below(9));
                let flags = if random.below(100) == 0 { hotset_core::request::FLAG_UNCOUNTED } else { 0 };
                Request { app, time: at / 7, flags, ..request(Op::Read, 0, offset, length) }
            })
            .collect();
        let kept = Kept { times: true, sizes: true };
        // An object is one block here, too, and every request is cut by itself.
        let cut = |block, length: Option<u32>| {
            let requests: Vec<Request> =
                plain.iter().map(|one| Request { length: length.unwrap_or(one.length), ..*one }).collect();
            let (mut expander, mut rest) = (Expander::new(Cutting::new(block, true), kept), &requests[..]);
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                let mut out = Expanded::default();
                expander.expand(&mut rest, &mut out).unwrap();
                out.uncounted.reach(PIECE as u64);
                out.repeats.reach(PIECE as u64);
                let bits = (out.uncounted.words().to_vec(), out.repeats.words().to_vec());
                pieces.push((out.keys.len(), bits, out.apps, out.times));
            }
            pieces
        };
        assert_eq!(cut(BlockSize::Object, None), cut(BlockSize::Bytes(4096), Some(1)));
        let (mut rest, mut out) = (&plain[..10], Expanded::default());
        Expander::new(Cutting::new(BlockSize::Object, true), kept).expand(&mut rest, &mut out).unwrap();
        assert!(out.sizes.iter().eq(plain[..10].iter().map(|request| &request.length)));
        assert!(out.keys.iter().eq(plain[..10].iter().map(|request| &request.offset)));
    }

    #[test]
    fn only_data_operations_reference_blocks() {
        let requests = Op::ALL.map(|op| request(op, 0, 0, 1));
        assert_eq!(keys(false, BlockSize::Bytes(4096), &requests).len(), 3);
    }

    #[test]
    fn blocks_far_out_keep_keys_of_their_own() {
        let far = [
            request(Op::Read, 0, 1 << 62, 1),
            request(Op::Read, 1, 1 << 62, 1),
            request(Op::Read, 0, 0, 1),
            request(Op::Read, 0, u64::MAX, 9),
        ];
        let keys = keys(false, BlockSize::Bytes(512), &far);
        let distinct: std::collections::HashSet<&u64> = keys.iter().collect();
        assert_eq!((keys.len(), distinct.len()), (4, 4));
    }

    #[test]
    fn an_object_is_one_block_or_as_many_as_its_size_needs() {
        let sized = [request(Op::Read, 0, u64::MAX, 10_000), request(Op::Read, 0, 5, 0)];
        assert_eq!(keys(true, BlockSize::Object, &sized), [u64::MAX, 5]);
        assert_eq!(keys(true, BlockSize::Bytes(4096), &sized).len(), 4);
    }

    /// Half a piece, a range of two and a half pieces, and a write behind it.
    #[test]
    fn a_long_range_is_cut_a_piece_at_a_time() {
        let piece = PIECE as u64;
        let bytes = |blocks: u64| (blocks * 512) as u32;
        let requests = [
            request(Op::Read, 0, 0, bytes(piece / 2)),
            request(Op::Read, 1, 512, bytes(piece * 5 / 2)),
            request(Op::Write, 2, 0, 512),
        ];
        let mut expander = Expander::new(Cutting::new(BlockSize::Bytes(512), false), Kept::default());
        assert_eq!(requests.map(|request| expander.cutting.references(&request)), [piece / 2, piece * 5 / 2, 1]);
        let (mut rest, mut out) = (&requests[..], Expanded::default());
        let (mut keys, mut begins, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        while !rest.is_empty() {
            out.clear();
            expander.expand(&mut rest, &mut out).unwrap();
            assert!(out.keys.len() <= PIECE);
            out.continues.reach(piece);
            out.writes.reach(piece);
            let at = keys.len();
            let of = |bits: &Bits, set: bool| {
                let found = (0..out.keys.len()).filter(|&bit| crate::bits::get(bits.words(), bit as u64) == set);
                found.map(|bit| at + bit).collect::<Vec<_>>()
            };
            begins.extend(of(&out.continues, false));
            writes.extend(of(&out.writes, true));
            keys.extend_from_slice(&out.keys);
        }
        let blocks = (0..piece / 2).chain((1..=piece * 5 / 2).map(|block| 1 << 32 | block)).chain([2 << 32]);
        assert!(keys.iter().copied().eq(blocks));
        assert_eq!((begins, writes), (vec![0, PIECE / 2, 3 * PIECE], vec![3 * PIECE]));
    }
}
