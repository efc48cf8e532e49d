//! Integers and strings in sections.

use super::Fault;

/// Maps small numbers of either sign to small numbers.
#[inline(always)]
pub(crate) fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64 >> 63) as u64)
}

/// Undoes [`zigzag`].
#[inline(always)]
pub(crate) fn unzigzag(stored: u64) -> u64 {
    (stored >> 1) ^ (stored & 1).wrapping_neg()
}

/// Appends `value` as a varint.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the length of `text` and the text.
pub(super) fn put_string(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads a varint at `*at` and steps over it; `None` if there is none or it does not fit 64 bits.
#[inline(always)]
pub(crate) fn get_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    get_long_varint(bytes, at, first)
}

fn get_long_varint(bytes: &[u8], at: &mut usize, first: u8) -> Option<u64> {
    let mut value = u64::from(first & 0x7f);
    for shift in (7..70).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The content of a section, read from front to back.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// From the first byte.
    pub(super) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes, at: 0 }
    }

    /// Bytes not read yet.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Bytes read so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        if count > self.left() {
            return Err(format!("the section ends {} bytes into a field of {count} bytes", self.left()));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        Ok(self.take(N)?.try_into().expect("take gives as many bytes as it was asked for"))
    }

    /// The next byte.
    pub(super) fn u8(&mut self) -> Result<u8, Fault> {
        Ok(self.array::<1>()?[0])
    }

    /// The next two bytes.
    pub(super) fn u16(&mut self) -> Result<u16, Fault> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// The next four bytes.
    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// The next eight bytes.
    pub(super) fn u64(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// The next varint.
    pub(super) fn varint(&mut self) -> Result<u64, Fault> {
        get_varint(self.bytes, &mut self.at)
            .ok_or_else(|| "a variable-length number does not end within the section or 64 bits".to_owned())
    }

    /// The next string.
    pub(super) fn string(&mut self) -> Result<String, Fault> {
        let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        let bytes = self.take(length)?;
        String::from_utf8(bytes.to_vec()).map_err(|error| format!("a name is not UTF-8: {error}"))
    }

    /// An error unless everything has been read.
    pub(super) fn end(&self) -> Result<(), Fault> {
        match self.left() {
            0 => Ok(()),
            left => Err(format!("{left} bytes follow the last field of the section; expected its end")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_and_stop_at_64_bits() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut at = 0;
            assert_eq!(get_varint(&bytes, &mut at), Some(value));
            assert_eq!(at, bytes.len());
            assert_eq!(get_varint(&bytes[..bytes.len() - 1], &mut 0), None, "cut");
        }
        assert_eq!(get_varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], &mut 0), None);
        assert_eq!(get_varint(&[0x80; 11], &mut 0), None);
    }

    #[test]
    fn zigzag_maps_both_signs_and_back() {
        assert_eq!([0, 1, 2].map(|n: i64| zigzag(-n as u64)), [0, 1, 3]);
        for difference in [0, 1, u64::MAX, 1 << 63, i64::MAX as u64] {
            assert_eq!(unzigzag(zigzag(difference)), difference);
        }
    }
}
