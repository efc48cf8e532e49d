//! From requests to references: a reference is one block of one request (DESIGN section 6).

use hotset_core::request::{FLAG_CONTINUED, Op, Request};
use hotset_core::view::Segments;
use hotset_trace::{Addressing, Meta};

use crate::bits::Bits;
use crate::error::SimError;

/// How a trace is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// Blocks of this many bytes.
    Bytes(u64),
    /// Every object is one block, whatever its size.
    Object,
}

impl BlockSize {
    /// What a trace is cut into unless the user says otherwise: its own unit, 4096 bytes without one, whole objects for ids.
    pub fn default_for(meta: &Meta) -> BlockSize {
        match meta.addressing {
            Addressing::Objects => BlockSize::Object,
            Addressing::Bytes { unit } => BlockSize::Bytes(u64::from(unit.unwrap_or(4096))),
        }
    }

    /// Bytes of a block, if it has a size.
    pub fn bytes(self) -> Option<u64> {
        match self {
            BlockSize::Bytes(bytes) => Some(bytes),
            BlockSize::Object => None,
        }
    }
}

/// References that have been cut but not renumbered yet.
#[derive(Default)]
pub(crate) struct Expanded {
    /// Block keys, one a reference.
    pub keys: Vec<u64>,
    /// Set where the reference writes.
    pub writes: Bits,
    /// Set where the reference goes on with the request before it.
    pub continues: Bits,
    /// The application of each run of references, with the index at which the run begins.
    pub apps: Vec<(u64, u32)>,
    /// The time of each run of references that were made at the same time, with the index at which the run begins; empty unless asked for.
    pub times: Vec<(u64, u64)>,
}

impl Expanded {
    pub fn clear(&mut self) {
        self.keys.clear();
        self.writes.clear();
        self.continues.clear();
        self.apps.clear();
        self.times.clear();
    }
}

/// Cuts requests into block keys.
pub(crate) struct Expander {
    block: BlockSize,
    objects: bool,
    maps: bool,
    shift: Option<u32>,
    segments: Segments,
    times: bool,
}

impl Expander {
    pub fn new(meta: &Meta, block: BlockSize, maps: bool) -> Expander {
        let shift = block.bytes().filter(|bytes| bytes.is_power_of_two()).map(u64::trailing_zeros);
        Expander {
            block,
            objects: meta.addressing == Addressing::Objects,
            maps,
            shift,
            segments: Segments::default(),
            times: false,
        }
    }

    /// Also notes the times of references, if `times`.
    pub fn with_times(self, times: bool) -> Expander {
        Expander { times, ..self }
    }

    /// Appends the references of `requests` to `out`. Only data operations reference blocks.
    pub fn expand(&mut self, requests: &[Request], out: &mut Expanded) -> Result<(), SimError> {
        for request in requests {
            let references = match request.op() {
                Op::Read | Op::Write => true,
                Op::Map => self.maps,
                _ => false,
            };
            if references && !request.failed() {
                self.expand_one(request, out)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn expand_one(&mut self, request: &Request, out: &mut Expanded) -> Result<(), SimError> {
        let before = out.keys.len();
        match (self.block, self.objects) {
            (BlockSize::Object, true) => out.keys.push(request.offset),
            (BlockSize::Object, false) => out.keys.push(self.segments.address(request.file, request.offset)?),
            (BlockSize::Bytes(_), true) => self.cut_object(request, out)?,
            (BlockSize::Bytes(_), false) => self.cut_range(request, out)?,
        }
        let count = out.keys.len() - before;
        if count == 0 {
            return Ok(());
        }
        let (start, end) = (before as u64, out.keys.len() as u64);
        if request.op == Op::Write as u8 {
            out.writes.mark(start, end);
        }
        if request.flags & FLAG_CONTINUED != 0 {
            out.continues.mark(start, end);
        } else if count > 1 {
            out.continues.mark(start + 1, end);
        }
        if out.apps.last().is_none_or(|&(_, app)| app != request.app) {
            out.apps.push((start, request.app));
        }
        if self.times && out.times.last().is_none_or(|&(_, time)| time != request.time) {
            out.times.push((start, request.time));
        }
        Ok(())
    }

    fn cut_range(&mut self, request: &Request, out: &mut Expanded) -> Result<(), SimError> {
        if request.length == 0 {
            return Ok(());
        }
        let first = self.divide(request.offset);
        let last = self.divide(request.offset.saturating_add(u64::from(request.length) - 1));
        for block in first..=last {
            let key = self.segments.address(request.file, block)?;
            out.keys.push(key);
        }
        Ok(())
    }

    fn cut_object(&mut self, request: &Request, out: &mut Expanded) -> Result<(), SimError> {
        let last = self.divide(u64::from(request.length.max(1)) - 1);
        let segment = self.segments.number(0, request.offset)?;
        out.keys.extend((0..=last).map(|block| u64::from(segment) << 32 | block));
        Ok(())
    }

    #[inline(always)]
    fn divide(&self, bytes: u64) -> u64 {
        match (self.shift, self.block) {
            (Some(shift), _) => bytes >> shift,
            (None, BlockSize::Bytes(block)) => bytes / block,
            (None, BlockSize::Object) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(addressing: Addressing) -> Meta {
        Meta { format: "test", addressing, has_time: false, has_ops: true }
    }

    fn request(op: Op, file: u32, offset: u64, length: u32) -> Request {
        Request { op: op as u8, file, offset, length, ..Request::default() }
    }

    fn keys(addressing: Addressing, block: BlockSize, requests: &[Request]) -> Vec<u64> {
        let mut out = Expanded::default();
        Expander::new(&meta(addressing), block, true).expand(requests, &mut out).unwrap();
        out.keys
    }

    #[test]
    fn a_range_touches_first_to_last_block() {
        let bytes = Addressing::Bytes { unit: None };
        let block = BlockSize::Bytes(4096);
        assert_eq!(keys(bytes, block, &[request(Op::Read, 0, 4095, 2)]), [0, 1]);
        assert_eq!(keys(bytes, block, &[request(Op::Read, 0, 4096, 4096)]), [1]);
        assert_eq!(keys(bytes, block, &[request(Op::Read, 0, 7, 0)]), []);
        assert_eq!(
            keys(bytes, BlockSize::Bytes(3000), &[request(Op::Write, 1, 2999, 3002)]),
            [1 << 32, 1 << 32 | 1, 1 << 32 | 2]
        );
    }

    #[test]
    fn only_data_operations_reference_blocks() {
        let bytes = Addressing::Bytes { unit: None };
        let requests = Op::ALL.map(|op| request(op, 0, 0, 1));
        assert_eq!(keys(bytes, BlockSize::Bytes(4096), &requests).len(), 3);
    }

    #[test]
    fn blocks_far_out_keep_keys_of_their_own() {
        let bytes = Addressing::Bytes { unit: None };
        let far = [
            request(Op::Read, 0, 1 << 62, 1),
            request(Op::Read, 1, 1 << 62, 1),
            request(Op::Read, 0, 0, 1),
            request(Op::Read, 0, u64::MAX, 9),
        ];
        let keys = keys(bytes, BlockSize::Bytes(512), &far);
        let distinct: std::collections::HashSet<&u64> = keys.iter().collect();
        assert_eq!((keys.len(), distinct.len()), (4, 4));
    }

    #[test]
    fn an_object_is_one_block_or_as_many_as_its_size_needs() {
        let sized = [request(Op::Read, 0, u64::MAX, 10_000), request(Op::Read, 0, 5, 0)];
        assert_eq!(keys(Addressing::Objects, BlockSize::Object, &sized), [u64::MAX, 5]);
        assert_eq!(keys(Addressing::Objects, BlockSize::Bytes(4096), &sized).len(), 4);
    }
}
