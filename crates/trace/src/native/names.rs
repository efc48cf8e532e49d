//! `FILE` and `APPS` sections: the names behind the numbers.

use hotset_core::request::Kind;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    Fault,
    bytes::{Fields, put_string, put_varint},
};
use crate::{FileInfo, Tables};

/// Entries of one table that wait to be written.
#[derive(Default)]
pub(super) struct Entries {
    count: u64,
    bytes: Vec<u8>,
    /// Of every entry so far, what [`xxh3_64`] makes of its latest bytes: tells whether it has changed.
    marks: Vec<u64>,
}

impl Entries {
    /// Entries met so far.
    pub(super) fn known(&self) -> usize {
        self.marks.len()
    }

    /// Takes an entry in if it is new or has changed; `number` is at most [`Entries::known`].
    pub(super) fn note(&mut self, number: usize, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        put_varint(&mut self.bytes, number as u64);
        encode(&mut self.bytes);
        let mark = xxh3_64(&self.bytes[start..]);
        match self.marks.get_mut(number) {
            Some(known) if *known == mark => return self.bytes.truncate(start),
            Some(known) => *known = mark,
            None => self.marks.push(mark),
        }
        self.count += 1;
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// The content of a section of what waits, which then waits no more; `None` if nothing does.
    pub(super) fn drain(&mut self) -> Option<Vec<u8>> {
        if self.count == 0 {
            return None;
        }
        let mut out = Vec::with_capacity(self.bytes.len() + 10);
        put_varint(&mut out, self.count);
        out.append(&mut self.bytes);
        self.count = 0;
        Some(out)
    }
}

/// Appends a file's entry without its number.
pub(super) fn put_file(out: &mut Vec<u8>, file: &FileInfo) {
    out.extend_from_slice(&[file.kind as u8, u8::from(file.size.is_some())]);
    if let Some(size) = file.size {
        put_varint(out, size);
    }
    put_string(out, &file.path);
    put_string(out, &file.label);
}

/// Applies a `FILE` section.
pub(super) fn read_files(raw: &[u8], tables: &mut Tables) -> Result<(), Fault> {
    read_entries(raw, &mut tables.files, |fields| {
        let kind = fields.u8()?;
        let kind = Kind::from_number(kind).ok_or_else(|| format!("a file has kind {kind}, expected 0 to 5"))?;
        let size = match fields.u8()? {
            0 => None,
            1 => Some(fields.varint()?),
            other => return Err(format!("a file's size is marked {other}, expected 0 (not known) or 1")),
        };
        Ok(FileInfo { path: fields.string()?, kind, size, label: fields.string()? })
    })
}

/// Applies an `APPS` section.
pub(super) fn read_apps(raw: &[u8], tables: &mut Tables) -> Result<(), Fault> {
    read_entries(raw, &mut tables.apps, |fields| fields.string())
}

fn read_entries<T>(
    raw: &[u8],
    table: &mut Vec<T>,
    mut read: impl FnMut(&mut Fields) -> Result<T, Fault>,
) -> Result<(), Fault> {
    let mut fields = Fields::new(raw);
    for _ in 0..fields.varint()? {
        let number = fields.varint()?;
        let entry = read(&mut fields)?;
        let known = table.len();
        match usize::try_from(number) {
            Ok(number) if number < known => table[number] = entry,
            Ok(number) if number == known => table.push(entry),
            _ => return Err(format!("found table entry {number} behind {known} entries; expected at most {known}")),
        }
    }
    fields.end()
}
