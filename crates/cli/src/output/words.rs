//! What a table shows, in words.

use hotset_sim::results::Row;

use super::{human, table::is_bound};

/// A sentence on the size at which the best policy gains most over LRU (or the worst policy, without LRU).
pub(crate) fn summary(rows: &[Row]) -> Option<String> {
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.size_blocks).collect();
    sizes.dedup();
    sizes.sort_unstable();
    sizes.dedup();
    let verdicts = sizes.into_iter().filter_map(|size| Verdict::at(rows, size));
    let verdict = verdicts.max_by(|left, right| left.gain().total_cmp(&right.gain()))?;
    Some(verdict.sentence())
}

struct Verdict<'a> {
    best: &'a Row,
    usual: &'a Row,
    bound: Option<&'a Row>,
}

impl<'a> Verdict<'a> {
    fn at(rows: &'a [Row], size: u32) -> Option<Verdict<'a>> {
        let here = || rows.iter().filter(move |row| row.size_blocks == size);
        let competing = || here().filter(|row| !is_bound(row));
        let best = competing().rev().max_by_key(|row| row.counts.hits)?;
        let lru = competing().find(|row| row.policy == "lru");
        let usual = lru.or_else(|| competing().min_by_key(|row| row.counts.hits))?;
        let bound = here().find(|row| row.policy == "opt");
        (competing().count() > 1).then_some(Verdict { best, usual, bound })
    }

    fn gain(&self) -> f64 {
        self.best.counts.hit_ratio - self.usual.counts.hit_ratio
    }

    fn sentence(&self) -> String {
        let Verdict { best, usual, bound } = self;
        let size =
            best.size_bytes.map_or_else(|| format!("{} blocks", human::count(best.size_blocks.into())), human::bytes);
        let (ratio, usual_ratio) = (human::percent(best.counts.hit_ratio), human::percent(usual.counts.hit_ratio));
        if best.counts.hits == usual.counts.hits {
            return format!("At {size}, no policy hits more than {} ({usual_ratio} %).", usual.policy);
        }
        let mut text = format!(
            "At {size}, {} hits {ratio} % where {} hits {usual_ratio} %: {} fewer misses",
            best.policy,
            usual.policy,
            human::count(usual.counts.misses - best.counts.misses),
        );
        if let Some(bound) = bound.filter(|bound| bound.counts.hits > usual.counts.hits) {
            let room = (bound.counts.hits - usual.counts.hits) as f64;
            let closed = (best.counts.hits - usual.counts.hits) as f64 / room;
            let bound = human::percent(bound.counts.hit_ratio);
            text += &format!(", {:.0} % of the way to what is possible (opt, {bound} %)", closed * 100.0);
        }
        text + "."
    }
}
