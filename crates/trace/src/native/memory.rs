//! `PAGE` and `OBJS` sections: references to memory pages, and what happened to memory objects.

use super::{
    Fault,
    bytes::{Fields, get_varint, put_string, put_varint, unzigzag, zigzag},
};
use crate::memory::{MOST_PAGES, ObjectEvent, ObjectOp, PageRun};

/// Runs in a `PAGE` section, at most.
pub(super) const BLOCK_RUNS: usize = 64 * 1024;

/// The fields before the columns of a `PAGE` section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageHead {
    /// Number of the first run.
    pub(super) first: u64,
    /// References before it.
    pub(super) references: u64,
    /// Instructions executed up to the end of the block; 0 if they were not counted.
    pub(super) instructions: u64,
}

/// The content of a `PAGE` section.
pub(super) fn encode_pages(head: &PageHead, runs: &[PageRun]) -> Vec<u8> {
    let (mut pages, mut counts, mut before) = (Vec::new(), Vec::new(), 0);
    for run in runs {
        put_varint(&mut pages, zigzag(run.page.wrapping_sub(before)));
        before = run.page;
        put_varint(&mut counts, (run.references - 1) << 1 | u64::from(run.writes > 0));
        if run.writes > 0 {
            put_varint(&mut counts, run.writes - 1);
        }
    }
    let mut out = Vec::with_capacity(32 + pages.len() + counts.len());
    for number in [head.first, head.references, head.instructions] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&(runs.len() as u32).to_le_bytes());
    out.extend_from_slice(&(pages.len() as u32).to_le_bytes());
    out.append(&mut pages);
    out.append(&mut counts);
    out
}

/// Reads a `PAGE` section; its runs replace those of `runs`.
pub(super) fn decode_pages(raw: &[u8], runs: &mut Vec<PageRun>) -> Result<PageHead, Fault> {
    runs.clear();
    let mut fields = Fields::new(raw);
    let head = PageHead { first: fields.u64()?, references: fields.u64()?, instructions: fields.u64()? };
    let (count, length) = (fields.u32()? as usize, fields.u32()? as usize);
    if count == 0 || count > BLOCK_RUNS {
        return Err(format!("a block of pages has {count} runs; expected 1 to {BLOCK_RUNS}"));
    }
    let pages = fields.take(length)?;
    let counts = fields.take(fields.left())?;
    let (mut at, mut behind, mut page) = (0, 0, 0u64);
    for _ in 0..count {
        let run = decode_run(pages, &mut at, counts, &mut behind, page)?;
        page = run.page;
        runs.push(run);
    }
    match (at == pages.len(), behind == counts.len()) {
        (true, true) => Ok(head),
        _ => Err(format!("a block of pages is longer than its {count} runs")),
    }
}

#[inline(always)]
fn decode_run(pages: &[u8], at: &mut usize, counts: &[u8], behind: &mut usize, before: u64) -> Result<PageRun, Fault> {
    let short = || "a block of pages ends before its last run".to_owned();
    let page = before.wrapping_add(unzigzag(get_varint(pages, at).ok_or_else(short)?));
    let folded = get_varint(counts, behind).ok_or_else(short)?;
    let references = (folded >> 1) + 1;
    let writes = match folded & 1 {
        0 => 0,
        _ => get_varint(counts, behind).ok_or_else(short)?.saturating_add(1),
    };
    if page >= MOST_PAGES || writes > references {
        return Err(format!(
            "found {references} references to page {page}, {writes} of them writes; expected a page below 2^52"
        ));
    }
    Ok(PageRun { page, references, writes })
}

/// The content of an `OBJS` section.
pub(super) fn encode_objects(events: &[ObjectEvent]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, events.len() as u64);
    for event in events {
        put_varint(&mut out, event.at);
        out.push(match event.op {
            ObjectOp::Allocate => 0,
            ObjectOp::Free => 1,
            ObjectOp::Global => 2,
        });
        put_varint(&mut out, event.address);
        put_varint(&mut out, event.bytes);
        put_string(&mut out, &event.caller);
    }
    out
}

/// Appends the events of an `OBJS` section.
pub(super) fn decode_objects(raw: &[u8], events: &mut Vec<ObjectEvent>) -> Result<(), Fault> {
    let mut fields = Fields::new(raw);
    for _ in 0..fields.varint()? {
        let at = fields.varint()?;
        let op = match fields.u8()? {
            0 => ObjectOp::Allocate,
            1 => ObjectOp::Free,
            2 => ObjectOp::Global,
            other => return Err(format!("an object event is of kind {other}; expected 0 to 2")),
        };
        let (address, bytes) = (fields.varint()?, fields.varint()?);
        if let Some(last) = events.last().filter(|last| last.at > at) {
            return Err(format!(
                "found an object event at reference {at} behind one at {}; expected them in order",
                last.at
            ));
        }
        events.push(ObjectEvent { at, op, address, bytes, caller: fields.string()? });
    }
    fields.end()
}
