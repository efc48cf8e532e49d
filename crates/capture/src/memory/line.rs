//! A line of the log of valgrind's lackey with `--trace-mem=yes --trace-syscalls=yes`.
//!
//! ```text
//! I  04020ca3,6                an instruction of 6 bytes
//!  L 1fff000350,8              a load; S a store; M both
//! SYSCALL[71,1](9) sys_mmap ( 0x0, 12288, 3, 34, 4294967295, 0 ) --> [pre-success] Success(0x4a2b000)
//! ```

/// The content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Instruction,
    Access {
        address: u64,
        bytes: u64,
        writes: bool,
    },
    Call(Call),
    /// Nothing of memory: another system call, a remark.
    Other,
    /// It looks like an access, but cannot be read.
    Bad,
}

/// A system call that succeeded and changed what is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Map { address: u64, bytes: u64 },
    Unmap { address: u64 },
    Move { from: u64, to: u64, bytes: u64 },
}

/// Reads a line without its end.
pub(super) fn parse(line: &[u8]) -> Line {
    match line {
        [b'I', b' ', ..] => Line::Instruction,
        [b' ', kind @ (b'L' | b'S' | b'M'), b' ', rest @ ..] => access(rest, *kind != b'L').unwrap_or(Line::Bad),
        [b'S', b'Y', b'S', b'C', b'A', b'L', b'L', b'[', ..] => {
            std::str::from_utf8(line).ok().and_then(call).map_or(Line::Other, Line::Call)
        }
        _ => Line::Other,
    }
}

fn access(text: &[u8], writes: bool) -> Option<Line> {
    let comma = text.iter().position(|&byte| byte == b',')?;
    let digit = |number: u64, digit: u8, base: u32| {
        let digit = char::from(digit).to_digit(base)?;
        number.checked_mul(base.into())?.checked_add(digit.into())
    };
    let address = text[..comma].iter().try_fold(0, |number, &byte| digit(number, byte, 16))?;
    let bytes = text[comma + 1..].iter().try_fold(0, |number, &byte| digit(number, byte, 10))?;
    (comma > 0 && bytes > 0).then_some(Line::Access { address, bytes, writes })
}

/// `None` for calls that map nothing, and for those that failed.
fn call(line: &str) -> Option<Call> {
    let name = line.split_once(") ")?.1.split([' ', '(']).next()?;
    let arguments = line.split_once("( ")?.1.split_once(" )")?.0;
    let mut arguments = arguments.split(", ").map(number);
    let mut argument = || arguments.next().flatten();
    let gave = number(line.rsplit_once("Success(")?.1.strip_suffix(')')?)?;
    match name {
        "sys_mmap" => {
            let (_, bytes) = (argument()?, argument()?);
            Some(Call::Map { address: gave, bytes })
        }
        "sys_munmap" => Some(Call::Unmap { address: argument()? }),
        "sys_mremap" => {
            let (from, _, bytes) = (argument()?, argument()?, argument()?);
            Some(Call::Move { from, to: gave, bytes })
        }
        _ => None,
    }
}

/// A decimal number, or a hexadecimal one behind 0x.
fn number(text: &str) -> Option<u64> {
    match text.trim().strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.trim().parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_real_log_are_understood() {
        let cases: [(&str, Line); 9] = [
            ("I  04020ca3,6", Line::Instruction),
            (" L 1fff000350,8", Line::Access { address: 0x1f_ff00_0350, bytes: 8, writes: false }),
            (" S 04a2b740,16", Line::Access { address: 0x4a2_b740, bytes: 16, writes: true }),
            (" M 04a2b740,4", Line::Access { address: 0x4a2_b740, bytes: 4, writes: true }),
            (
                "SYSCALL[17206,1](9) sys_mmap ( 0x0, 12288, 3, 34, 4294967295, 0 ) --> [pre-success] Success(0x4a2b000) ",
                Line::Call(Call::Map { address: 0x4a2_b000, bytes: 12288 }),
            ),
            (
                "SYSCALL[17206,1](11) sys_munmap ( 0x483c000, 52703 )[sync] --> Success(0x0) ",
                Line::Call(Call::Unmap { address: 0x483_c000 }),
            ),
            (
                "SYSCALL[5,1](25) sys_mremap ( 0x4a2b000, 53248, 94208, 0x1, 0x0 ) --> [pre-success] Success(0x4b00000) ",
                Line::Call(Call::Move { from: 0x4a2_b000, to: 0x4b0_0000, bytes: 94208 }),
            ),
            ("SYSCALL[5,1](9) sys_mmap ( 0x0, 12288, 3, 34, 9, 0 ) --> [pre-fail] Failure(0x9) ", Line::Other),
            ("==17206== a remark", Line::Other),
        ];
        for (text, line) in cases {
            assert_eq!(parse(text.trim_end().as_bytes()), line, "{text}");
        }
    }

    #[test]
    fn hostile_lines_are_bad_or_nothing() {
        for text in
            [" L ,8", " L zz,8", " L 10,", " L 10,0", " L 1ffffffffffffffff,1", " S 10", " M 10,99999999999999999999"]
        {
            assert_eq!(parse(text.as_bytes()), Line::Bad, "{text}");
        }
        for text in [
            "",
            "SYSCALL[",
            "SYSCALL[1,1](9) sys_mmap ( ) --> Success(0x1)",
            "SYSCALL[1,1](9) sys_mmap ( 0x0, 5",
            "L 10,8",
        ] {
            assert_eq!(parse(text.as_bytes()), Line::Other, "{text}");
        }
    }
}
