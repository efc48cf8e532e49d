//! The grammar of the setting `size`: which cache sizes a grid has.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use super::error::quote;
use super::{SpecError, Value};

/// A range may have at most so many sizes.
const STEPS_LIMIT: usize = 1000;

/// Sizes as a user lists them, separated by commas: `1000 blocks`, `64M` (bytes), `10%` or `0.1` (of the footprint),
/// and ranges `16M..1G*2`: from the first size by the factor as long as the last one is not passed.
///
/// A number without a unit is refused: it could be blocks or bytes. A list that ends in `blocks` names the unit of all
/// its bare numbers: `10,100,1000 blocks`.
///
/// `Display` prints the canonical text, which parses back to an equal value.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeSpec {
    items: Vec<Item>,
    /// A share of less than one block is one block.
    rounds_up: bool,
    /// The factor of sizes in blocks and bytes.
    share: f64,
}

#[derive(Clone, Debug)]
struct Item {
    from: Value,
    /// Last size and factor of a range.
    to: Option<(Value, f64)>,
    at: Range<usize>,
}

/// By what is said, wherever it stands.
impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        self.from == other.from && self.to == other.to
    }
}

impl SizeSpec {
    /// Reads a list of sizes.
    pub fn parse(text: &str) -> Result<SizeSpec, SpecError> {
        let in_blocks = without_blocks(text).is_some();
        let mut items = Vec::new();
        let mut start = 0;
        for piece in text.split(',') {
            let at = start..start + piece.len();
            items.push(Item::parse(piece, in_blocks, at.clone()).map_err(|error| error.at(at))?);
            start += piece.len() + 1;
        }
        Ok(SizeSpec { items, rounds_up: false, share: 1.0 })
    }

    /// These counts of blocks.
    pub fn of_blocks(counts: &[u32]) -> SizeSpec {
        let item = |&count: &u32| Item { from: Value::Number(count.into()), to: None, at: 0..0 };
        SizeSpec { items: counts.iter().map(item).collect(), rounds_up: false, share: 1.0 }
    }

    /// The same, of which a share of the footprint that is less than one block is one block: for sizes that the user
    /// did not ask for, which must not fail on a small trace.
    pub fn at_least_one_block(self) -> SizeSpec {
        SizeSpec { rounds_up: true, ..self }
    }

    /// The same for a sample that has this share of the blocks of a trace: sizes in blocks and bytes are those of a
    /// cache for the whole trace, and the sample is replayed in this share of them. Sizes in percent stay as they are.
    pub fn of_sample(self, share: f64) -> SizeSpec {
        SizeSpec { share, ..self }
    }

    /// True if a size is given as a share of the footprint, so that the trace must be read before sizes are known.
    pub fn needs_footprint(&self) -> bool {
        self.items.iter().any(|item| matches!(item.from, Value::Percent(_)))
    }

    /// True if a size is given in bytes.
    pub fn has_bytes(&self) -> bool {
        self.items.iter().any(|item| matches!(item.from, Value::Size(_)))
    }

    /// The sizes of a cache of objects, each once, in the order given. `footprint` is the number of distinct objects,
    /// `mean` the mean size of an object, in bytes; `None` if it is unknown, and then bytes are an error.
    pub fn resolve_objects(&self, footprint: u64, mean: Option<f64>) -> Result<Vec<ObjectSize>, SpecError> {
        let mut sizes: Vec<ObjectSize> = Vec::new();
        for item in &self.items {
            let own = SizeSpec { items: vec![item.clone()], rounds_up: self.rounds_up, share: self.share };
            let of_item: Vec<ObjectSize> = match (&item.from, mean) {
                (Value::Size(_), None) => {
                    let wrong = "the size is in bytes, but the trace tells no sizes of objects: expected a count \
                                 (64 objects) or a share of the footprint (10%)";
                    return Err(SpecError::new(wrong).at(item.at.clone()));
                }
                (Value::Size(_), Some(mean)) => {
                    item.amounts().map(|bytes| ObjectSize::of_bytes((bytes * self.share) as u64, mean)).collect()
                }
                _ => own.resolve(footprint, None)?.into_iter().map(ObjectSize::of_objects).collect(),
            };
            if of_item.iter().any(|size| size.bytes == Some(0)) {
                return Err(SpecError::new("no object fits into 0 bytes: expected more").at(item.at.clone()));
            }
            sizes.extend(of_item);
        }
        let mut seen = HashSet::new();
        sizes.retain(|&size| seen.insert(size));
        Ok(sizes)
    }

    /// The sizes in blocks, each once, in the order given; bytes and percentages are rounded down.
    ///
    /// `footprint` is the number of distinct blocks of the trace; `block_bytes` is `None` when blocks have no size in
    /// bytes. A size below one block or of more than `u32::MAX` blocks is an error.
    pub fn resolve(&self, footprint: u64, block_bytes: Option<u64>) -> Result<Vec<u32>, SpecError> {
        let mut sizes = Vec::new();
        let mut seen = HashSet::new();
        for item in &self.items {
            for amount in item.amounts() {
                let amount = match item.from {
                    Value::Percent(_) if self.rounds_up => amount.max(100.0 / footprint.max(1) as f64),
                    Value::Percent(_) => amount,
                    _ => amount * self.share,
                };
                let blocks = in_blocks(amount, &item.from, footprint, block_bytes);
                let blocks = blocks.map_err(|error| error.at(item.at.clone()))?;
                if seen.insert(blocks) {
                    sizes.push(blocks);
                }
            }
        }
        Ok(sizes)
    }
}

/// The size of a cache of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectSize {
    /// Objects that fit; where the size is in bytes, as many as would fit if all were of average size.
    pub objects: u32,
    /// Bytes that fit, where the size is in bytes.
    pub bytes: Option<u64>,
}

impl ObjectSize {
    /// A size in objects.
    pub fn of_objects(objects: u32) -> ObjectSize {
        ObjectSize { objects, bytes: None }
    }

    fn of_bytes(bytes: u64, mean: f64) -> ObjectSize {
        let objects = (bytes as f64 / mean.max(1.0)).clamp(1.0, f64::from(u32::MAX)) as u32;
        ObjectSize { objects, bytes: Some(bytes) }
    }
}

impl Item {
    /// Reads one size or range, whose bare numbers are counts if it is `in_blocks`.
    fn parse(text: &str, in_blocks: bool, at: Range<usize>) -> Result<Item, SpecError> {
        if !text.contains("..") {
            return Ok(Item { from: size(text, in_blocks)?, to: None, at });
        }
        let whole = text;
        let (text, in_blocks) = without_blocks(text).map_or((text, in_blocks), |counts| (counts, true));
        let size = |text: &str| size(text, in_blocks);
        let Some((from, rest)) = text.split_once("..") else { unreachable!("the text has two dots") };
        let Some((to, factor)) = rest.split_once('*') else {
            let unit = if whole == text { "" } else { " blocks" };
            let is_plain =
                text.len() < 30 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".% ".contains(&byte));
            let example = if is_plain { format!("{}*2{unit}", text.trim()) } else { "16M..1G*2".to_owned() };
            return Err(SpecError::new(format!(
                "the range {} has no factor between its sizes: expected one, e.g. {example}",
                quote(whole)
            )));
        };
        let item = Item { from: size(from)?, to: Some((size(to)?, ratio(factor)?)), at };
        item.check_range()?;
        Ok(item)
    }

    fn check_range(&self) -> Result<(), SpecError> {
        let Some((to, factor)) = &self.to else { return Ok(()) };
        if std::mem::discriminant(&self.from) != std::mem::discriminant(to) {
            return Err(SpecError::new(format!(
                "the ends of a range must be of one kind: expected both in blocks, bytes or percent, found {} and {to}",
                self.from
            )));
        }
        let (first, last) = (amount(&self.from), amount(to));
        if first == 0.0 || last < first {
            return Err(SpecError::new(format!(
                "expected a range from a size above 0 up to a larger one, found {}..{to}",
                self.from
            )));
        }
        if (last / first).ln() / factor.ln() >= STEPS_LIMIT as f64 {
            return Err(SpecError::new(format!(
                "the range {self} holds more than {STEPS_LIMIT} sizes: expected a larger factor"
            )));
        }
        Ok(())
    }

    /// The sizes in the item's own unit.
    fn amounts(&self) -> impl Iterator<Item = f64> {
        let first = amount(&self.from);
        let (last, factor) = self.to.as_ref().map_or((first, 2.0), |(to, factor)| (amount(to), *factor));
        // A last step that passes the end by rounding alone still counts.
        let steps =
            (0..).map(move |step| first * factor.powi(step)).take_while(move |size| *size <= last * (1.0 + 1e-12));
        steps.map(move |size| size.min(last))
    }
}

/// Reads one size, whose bare number is a count if it is `in_blocks`. A fraction of 1 is a share of the footprint.
fn size(text: &str, in_blocks: bool) -> Result<Value, SpecError> {
    let whole = text.trim();
    let counted = without_blocks(text);
    let (text, in_blocks, is_counted) = (counted.unwrap_or(text), in_blocks || counted.is_some(), counted.is_some());
    match Value::parse(text)? {
        Value::Number(share) if !is_counted && 0.0 < share && share < 1.0 => {
            // 0.07 is 7 %, whatever the rounding of 0.07.
            Ok(Value::Percent((share * 1e14).round() / 1e12))
        }
        Value::Number(blocks) if in_blocks && blocks.fract() == 0.0 => Ok(Value::Number(blocks)),
        Value::Number(blocks) if in_blocks || blocks.fract() != 0.0 => Err(SpecError::new(format!(
            "{blocks} is not a size: expected a whole number of blocks, bytes (64M) or a share of the footprint (10%)"
        ))),
        Value::Number(_) => Err(SpecError::new(format!(
            "{} has no unit: expected blocks (64 blocks), bytes (64M) or a share of the footprint (10%)",
            quote(whole)
        ))),
        value @ (Value::Size(_) | Value::Percent(_)) if !is_counted => Ok(value),
        Value::Size(_) | Value::Percent(_) => {
            Err(SpecError::new(format!("{} has two units: expected one, as in 64 blocks, 64M or 10%", quote(whole))))
        }
        Value::Time(_) | Value::PerApp(_) | Value::Word(_) | Value::Quoted(_) => Err(SpecError::new(format!(
            "{} is not a size: expected blocks (64 blocks), bytes (64M), a share of the footprint (10%) or a range \
             (16M..1G*2)",
            quote(text.trim())
        ))),
    }
}

/// The text in front of the unit of counts, if it ends in that: in traces of objects each object is a block.
fn without_blocks(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let unit = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len();
    let is_count = ["block", "blocks", "object", "objects"].iter().any(|name| text[unit..].eq_ignore_ascii_case(name));
    is_count.then(|| text[..unit].trim_end())
}

/// Reads the factor of a range.
fn ratio(text: &str) -> Result<f64, SpecError> {
    match Value::parse(text) {
        Ok(Value::Number(factor)) if factor > 1.0 => Ok(factor),
        _ => Err(SpecError::new(format!("{} is not a factor: expected a number above 1", quote(text.trim())))),
    }
}

/// The number in front of the unit: blocks, bytes or percent.
fn amount(size: &Value) -> f64 {
    match size {
        Value::Number(number) | Value::Percent(number) => *number,
        Value::Size(bytes) => *bytes as f64,
        Value::Time(_) | Value::PerApp(_) | Value::Word(_) | Value::Quoted(_) => unreachable!("no such size is read"),
    }
}

/// `amount` in the unit of `kind` as blocks.
fn in_blocks(amount: f64, kind: &Value, footprint: u64, block_bytes: Option<u64>) -> Result<u32, SpecError> {
    let blocks = match kind {
        Value::Size(_) => match block_bytes {
            Some(block) => amount / block as f64,
            None => {
                return Err(SpecError::new(
                    "the size is in bytes, but blocks of this trace have no size in bytes: expected a count (64 blocks) or a share of the footprint (10%)",
                ));
            }
        },
        Value::Percent(_) => amount * footprint as f64 / 100.0,
        _ => amount,
    };
    // 10% of 30 is 3, whatever the rounding of 0.1.
    let whole = (blocks * (1.0 + 1e-14)).floor();
    if whole < 1.0 {
        return Err(SpecError::new(format!("the size is less than one block{}", scale(kind, footprint, block_bytes))));
    }
    if whole > f64::from(u32::MAX) {
        let scale = scale(kind, footprint, block_bytes);
        return Err(SpecError::new(format!("the size is {whole} blocks{scale}: expected at most {}", u32::MAX)));
    }
    Ok(whole as u32)
}

/// The unit of a size, in words.
fn scale(kind: &Value, footprint: u64, block_bytes: Option<u64>) -> String {
    match (kind, block_bytes) {
        (Value::Percent(_), _) => format!(" (the trace has {footprint} distinct blocks)"),
        (Value::Size(_), Some(block)) => format!(" (a block is {})", Value::Size(block)),
        _ => String::new(),
    }
}

impl fmt::Display for SizeSpec {
    /// Counts are followed by their unit, which stands once where the list ends in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_count = |item: &Item| matches!(item.from, Value::Number(_));
        let names_at_end = self.items.last().is_some_and(is_count);
        for (index, item) in self.items.iter().enumerate() {
            let is_last = index + 1 == self.items.len();
            let unit = if is_count(item) && (is_last || !names_at_end) { " blocks" } else { "" };
            write!(f, "{}{item}{unit}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.to {
            Some((to, factor)) => write!(f, "{}..{to}*{factor}", self.from),
            None => self.from.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> Vec<u32> {
        SizeSpec::parse(text).unwrap().resolve(1000, Some(4096)).unwrap()
    }

    #[test]
    fn shares_that_nobody_asked_for_are_a_block_at_least() {
        let sizes = SizeSpec::parse("1%,10%,50%").unwrap();
        assert!(sizes.resolve(7, None).is_err());
        assert_eq!(sizes.clone().at_least_one_block().resolve(7, None).unwrap(), [1, 3]);
        assert_eq!(sizes.at_least_one_block().resolve(1000, None).unwrap(), [10, 100, 500]);
    }

    #[test]
    fn every_kind_of_size_becomes_blocks() {
        assert_eq!(blocks("100 blocks, 64K ,10%"), [100, 16, 100][..2]);
        assert_eq!(blocks("16K..256K*4"), [4, 16, 64]);
        assert_eq!(blocks("10..100*2 blocks"), [10, 20, 40, 80]);
        assert_eq!(blocks("10blocks..34 blocks*1.5"), [10, 15, 22, 33]);
        assert_eq!(blocks("1%..8%*2,5,10 Objects"), [10, 20, 40, 80, 5]);
        assert_eq!(blocks("0.1%..100%*10"), [1, 10, 100, 1000]);
        assert_eq!(blocks("7..7*2 blocks,1 block"), [7, 1]);
        assert_eq!(blocks("0.1, 10 %,0.07,0.5"), [100, 70, 500]);
        assert_eq!(blocks("0.001..0.1*10"), [1, 10, 100]);
        assert_eq!(SizeSpec::of_blocks(&[4, 2]).resolve(1, None).unwrap(), [4, 2]);
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_three_spellings() {
        for (text, place) in [("64", 0..2), ("1.0", 0..3), ("10%,5", 4..5), ("1..4*2", 0..6), ("5 blocks,7,1K", 9..10)]
        {
            let error = SizeSpec::parse(text).unwrap_err();
            let expected = "has no unit: expected blocks (64 blocks), bytes (64M) or a share of the footprint (10%)";
            assert!(error.message.ends_with(expected), "{text}: {error}");
            assert_eq!(error.at, Some(place), "{text}");
        }
    }

    #[test]
    fn sizes_of_objects_are_numbers_or_bytes() {
        let objects = |text: &str, mean| SizeSpec::parse(text).unwrap().resolve_objects(200, mean);
        let size = |objects, bytes| ObjectSize { objects, bytes };
        let found = objects("10 objects,50%,4K,1K..4K*2,100 objects", Some(512.0)).unwrap();
        let bytes = [(8, 4096), (2, 1024), (4, 2048)].map(|(objects, bytes)| size(objects, Some(bytes)));
        assert_eq!(found, [&[size(10, None), size(100, None)], &bytes[..]].concat());
        assert_eq!(objects("1K", Some(1e6)).unwrap(), [size(1, Some(1024))]);
        for (text, mean, words) in [("9%,1K", None, "tells no sizes"), ("9%,0K", Some(9.0), "into 0 bytes")] {
            let error = objects(text, mean).unwrap_err();
            assert!(error.message.contains(words) && error.at == Some(3..5), "{error}");
        }
    }

    #[test]
    fn shares_are_exact_where_the_share_is() {
        for percent in 1..=100 {
            assert_eq!(blocks(&format!("{percent}%")), [percent * 10]);
        }
        assert_eq!(SizeSpec::parse("10%").unwrap().resolve(39, None).unwrap(), [3]);
    }

    #[test]
    fn canonical_text_reads_back() {
        let spec = SizeSpec::parse(" 1024K,10.0%, 16m..1024M*1.50 ").unwrap();
        assert_eq!(spec.to_string(), "1M,10%,16M..1G*1.5");
        assert_eq!(SizeSpec::parse(&spec.to_string()).unwrap(), spec);
        assert!(spec.needs_footprint() && !SizeSpec::parse("5 blocks,64M").unwrap().needs_footprint());
        for (text, shown) in [
            ("5blocks, 64M", "5 blocks,64M"),
            ("1,2,3 objects", "1,2,3 blocks"),
            ("1..8*2 blocks,0.25,2..4*2blocks", "1..8*2,25%,2..4*2 blocks"),
        ] {
            let spec = SizeSpec::parse(text).unwrap();
            assert_eq!(spec.to_string(), shown);
            assert_eq!(SizeSpec::parse(shown).unwrap(), spec);
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_at_its_place() {
        let cases = [
            ("", 0..0, "not a number"),
            ("10%,", 4..4, "not a number"),
            ("10%,x", 4..5, "not a size"),
            ("blocks", 0..6, "not a number"),
            ("2.5 blocks", 0..10, "whole number"),
            ("0.5 blocks", 0..10, "whole number"),
            ("10%,5K blocks", 4..13, "two units"),
            ("2.5", 0..3, "whole number"),
            ("2s", 0..2, "not a size"),
            ("1..4", 0..4, "no factor between its sizes: expected one, e.g. 1..4*2"),
            ("1..10 blocks", 0..12, "expected one, e.g. 1..10*2 blocks"),
            ("1%..4%*1", 0..8, "above 1"),
            ("1%..4%*NaN", 0..10, "above 1"),
            ("1%..4K*2", 0..8, "one kind"),
            ("4K..1K*2", 0..8, "larger one"),
            ("0%..4%*2", 0..8, "above 0"),
            ("5K,1%..1G*2", 3..11, "one kind"),
            ("1K..1000K*1.000001", 0..18, "more than 1000"),
            ("-5", 0..2, "not negative"),
            ("inf", 0..3, "not a size"),
        ];
        for (text, place, words) in cases {
            let error = SizeSpec::parse(text).unwrap_err();
            assert!(error.message.contains(words), "{text}: {error}");
            assert_eq!(error.at, Some(place), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_possible_cache_is_refused() {
        let cases = [
            ("0 blocks", 10, Some(4096), "less than one block"),
            ("1K", 10, Some(4096), "less than one block (a block is 4K)"),
            ("10%", 0, Some(4096), "the trace has 0 distinct blocks"),
            ("4294967296 blocks", 10, None, "at most 4294967295"),
            ("1e300 blocks", 10, None, "at most 4294967295"),
            ("64M", 10, None, "no size in bytes"),
        ];
        for (text, footprint, block, words) in cases {
            let error = SizeSpec::parse(text).unwrap().resolve(footprint, block).unwrap_err();
            assert!(error.message.contains(words), "{text}: {error}");
            assert_eq!(error.at, Some(0..text.len()));
        }
        assert_eq!(SizeSpec::parse("4294967295blocks").unwrap().resolve(1, None).unwrap(), [u32::MAX]);
    }
}
