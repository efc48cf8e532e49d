//! `hotset import` to libCacheSim's format, where the name of the output ends with `.lcs`.

use std::fs::File;
use std::path::Path;

use hotset_core::request::{Op, Request};
use hotset_core::view::{BlockSize, Cutting, Maps};
use hotset_trace::formats::lcs::{LcsOp, LcsRecord, LcsWriter};
use hotset_trace::{Addressing, Batch, Meta};

use super::Sink;
use crate::failure::Failure;
use crate::output::human;

/// Bits of an object's number that are the block's, of a file; the others are the file's.
const BLOCK_BITS: u32 = 40;

/// Writes objects as they are, and files as objects of a block each.
pub(super) struct LcsSink<'a> {
    writer: LcsWriter<'a>,
    cutting: Cutting,
    /// Bytes of a block of a file; `None` where objects are whole.
    block: Option<u32>,
    /// Requests that the format cannot tell: metadata, and deletions of files.
    left_out: u64,
}

impl<'a> LcsSink<'a> {
    pub(super) fn new(file: &'a mut File, path: &Path, meta: &Meta) -> Result<LcsSink<'a>, Failure> {
        let mut cutting = Cutting::new(meta.block_size(), meta.addressing == Addressing::Objects);
        cutting.maps = Maps::Auto;
        let block = match meta.block_size() {
            BlockSize::Object => None,
            BlockSize::Bytes(bytes) => Some(bytes as u32),
        };
        Ok(LcsSink { writer: LcsWriter::new(file, path)?, cutting, block, left_out: 0 })
    }

    fn put(&mut self, request: &Request, ttl: u64) -> Result<(), Failure> {
        let op = match request.op() {
            Op::Unlink if self.block.is_none() && !request.failed() => LcsOp::Delete,
            _ if !self.cutting.is_data(request) => {
                self.left_out += 1;
                return Ok(());
            }
            Op::Write => LcsOp::Set,
            _ => LcsOp::Get,
        };
        let record = LcsRecord {
            time: request.time,
            object: request.offset,
            bytes: request.length,
            op,
            tenant: request.app,
            ttl,
        };
        let Some(block) = self.block else { return Ok(self.writer.push(&record)?) };
        let blocks = self.cutting.blocks(request);
        if request.file >= 1 << (64 - BLOCK_BITS) || blocks.first.saturating_add(blocks.count) > 1 << BLOCK_BITS {
            let message = format!(
                "lcs: found block {} of file {}; expected up to 2^40 blocks of 2^24 files",
                blocks.first, request.file
            );
            return Err(Failure::Work(message));
        }
        for number in blocks.numbers() {
            let object = u64::from(request.file) << BLOCK_BITS | number;
            self.writer.push(&LcsRecord { object, bytes: block, ..record })?;
        }
        Ok(())
    }
}

impl Sink for LcsSink<'_> {
    fn push(&mut self, batch: &Batch, _: &hotset_trace::Tables) -> Result<(), Failure> {
        (0..batch.len()).try_for_each(|at| self.put(&batch.requests[at], batch.ttl(at)))
    }

    fn finish(self: Box<Self>, _: &hotset_trace::Tables) -> Result<String, Failure> {
        let (requests, objects) = (self.writer.requests(), self.writer.objects());
        self.writer.finish()?;
        let what = match self.block {
            None => human::counted(objects, "object"),
            Some(block) => format!("{} of {} bytes each", human::counted(objects, "object"), block),
        };
        let left_out = match self.left_out {
            0 => String::new(),
            count => format!(
                "; {} left out: lcs has data requests and deletions of objects only",
                human::counted(count, "request")
            ),
        };
        Ok(format!("{} to {what}{left_out}", human::counted(requests, "request")))
    }
}
