//! A call as a log of strace would have it, as far as the model looks at it.

use hotset_feed::calls::{Called, Look};

use super::told::Names;

/// Flags by their words.
type Words = &'static [(u64, &'static str)];

const OPEN: Words = &[
    (0o100, "O_CREAT"),
    (0o200, "O_EXCL"),
    (0o1000, "O_TRUNC"),
    (0o2000, "O_APPEND"),
    (libc::O_DIRECTORY as u64, "O_DIRECTORY"),
    (libc::O_CLOEXEC as u64, "O_CLOEXEC"),
    (libc::O_TMPFILE as u64, "O_TMPFILE"),
];

/// Flags of a call: the argument's place, and the words that the model looks for.
fn flags_of(name: &str) -> Option<(usize, Words)> {
    Some(match name {
        "open" => (1, OPEN),
        "openat" => (2, OPEN),
        "dup3" => (2, &[(libc::O_CLOEXEC as u64, "O_CLOEXEC")]),
        "close_range" => (2, &[(2, "CLOSE_RANGE_UNSHARE"), (4, "CLOSE_RANGE_CLOEXEC")]),
        "renameat2" => (4, &[(2, "RENAME_EXCHANGE")]),
        "unshare" => (0, &[(0x400, "CLONE_FILES"), (0x200, "CLONE_FS")]),
        _ => return None,
    })
}

/// The arguments and the result of a call, `args) = result`.
pub(super) fn phrase(name: &str, called: &Called, look: &Look, names: &Names) -> Vec<u8> {
    let mut text = Vec::with_capacity(160);
    for place in 0..arguments_of(name) {
        if place > 0 {
            text.extend_from_slice(b", ");
        }
        argument(&mut text, name, place, called, look, names);
    }
    text.extend_from_slice(b") = ");
    result(&mut text, called.result, names);
    text
}

fn arguments_of(name: &str) -> usize {
    if matches!(name, "preadv2" | "pwritev2") { 5 } else { 6 }
}

fn argument(text: &mut Vec<u8>, name: &str, place: usize, called: &Called, look: &Look, names: &Names) {
    let value = called.arguments[place];
    let is = |places: [Option<u8>; 2]| places.iter().position(|&known| known.map(usize::from) == Some(place));
    if let Some(which) = is(look.name) {
        return match names.text(which) {
            Some(name) => text.extend([b"\"", &escaped(&name)[..], b"\""].concat()),
            None if value == 0 => text.extend_from_slice(b"NULL"),
            None => text.extend(format!("{value:#x}").bytes()),
        };
    }
    if let Some(which) = is(look.base) {
        descriptor(text, value);
        return shown(text, names.base(which).as_deref(), false);
    }
    if is(look.file).is_some() || matches!((name, place), ("close" | "fchdir", 0)) {
        return descriptor(text, value);
    }
    if let Some(which) = is(look.value) {
        return pointed(text, name, value, called.value[which]);
    }
    if look.answer.map(usize::from) == Some(place) {
        return answer(text, name, called);
    }
    match flags_of(name) {
        Some((at, known)) if at == place => words(text, known, value),
        _ => other(text, name, place, called),
    }
}

/// Arguments whose meaning is one of a few words, and all others, as numbers.
fn other(text: &mut Vec<u8>, name: &str, place: usize, called: &Called) {
    const MAP_ANONYMOUS: u64 = 0x20;
    let value = called.arguments[place];
    let word = match (name, place, value) {
        ("mmap", 2, protection) if protection & 4 != 0 => "PROT_EXEC",
        ("mmap", 3, flags) if flags & MAP_ANONYMOUS != 0 => "MAP_ANONYMOUS",
        ("lseek", 2, 2) => "SEEK_END",
        ("fcntl", 1, 0) => "F_DUPFD",
        ("fcntl", 1, 1030) => "F_DUPFD_CLOEXEC",
        ("fcntl", 1, 2) => "F_SETFD",
        ("fcntl", 1, 3) => "F_GETFL",
        ("fcntl", 1, 4) => "F_SETFL",
        ("fcntl", 2, flags) if called.arguments[1] == 2 && flags & 1 != 0 => "FD_CLOEXEC",
        ("fcntl", 2, flags) if called.arguments[1] == 4 && flags & 0o2000 != 0 => "O_APPEND",
        ("preadv2" | "pwritev2", 4, _) => return text.extend_from_slice(append_word(called)),
        _ => return text.extend(value.to_string().bytes()),
    };
    text.extend_from_slice(word.as_bytes());
}

/// The flags of `preadv2` and `pwritev2` are the sixth argument, behind the upper half of the position.
fn append_word(called: &Called) -> &'static [u8] {
    if called.arguments[5] & 0x10 != 0 { b"RWF_APPEND" } else { b"0" }
}

fn descriptor(text: &mut Vec<u8>, value: u64) {
    match value as i32 {
        libc::AT_FDCWD => text.extend_from_slice(b"AT_FDCWD"),
        number => text.extend(number.to_string().bytes()),
    }
}

fn shown(text: &mut Vec<u8>, path: Option<&[u8]>, is_deleted: bool) {
    if let Some(path) = path {
        text.extend([b"<", &escaped(path)[..], b">"].concat());
        if is_deleted {
            text.extend_from_slice(b"(deleted)");
        }
    }
}

/// The value behind a pointer: a position, or the options of `openat2`.
fn pointed(text: &mut Vec<u8>, name: &str, address: u64, value: u64) {
    if name == "openat2" {
        text.extend_from_slice(b"{flags=");
        words(text, OPEN, value);
        return text.push(b'}');
    }
    match address {
        0 => text.extend_from_slice(b"NULL"),
        _ => text.extend(format!("[{value}]").bytes()),
    }
}

/// Kind and size out of `struct stat` or `struct statx`.
fn answer(text: &mut Vec<u8>, name: &str, called: &Called) {
    const MODE: usize = if cfg!(target_arch = "x86_64") { 24 } else { 16 };
    let Some(answer) = called.answer.filter(|_| called.result >= 0) else {
        return text.extend_from_slice(b"0");
    };
    let long = |at: usize| u64::from_ne_bytes(answer[at..at + 8].try_into().expect("eight bytes"));
    let (mode, size) = if name == "statx" { (28, long(40)) } else { (MODE, long(48)) };
    let mode = u16::from_ne_bytes([answer[mode], answer[mode + 1]]);
    let kind = match mode >> 12 {
        0o01 => "S_IFIFO",
        0o02 => "S_IFCHR",
        0o04 => "S_IFDIR",
        0o06 => "S_IFBLK",
        0o10 => "S_IFREG",
        0o12 => "S_IFLNK",
        0o14 => "S_IFSOCK",
        _ => "0",
    };
    text.extend(format!("{{st_mode={kind}|0, st_size={size}}}").bytes());
}

fn words(text: &mut Vec<u8>, known: Words, value: u64) {
    let set = known.iter().filter(|(flag, _)| value & flag == *flag).map(|(_, word)| *word);
    let set: Vec<&str> = set.collect();
    text.extend_from_slice(if set.is_empty() { b"0" } else { b"" });
    text.extend(set.join("|").bytes());
}

fn result(text: &mut Vec<u8>, result: i64, names: &Names) {
    /// Errors by which the kernel says that it will make the call anew.
    const AGAIN: std::ops::RangeInclusive<i64> = -516..=-512;
    match result {
        -2 => text.extend_from_slice(b"-1 ENOENT (No such file or directory)"),
        result if AGAIN.contains(&result) => text.push(b'?'),
        -4095..0 => text.extend_from_slice(b"-1 E"),
        returned => {
            text.extend((returned as u64).to_string().bytes());
            if let Some((path, is_deleted)) = names.opened() {
                shown(text, Some(&path), is_deleted);
            }
        }
    }
}

/// A path or name with what would be read as an end of it in C escapes.
pub(super) fn escaped(path: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(path.len());
    for &byte in path {
        match byte {
            b'"' | b'\\' | b'<' | b'>' | 0..b' ' | 0x7f.. => text.extend(format!("\\x{byte:02x}").bytes()),
            byte => text.push(byte),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strace::call::unescape;

    #[test]
    fn any_name_comes_back_whole() {
        let all: Vec<u8> = (1..=255).chain(*b"0f").collect();
        assert_eq!(*unescape(&escaped(&all)), all[..]);
        assert!(!escaped(&all).iter().any(|byte| b"\"<>\n".contains(byte)));
    }
}
