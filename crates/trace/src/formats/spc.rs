//! `spc`: `ASU,LBA,size,op,time` on a line, as in the traces that the Storage Performance Council and UMass publish. An application
//! storage unit is a file here; LBAs count 512-byte blocks, the size is bytes, the time seconds. Further fields are ignored.

use hotset_core::request::{Op, Request};

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta, Tables,
    runner::{
        Malformed,
        fields::Fields,
        lines::{LineFormat, Lines},
        number::{seconds, unexpected, whole},
        numbering::Numbering,
        push_range, sector_offset,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "spc",
    summary: "ASU, LBA, bytes, op, seconds (Storage Performance Council, UMass)",
    example: "0,20941264,8192,W,0.551706",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, Spc::default(), 1, options.skip_bad))),
};

#[derive(Default)]
struct Spc {
    units: Numbering<u64>,
    tables: Tables,
}

const META: Meta = Meta { format: "spc", addressing: Addressing::Bytes { unit: None }, has_time: true, has_ops: true };

impl LineFormat for Spc {
    fn meta(&self) -> &Meta {
        &META
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    #[inline]
    fn line(&mut self, line: &[u8], batch: &mut Batch) -> Result<(), Malformed> {
        let mut fields = Fields::new(line, b',');
        let unit = fields.number("the application storage unit")?;
        let offset = sector_offset(fields.number("the LBA")?)?;
        let length = fields.number("the size in bytes")?;
        let op = fields.next().unwrap_or_default().trim_ascii();
        let op = parse_op(op).ok_or_else(|| unexpected(op, "the operation, R or W"))?;
        let time = fields.next().unwrap_or_default().trim_ascii();
        let time = seconds(time).ok_or_else(|| unexpected(time, "the time in seconds"))?;
        let file = self.units.of(&unit)?;
        self.tables.name_file(file, || format!("ASU {unit}"));
        push_range(batch, Request { time, offset, file, op: op as u8, ..Request::default() }, length, None)
    }
}

#[inline]
fn parse_op(field: &[u8]) -> Option<Op> {
    match field {
        b"R" | b"r" => Some(Op::Read),
        b"W" | b"w" => Some(Op::Write),
        _ => None,
    }
}

fn detect(head: &Head) -> Confidence {
    let fits = head.all_lines(|line| {
        let fields: Vec<&[u8]> = Fields::new(line, b',').map(<[u8]>::trim_ascii).collect();
        fields.len() >= 5
            && fields[..3].iter().all(|field| whole(field).is_some())
            && parse_op(fields[3]).is_some()
            && seconds(fields[4]).is_some()
    });
    if fits { Confidence::Sure } else { Confidence::No }
}
