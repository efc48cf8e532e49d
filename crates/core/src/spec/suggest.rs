//! "Did you mean": the known names that are nearest to a wrong one.

use strsim::osa_distance;

/// Longer texts are not mistyped names, and not worth comparing with every name.
const LONGEST: usize = 32;

/// The known names that `wrong` may be a misspelling of, nearest first, at most three.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if wrong.len() > LONGEST {
        return Vec::new();
    }
    let wrong = wrong.to_ascii_lowercase();
    let allowed = (wrong.len() / 3).max(1);
    let distance = |name: &str| if name.starts_with(&wrong) { 1 } else { osa_distance(&wrong, name) };
    let mut near: Vec<(usize, &str)> =
        known.into_iter().map(|name| (distance(name), name)).filter(|(distance, _)| *distance <= allowed).collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = ["arc", "car", "lru", "lru-k", "clock", "clock-pro"];

    #[test]
    fn typing_errors_find_their_name() {
        assert_eq!(nearest("acr", NAMES), ["arc", "car"]);
        assert_eq!(nearest("LRU_K", NAMES), ["lru-k"]);
        assert_eq!(nearest("clok", NAMES), ["clock"]);
        assert_eq!(nearest("clo", NAMES), ["clock", "clock-pro"]);
    }

    #[test]
    fn what_is_like_nothing_finds_nothing() {
        assert_eq!(nearest("perfect", NAMES), [""; 0]);
        assert_eq!(nearest(&"lru".repeat(1000), NAMES), [""; 0]);
    }
}
