//! Words and bits for operations.

use hotset_core::request::Op;

use crate::runner::{
    number::{hex, whole},
    scsi_op,
};

/// The operation of a field: a letter of [`Op`], a word, or the code of a SCSI command, hexadecimal or decimal.
#[inline]
pub(super) fn parse_op(field: &[u8]) -> Option<Op> {
    match field {
        b"R" => Some(Op::Read),
        b"W" => Some(Op::Write),
        [letter] => Op::from_letter(*letter),
        _ => op_word(field),
    }
}

fn op_word(field: &[u8]) -> Option<Op> {
    const WORDS: &[(&[&str], Op)] = &[
        (&["read", "get", "gets", "load", "fetch", "getlease", "readlease", "lookup"], Op::Read),
        (
            &[
                "write", "set", "put", "add", "store", "update", "insert", "replace", "cas", "append", "prepend",
                "incr", "decr", "setttl", "setlease", "touch",
            ],
            Op::Write,
        ),
        (&["delete", "del", "remove", "unlink", "deletelease", "invalidate"], Op::Unlink),
        (&["map", "mmap"], Op::Map),
        (&["open"], Op::Open),
        (&["exec", "execve"], Op::Exec),
        (&["stat", "head"], Op::Stat),
        (&["list", "getdents", "readdir"], Op::List),
        (&["rename"], Op::Rename),
        (&["truncate"], Op::Truncate),
        (&["sync", "fsync", "flush"], Op::Sync),
    ];
    // GET_LEASE and get-lease are one word.
    let plain: Vec<u8> = field.iter().copied().filter(|byte| !b"_- ".contains(byte)).collect();
    let named = |word: &&str| word.as_bytes().eq_ignore_ascii_case(&plain);
    let by_word = WORDS.iter().find(|(words, _)| words.iter().any(named)).map(|(_, op)| *op);
    let by_code = || scsi_op(hex(field.strip_prefix(b"0x").unwrap_or(field))?);
    // In decimal the same codes are other numbers: 40 is 0x28, and no code is 0x40.
    by_word.or_else(by_code).or_else(|| scsi_op(whole(field)?))
}

/// The operation of a field that holds 0 or 1 (or false or true), of which `one` is what 1 means.
pub(super) fn parse_op_bit(field: &[u8], one: Op) -> Option<Op> {
    let zero = if one == Op::Write { Op::Read } else { Op::Write };
    match whole(field) {
        Some(0) => Some(zero),
        Some(1) => Some(one),
        Some(_) => None,
        None if field.eq_ignore_ascii_case(b"false") => Some(zero),
        None if field.eq_ignore_ascii_case(b"true") => Some(one),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_letters_words_or_scsi_codes() {
        let cases = [
            ("R", Op::Read),
            ("w", Op::Write),
            ("Write", Op::Write),
            ("gets", Op::Read),
            ("2a", Op::Write),
            ("0x28", Op::Read),
            ("40", Op::Read),
            ("42", Op::Write),
            ("delete", Op::Unlink),
            ("GET_LEASE", Op::Read),
            ("SET_TTL", Op::Write),
        ];
        for (field, op) in cases {
            assert_eq!(parse_op(field.as_bytes()), Some(op), "{field}");
        }
        for bad in ["", "0", "1", "Q", "reader", "77"] {
            assert_eq!(parse_op(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse_op_bit(b"1", Op::Write), Some(Op::Write));
        assert_eq!(parse_op_bit(b"1", Op::Read), Some(Op::Read));
        assert_eq!(parse_op_bit(b"False", Op::Read), Some(Op::Write));
        assert_eq!(parse_op_bit(b"2", Op::Read), None);
    }
}
