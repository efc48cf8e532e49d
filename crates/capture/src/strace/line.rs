//! One line of a strace log: who, when, and what happened.

use hotset_trace::runner::{
    Malformed,
    number::{seconds, unexpected, whole},
};
use memchr::memchr;

/// One line of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Process (really: thread) id; 0 in the log of a single process, which has no such column.
    pub pid: u32,
    /// Nanoseconds, on the clock that the log was made with.
    pub time: Option<Clock>,
    /// What happened.
    pub event: Event<'a>,
}

/// A time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// Nanoseconds since the epoch (`-ttt`).
    Epoch(u64),
    /// Nanoseconds since midnight (`-t`, `-tt`).
    Day(u64),
    /// Time since the line before (`-r`), which does not say when a call began.
    Relative,
}

/// The content of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// `name(args) = result`; `text` is what follows the opening parenthesis.
    Call { name: &'a [u8], text: &'a [u8] },
    /// `name(args <unfinished ...>`: another process is heard before this call returns.
    Unfinished { name: &'a [u8], text: &'a [u8] },
    /// `<... name resumed>args) = result`.
    Resumed { name: &'a [u8], text: &'a [u8] },
    /// The process is gone.
    Exited,
    /// Thread `by` of the process executed a program and has taken over the process's id.
    Superseded { by: u32 },
    /// A signal, or a remark of strace about itself.
    Aside,
}

/// Nanoseconds below which a padded time is the time since the line before (`-r`): strace pads no others.
const RELATIVE: u64 = 1000 * 1_000_000_000;

/// What strace says about itself, or about processes that come and go, at the start of a line.
const ASIDES: [&[u8]; 4] = [b"--- ", b"strace: ", b"[ Process ", b"Process "];

impl<'a> Line<'a> {
    /// Takes a line apart.
    pub(super) fn parse(line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let line = line.trim_ascii_end();
        let (pid, rest) = pid_column(line.trim_ascii_start())?;
        let is_padded = line[..line.len() - rest.len()].ends_with(b"    ");
        let (mut time, rest) = time_column(rest)?;
        if is_padded && matches!(time, Some(Clock::Epoch(time)) if time < RELATIVE) {
            time = Some(Clock::Relative);
        }
        Ok(Line { pid, time, event: Event::parse(rest)? })
    }

    /// True if the process is alive and begins a call.
    pub(super) fn is_call(&self) -> bool {
        matches!(self.event, Event::Call { .. } | Event::Unfinished { .. })
    }
}

impl<'a> Event<'a> {
    fn parse(text: &'a [u8]) -> Result<Event<'a>, Malformed> {
        match text {
            [b'<', b'.', b'.', b'.', b' ', rest @ ..] => Event::resumed(rest),
            [b'+', b'+', b'+', b' ', rest @ ..] => Event::ended(rest),
            _ if ASIDES.iter().any(|aside| text.starts_with(aside)) => Ok(Event::Aside),
            _ => Event::begun(text),
        }
    }

    fn begun(text: &'a [u8]) -> Result<Event<'a>, Malformed> {
        let length = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(text.len());
        let (name, rest) = text.split_at(length);
        let [b'(', rest @ ..] = rest else {
            return Err(unexpected(text, "a system call such as `read(3, \"\"..., 5) = 5`"));
        };
        if name.is_empty() {
            return Err(unexpected(text, "the name of a system call"));
        }
        for cut in [&b"<unfinished ...>"[..], b"<detached ...>"] {
            if let Some(text) = rest.strip_suffix(cut) {
                return Ok(Event::Unfinished { name, text: text.strip_suffix(b" ").unwrap_or(text) });
            }
        }
        Ok(Event::Call { name, text: rest })
    }

    fn resumed(rest: &'a [u8]) -> Result<Event<'a>, Malformed> {
        let end = memchr(b'>', rest).ok_or_else(|| unexpected(rest, "`<... name resumed>`"))?;
        let name = rest[..end].strip_suffix(b" resumed").ok_or_else(|| unexpected(rest, "`<... name resumed>`"))?;
        Ok(Event::Resumed { name, text: &rest[end + 1..] })
    }

    fn ended(rest: &'a [u8]) -> Result<Event<'a>, Malformed> {
        if let Some(by) = rest.strip_prefix(b"superseded by execve in pid ") {
            let by = u32::try_from(leading_digits(by).0).map_err(|_| unexpected(by, "a process id"))?;
            return Ok(Event::Superseded { by });
        }
        if rest.starts_with(b"exited with ") || rest.starts_with(b"killed by ") {
            return Ok(Event::Exited);
        }
        Err(unexpected(rest, "`exited with`, `killed by` or `superseded by execve in pid`"))
    }
}

/// The process column: `2174 `, `2174<name> `, `[pid  2174] ` or none.
fn pid_column(line: &[u8]) -> Result<(u32, &[u8]), Malformed> {
    if let Some(rest) = line.strip_prefix(b"[pid ") {
        let end = memchr(b']', rest).ok_or_else(|| unexpected(line, "`[pid` closed by `]`"))?;
        let digits = rest[..end].trim_ascii();
        let digits = &digits[..memchr(b'<', digits).unwrap_or(digits.len())];
        return Ok((as_pid(whole(digits), digits)?, rest[end + 1..].trim_ascii_start()));
    }
    let (value, digits) = leading_digits(line);
    let rest = match &line[digits..] {
        _ if digits == 0 => return Ok((0, line)),
        [b' ', rest @ ..] => rest,
        [b'<', rest @ ..] => match memchr(b'>', rest) {
            Some(end) => &rest[end + 1..],
            None => return Err(unexpected(line, "a process id")),
        },
        // A time stamp: the log has no process column.
        _ => return Ok((0, line)),
    };
    Ok((as_pid((digits < 11).then_some(value), &line[..digits])?, rest.trim_ascii_start()))
}

/// The number that `text` begins with, and how many digits it has; it stops at `u64::MAX`.
pub(super) fn leading_digits(text: &[u8]) -> (u64, usize) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold((0, 0), |(value, count), byte| {
        (value.saturating_mul(10).saturating_add(u64::from(byte - b'0')), count + 1)
    })
}

fn as_pid(value: Option<u64>, digits: &[u8]) -> Result<u32, Malformed> {
    value.and_then(|value| u32::try_from(value).ok()).ok_or_else(|| unexpected(digits, "a process id below 2^32"))
}

/// The time column: seconds since the epoch, a time of day, or none.
fn time_column(line: &[u8]) -> Result<(Option<Clock>, &[u8]), Malformed> {
    if !line.first().is_some_and(u8::is_ascii_digit) {
        return Ok((None, line));
    }
    let length = memchr(b' ', line).unwrap_or(line.len());
    let (stamp, rest) = line.split_at(length);
    let clock = if memchr(b':', stamp).is_some() { time_of_day(stamp) } else { seconds(stamp).map(Clock::Epoch) };
    match clock {
        Some(clock) => Ok((Some(clock), without_relative(rest.trim_ascii_start()))),
        None => Err(unexpected(stamp, "a time such as `1795225737.545528` or `12:34:56.789012`")),
    }
}

/// The line without the time since the one before, which follows an absolute one (`-r -ttt`): `(+     0.000030) `.
fn without_relative(line: &[u8]) -> &[u8] {
    let end = line.strip_prefix(b"(+").and_then(|rest| memchr(b')', rest));
    end.map_or(line, |end| line[end + 3..].trim_ascii_start())
}

fn time_of_day(stamp: &[u8]) -> Option<Clock> {
    let mut parts = stamp.splitn(3, |&byte| byte == b':');
    let hours = whole(parts.next()?).filter(|hours| *hours < 24)?;
    let minutes = whole(parts.next()?).filter(|minutes| *minutes < 60)?;
    let rest = seconds(parts.next()?)?;
    (hours * 3600 + minutes * 60).checked_mul(1_000_000_000)?.checked_add(rest).map(Clock::Day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Line<'_> {
        Line::parse(line.as_bytes()).unwrap()
    }

    fn call<'a>(name: &'a str, text: &'a str) -> Event<'a> {
        Event::Call { name: name.as_bytes(), text: text.as_bytes() }
    }

    #[test]
    fn the_columns_may_be_there_or_not() {
        let event = || call("close", "3) = 0");
        let epoch = Some(Clock::Epoch(1_795_225_737_545_528_000));
        let day = Some(Clock::Day(45_296_789_012_000));
        let cases = [
            ("close(3) = 0", 0, None),
            ("17 close(3) = 0", 17, None),
            ("[pid    17] close(3) = 0", 17, None),
            ("1795225737.545528 close(3) = 0", 0, epoch),
            ("17  1795225737.545528 close(3) = 0", 17, epoch),
            ("[pid 17] 1795225737.545528 close(3) = 0", 17, epoch),
            ("17<bash>  1795225737.545528 close(3) = 0", 17, epoch),
            ("17 12:34:56.789012 close(3) = 0\r", 17, day),
            ("12:34:56 close(3) = 0", 0, Some(Clock::Day(45_296_000_000_000))),
            ("17 1795225737.545528 (+     0.000030) close(3) = 0", 17, epoch),
            ("17 12:34:56.789012 (+     0.000030) close(3) = 0", 17, day),
            ("17 1795225737.545528123 close(3) = 0", 17, Some(Clock::Epoch(1_795_225_737_545_528_123))),
        ];
        for (line, pid, time) in cases {
            assert_eq!(parse(line), Line { pid, time, event: event() }, "{line}");
        }
    }

    #[test]
    fn padded_times_are_relative() {
        for line in
            ["     0.000148 close(3) = 0", "25649      0.000000 close(3) = 0", "[pid 17]    12.500000 close(3) = 0"]
        {
            assert_eq!(parse(line).time, Some(Clock::Relative), "{line}");
        }
        for line in ["7     1795225737.545528 close(3) = 0", "7  1795225737.545528 close(3) = 0"] {
            assert_eq!(parse(line).time, Some(Clock::Epoch(1_795_225_737_545_528_000)), "{line}");
        }
    }

    #[test]
    fn every_event_is_told_apart() {
        let cases = [
            ("7 vfork( <unfinished ...>", Event::Unfinished { name: b"vfork", text: b"" }),
            ("7 read(3</a>,  <unfinished ...>", Event::Unfinished { name: b"read", text: b"3</a>, " }),
            ("7 close(3 <unfinished ...>", Event::Unfinished { name: b"close", text: b"3" }),
            ("7 pause( <detached ...>", Event::Unfinished { name: b"pause", text: b"" }),
            ("7 <... read resumed>\"\"..., 2) = 2", Event::Resumed { name: b"read", text: b"\"\"..., 2) = 2" }),
            ("7 +++ exited with 0 +++", Event::Exited),
            ("7 +++ killed by SIGKILL +++", Event::Exited),
            ("7 +++ superseded by execve in pid 9 +++", Event::Superseded { by: 9 }),
            ("7 --- SIGCHLD {si_signo=SIGCHLD} ---", Event::Aside),
            ("strace: Process 9 attached", Event::Aside),
            ("Process 9 attached", Event::Aside),
        ];
        for (line, event) in cases {
            assert_eq!(parse(line).event, event, "{line}");
        }
    }

    #[test]
    fn other_text_is_refused_with_what_was_expected() {
        let cases = [
            ("hello", "found `hello`; expected a system call such as `read(3, \"\"..., 5) = 5`"),
            ("7 (3) = 0", "found `(3) = 0`; expected the name of a system call"),
            ("7 12:61:00 close(3) = 0", "found `12:61:00`; expected a time such as"),
            ("99999999999 close(3) = 0", "found `99999999999`; expected a process id below 2^32"),
            ("7 <... read", "found `read`; expected `<... name resumed>`"),
            ("7 +++ vanished +++", "found `vanished +++`; expected `exited with`"),
        ];
        for (line, message) in cases {
            let error = Line::parse(line.as_bytes()).unwrap_err();
            assert!(error.starts_with(message), "{line}: {error}");
        }
    }
}
