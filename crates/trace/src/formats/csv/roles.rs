//! Names of columns, and what each tells.

use hotset_core::request::Op;

use crate::runner::SECTOR_BYTES;

/// The meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The time, in a unit of `10^digits` nanoseconds.
    Time { digits: usize },
    /// The time as a date, `YYYYMMDDhhmmss` or ISO 8601, in UTC.
    Date,
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
    /// The bytes, in units of `unit` bytes; -1 marks a failed call.
    Length { unit: u32 },
    /// Bytes that are added to the length where that is known, such as those of a key.
    Extra,
    /// The file's size in bytes.
    FileSize,
    /// The kind of file.
    Kind,
    /// The object's id, a number or a name.
    Id,
    /// The object's id, a name even where all are digits.
    Name,
    /// A part of the object's id, which several columns make together.
    Part,
    /// A part of the file's name, which several columns make together.
    FilePart,
    /// Number of consecutive repetitions of the request.
    Repeat,
    /// The time to live that the request gives its object, in units of `unit` nanoseconds; 0 or nothing for none.
    Ttl { unit: u32 },
    /// Nothing that is used.
    Ignored,
}

/// Names, the first of each line being the one to suggest, and what they tell. Names are compared in lower case,
/// without blanks, hyphens and underlines.
const ROLES: &[(&[&str], Role)] = &[
    (
        &[
            "time_s",
            "time",
            "timestamp",
            "ts",
            "timesec",
            "seconds",
            "sec",
            "clock",
            "clocktime",
            "optime",
            "timestamps",
        ],
        Role::Time { digits: 9 },
    ),
    (&["time_ms", "timestampms", "tsms", "ms", "milliseconds"], Role::Time { digits: 6 }),
    (&["time_us", "timestampus", "tsus", "us", "microseconds"], Role::Time { digits: 3 }),
    (&["time_ns", "timestampns", "tsns", "ns", "nanoseconds"], Role::Time { digits: 0 }),
    (
        &[
            "app",
            "pid",
            "application",
            "tenant",
            "tenantid",
            "client",
            "clientid",
            "appid",
            "comm",
            "process",
            "namespace",
            "user",
            "host",
            "hostname",
            "userid",
            "usecase",
        ],
        Role::App,
    ),
    (
        &[
            "op",
            "type",
            "operation",
            "rw",
            "iotype",
            "optype",
            "opcode",
            "cmd",
            "command",
            "optypename",
            "method",
            "httpmethod",
            "verb",
            "vol",
            "action",
        ],
        Role::Op,
    ),
    (&["is_write"], Role::OpBit { one: Op::Write }),
    (&["is_read"], Role::OpBit { one: Op::Read }),
    (
        &[
            "file",
            "fileid",
            "path",
            "filename",
            "inode",
            "ino",
            "volume",
            "volumeid",
            "device",
            "deviceid",
            "dev",
            "disk",
            "diskid",
            "disknumber",
            "asu",
            "lun",
            "lunid",
            "vol",
            "volid",
        ],
        Role::File,
    ),
    (&["offset", "offsetbytes", "pos", "position", "addr", "address"], Role::Offset { unit: 1 }),
    (&["lba", "lbn", "sector"], Role::Offset { unit: SECTOR_BYTES }),
    (
        &[
            "bytes",
            "size",
            "length",
            "len",
            "objsize",
            "objectsize",
            "valuesize",
            "valsize",
            "sizebytes",
            "lengthbytes",
            "nbytes",
        ],
        Role::Length { unit: 1 },
    ),
    (&["sectors", "nsectors", "sectorcount", "numsectors"], Role::Length { unit: SECTOR_BYTES }),
    (&["key_size", "keysize", "keylen", "keylength", "keybytes"], Role::Extra),
    (&["filesize"], Role::FileSize),
    (&["kind", "class", "filetype"], Role::Kind),
    (
        &[
            "id",
            "objid",
            "object",
            "objectid",
            "obj",
            "key",
            "item",
            "itemid",
            "block",
            "blockid",
            "page",
            "cachekey",
            "anonymizedkey",
            "url",
        ],
        Role::Id,
    ),
    (&["repeat", "opcount", "repeats", "repetitions"], Role::Repeat),
    (&["ttl", "ttls", "timetolive"], Role::Ttl { unit: 1_000_000_000 }),
    (&["ttlms"], Role::Ttl { unit: 1_000_000 }),
];

/// Columns that do not affect caching: outcomes of the request, and other observers.
const IDLE: [&str; 17] = [
    "response",
    "responsetime",
    "latency",
    "duration",
    "nextaccessvtime",
    "cachehits",
    "cachehit",
    "hit",
    "subusecase",
    "samplingrate",
    "itemvalue",
    "requesthandler",
    "cdncontenttypeid",
    "viptype",
    "responsesize",
    "responseheadersize",
    "index",
];

/// Words of names of columns that may affect caching.
const VITAL: [&str; 101] = [
    "access",
    "action",
    "amount",
    "asu",
    "begin",
    "block",
    "blocks",
    "bucket",
    "bytes",
    "cmd",
    "cnt",
    "code",
    "collection",
    "command",
    "cost",
    "count",
    "database",
    "db",
    "dev",
    "device",
    "direction",
    "disk",
    "drive",
    "end",
    "errno",
    "error",
    "exit",
    "expiration",
    "expires",
    "expiry",
    "exptime",
    "extent",
    "failed",
    "first",
    "flag",
    "flags",
    "fork",
    "freq",
    "frequency",
    "from",
    "gb",
    "image",
    "io",
    "iotype",
    "kb",
    "key",
    "keyspace",
    "last",
    "lba",
    "len",
    "length",
    "lun",
    "mb",
    "method",
    "mode",
    "multiplicity",
    "num",
    "offset",
    "op",
    "opcode",
    "operation",
    "ops",
    "optype",
    "outcome",
    "page",
    "pages",
    "partition",
    "pool",
    "query",
    "quantity",
    "range",
    "read",
    "relation",
    "repeat",
    "request",
    "result",
    "ret",
    "retval",
    "rw",
    "rwbs",
    "sector",
    "sectors",
    "segment",
    "shard",
    "size",
    "snapshot",
    "start",
    "status",
    "stop",
    "success",
    "sz",
    "table",
    "times",
    "to",
    "ttl",
    "type",
    "unit",
    "verb",
    "volume",
    "weight",
    "write",
];

/// What the setting `columns` takes for a column to be ignored.
const IGNORED: [&str; 4] = ["_", "-", "ignore", ""];

/// True if a user says so of a column that is not to be used.
pub(super) fn is_ignored(name: &str) -> bool {
    IGNORED.contains(&name)
}

/// The meaning of a column of this name. The name may end with a unit: `offset_kib`, `Size (bytes)`, `Time [ms]`.
pub(super) fn role(name: &str) -> Option<Role> {
    let wanted = squeezed(name);
    let idle = || IDLE.contains(&wanted.as_str()).then_some(Role::Ignored);
    plain_role(&wanted).or_else(idle).or_else(|| {
        let (name, unit) = split_unit(name)?;
        in_unit(plain_role(&squeezed(name))?, &unit)
    })
}

/// The meaning of a column of this name, which has no unit.
fn plain_role(wanted: &str) -> Option<Role> {
    let is_wanted = |names: &[&str]| names.iter().any(|known| squeezed(known) == wanted);
    ROLES.iter().find(|(names, _)| is_wanted(names)).map(|(_, role)| *role)
}

/// The name before the unit that ends it, and the unit in lower case.
pub(super) fn split_unit(name: &str) -> Option<(&str, String)> {
    let name = name.trim().trim_end_matches([')', ']']).trim_end();
    let (front, unit) = name.rsplit_once(['_', '-', ' ', '(', '[', '.'])?;
    Some((front.trim_end_matches(['_', '-', ' ', '(', '[', '.']), unit.trim().to_lowercase()))
}

/// The role of a time, an offset or a length in this unit. A kilobyte is refused: it has 1000 bytes in some traces and
/// 1024 in others.
fn in_unit(role: Role, unit: &str) -> Option<Role> {
    if let Role::Time { .. } = role {
        let digits = match unit {
            "s" | "sec" | "secs" | "second" | "seconds" => 9,
            "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => 6,
            "us" | "usec" | "usecs" | "micros" | "microsecond" | "microseconds" => 3,
            "ns" | "nsec" | "nsecs" | "nanos" | "nanosecond" | "nanoseconds" => 0,
            _ => return None,
        };
        return Some(Role::Time { digits });
    }
    let unit = match unit {
        "b" | "byte" | "bytes" => 1,
        "sector" | "sectors" => SECTOR_BYTES,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => unit.parse::<u32>().ok().filter(|&unit| unit > 0)?,
    };
    match role {
        Role::Offset { .. } => Some(Role::Offset { unit }),
        Role::Length { .. } => Some(Role::Length { unit }),
        _ => None,
    }
}

/// The meaning of a column by a name that a user gives: `key:name`, `value+`, or one of the names of headers.
pub(super) fn role_of_user(name: &str) -> Option<Role> {
    if let Some(part) = name.strip_suffix('+') {
        let part = squeezed(part);
        let is_size =
            ["key", "value"].contains(&part.as_str()) || matches!(role(&part), Some(Role::Length { .. } | Role::Extra));
        return is_size.then_some(Role::Extra);
    }
    let Some((name, kind)) = name.split_once(':') else { return role(name) };
    match (role(name)?, kind) {
        (Role::Id, "name" | "text" | "string") => Some(Role::Name),
        (known @ Role::Id, "number" | "id") => Some(known),
        (Role::Id | Role::File | Role::App, "part") => Some(Role::Part),
        (known @ Role::App, "app") => Some(known),
        (Role::Time { .. }, "date") => Some(Role::Date),
        (Role::Op, "is_write") => Some(Role::OpBit { one: Op::Write }),
        (Role::Op, "is_read") => Some(Role::OpBit { one: Op::Read }),
        (known, unit) => in_unit(known, unit),
    }
}

/// True if an unknown name may mean an operation, a device, a count, a size or a unit.
pub(super) fn is_vital(name: &str) -> bool {
    let words = words(name);
    let is_time = words.iter().any(|word| ["time", "latency", "date"].contains(&word.as_str()));
    let is_known = |word: &str| VITAL.contains(&word) || VITAL.contains(&word.trim_end_matches('s'));
    !is_time && words.iter().any(|word| is_known(word)) || is_known(&squeezed(name))
}

/// True if a name has no type behind a colon.
pub(super) fn plain_name(name: &str) -> bool {
    !name.contains(':')
}

/// The first name of each role.
pub(super) fn candidates() -> String {
    ROLES.iter().map(|(names, _)| names[0]).collect::<Vec<_>>().join(", ")
}

/// A name in lower case, without what keeps its words apart.
pub(super) fn squeezed(name: &str) -> String {
    name.chars().filter(|letter| !" -_.".contains(*letter)).flat_map(char::to_lowercase).collect()
}

/// The words of a name, in lower case: `numBlocks`, `num_blocks` and `Num blocks` have the same ones.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_alphabetic() || letter.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase();
        if let Some(word) = words.last_mut() {
            word.extend(letter.is_alphabetic().then(|| letter.to_lowercase()).into_iter().flatten());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_however_they_are_written() {
        for name in ["IOType", "io_type", "Io Type", "io-type"] {
            assert_eq!(role(name), Some(Role::Op), "{name}");
        }
        assert_eq!(role("LUN"), Some(Role::File));
        assert_eq!(role("op_count"), Some(Role::Repeat));
        assert_eq!(role("Response"), Some(Role::Ignored));
        assert_eq!(role("num_blocks"), None);
    }

    #[test]
    fn unknown_names_that_matter_are_told_from_others() {
        for name in ["num_blocks", "numBlocks", "io_kind", "DiskNo", "requestType", "n_sectors_", "kb", "value_len_kb"]
        {
            assert!(is_vital(name), "{name}");
        }
        for name in ["whatever", "comment", "region", "feature_1", "colour"] {
            assert!(!is_vital(name), "{name}");
        }
    }

    #[test]
    fn a_name_may_end_with_a_unit() {
        let cases = [
            ("offset_kib", Some(Role::Offset { unit: 1024 })),
            ("Size (bytes)", Some(Role::Length { unit: 1 })),
            ("Offset [sectors]", Some(Role::Offset { unit: 512 })),
            ("timestamp-msec", Some(Role::Time { digits: 6 })),
            ("Time (us)", Some(Role::Time { digits: 3 })),
            ("size_kb", None),
            ("key_ms", None),
        ];
        for (name, expected) in cases {
            assert_eq!(role(name), expected, "{name}");
        }
    }

    #[test]
    fn users_name_types() {
        let cases = [
            ("key:name", Some(Role::Name)),
            ("key:number", Some(Role::Id)),
            ("value+", Some(Role::Extra)),
            ("key+", Some(Role::Extra)),
            ("op:is_write", Some(Role::OpBit { one: Op::Write })),
            ("offset:sectors", Some(Role::Offset { unit: 512 })),
            ("time:ms", Some(Role::Time { digits: 6 })),
            ("time:date", Some(Role::Date)),
            ("time:us", Some(Role::Time { digits: 3 })),
            ("key:part", Some(Role::Part)),
            ("host:part", Some(Role::Part)),
            ("tenant:app", Some(Role::App)),
            ("offset:4096", Some(Role::Offset { unit: 4096 })),
            ("size:kib", Some(Role::Length { unit: 1024 })),
            ("size:0", None),
            ("size:kb", None),
            ("key:colour", None),
            ("app+", None),
        ];
        for (name, role) in cases {
            assert_eq!(role_of_user(name), role, "{name}");
        }
    }
}
