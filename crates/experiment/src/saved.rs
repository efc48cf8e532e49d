//! How much smaller a cache may be under a better policy, for the hit ratio that another one reaches.

use hotset_results::Row;

use crate::file::{Compare, File};

/// The share of the cache that is saved, in percent: the mean over all sizes at which the other policy's hit ratio is
/// in the range. Hit ratios are means over all traces, as papers plot them, or, if requested, the size at a share of
/// the other policy's best hit ratio is used. `None` without such a size, or the policy never hits as much.
pub(super) fn saved(file: &File, compare: &Compare, traces: &[&Vec<Row>]) -> Option<f64> {
    let (ours, other) = (curve(file, &compare.better, traces), curve(file, &compare.than, traces));
    if let Some(share) = compare.saved_best {
        let best = other.iter().map(|&(_, value)| value).fold(0.0, f64::max);
        let value = best * share / 100.0;
        return Some(100.0 * (1.0 - size_for(&ours, value)? / size_for(&other, value)?));
    }
    let (least, most) = (compare.saved_from? / 100.0, compare.saved_to.unwrap_or(100.0) / 100.0);
    let asked = other.iter().filter(|(_, value)| (least..=most).contains(value));
    let shares = asked.map(|&(size, value)| Some(100.0 * (1.0 - size_for(&ours, value)? / size)));
    let shares: Vec<f64> = shares.collect::<Option<_>>()?;
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Size and mean value over all traces by size, as far as all of them tell.
fn curve(file: &File, policy: &str, traces: &[&Vec<Row>]) -> Vec<(f64, f64)> {
    let of_trace = |rows: &&Vec<Row>| {
        let rows = rows.iter().filter(|row| row.policy == policy);
        rows.filter_map(|row| Some((row.size_blocks as f64, file.value(row)?))).collect::<Vec<_>>()
    };
    let curves: Vec<Vec<(f64, f64)>> = traces.iter().map(of_trace).collect();
    let sizes = curves.iter().map(Vec::len).min().unwrap_or(0);
    let mean = |at: usize| curves.iter().map(|curve| curve[at].1).sum::<f64>() / curves.len() as f64;
    (0..sizes).map(|at| (curves[0][at].0, mean(at))).collect()
}

/// The least size at which a curve reaches a value, by straight lines over the logarithm of size; the first size if it
/// is more there. `None` if it never does.
fn size_for(curve: &[(f64, f64)], value: f64) -> Option<f64> {
    let at = curve.iter().position(|&(_, reached)| reached >= value)?;
    let (size, reached) = curve[at];
    let Some(&(before, less)) = at.checked_sub(1).map(|at| &curve[at]) else { return Some(size) };
    if reached == value {
        return Some(size);
    }
    let way = (value - less) / (reached - less);
    Some((before.ln() + way * (size.ln() - before.ln())).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_off_lines_over_their_logarithm() {
        let curve = [(10.0, 0.2), (100.0, 0.4), (1000.0, 0.4), (10000.0, 0.8)];
        assert_eq!(size_for(&curve, 0.1), Some(10.0), "it may be less");
        assert!((size_for(&curve, 0.3).unwrap() - 1000f64.sqrt()).abs() < 1e-9);
        assert_eq!(size_for(&curve, 0.4), Some(100.0));
        assert!((size_for(&curve, 0.6).unwrap() - 1e7f64.sqrt()).abs() < 1e-9);
        assert_eq!(size_for(&curve, 0.9), None);
    }
}
