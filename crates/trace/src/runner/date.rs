//! Dates as times: `20160201000003`, `2010-05-27T09:31:55.63`, `2023-01-02 03:04:05+00:00`.

use super::number::scaled;

const DAY_SECONDS: u64 = 86_400;

/// Nanoseconds since 1970 of a date: 14 digits, or year, month and day between `-` or `/`, then `T` or a blank, then
/// hours, minutes and seconds, with a fraction or without. The zone may follow as `Z`, `+01:00`, `-0530` or `+01`. A
/// date without a zone is in UTC.
pub fn date(text: &[u8]) -> Option<u64> {
    let (text, zone) = split_zone(text)?;
    let local = local_date(text)?;
    let zone_nanoseconds = zone.unsigned_abs().checked_mul(60_000_000_000)?;
    if zone < 0 { local.checked_add(zone_nanoseconds) } else { local.checked_sub(zone_nanoseconds) }
}

/// The date without its zone, and the minutes that the zone is ahead of UTC.
fn split_zone(text: &[u8]) -> Option<(&[u8], i64)> {
    if let Some(text) = text.strip_suffix(b"Z") {
        return Some((text, 0));
    }
    // Behind the seconds; a date before them may hold `-` too.
    let sign = (19..text.len()).find(|&at| b"+-".contains(&text[at]));
    let Some(sign) = sign else { return Some((text, 0)) };
    let digits: Vec<u8> = match &text[sign + 1..] {
        [hours @ .., b':', tens, ones] if hours.len() == 2 => [hours, &[*tens, *ones]].concat(),
        digits => digits.to_vec(),
    };
    let minutes = match digits.len() {
        2 => two_or_four(&digits)? * 60,
        4 => two_or_four(&digits[..2])? * 60 + two_or_four(&digits[2..]).filter(|&minutes| minutes < 60)?,
        _ => return None,
    };
    let minutes = i64::try_from(minutes).ok().filter(|&minutes| minutes <= 18 * 60)?;
    Some((text[..sign].trim_ascii_end(), if text[sign] == b'-' { -minutes } else { minutes }))
}

/// Nanoseconds since 1970 of a date without a zone.
fn local_date(text: &[u8]) -> Option<u64> {
    match text.len() {
        14 => {
            let number = |from: usize, to: usize| two_or_four(&text[from..to]);
            let day = days(number(0, 4)?, number(4, 6)?, number(6, 8)?)?;
            instant(day, number(8, 10)?, number(10, 12)?, &text[12..])
        }
        19.. => {
            let between = |at: usize, signs: &[u8]| signs.contains(&text[at]).then_some(());
            between(4, b"-/")?;
            between(7, b"-/")?;
            between(10, b"T ")?;
            between(13, b":")?;
            between(16, b":")?;
            let number = |from: usize, to: usize| two_or_four(&text[from..to]);
            let day = days(number(0, 4)?, number(5, 7)?, number(8, 10)?)?;
            instant(day, number(11, 13)?, number(14, 16)?, &text[17..])
        }
        _ => None,
    }
}

fn two_or_four(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
}

fn instant(day: u64, hour: u64, minute: u64, seconds: &[u8]) -> Option<u64> {
    let nanoseconds = scaled(seconds, 9).filter(|&nanoseconds| nanoseconds < 61_000_000_000)?;
    let whole = (hour < 24 && minute < 60).then(|| day * DAY_SECONDS + hour * 3600 + minute * 60)?;
    whole.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// Days from 1970 to a day of the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let before = BEFORE.get(usize::try_from(month).ok()?.checked_sub(1)?)? + u64::from(is_leap && month > 2);
    let length = match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if year < 1970 || !(1..=length).contains(&day) {
        return None;
    }
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    Some((year - 1970) * 365 + leaps(year - 1) - leaps(1969) + before + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_nanoseconds_since_1970() {
        let cases = [
            ("19700101000000", 0),
            ("20160201000003", 1_454_284_803_000_000_000),
            ("2010-05-27T09:31:55.63", 1_274_952_715_630_000_000),
            ("2000-03-01 00:00:00", 951_868_800_000_000_000),
            ("2024/02/29 23:59:59Z", 1_709_251_199_000_000_000),
            ("2100-03-01T00:00:00+00:00", 4_107_542_400_000_000_000),
            ("2010-05-27T10:31:55.63+01:00", 1_274_952_715_630_000_000),
            ("2010-05-27 04:01:55.63 -0530", 1_274_952_715_630_000_000),
            ("2010-05-27T11:31:55.63+02", 1_274_952_715_630_000_000),
        ];
        for (text, time) in cases {
            assert_eq!(date(text.as_bytes()), Some(time), "{text}");
        }
        let wrong = [
            "",
            "2016020100000x",
            "20161301000000",
            "20160230000000",
            "20160201240000",
            "2010-05-27",
            "1969-12-31T00:00:00",
        ];
        for text in wrong.into_iter().chain([
            "2010-05-27T09:31:75",
            "2010-05-27T09:31:55+1:00",
            "2010-05-27T09:31:55+19:00",
            "2010-05-27T09:31:55+01:60",
            "1970-01-01T00:00:00+01:00",
            "2010.05.27T09:31:55",
        ]) {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
    }
}
