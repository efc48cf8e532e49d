//! `vscsi`: binary traces of VMware's virtual SCSI layer, little-endian, in two layouts.
//!
//! | version | record |
//! |---|---|
//! | 1, 32 bytes | `u32 serial, u32 bytes, u32 segments, u16 command, u16 version, u64 LBA, u64 µs` |
//! | 2, 40 bytes | `u16 command, u16 version, u32 serial, u32 bytes, u32 segments, u64 LBA, u64 µs, u64 response` |
//!
//! The version is the high byte of its field. Commands other than reads and writes are left out and counted.

use hotset_core::request::Request;

use super::{Confidence, Format, Head, OpenOptions, Opened};
use crate::{
    Addressing, Batch, Meta, TraceError,
    error::Place,
    input::Input,
    runner::{
        Malformed, push_range,
        records::{RecordFormat, Records},
        scsi_op, sector_offset,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "vscsi",
    summary: "binary records of VMware's vscsiStats, both versions",
    example: "u32 serial, u32 bytes, u32 segments, u16 command, u16 version, u64 LBA, u64 us",
    sample: &[
        0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0x2a, 0, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, //
        1, 0, 0, 0, 0, 16, 0, 0, 1, 0, 0, 0, 0x28, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0, 0, 201, 0, 0, 0, 0, 0, 0, 0,
    ],
    detect,
    open,
};

const BYTES_1: usize = 32;
const BYTES_2: usize = 40;
const MICROSECOND: u64 = 1000;

/// The traces of one version.
#[derive(Default)]
struct Vscsi {
    left_out: u64,
}

const META: Meta =
    Meta { format: "vscsi", addressing: Addressing::Bytes { unit: None }, has_time: true, has_ops: true, sample: None };

/// What both versions tell.
struct Command {
    code: u16,
    version: u16,
    bytes: u32,
    lba: u64,
    microseconds: u64,
}

impl RecordFormat<BYTES_1> for Vscsi {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn record(&mut self, record: &[u8; BYTES_1], batch: &mut Batch) -> Result<(), Malformed> {
        self.command(version_1(record), 1, batch)
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks()
    }
}

impl RecordFormat<BYTES_2> for Vscsi {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn record(&mut self, record: &[u8; BYTES_2], batch: &mut Batch) -> Result<(), Malformed> {
        self.command(version_2(record), 2, batch)
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks()
    }
}

impl Vscsi {
    #[inline]
    fn command(&mut self, command: Command, version: u16, batch: &mut Batch) -> Result<(), Malformed> {
        let Some(time) = command.microseconds.checked_mul(MICROSECOND).filter(|_| command.version >> 8 == version)
        else {
            return Err(format!(
                "found a record of version {} at {} microseconds; expected version {version} and a time below 2^64 ns",
                command.version >> 8,
                command.microseconds
            )
            .into());
        };
        let Some(op) = scsi_op(u64::from(command.code)) else {
            self.left_out += 1;
            return Ok(());
        };
        let offset = sector_offset(command.lba)?;
        push_range(batch, Request { time, offset, op: op as u8, ..Request::default() }, command.bytes.into(), None)
    }

    fn remarks(&self) -> Vec<String> {
        match self.left_out {
            0 => Vec::new(),
            left_out => vec![format!("{left_out} SCSI commands that are neither reads nor writes were left out")],
        }
    }
}

#[inline]
fn version_1(record: &[u8; BYTES_1]) -> Command {
    Command {
        code: u16_at(record, 12),
        version: u16_at(record, 14),
        bytes: u32_at(record, 4),
        lba: u64_at(record, 16),
        microseconds: u64_at(record, 24),
    }
}

#[inline]
fn version_2(record: &[u8; BYTES_2]) -> Command {
    Command {
        code: u16_at(record, 0),
        version: u16_at(record, 2),
        bytes: u32_at(record, 8),
        lba: u64_at(record, 16),
        microseconds: u64_at(record, 24),
    }
}

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"))
}

/// The version that the first record claims.
fn version_of(bytes: &[u8]) -> Option<u16> {
    if let Some(record) = bytes.first_chunk()
        && version_1(record).version >> 8 == 1
    {
        return Some(1);
    }
    bytes.first_chunk().filter(|record| version_2(record).version >> 8 == 2).map(|_| 2)
}

fn open(mut input: Input, options: &OpenOptions) -> Opened {
    match version_of(input.at_least(BYTES_2)?) {
        Some(1) => Ok(Box::new(Records::<_, BYTES_1>::new(input, Vscsi::default(), options.skip_bad))),
        Some(_) => Ok(Box::new(Records::<_, BYTES_2>::new(input, Vscsi::default(), options.skip_bad))),
        None => {
            let message = "found no first record of version 1 (32 bytes) or 2 (40 bytes); expected a vSCSI trace";
            Err(TraceError::new(input.path(), Place::Byte(0), message))
        }
    }
}

fn detect(head: &Head) -> Confidence {
    let fits = match version_of(head.bytes) {
        Some(1) => head.bytes.as_chunks().0.iter().map(version_1).all(|command| command.version >> 8 == 1),
        Some(_) => head.bytes.as_chunks().0.iter().map(version_2).all(|command| command.version >> 8 == 2),
        None => false,
    };
    // One record would fit by accident in one of a hundred binary files.
    match fits && !head.is_text() {
        true if head.name.ends_with(".vscsi") || head.bytes.len() >= 4 * BYTES_2 => Confidence::Sure,
        true => Confidence::Possible,
        false => Confidence::No,
    }
}

#[cfg(test)]
mod tests {
    use hotset_core::request::Op;

    use super::{
        super::testing::{read, refused, skipping},
        *,
    };

    fn record_1(command: u16, lba: u64, microseconds: u64) -> Vec<u8> {
        let numbers = [9u32, 4096, 1].map(u32::to_le_bytes).concat();
        let codes = [command, 0x0100].map(u16::to_le_bytes).concat();
        [numbers, codes, lba.to_le_bytes().to_vec(), microseconds.to_le_bytes().to_vec()].concat()
    }

    fn record_2(command: u16, lba: u64, microseconds: u64) -> Vec<u8> {
        let numbers = [9u32, 4096, 1].map(u32::to_le_bytes).concat();
        let codes = [command, 0x0200].map(u16::to_le_bytes).concat();
        [codes, numbers, [lba, microseconds, 77].map(u64::to_le_bytes).concat()].concat()
    }

    #[test]
    fn both_versions_tell_the_same() {
        for record in [record_1 as fn(u16, u64, u64) -> Vec<u8>, record_2] {
            let whole = read(&FORMAT, &[record(0x2a, 3, 5), record(0x88, 4, 6)].concat());
            let [write, read] = whole.requests[..] else { panic!() };
            assert_eq!((write.op(), write.offset, write.length, write.time), (Op::Write, 1536, 4096, 5000));
            assert_eq!((read.op(), read.offset, read.time), (Op::Read, 2048, 6000));
        }
    }

    #[test]
    fn other_commands_are_left_out_and_told_of() {
        let whole = read(&FORMAT, &[record_1(0x28, 3, 5), record_1(0x35, 0, 6)].concat());
        assert_eq!((whole.requests.len(), whole.skipped), (1, 0));
        assert_eq!(whole.remarks, ["1 SCSI commands that are neither reads nor writes were left out"]);
    }

    #[test]
    fn errors_name_the_byte() {
        assert_eq!(
            refused(&FORMAT, &[0; 64]),
            "t, byte 0: found no first record of version 1 (32 bytes) or 2 (40 bytes); expected a vSCSI trace"
        );
        let mixed = [record_1(0x28, 3, 5), record_2(0x28, 3, 5)].concat();
        assert!(refused(&FORMAT, &mixed).starts_with("t, byte 32: found a record of version 0 at "));
        let far = [record_1(0x28, u64::MAX, 5), record_1(0x28, 0, u64::MAX)];
        assert!(
            refused(&FORMAT, &far[0]).contains("byte 0: found 1 blocks of 512 bytes from block 18446744073709551615")
        );
        assert!(refused(&FORMAT, &far[1]).contains("expected version 1 and a time below 2^64 ns"));
        assert_eq!(skipping(&FORMAT, &far.concat()).skipped, 2);
        let cut = &record_2(0x28, 3, 5).repeat(2)[..70];
        assert_eq!(refused(&FORMAT, cut), "t, byte 40: truncated: found 30 bytes of a last record; expected 40");
    }
}
