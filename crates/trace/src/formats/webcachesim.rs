//! `webcachesim`: `time id size` between blanks, and features behind them, as AdaptSize, webcachesim and LRB read. The
//! time is in seconds, the size in bytes; features are not used. Requests are reads.

use hotset_core::request::Request;
use hotset_core::setting::SettingName;

use super::{Confidence, Format, Head, integers::Columns};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed,
        ids::of_id,
        lines::{LineFormat, Lines, TextLine},
        number::{scaled, scaled_in_any_notation, unexpected},
        words::Words,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "webcachesim",
    summary: "time, id, bytes, features that are ignored; between blanks (AdaptSize, webcachesim, LRB)",
    example: "1577808144 4711 512",
    sample: b"0 2 2000 7\n1.5 -4 512 7\n3 2 2000 9\n4 -4 512 7\n4 2 2000 7\n9 17 30000 7\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, WebCacheSim::default(), 1, options.skip_bad))),
};

const SECOND_DIGITS: usize = 9;

const META: Meta =
    Meta { format: "webcachesim", addressing: Addressing::Objects, has_time: true, has_ops: false, sample: None };

#[derive(Default)]
struct WebCacheSim {
    /// Columns behind the size, at most.
    features: usize,
}

impl LineFormat for WebCacheSim {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        let mut words = Words::new(line);
        let time = words.next().unwrap_or_default();
        let time = parse_time(time).ok_or_else(|| {
            let other = SettingName("columns").of("time_us,id,size");
            unexpected(time, &format!("the time in seconds, below 2^64 nanoseconds ({other} names another unit)"))
        })?;
        let id = words.next().unwrap_or_default();
        let offset = of_id(id)?;
        let length = words.number("the size in bytes")?;
        let length = u32::try_from(length)
            .map_err(|_| format!("found an object of {length} bytes; expected less than 4 GiB"))?;
        batch.requests.push(Request { time, offset, length, ..Request::default() });
        if !words.is_done() {
            self.features = self.features.max(words.count());
        }
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let count = self.features;
        let noun = if count == 1 { "column" } else { "columns" };
        let remark = (count > 0).then(|| format!("{count} {noun} behind the size are features, which are not used"));
        remark.into_iter().collect()
    }
}

#[inline]
fn parse_time(word: &[u8]) -> Option<u64> {
    scaled(word, SECOND_DIGITS).or_else(|| scaled_in_any_notation(word, SECOND_DIGITS))
}

fn detect(head: &Head) -> Confidence {
    let is_named = [".tr", ".webcachesim"].iter().any(|ending| head.name.ends_with(ending));
    let Some(columns) = Columns::of(head) else { return Confidence::No };
    let rises = columns.rises(0);
    let fits = columns.count() >= 3 && columns.at_most(2, u32::MAX.into()) && columns.decides(1, 2) != Some(false);
    match fits {
        true if rises && is_named => Confidence::Sure,
        true if rises => Confidence::Likely,
        true => Confidence::Possible,
        false => Confidence::No,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{read, refused, skipping},
        *,
    };

    #[test]
    fn rows_hold_time_id_size_and_features() {
        let whole = read(&FORMAT, b"0 2 100\n1.5\t5  70 1 0\r\n2e0 -1 1e3\n");
        let rows = whole.requests.iter().map(|request| (request.time, request.offset, request.length));
        let expected = [(0, 2, 100), (1_500_000_000, 5, 70), (2_000_000_000, u64::MAX, 1000)];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
        assert_eq!(whole.remarks, ["2 columns behind the size are features, which are not used"]);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("x 1 1", "found `x`; expected the time in seconds"),
            ("1", "found nothing; expected an id"),
            ("1 2", "found nothing; expected the size in bytes, a whole number below 2^64"),
            ("1 2 -1", "found `-1`; expected the size in bytes"),
            ("1 2 4294967296", "found an object of 4294967296 bytes; expected less than 4 GiB"),
        ];
        for (line, message) in cases {
            let error = refused(&FORMAT, format!("{line}\n1 1 1\n").as_bytes());
            assert!(error.starts_with(&format!("t, line 1: {message}")), "{error}");
        }
        assert_eq!(skipping(&FORMAT, b"1 2 3\nx\n2 2 3\n").skipped, 1);
    }
}
