//! Fields in quotation marks.

use crate::runner::Malformed;

/// What keeps fields apart in a line that [`unquote`] has rewritten: the unit separator of ASCII, which no text holds.
pub(super) const UNIT_SEPARATOR: u8 = 0x1f;

/// Writes `line` to `plain` with its fields freed of quotation marks (`""` inside them is one) and kept apart by
/// [`UNIT_SEPARATOR`].
pub(super) fn unquote(line: &[u8], separator: u8, plain: &mut Vec<u8>) -> Result<(), Malformed> {
    plain.clear();
    let mut quoted = false;
    let mut rest = line;
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'"' if quoted && after.first() == Some(&b'"') => {
                plain.push(b'"');
                rest = &after[1..];
            }
            b'"' => quoted = !quoted,
            &UNIT_SEPARATOR => return Err("found a control character (0x1f); expected text".into()),
            byte if *byte == separator && !quoted => plain.push(UNIT_SEPARATOR),
            byte => plain.push(*byte),
        }
    }
    match quoted {
        true => Err("found a quotation mark that is not closed; expected quoted fields to end on their line".into()),
        false => Ok(()),
    }
}

/// Writes `line` to `plain` with its words kept apart by [`UNIT_SEPARATOR`] instead of blanks; a word in quotation
/// marks may hold blanks.
pub(super) fn by_blanks(line: &[u8], plain: &mut Vec<u8>) -> Result<(), Malformed> {
    plain.clear();
    let mut quoted = false;
    for &byte in line.trim_ascii() {
        match byte {
            b'"' => quoted = !quoted,
            UNIT_SEPARATOR => return Err("found a control character (0x1f); expected text".into()),
            b' ' | b'\t' if !quoted && plain.last() == Some(&UNIT_SEPARATOR) => {}
            b' ' | b'\t' if !quoted => plain.push(UNIT_SEPARATOR),
            byte => plain.push(byte),
        }
    }
    match quoted {
        true => Err("found a quotation mark that is not closed; expected quoted fields to end on their line".into()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_in_a_row_separate_once() {
        let mut plain = Vec::new();
        by_blanks(b"  1 \t 2  \"a b\" ", &mut plain).unwrap();
        assert_eq!(plain, b"1\x1f2\x1fa b");
        assert!(by_blanks(b"\"a", &mut plain).is_err());
    }

    #[test]
    fn quoted_fields_hold_separators_and_quotes() {
        let mut plain = Vec::new();
        unquote(br#"1,"a,b","say ""x""",,"""#, b',', &mut plain).unwrap();
        assert_eq!(plain, b"1\x1fa,b\x1fsay \"x\"\x1f\x1f");
        assert!(unquote(b"1,\"a", b',', &mut plain).is_err());
        assert!(unquote(b"1,\"\x1f\"", b',', &mut plain).is_err());
    }
}
