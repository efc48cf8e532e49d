//! `blkparse`: the text that blkparse prints by default, `device cpu sequence seconds pid action rwbs sector + count
//! [process]`.
//!
//! Queued requests (action `Q`) are the references: the requests to the device, before they were merged and split.
//! Other actions, discards and requests without a range are left out and counted, the summary at the end is not read. A
//! device is a file here, a process name an application; sectors are 512 bytes. Stacked devices (md, dm) queue a
//! request once each.

use hotset_core::request::{Op, Request};

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta, Tables,
    runner::{
        Malformed, SECTOR_BYTES,
        lines::{LineFormat, Lines, TextLine},
        number::{seconds, unexpected, whole},
        numbering::Numbering,
        push_blocks, text,
        words::Words,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "blkparse",
    summary: "default text of blkparse; the queued (Q) requests count",
    example: "8,0 3 1 0.000000000 697 Q WS 223490 + 8 [kjournald]",
    sample: b"  8,0    3        1     0.000000000   697  Q  WS 223490 + 8 [kjournald]\n\
        8,0 3 2 0.000001829 697 G W 223490 + 8 [kjournald]\n8,16 0 3 0.1 0 Q R 0 + 1 [a b]\n8,0 1 4 0.2 5 Q FN [x]\n\
        CPU0 (8,0):\n Reads Queued: 1, 4KiB\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, BlkParse::default(), 1, options.skip_bad))),
};

#[derive(Default)]
struct BlkParse {
    devices: Numbering,
    processes: Numbering,
    tables: Tables,
    in_summary: bool,
    other_actions: u64,
    without_data: u64,
}

const META: Meta = Meta {
    format: "blkparse",
    addressing: Addressing::Bytes { unit: None },
    has_time: true,
    has_ops: true,
    sample: None,
};

impl LineFormat for BlkParse {
    fn meta(&self) -> &Meta {
        &META
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        let mut words = Words::new(line);
        let device = words.next().unwrap_or_default();
        if !is_device(device) {
            self.in_summary |= begins_summary(line.trim_ascii_start());
            return match self.in_summary {
                true => Ok(()),
                false => Err(unexpected(device, "a device such as `8,0`")),
            };
        }
        words.number("the cpu")?;
        words.number("the sequence number")?;
        let time = words.next().unwrap_or_default();
        let time = seconds(time).ok_or_else(|| unexpected(time, "the time in seconds"))?;
        words.number("the process id")?;
        match words.next() {
            Some(b"Q") => self.queued(device, time, words, line, batch),
            Some(action) if is_action(action) => {
                self.other_actions += 1;
                Ok(())
            }
            action => Err(unexpected(action.unwrap_or_default(), "an action such as Q")),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.other_actions > 0 {
            remarks.push(format!("{} events other than queued requests (Q) were left out", self.other_actions));
        }
        if self.without_data > 0 {
            remarks.push(format!("{} queued discards and requests without data were left out", self.without_data));
        }
        remarks
    }
}

impl BlkParse {
    /// A queued request: `words` goes on behind the action.
    fn queued(
        &mut self,
        device: &[u8],
        time: u64,
        mut words: Words,
        line: TextLine,
        batch: &mut Batch,
    ) -> Result<(), Malformed> {
        let rwbs = words.next().unwrap_or_default();
        let Some(op) = parse_op(rwbs)? else {
            self.without_data += 1;
            return Ok(());
        };
        if words.first_byte() == Some(b'[') {
            self.without_data += 1;
            return Ok(());
        }
        let start = words.number("the first sector")?;
        let plus = words.next().unwrap_or_default();
        if plus != b"+" {
            return Err(unexpected(plus, "`+` and the count of sectors"));
        }
        let count = words.number("the count of sectors")?;
        let process = process_of(line.text());
        let file = self.devices.of(device)?;
        let app = self.processes.of(process)?;
        self.tables.name_file(file, || text(device));
        self.tables.name_app(app, || text(process));
        push_blocks(batch, Request { time, file, app, op: op as u8, ..Request::default() }, start, count, SECTOR_BYTES)
    }
}

/// The operation of an RWBS field; `None` for one that moves no data (discards, bare flushes).
fn parse_op(rwbs: &[u8]) -> Result<Option<Op>, Malformed> {
    if rwbs.is_empty() || !rwbs.iter().all(|byte| b"RWDENFSAMVBUZ".contains(byte)) {
        return Err(unexpected(rwbs, "the kind of request, such as R or WS"));
    }
    Ok(match rwbs {
        _ if rwbs.contains(&b'D') || rwbs.contains(&b'E') => None,
        _ if rwbs.contains(&b'R') => Some(Op::Read),
        _ if rwbs.contains(&b'W') => Some(Op::Write),
        _ => None,
    })
}

/// The name in brackets that ends the line; empty if there is none.
fn process_of(line: &[u8]) -> &[u8] {
    let Some(inside) = line.trim_ascii_end().strip_suffix(b"]") else { return b"" };
    inside.iter().position(|&byte| byte == b'[').map_or(b"", |open| &inside[open + 1..])
}

fn is_device(word: &[u8]) -> bool {
    let comma = word.iter().position(|&byte| byte == b',');
    comma.is_some_and(|comma| whole(&word[..comma]).is_some() && whole(&word[comma + 1..]).is_some())
}

fn is_action(word: &[u8]) -> bool {
    (1..=2).contains(&word.len()) && word.iter().all(u8::is_ascii_alphabetic)
}

fn begins_summary(line: &[u8]) -> bool {
    ["CPU", "Total (", "Throughput (", "Events (", "Skips:"].iter().any(|start| line.starts_with(start.as_bytes()))
}

fn detect(head: &Head) -> Confidence {
    let mut events = 0;
    let fits = head.all_lines(|line| {
        let words: Vec<&[u8]> = Words::new(TextLine::new(line)).take(7).collect();
        let event = words.len() >= 6 && is_device(words[0]) && seconds(words[3]).is_some() && is_action(words[5]);
        events += usize::from(event);
        event || events > 0 && !is_device(words[0])
    });
    if fits && events > 0 { Confidence::Sure } else { Confidence::No }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{read, refused, skipping},
        *,
    };

    const LOG: &[u8] = b"\
  8,0    3        1     0.000000000   697  Q  WS 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G  WS 223490 + 8 [kjournald]
  8,16   0        3     1.5           12   Q   R 8 + 16 [a b]
  8,0    1        4     1.6            5   Q  FN [kworker]
  8,0    1        5     1.7            5   Q   D 0 + 800 [fstrim]
CPU3 (8,0):
 Reads Queued:           0,        0KiB
Total (8,0):
";

    #[test]
    fn queued_requests_count_and_the_rest_is_told_of() {
        let whole = read(&FORMAT, LOG);
        let [write, read] = whole.requests[..] else { panic!("{:?}", whole.requests) };
        assert_eq!((write.op(), write.offset, write.length, write.time), (Op::Write, 223_490 * 512, 4096, 0));
        assert_eq!((read.op(), read.offset, read.file, read.app, read.time), (Op::Read, 4096, 1, 1, 1_500_000_000));
        assert_eq!((whole.tables.files[1].path.as_str(), whole.tables.apps[1].as_str()), ("8,16", "a b"));
        assert_eq!(
            whole.remarks,
            [
                "1 events other than queued requests (Q) were left out",
                "2 queued discards and requests without data were left out"
            ]
        );
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("hello", "found `hello`; expected a device such as `8,0`"),
            ("8,0 x 1 0.0 5 Q R 0 + 1 [a]", "found `x`; expected the cpu, a whole number below 2^64"),
            ("8,0 1 1 now 5 Q R 0 + 1 [a]", "found `now`; expected the time in seconds"),
            ("8,0 1 1 0.0 5 77 R 0 + 1 [a]", "found `77`; expected an action such as Q"),
            ("8,0 1 1 0.0 5", "found nothing; expected an action such as Q"),
            ("8,0 1 1 0.0 5 Q ? 0 + 1 [a]", "found `?`; expected the kind of request, such as R or WS"),
            ("8,0 1 1 0.0 5 Q R 0 - 1 [a]", "found `-`; expected `+` and the count of sectors"),
            ("8,0 1 1 0.0 5 Q R 0 + [a]", "found `[a]`; expected the count of sectors, a whole number below 2^64"),
        ];
        for (line, message) in cases {
            assert_eq!(refused(&FORMAT, line.as_bytes()), format!("t, line 1: {message}"));
            assert_eq!(skipping(&FORMAT, line.as_bytes()).skipped, 1);
        }
    }
}
