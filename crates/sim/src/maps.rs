//! The remark on mapped file ranges that are left out.

use hotset_core::view::Maps;

/// The remark for a user who did not choose, if mappings of so many bytes are left out.
pub(crate) fn remark(maps: Maps, bytes: u64) -> Option<String> {
    const UNITS: [&str; 5] = ["B", "K", "M", "G", "T"];
    let is_told = maps == Maps::Auto && bytes > 0;
    let mut unit = 0;
    while unit + 1 < UNITS.len() && bytes >> (10 * (unit + 1)) >= 10 {
        unit += 1;
    }
    is_told.then(|| {
        format!(
            "mappings of {}{} are left out, since nothing tells what was touched of them (--maps all counts each as a read of its whole range)",
            bytes >> (10 * unit),
            UNITS[unit]
        )
    })
}
