//! A system call's arguments and result, out of its text.

use std::borrow::Cow;

use hotset_trace::runner::{
    Malformed,
    number::{hex, unexpected},
};
use memchr::{memchr, memmem};

use super::line::leading_digits;
use crate::call::{Action, Arguments, Call, FileKind, Flag, Handle, Outcome, Sharing, Shown, Text};

/// The most arguments a system call has; strace's own additions are behind them.
const MOST_ARGUMENTS: usize = 8;

/// The text of the arguments and of the result of a call that has returned.
#[derive(Debug)]
struct Parts<'a> {
    args: [&'a [u8]; MOST_ARGUMENTS],
    result: Outcome,
    /// The file behind a descriptor that was returned (`-y`).
    opened: Option<Shown<'a>>,
}

impl<'a> Call<'a> {
    /// The call `name` from `args) = result`.
    pub(crate) fn parse(thread: u32, time: u64, name: &'a [u8], text: &'a [u8]) -> Result<Call<'a>, Malformed> {
        let parts = Parts::parse(text)?;
        if !makes_process(name) {
            return Call::new(thread, time, name, &parts);
        }
        // `clone` has its flags in the second argument, `clone3` in a structure, `fork` and `vfork` have none.
        let flags = [parts.arg(0), parts.arg(1)].into_iter().find(|arg| !clone_flags(arg).is_empty());
        let action = Action::Fork(Sharing::parse(flags.unwrap_or_default()));
        Ok(Call { thread, time, name, action, result: parts.result, facts: Default::default() })
    }
}

impl<'a> Parts<'a> {
    /// Takes `args) = result` apart.
    fn parse(text: &'a [u8]) -> Result<Parts<'a>, Malformed> {
        let (args, rest) = split_arguments(text)?;
        let rest = rest.trim_ascii_start();
        let [b'=', rest @ ..] = rest else {
            return Err(unexpected(rest, "` = ` and the result of the call"));
        };
        let (result, rest) = outcome(rest.trim_ascii_start())?;
        Ok(Parts { args, result, opened: Shown::parse(rest) })
    }

    /// An argument by its place, from 0; empty if there is none.
    fn arg(&self, place: usize) -> &'a [u8] {
        self.args.get(place).copied().unwrap_or_default()
    }
}

impl<'a> Arguments<'a> for Parts<'a> {
    fn handle(&self, place: usize) -> Result<Handle<'a>, Malformed> {
        Handle::parse(self.arg(place))
    }

    fn number(&self, place: usize) -> Result<u64, Malformed> {
        let arg = self.arg(place);
        number(arg).ok_or_else(|| unexpected(arg, "a number"))
    }

    fn position(&self, place: usize) -> Result<Option<u64>, Malformed> {
        match self.arg(place) {
            b"-1" => Ok(None),
            _ => self.number(place).map(|position| Some(position).filter(|position| *position != u64::MAX)),
        }
    }

    /// `[7]`, `[7] => [9]`, or `NULL`.
    fn pointed(&self, place: usize) -> Result<Option<u64>, Malformed> {
        match self.arg(place) {
            b"NULL" => Ok(None),
            [b'[', inner @ ..] => {
                let end = memchr(b']', inner).unwrap_or(inner.len());
                number(&inner[..end]).map(Some).ok_or_else(|| unexpected(inner, "a file position"))
            }
            other => Err(unexpected(other, "a file position in brackets or NULL")),
        }
    }

    fn text(&self, place: usize) -> Text<'a> {
        match string(self.arg(place)) {
            Some((text, false)) => Text::Whole(text),
            Some((text, true)) => Text::Cut(text),
            None if self.arg(place) == b"NULL" => Text::Null,
            None => Text::Unreadable,
        }
    }

    fn has(&self, place: usize, flag: Flag) -> bool {
        let arg = self.arg(place);
        has_flag(field(arg, "flags").unwrap_or(arg), flag.word)
    }

    fn is(&self, place: usize, value: Flag) -> bool {
        self.arg(place) == value.word.as_bytes()
    }

    fn answer(&self, place: usize) -> Option<FileKind> {
        let answer = self.arg(place);
        let either = |stat, statx| field(answer, stat).or_else(|| field(answer, statx));
        self.result.returned()?;
        match either("st_mode", "stx_mode")?.split(|&byte| byte == b'|').next()? {
            b"S_IFREG" => Some(FileKind::Regular { size: either("st_size", "stx_size").and_then(number) }),
            b"S_IFDIR" => Some(FileKind::Directory),
            b"S_IFBLK" => Some(FileKind::BlockDevice),
            b"S_IFLNK" => Some(FileKind::Link),
            b"S_IFCHR" | b"S_IFIFO" | b"S_IFSOCK" => Some(FileKind::Special),
            _ => None,
        }
    }

    fn result(&self) -> Outcome {
        self.result
    }

    fn opened(&self) -> Option<Shown<'a>> {
        self.opened.clone()
    }
}

impl<'a> Handle<'a> {
    /// Takes `3`, `3</path>`, `3</path>(deleted)`, `AT_FDCWD` or `AT_FDCWD</path>` apart.
    pub(super) fn parse(arg: &'a [u8]) -> Result<Handle<'a>, Malformed> {
        let (number, rest) = Handle::number_at_head(arg).ok_or_else(|| unexpected(arg, "a file descriptor"))?;
        match rest {
            [] | [b'<', ..] => Ok(Handle { number, shown: Shown::parse(rest) }),
            _ => Err(unexpected(arg, "a file descriptor")),
        }
    }

    /// The descriptor that the arguments of an unfinished call begin with, if they do.
    pub(super) fn at_head(text: &'a [u8]) -> Option<Handle<'a>> {
        let (number, rest) = Handle::number_at_head(unnamed(text))?;
        matches!(rest, [] | [b'<' | b',', ..]).then(|| Handle { number, shown: Shown::parse(rest) })
    }

    /// A descriptor's number, `None` for `AT_FDCWD`, and what follows it.
    fn number_at_head(text: &'a [u8]) -> Option<(Option<i32>, &'a [u8])> {
        if let Some(rest) = text.strip_prefix(b"AT_FDCWD") {
            return Some((None, rest));
        }
        let (unsigned, sign) = match text.strip_prefix(b"-") {
            Some(unsigned) => (unsigned, -1),
            None => (text, 1),
        };
        let (value, digits) = leading_digits(unsigned);
        let value = i32::try_from(value).ok().filter(|_| (1..11).contains(&digits))?;
        Some((Some(sign * value), &unsigned[digits..]))
    }
}

impl<'a> Shown<'a> {
    /// Takes `</path>` or `</path>(deleted)` apart, with whatever follows.
    fn parse(text: &'a [u8]) -> Option<Shown<'a>> {
        if text.first() != Some(&b'<') {
            return None;
        }
        let end = annotation_end(text)?;
        let inner = &text[1..end - 1];
        let deleted = text[end..].starts_with(b"(deleted)");
        // `-yy` says what device is behind a path: `/dev/null<char 1:3>`.
        let inner = if inner.starts_with(b"/") { &inner[..memchr(b'<', inner).unwrap_or(inner.len())] } else { inner };
        match inner.strip_suffix(b" (deleted)") {
            Some(text) => Some(Shown { path: unescape(text), deleted: true }),
            None => Some(Shown { path: unescape(inner), deleted }),
        }
    }
}

impl Sharing {
    /// The flags of `clone` out of its arguments as far as they are known.
    pub(super) fn parse(text: &[u8]) -> Sharing {
        let flags = clone_flags(text);
        let has = |flag| has_flag(flags, flag);
        Sharing { files: has("CLONE_FILES"), directory: has("CLONE_FS"), process: has("CLONE_THREAD") }
    }
}

/// True if the call makes a process or thread.
pub(super) fn makes_process(name: &[u8]) -> bool {
    matches!(name, b"clone" | b"clone3" | b"fork" | b"vfork" | b"clone2")
}

/// The `CLONE_` flags, joined by `|`: what follows `flags=` in the text of a call.
fn clone_flags(text: &[u8]) -> &[u8] {
    let Some(start) = memmem::find(text, b"flags=") else {
        return b"";
    };
    let flags = &text[start + b"flags=".len()..];
    let end = flags.iter().position(|byte| matches!(byte, b',' | b'}' | b' ' | b')')).unwrap_or(flags.len());
    &flags[..end]
}

/// True if `flags`, joined by `|`, hold `flag`.
fn has_flag(flags: &[u8], flag: &str) -> bool {
    flags.split(|&byte| byte == b'|').any(|word| word == flag.as_bytes())
}

/// The text of a string argument without its escapes, and whether strace cut it; `None` if it is an address instead of
/// a string.
fn string(arg: &[u8]) -> Option<(Cow<'_, [u8]>, bool)> {
    let inner = arg.strip_prefix(b"\"")?;
    match inner.strip_suffix(b"\"") {
        Some(inner) => Some((unescape(inner), false)),
        None => Some((unescape(inner.strip_suffix(b"\"...")?), true)),
    }
}

/// The value of a field such as `st_size=` in a structure that strace shows.
fn field<'a>(structure: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let fields = structure.strip_prefix(b"{")?.split(|&byte| byte == b',' || byte == b'}');
    fields.map(<[u8]>::trim_ascii_start).find_map(|field| field.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// A decimal or hexadecimal number; what follows behind a blank is a comment.
fn number(text: &[u8]) -> Option<u64> {
    let word = &text[..memchr(b' ', text).unwrap_or(text.len())];
    match word {
        [b'0', b'x', digits @ ..] => hex(digits),
        _ => std::str::from_utf8(word).ok()?.parse().ok(),
    }
}

/// An argument without its name, which newer versions of strace can show: `fd: 3`.
fn unnamed(arg: &[u8]) -> &[u8] {
    let is_of_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    let name = arg.iter().take_while(|&byte| is_of_name(byte)).count();
    let is_named = arg.first().is_some_and(u8::is_ascii_lowercase) && arg[name..].starts_with(b": ");
    if is_named { &arg[name + 2..] } else { arg }
}

/// The arguments, and what is behind the closing parenthesis.
fn split_arguments(text: &[u8]) -> Result<([&[u8]; MOST_ARGUMENTS], &[u8]), Malformed> {
    let mut args: [&[u8]; MOST_ARGUMENTS] = [&[]; MOST_ARGUMENTS];
    let (mut count, mut start, mut at, mut depth) = (0, 0, 0, 0u32);
    while at < text.len() {
        match text[at] {
            b'"' => {
                at += string_length(&text[at..]).ok_or_else(|| unexpected(&text[at..], "a string closed by `\"`"))?
            }
            b'<' if opens_annotation(text, at) => {
                at += annotation_end(&text[at..]).ok_or_else(|| unexpected(&text[at..], "a path closed by `>`"))?;
            }
            b'/' if text[at + 1..].starts_with(b"*") => {
                let end = memmem::find(&text[at..], b"*/").ok_or_else(|| unexpected(&text[at..], "`*/`"))?;
                at += end + 2;
            }
            byte @ (b',' | b')') if depth == 0 => {
                if let Some(arg) = args.get_mut(count) {
                    *arg = unnamed(text[start..at].trim_ascii());
                }
                count += 1;
                at += 1;
                start = at;
                if byte == b')' {
                    return Ok((args, &text[at..]));
                }
            }
            b'(' | b'[' | b'{' => (depth, at) = (depth + 1, at + 1),
            b')' | b']' | b'}' => (depth, at) = (depth.saturating_sub(1), at + 1),
            _ => at += 1,
        }
    }
    Err(unexpected(&text[start..], "the rest of the call, up to `)`"))
}

/// Bytes of the quoted string that `text` begins with.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// True if the `<` at `at` follows a descriptor or a process id, and so begins what `-y` adds.
fn opens_annotation(text: &[u8], at: usize) -> bool {
    let follows = at > 0 && (text[at - 1].is_ascii_digit() || text[..at].ends_with(b"AT_FDCWD"));
    follows && text.get(at + 1) != Some(&b'<')
}

/// Bytes of the annotation that `text` begins with. Inside a path `<` and `>` are escaped; `-yy` nests annotations and
/// puts `->` between the ends of a socket.
fn annotation_end(text: &[u8]) -> Option<usize> {
    let is_path = text.get(1) == Some(&b'/');
    let (mut depth, mut at) = (0u32, 0);
    loop {
        at += memchr::memchr2(b'<', b'>', text.get(at..)?)?;
        match text[at] {
            b'<' => depth += 1,
            _ if !is_path && text[at - 1] == b'-' => {}
            _ => depth -= 1,
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The result, and what is behind it.
fn outcome(text: &[u8]) -> Result<(Outcome, &[u8]), Malformed> {
    let length = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-').unwrap_or(text.len());
    let (word, rest) = text.split_at(length);
    match word {
        b"" if rest.starts_with(b"?") => Ok((Outcome::None, b"")),
        [b'-', ..] if rest.starts_with(b" ENOENT ") => Ok((Outcome::Missing, b"")),
        [b'-', digit, ..] if digit.is_ascii_digit() => Ok((Outcome::Failed, b"")),
        _ => match number(word) {
            Some(value) => Ok((Outcome::Returned(value), rest)),
            None => Err(unexpected(text, "the result of the call")),
        },
    }
}

/// Replaces C escapes (`\n`, `\"`, `\377`, `\xff`) by their bytes.
fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'\\', text) else {
        return Cow::Borrowed(text);
    };
    let mut bytes = text[..first].to_vec();
    let mut rest = &text[first..];
    while let [head, tail @ ..] = rest {
        if *head != b'\\' {
            bytes.push(*head);
            rest = tail;
            continue;
        }
        let (byte, length) = escape(tail);
        bytes.push(byte);
        rest = &tail[length..];
    }
    Cow::Owned(bytes)
}

/// The byte of an escape, and the escape's length without its backslash.
fn escape(text: &[u8]) -> (u8, usize) {
    let digits = |base: u32, from: usize, most: usize| {
        let count = text[from..].iter().take(most).take_while(|byte| (**byte as char).is_digit(base)).count();
        let value = text[from..from + count]
            .iter()
            .fold(0u32, |value, byte| value * base + (*byte as char).to_digit(base).unwrap_or_default());
        (value as u8, from + count)
    };
    match text.first() {
        None => (b'\\', 0),
        Some(b'n') => (b'\n', 1),
        Some(b't') => (b'\t', 1),
        Some(b'r') => (b'\r', 1),
        Some(b'v') => (0x0b, 1),
        Some(b'f') => (0x0c, 1),
        Some(b'x') => digits(16, 1, 2),
        Some(b'0'..=b'7') => digits(8, 0, 3),
        Some(other) => (*other, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Parts<'_> {
        Parts::parse(text.as_bytes()).unwrap()
    }

    fn shown(text: &str, deleted: bool) -> Option<Shown<'_>> {
        Some(Shown { path: text.as_bytes().into(), deleted })
    }

    #[test]
    fn arguments_are_split_outside_strings_brackets_paths_and_comments() {
        let call = parse(
            r#"AT_FDCWD</w, (x>, "a, b) = 5 \"c\\", {st_mode=S_IFREG|0644, st_size=9, ...}, [1, 2], 0x7f /* 3, vars */) = 3</a>"#,
        );
        let args: [&[u8]; 6] = [
            b"AT_FDCWD</w, (x>",
            br#""a, b) = 5 \"c\\""#,
            b"{st_mode=S_IFREG|0644, st_size=9, ...}",
            b"[1, 2]",
            b"0x7f /* 3, vars */",
            b"",
        ];
        assert_eq!(std::array::from_fn(|place| call.arg(place)), args);
        assert_eq!(call.number(4), Ok(0x7f));
        assert_eq!(field(call.arg(2), "st_size"), Some(&b"9"[..]));
        assert_eq!((call.result, call.opened.clone()), (Outcome::Returned(3), shown("/a", false)));
        assert_eq!(string(call.arg(1)), Some((Cow::Borrowed(&br#"a, b) = 5 "c\"#[..]), false)));
    }

    #[test]
    fn arguments_may_have_names() {
        let call = parse("fd: 3</d/a>, buf: \"x: 1\", count: 4096, pos: 0) = 4096");
        assert_eq!([call.arg(1), call.arg(2), call.arg(3)], [&b"\"x: 1\""[..], b"4096", b"0"]);
        assert_eq!(call.handle(0).unwrap().number, Some(3));
        assert_eq!(Handle::at_head(b"fd: 3</d/a>, ").and_then(|handle| handle.number), Some(3));
    }

    #[test]
    fn results_are_told_apart() {
        let cases = [
            (") = 0", Outcome::Returned(0)),
            (")     = 0x8401 (flags O_WRONLY|O_APPEND)", Outcome::Returned(0x8401)),
            (") = 18446744073709551615", Outcome::Returned(u64::MAX)),
            (") = 5 <0.000012>", Outcome::Returned(5)),
            (") = -1 ENOENT (No such file or directory)", Outcome::Missing),
            (") = -1 EBADF (Bad file descriptor)", Outcome::Failed),
            (") = ?", Outcome::None),
            (") = ? ERESTARTSYS (To be restarted if SA_RESTART is set)", Outcome::None),
        ];
        for (text, result) in cases {
            assert_eq!(parse(text).result, result, "{text}");
        }
        for bad in ["3", "3)", "3) = ", "3) = x", "\"3) = 0", "3</a) = 0", "3 /* ) = 0"] {
            assert!(Parts::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn descriptors_come_with_and_without_their_files() {
        let cases = [
            ("3", Some(3), None),
            ("-1", Some(-1), None),
            ("AT_FDCWD", None, None),
            ("AT_FDCWD</home>", None, shown("/home", false)),
            ("3</a b>", Some(3), shown("/a b", false)),
            ("3</a->", Some(3), shown("/a-", false)),
            ("7</memfd:mm>(deleted)", Some(7), shown("/memfd:mm", true)),
            ("7</tmp/x (deleted)>", Some(7), shown("/tmp/x", true)),
            ("1</dev/null<char 1:3>>", Some(1), shown("/dev/null", false)),
            ("4<TCP:[1.2.3.4:5->6.7.8.9:10]>", Some(4), shown("TCP:[1.2.3.4:5->6.7.8.9:10]", false)),
        ];
        for (text, number, shown) in cases {
            let line = format!("{text}, 0) = 0");
            assert_eq!(parse(&line).handle(0), Ok(Handle { number, shown }), "{text}");
        }
        for bad in ["", "x", "99999999999", "0x3", "NULL"] {
            assert!(Handle::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn positions_come_behind_pointers() {
        let call = parse("1, NULL, [7], [2] => [6], 0x7ffe) = 4");
        assert_eq!(call.pointed(1), Ok(None));
        assert_eq!(call.pointed(2), Ok(Some(7)));
        assert_eq!(call.pointed(3), Ok(Some(2)));
        assert!(call.pointed(4).is_err());
    }

    #[test]
    fn escapes_are_undone() {
        let cases: [(&str, &[u8]); 6] = [
            ("plain", b"plain"),
            (r"a\nb\t\r\v\f", b"a\nb\t\r\x0b\x0c"),
            (r#"\"q\\\74x\76"#, b"\"q\\<x>"),
            (r"\3777\0018", b"\xff7\x018"),
            (r"\xffg\x4", b"\xffg\x04"),
            ("end\\", b"end\\"),
        ];
        for (text, bytes) in cases {
            assert_eq!(&*unescape(text.as_bytes()), bytes, "{text}");
        }
        assert_eq!(string(b"\"ab\"..."), Some((Cow::Borrowed(&b"ab"[..]), true)));
        assert_eq!(string(b"0x7ffe"), None);
        assert_eq!(string(b"\""), None);
    }

    #[test]
    fn flags_are_whole_words() {
        assert!(has_flag(b"O_RDWR|O_CREAT|O_EXCL", "O_CREAT"));
        assert!(!has_flag(b"O_RDWR|O_CREAT", "O_CREA"));
    }
}
