//! Columns: one field of the requests of a block, transformed so that it compresses.
//!
//! A *transform* says what is stored for a value, a *layout* how stored numbers become bytes. The writer tries every
//! pair on a sample and keeps what zstd makes smallest; the reader decodes a column piece by piece.

use zstd::bulk::Compressor;

use super::{
    Fault,
    bytes::{get_varint, put_varint, unzigzag, zigzag},
};

/// Values decoded at a time, so that a piece of every column stays in the nearest cache.
pub(super) const PIECE: usize = 1024;

/// Values on which encodings are compared.
const SAMPLE: usize = 2048;

/// The layout byte of varints; smaller ones are the width of planes.
const VARINTS: u8 = 255;

const SLOT_BITS: u32 = 12;

/// The place of a file in the table of a per-file transform.
#[inline(always)]
fn slot(file: u32) -> usize {
    (file.wrapping_mul(0x9e37_79b1) >> (u32::BITS - SLOT_BITS)) as usize
}

/// The stored form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transform {
    /// The difference to the base.
    Value = 0,
    /// Its difference from the value before.
    Delta = 1,
    /// Its difference from what the last request to the same file predicts.
    PerFile = 2,
}

/// What columns depend on besides their own values: the file and the length of each request.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// File numbers; `None` for the column of file numbers, which cannot depend on itself.
    pub(super) files: Option<&'a [u32]>,
    /// Lengths, which the next offset in a file is predicted to lie behind; `None` for other columns than offsets.
    pub(super) lengths: Option<&'a [u32]>,
}

impl<'a> Context<'a> {
    fn part(&self, range: std::ops::Range<usize>) -> Context<'a> {
        let cut = |column: &'a [u32]| &column[range.clone()];
        Context { files: self.files.map(cut), lengths: self.lengths.map(cut) }
    }

    #[inline(always)]
    fn length(&self, index: usize) -> u64 {
        self.lengths.map_or(0, |lengths| u64::from(lengths[index]))
    }
}

/// A column as it is in a block, without its id.
pub(super) struct Stored {
    pub(super) transform: u8,
    pub(super) layout: u8,
    pub(super) base: u64,
    pub(super) scale: u64,
    pub(super) data: Vec<u8>,
}

impl Stored {
    /// True if every value is 0, so that the column can be left out.
    pub(super) fn is_zero(&self) -> bool {
        self.transform == Transform::Value as u8 && self.layout == 0 && self.base == 0
    }
}

/// Encodes columns.
pub(super) struct Encoder {
    zstd: Compressor<'static>,
    compressed: Vec<u8>,
    table: Vec<u64>,
    numbers: Vec<u64>,
}

impl Encoder {
    pub(super) fn new() -> std::io::Result<Encoder> {
        let table = vec![0; 1 << SLOT_BITS];
        Ok(Encoder { zstd: Compressor::new(1)?, compressed: Vec::new(), table, numbers: Vec::new() })
    }

    /// Encodes `values`, at least one, in the way that promises to be smallest.
    pub(super) fn encode(&mut self, values: &[u64], context: Context) -> std::io::Result<Stored> {
        if values.iter().all(|value| *value == values[0]) {
            return Ok(self.encode_as(Transform::Value, false, values, context));
        }
        let start = values.len().saturating_sub(SAMPLE) / 2;
        let range = start..values.len().min(start + SAMPLE);
        let (sample, around) = (&values[range.clone()], context.part(range));
        let mut best = (usize::MAX, Transform::Value, false);
        for transform in [Transform::Value, Transform::Delta, Transform::PerFile] {
            if transform == Transform::PerFile && context.files.is_none() {
                continue;
            }
            for varints in [false, true] {
                let stored = self.encode_as(transform, varints, sample, around);
                let size = self.compressed_size(&stored.data)?;
                if size < best.0 {
                    best = (size, transform, varints);
                }
            }
        }
        Ok(self.encode_as(best.1, best.2, values, context))
    }

    fn compressed_size(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.compressed.resize(zstd::zstd_safe::compress_bound(data.len()), 0);
        self.zstd.compress_to_buffer(data, self.compressed.as_mut_slice())
    }

    fn encode_as(&mut self, transform: Transform, varints: bool, values: &[u64], context: Context) -> Stored {
        let base = match transform {
            Transform::Delta => values[0],
            Transform::Value | Transform::PerFile => *values.iter().min().expect("a block has requests"),
        };
        self.transform(transform, base, values, context);
        let scale = self.divide(transform);
        let (layout, data) = if varints { (VARINTS, put_varints(&self.numbers)) } else { put_planes(&self.numbers) };
        Stored { transform: transform as u8, layout, base, scale, data }
    }

    /// Turns what `transform` leaves into numbers to store: divided by their greatest common divisor, differences
    /// without sign.
    fn divide(&mut self, transform: Transform) -> u64 {
        let signed = transform != Transform::Value;
        let size = |number: u64| if signed { (number as i64).unsigned_abs() } else { number };
        let scale = common_divisor(self.numbers.iter().map(|&number| size(number)));
        // Exact division: by the power of two in the divisor, then by the inverse of the odd rest.
        let (shift, inverse) = (scale.trailing_zeros(), odd_inverse(scale >> scale.trailing_zeros()));
        for number in &mut self.numbers {
            *number = if signed {
                zigzag(((*number as i64 >> shift) as u64).wrapping_mul(inverse))
            } else {
                (*number >> shift).wrapping_mul(inverse)
            };
        }
        scale
    }

    fn transform(&mut self, transform: Transform, base: u64, values: &[u64], context: Context) {
        self.numbers.clear();
        match transform {
            Transform::Value => self.numbers.extend(values.iter().map(|value| value - base)),
            Transform::Delta => {
                let before = std::iter::once(&base).chain(values);
                self.numbers.extend(values.iter().zip(before).map(|(value, before)| value.wrapping_sub(*before)));
            }
            Transform::PerFile => {
                self.table.fill(base);
                let files = context.files.expect("only chosen where there are files");
                for (index, (&value, &file)) in values.iter().zip(files).enumerate() {
                    let predicted = &mut self.table[slot(file)];
                    self.numbers.push(value.wrapping_sub(*predicted));
                    *predicted = value.wrapping_add(context.length(index));
                }
            }
        }
    }
}

/// At least 1.
fn common_divisor(numbers: impl Iterator<Item = u64>) -> u64 {
    let mut divisor = 0u64;
    for mut number in numbers {
        if divisor == 1 {
            break;
        }
        // Most numbers are multiples of what is left after the first few.
        if number.is_multiple_of(divisor) {
            continue;
        }
        while number > 0 {
            (divisor, number) = (number, divisor % number);
        }
    }
    divisor.max(1)
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the correct bits.
fn odd_inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

fn put_varints(numbers: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(numbers.len() * 2);
    numbers.iter().for_each(|&number| put_varint(&mut out, number));
    out
}

fn put_planes(numbers: &[u64]) -> (u8, Vec<u8>) {
    let bits = numbers.iter().fold(0, |all, number| all | number);
    let width = (u64::BITS - bits.leading_zeros()).div_ceil(8);
    let mut out = Vec::with_capacity(numbers.len() * width as usize);
    for plane in 0..width {
        out.extend(numbers.iter().map(|number| (number >> (8 * plane)) as u8));
    }
    (width as u8, out)
}

/// A column being decoded.
pub(super) struct Decoder {
    transform: Transform,
    layout: u8,
    /// The value before, for deltas; the base otherwise.
    base: u64,
    scale: u64,
    /// Predictions by slot, for per-file transforms.
    table: Vec<u64>,
    /// Where its data begins and ends in the block.
    data: std::ops::Range<usize>,
    /// The place of the next varint in the data.
    at: usize,
    /// Values in the column, and those decoded.
    count: usize,
    done: usize,
}

impl Decoder {
    /// Begins a column of `count` values. `data` is its place in the block.
    pub(super) fn new(
        transform: u8,
        layout: u8,
        [base, scale]: [u64; 2],
        data: std::ops::Range<usize>,
        count: usize,
    ) -> Result<Decoder, Fault> {
        let transform = match transform {
            0 => Transform::Value,
            1 => Transform::Delta,
            2 => Transform::PerFile,
            other => return Err(format!("a column has transform {other}, expected 0 to 2")),
        };
        let fits = match layout {
            0..=8 => data.len() == usize::from(layout) * count,
            VARINTS => data.len() >= count,
            other => return Err(format!("a column has layout {other}, expected 0 to 8 or {VARINTS}")),
        };
        if !fits {
            return Err(format!("a column of {count} values in layout {layout} has {} bytes", data.len()));
        }
        let table = if transform == Transform::PerFile { vec![base; 1 << SLOT_BITS] } else { Vec::new() };
        Ok(Decoder { transform, layout, base, scale, table, data, at: 0, count, done: 0 })
    }

    /// The one value of the column, if all are equal.
    pub(super) fn constant(&self) -> Option<u64> {
        (self.transform == Transform::Value && self.layout == 0).then_some(self.base)
    }

    /// True if it depends on the files.
    pub(super) fn is_per_file(&self) -> bool {
        self.transform == Transform::PerFile
    }

    /// Decodes the next values, at most [`PIECE`]. `block` is what the data lies in.
    pub(super) fn decode(&mut self, block: &[u8], context: Context, out: &mut [u64]) -> Result<(), Fault> {
        let data = &block[self.data.clone()];
        match self.layout {
            VARINTS => self.get_varints(data, out)?,
            width => get_planes(data, self.count, width, self.done, out),
        }
        self.done += out.len();
        match self.transform {
            Transform::Value => {
                let (base, scale) = (self.base, self.scale);
                out.iter_mut().for_each(|value| *value = value.wrapping_mul(scale).wrapping_add(base));
            }
            Transform::Delta => {
                for value in out {
                    self.base = self.base.wrapping_add(unzigzag(*value).wrapping_mul(self.scale));
                    *value = self.base;
                }
            }
            Transform::PerFile => self.predict(context, out),
        }
        Ok(())
    }

    fn predict(&mut self, context: Context, out: &mut [u64]) {
        let files = context.files.expect("checked when the block was opened");
        for (index, (value, &file)) in out.iter_mut().zip(files).enumerate() {
            let predicted = &mut self.table[slot(file)];
            *value = predicted.wrapping_add(unzigzag(*value).wrapping_mul(self.scale));
            *predicted = value.wrapping_add(context.length(index));
        }
    }

    fn get_varints(&mut self, data: &[u8], out: &mut [u64]) -> Result<(), Fault> {
        for (index, value) in out.iter_mut().enumerate() {
            *value = get_varint(data, &mut self.at)
                .ok_or_else(|| format!("the varint of request {} of the block does not end", self.done + index))?;
        }
        if self.done + out.len() == self.count && self.at != data.len() {
            return Err(format!("{} bytes follow the last value of a column", data.len() - self.at));
        }
        Ok(())
    }
}

fn get_planes(data: &[u8], count: usize, width: u8, start: usize, out: &mut [u64]) {
    out.fill(0);
    for plane in 0..usize::from(width) {
        let bytes = &data[plane * count + start..][..out.len()];
        for (value, &byte) in out.iter_mut().zip(bytes) {
            *value |= u64::from(byte) << (8 * plane);
        }
    }
}
