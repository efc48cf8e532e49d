//! What the columns of a `csv` trace are, by their names.

use hotset_core::request::Op;

use crate::{
    Addressing,
    runner::{
        SECTOR_BYTES,
        number::{hex, whole},
        scsi_op, text,
    },
};

/// What a column tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The time, in a unit of `10^digits` nanoseconds.
    Time { digits: usize },
    /// The application or process.
    App,
    /// The operation as a letter, word or SCSI code.
    Op,
    /// The operation as 0 or 1, of which `one` is what 1 means.
    OpBit { one: Op },
    /// The file, by name or number.
    File,
    /// The first byte, in units of `unit` bytes.
    Offset { unit: u32 },
    /// The bytes, in units of `unit` bytes; -1 tells of a failed call.
    Length { unit: u32 },
    /// The file's size in bytes.
    FileSize,
    /// The kind of file.
    Kind,
    /// The time to live that the request gives its object, in units of `unit` nanoseconds; 0 or nothing for none.
    Ttl { unit: u32 },
    /// The object's id.
    Id,
    /// Nothing that is used.
    Ignored,
}

/// What `--columns` takes for a column to be ignored.
const IGNORED: [&str; 3] = ["_", "-", "ignore"];

/// Names, the first of each line being the one to suggest, and what they tell.
const ROLES: &[(&[&str], Role)] = &[
    (&["time_s", "time", "timestamp", "ts", "time_sec", "seconds", "sec", "clock"], Role::Time { digits: 9 }),
    (&["time_ms", "timestamp_ms", "ts_ms", "ms"], Role::Time { digits: 6 }),
    (&["time_us", "timestamp_us", "ts_us", "us"], Role::Time { digits: 3 }),
    (&["time_ns", "timestamp_ns", "ts_ns", "ns"], Role::Time { digits: 0 }),
    (
        &[
            "app",
            "pid",
            "application",
            "tenant",
            "tenant_id",
            "client",
            "client_id",
            "app_id",
            "comm",
            "process",
            "namespace",
            "user",
            "host",
            "hostname",
        ],
        Role::App,
    ),
    (&["op", "type", "operation", "rw", "io_type", "optype", "op_type", "opcode", "cmd", "command"], Role::Op),
    (&["is_write"], Role::OpBit { one: Op::Write }),
    (&["is_read"], Role::OpBit { one: Op::Read }),
    (
        &[
            "file",
            "file_id",
            "path",
            "filename",
            "file_name",
            "inode",
            "ino",
            "volume",
            "volume_id",
            "device",
            "device_id",
            "dev",
            "disk",
            "disk_id",
            "disknumber",
            "disk_number",
            "asu",
        ],
        Role::File,
    ),
    (&["offset", "offset_bytes", "pos", "position", "addr", "address"], Role::Offset { unit: 1 }),
    (&["lba", "lbn", "sector"], Role::Offset { unit: SECTOR_BYTES }),
    (
        &[
            "bytes",
            "size",
            "length",
            "len",
            "obj_size",
            "object_size",
            "value_size",
            "size_bytes",
            "length_bytes",
            "nbytes",
        ],
        Role::Length { unit: 1 },
    ),
    (&["sectors", "nsectors", "sector_count"], Role::Length { unit: SECTOR_BYTES }),
    (&["filesize", "file_size"], Role::FileSize),
    (&["kind", "class", "file_type"], Role::Kind),
    (&["ttl", "ttl_s", "time_to_live"], Role::Ttl { unit: 1_000_000_000 }),
    (&["ttl_ms"], Role::Ttl { unit: 1_000_000 }),
    (
        &["id", "obj_id", "object", "object_id", "obj", "objid", "key", "item", "item_id", "block", "block_id", "page"],
        Role::Id,
    ),
];

/// The columns of a trace.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// What each column tells.
    pub(super) roles: Vec<Role>,
    /// What keeps them apart.
    pub(super) separator: u8,
    /// What offsets mean.
    pub(super) addressing: Addressing,
    /// Sentences about columns that are not used though they look as if they should.
    pub(super) remarks: Vec<String>,
}

impl Columns {
    /// The columns that a header names. Those with names that are not known are not used, and a remark says so.
    pub(super) fn from_header(line: &[u8]) -> Result<Columns, String> {
        let separator = separator_of(line);
        let names = split_names(&text(line), separator);
        let roles = names.iter().map(|name| role(name).unwrap_or(Role::Ignored)).collect();
        let mut columns = Columns::new(&names, roles, separator)?;
        columns.remarks.extend(remark_of_unknown(&names));
        Ok(columns)
    }

    /// The columns that a user names, of rows that look like `row`.
    pub(super) fn from_user(names: &str, row: &[u8]) -> Result<Columns, String> {
        let names = split_names(names, b',');
        let known = |name: &String| match role(name) {
            Some(role) => Ok(role),
            None if IGNORED.contains(&name.as_str()) => Ok(Role::Ignored),
            None => Err(format!("unknown column `{name}`; expected one of: {}, or _ to ignore it", candidates())),
        };
        let roles = names.iter().map(known).collect::<Result<Vec<Role>, String>>()?;
        Columns::new(&names, roles, separator_of(row))
    }

    fn new(names: &[String], mut roles: Vec<Role>, separator: u8) -> Result<Columns, String> {
        let mut remarks = Vec::new();
        for at in 1..roles.len() {
            let same = |other: &Role| std::mem::discriminant(other) == std::mem::discriminant(&roles[at]);
            if roles[at] != Role::Ignored
                && let Some(before) = roles[..at].iter().position(same)
            {
                remarks.push(format!("column `{}` is not used: `{}` tells the same", names[at], names[before]));
                roles[at] = Role::Ignored;
            }
        }
        let addressing = resolve(&mut roles)?;
        let has_time = roles.iter().any(|role| matches!(role, Role::Time { .. }));
        if let Some(ttl) = roles.iter().position(|role| matches!(role, Role::Ttl { .. }))
            && (!has_time || addressing != Addressing::Objects)
        {
            remarks.push(format!("column `{}` is not used: only objects with ids expire, at a time", names[ttl]));
            roles[ttl] = Role::Ignored;
        }
        Ok(Columns { roles, separator, addressing, remarks })
    }

    /// True if a column tells what `told` holds for.
    pub(super) fn any(&self, told: impl Fn(&Role) -> bool) -> bool {
        self.roles.iter().any(told)
    }
}

/// What offsets mean. With an offset the object is a file; without offset and object the file is the object.
fn resolve(roles: &mut [Role]) -> Result<Addressing, String> {
    let find = |roles: &[Role], wanted: fn(&Role) -> bool| roles.iter().position(wanted);
    let id = find(roles, |role| *role == Role::Id);
    let file = find(roles, |role| *role == Role::File);
    if find(roles, |role| matches!(role, Role::Offset { .. })).is_some() {
        if let Some(id) = id {
            roles[id] = if file.is_none() { Role::File } else { Role::Ignored };
        }
        return Ok(Addressing::Bytes { unit: None });
    }
    match id.or(file) {
        Some(_) => Ok(Addressing::Objects),
        None => {
            Err(format!("no column tells what is referenced; expected id, offset, lba or file among: {}", candidates()))
        }
    }
}

/// True if a line names columns: one of them tells what is referenced and none is a number.
pub(super) fn is_header(line: &[u8]) -> bool {
    let names = split_names(&text(line), separator_of(line));
    let addresses = |name: &String| matches!(role(name), Some(Role::Id | Role::Offset { .. } | Role::File));
    names.iter().any(addresses) && !names.iter().any(|name| name.starts_with(|c: char| c.is_ascii_digit()))
}

/// What is to be said of columns with names that tell nothing.
fn remark_of_unknown(names: &[String]) -> Option<String> {
    let is_unknown = |name: &&String| role(name).is_none() && !name.is_empty() && !IGNORED.contains(&name.as_str());
    let unknown: Vec<String> = names.iter().filter(is_unknown).map(|name| format!("`{name}`")).collect();
    let (noun, verb) = if unknown.len() == 1 { ("column", "is") } else { ("columns", "are") };
    let known = "--columns gives others of the known names";
    (!unknown.is_empty()).then(|| format!("{noun} {} {verb} not known and not used; {known}", unknown.join(", ")))
}

fn role(name: &str) -> Option<Role> {
    ROLES.iter().find(|(names, _)| names.contains(&name)).map(|(_, role)| *role)
}

fn candidates() -> String {
    ROLES.iter().map(|(names, _)| names[0]).collect::<Vec<_>>().join(", ")
}

/// Names in lower case, without quotes, with `_` for blanks and hyphens inside.
fn split_names(line: &str, separator: u8) -> Vec<String> {
    let plain = |name: &str| {
        let name = name.trim().trim_matches('"').trim().to_lowercase();
        if name == "-" { name } else { name.replace([' ', '-'], "_") }
    };
    line.trim_start_matches('\u{feff}').split(char::from(separator)).map(plain).collect()
}

/// The separator that occurs most; the comma if none does.
fn separator_of(line: &[u8]) -> u8 {
    let count = |separator: u8| line.iter().filter(|&&byte| byte == separator).count();
    b",;\t|".iter().copied().rev().max_by_key(|&separator| count(separator)).unwrap_or(b',')
}

/// The operation of a field: a letter of [`Op`], a word, or the hexadecimal code of a SCSI command.
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
        (&["read", "get", "gets", "load", "fetch"], Op::Read),
        (
            &[
                "write", "set", "put", "add", "store", "update", "insert", "replace", "cas", "append", "prepend",
                "incr", "decr",
            ],
            Op::Write,
        ),
        (&["delete", "del", "remove", "unlink"], Op::Unlink),
        (&["map", "mmap"], Op::Map),
        (&["open"], Op::Open),
        (&["exec", "execve"], Op::Exec),
        (&["stat", "head"], Op::Stat),
        (&["list", "getdents", "readdir"], Op::List),
        (&["rename"], Op::Rename),
        (&["truncate"], Op::Truncate),
        (&["sync", "fsync", "flush"], Op::Sync),
    ];
    let named = |word: &&str| word.as_bytes().eq_ignore_ascii_case(field);
    let by_word = WORDS.iter().find(|(words, _)| words.iter().any(named)).map(|(_, op)| *op);
    by_word.or_else(|| scsi_op(hex(field.strip_prefix(b"0x").unwrap_or(field))?))
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
    fn headers_are_read_with_synonyms_and_other_separators() {
        let columns = Columns::from_header(b"\xef\xbb\xbfTime-ms;\"Obj ID\";Size;whatever").unwrap();
        assert_eq!(columns.separator, b';');
        assert_eq!(columns.roles, [Role::Time { digits: 6 }, Role::Id, Role::Length { unit: 1 }, Role::Ignored]);
        assert_eq!(columns.addressing, Addressing::Objects);
        let remark = "column `whatever` is not known and not used; --columns gives others of the known names";
        assert_eq!(columns.remarks, [remark]);
        assert_eq!(Columns::from_header(b"time,key,value_size,_").unwrap().remarks, [""; 0]);
    }

    #[test]
    fn an_object_with_an_offset_is_a_file() {
        let columns = Columns::from_header(b"key,offset,len").unwrap();
        assert_eq!(columns.roles, [Role::File, Role::Offset { unit: 1 }, Role::Length { unit: 1 }]);
        assert_eq!(columns.addressing, Addressing::Bytes { unit: None });
    }

    #[test]
    fn a_second_column_of_a_kind_is_told_of() {
        let columns = Columns::from_header(b"offset,lba,size").unwrap();
        assert_eq!(columns.roles, [Role::Offset { unit: 1 }, Role::Ignored, Role::Length { unit: 1 }]);
        assert_eq!(columns.remarks, ["column `lba` is not used: `offset` tells the same"]);
    }

    #[test]
    fn wrong_columns_are_named() {
        let unknown = Columns::from_user("time,idd,_", b"1,2,3").unwrap_err();
        assert!(unknown.starts_with("unknown column `idd`; expected one of: time_s, "), "{unknown}");
        let nothing = Columns::from_user("time,size", b"1,2").unwrap_err();
        assert!(nothing.starts_with("no column tells what is referenced"), "{nothing}");
    }

    #[test]
    fn operations_are_letters_words_or_scsi_codes() {
        let cases = [
            ("R", Op::Read),
            ("w", Op::Write),
            ("Write", Op::Write),
            ("gets", Op::Read),
            ("2a", Op::Write),
            ("0x28", Op::Read),
            ("delete", Op::Unlink),
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
