//! Numbers as people read them.

/// `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// `64M`, `1.5G`: binary multiples, at most one decimal.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "K", "M", "G", "T"];
    let mut amount = bytes as f64;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(amount.fract() >= 0.05 && amount < 100.0);
    format!("{amount:.digits$}{}", UNITS[unit])
}

/// A share as `12.34`, in percent without the sign.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2}", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_short_and_true() {
        let shown: Vec<String> = [0, 512, 4096, 1536 << 10, 10 << 20, (10 << 20) + 1, 1 << 40].map(bytes).into();
        assert_eq!(shown, ["0B", "512B", "4K", "1.5M", "10M", "10M", "1T"]);
    }
}
