//! Tables in words.

use hotset_results::{Choice, Metric, Row, Share};

use super::human;
use super::table::{USUAL, is_bound, knows_future};

/// The trace of a row and what was chosen of it, for headings: `app.hst [only ops=reads; warm-up 20%; mapped ranges as
/// reads]`.
pub(crate) fn chosen(row: &Row) -> String {
    named(&row.trace, &row.choice)
}

/// The same for any trace, with the format that it was read in.
pub(crate) fn named(trace: &str, choice: &Choice) -> String {
    let said = |word: &str, told: &Option<String>| told.as_ref().map(|told| format!("{word} {told}"));
    let maps = (choice.maps.as_deref() == Some("all")).then(|| "mapped ranges as reads".to_owned());
    let deletes = (choice.deletes.as_deref() == Some("ignore")).then(|| "deletes ignored".to_owned());
    let chosen = [said("only", &choice.filter), said("warm-up", &choice.warmup), said("counted", &choice.count_only)];
    let ttl = (choice.ttl.as_deref() == Some("ignore")).then(|| "times to live ignored".to_owned());
    let told = chosen.into_iter().chain([maps, deletes, ttl]);
    let trace = match choice.format {
        "" => trace.to_owned(),
        format => format!("{trace} ({format})"),
    };
    match told.flatten().collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => trace,
        told => format!("{trace} [{told}]"),
    }
}

/// Summarises the rows of one trace. At the middle size, so that the choice favours no policy: the lead of the best
/// policy over LRU (over the worst policy, if LRU is missing), its distance from the bound, and the size at which LRU
/// hits as much. Repeats are excluded: they hit in any cache. `None` for
/// `metric` misses, as the sentences are about hits.
pub(crate) fn summary(rows: &[Row], metric: Metric) -> Option<String> {
    if metric == Metric::Misses {
        return None;
    }
    let sizes = sizes(rows);
    let middle = *sizes.get(sizes.len().checked_sub(1)? / 2)?;
    let verdict = Verdict::at(rows, middle, metric)?;
    let is_lost = sizes.iter().filter_map(|&size| Verdict::at(rows, size, metric)).all(|verdict| verdict.gain() == 0);
    if is_lost {
        let (noun, usual) = (verdict.noun(), &verdict.usual.policy);
        let nothing = format!("No online policy here hits a larger share {noun} than {usual} at any of these sizes.");
        return Some([nothing].into_iter().chain(time_saved(rows, &sizes)).collect::<Vec<_>>().join(" "));
    }
    let mut sentences = vec![verdict.sentence(sizes.len() > 1)];
    sentences.extend(verdict.price(rows, &sizes));
    sentences.extend(time_saved(rows, &sizes));
    Some(sentences.join(" "))
}

/// What time costs in memory: the quickest policy at the middle size against LRU, and at the next larger size.
fn time_saved(rows: &[Row], sizes: &[u64]) -> Option<String> {
    let middle = (sizes.len() - 1) / 2;
    let finish = |row: &&Row| row.finish_seconds.unwrap_or(f64::INFINITY);
    let of = |name: &str, size: u64| competing(rows, size).find(|row| row.policy == name)?.finish_seconds;
    let quickest = competing(rows, sizes[middle]).min_by(|one, other| finish(one).total_cmp(&finish(other)))?;
    let (name, ours) = (quickest.policy.as_str(), quickest.finish_seconds?);
    let saved = of(USUAL, sizes[middle]).map_or(String::new(), |usual| match usual - ours {
        saved if name == USUAL || saved < 0.005 => String::new(),
        saved => format!(", {saved:.2} s less than {USUAL}"),
    });
    let more = sizes.get(middle + 1).and_then(|&next| {
        let (saved, bytes) = (ours - of(name, next)?, quickest.block_bytes? * (next - sizes[middle]));
        if saved < 0.005 {
            return None;
        }
        let a_megabyte = saved / (bytes as f64 / f64::from(1 << 20));
        Some(format!(" {} more save {saved:.2} s, {a_megabyte:.2} s for each 1M.", human::bytes(bytes)))
    });
    let at = size(quickest);
    Some(format!("At {at}, {name} is quickest: {ours:.2} s until the end{saved}.{}", more.unwrap_or_default()))
}

/// Each size once, ascending.
fn sizes(rows: &[Row]) -> Vec<u64> {
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.size_blocks).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Rows at a size of the policies that could be run.
fn competing(rows: &[Row], size: u64) -> impl DoubleEndedIterator<Item = &Row> {
    rows.iter().filter(move |row| row.size_blocks == size && !knows_future(row))
}

/// The result of a comparison at one size.
struct Verdict<'a> {
    /// The policy with most hits, the first of equals; the bound where only one policy competes.
    best: &'a Row,
    /// LRU, or the policy with fewest hits.
    usual: &'a Row,
    /// The policy that minimises all misses, where there is one.
    bound: Option<&'a Row>,
    metric: Metric,
}

impl<'a> Verdict<'a> {
    fn at(rows: &'a [Row], size: u64, metric: Metric) -> Option<Verdict<'a>> {
        let hits = |row: &&Row| row.fresh(metric).hits;
        let bounds = rows.iter().filter(|row| row.size_blocks == size && is_bound(row));
        let bound = bounds.max_by_key(hits);
        let lru = competing(rows, size).find(|row| row.policy == USUAL);
        let usual = lru.or_else(|| competing(rows, size).min_by_key(hits))?;
        let best = match competing(rows, size).count() {
            1 => bound?,
            _ => competing(rows, size).rev().max_by_key(hits)?,
        };
        Some(Verdict { best, usual, bound, metric })
    }

    /// Misses saved.
    fn gain(&self) -> u64 {
        self.share(self.best).hits.saturating_sub(self.share(self.usual).hits)
    }

    fn share(&self, row: &Row) -> Share {
        row.fresh(self.metric)
    }

    /// The base of the ratios.
    fn noun(&self) -> String {
        let noun = match self.metric {
            Metric::Requests => return "of the requests to read".to_owned(),
            Metric::Reads if self.usual.has_writes() => "of reads",
            Metric::Reads | Metric::References | Metric::Misses => "of references",
        };
        let repeats = if self.usual.repeats.is_some_and(|repeats| repeats > 0) { " (repeats left out)" } else { "" };
        format!("{noun}{repeats}")
    }

    /// The least misses of all references are a bound on these only if they are all of them.
    fn bounds_all(&self) -> bool {
        match self.metric {
            Metric::References | Metric::Misses => true,
            Metric::Reads => !self.usual.has_writes(),
            Metric::Requests => false,
        }
    }

    /// The comparison; `among` several sizes, of which this is the middle one.
    fn sentence(&self, among: bool) -> String {
        let Verdict { best, usual, bound, .. } = self;
        let ratio = |row: &Row| human::percent(self.share(row).ratio());
        let middle = if among { ", the middle size" } else { "" };
        let size = size(best);
        if self.gain() == 0 {
            return format!("At {size}{middle}, no online policy here hits more than {}.", usual.policy);
        }
        let saved = human::counted_as(self.gain(), "fewer miss", "fewer misses");
        let compared = format!(
            "At {size}{middle}, {} hits {} % {} where {} hits {} %: {saved}{}",
            best.policy,
            ratio(best),
            self.noun(),
            usual.policy,
            ratio(usual),
            self.extra()
        );
        let hits = |row: &Row| self.share(row).hits;
        match bound {
            None => format!("{compared}."),
            Some(bound) if !self.bounds_all() && bound.policy == best.policy => format!("{compared}."),
            Some(bound) if !self.bounds_all() => format!(
                "{compared}; {}, which has the fewest misses of reads and writes together, hits {} %.",
                bound.policy,
                ratio(bound)
            ),
            Some(bound) if bound.policy == best.policy => format!("{compared} at best."),
            Some(bound) if hits(bound) >= hits(best) => {
                let room = (hits(bound) - hits(usual)) as f64;
                let closed = (100.0 * self.gain() as f64 / room).floor();
                format!("{compared}, {closed} % of the way to the bound ({}, {} %).", bound.policy, ratio(bound))
            }
            Some(bound) if best.extra_reads.is_some() => {
                format!("{compared}; {}, which reads nothing ahead, hits {} %.", bound.policy, ratio(bound))
            }
            // A policy that may refuse blocks can pass the bound of those that may not.
            Some(bound) => format!("{compared}; {}, which may refuse no block, hits {} %.", bound.policy, ratio(bound)),
        }
    }

    /// The additional blocks that the best one reads without a request.
    fn extra(&self) -> String {
        let extra = |row: &Row| row.extra_reads.unwrap_or(0);
        match extra(self.best).saturating_sub(extra(self.usual)) {
            0 => String::new(),
            more => {
                format!(", but {} read without a request", human::counted_as(more, "block more", "blocks more"))
            }
        }
    }

    /// The least size at which the usual policy hits as much as the best one does here.
    fn price(&self, rows: &[Row], sizes: &[u64]) -> Option<String> {
        if self.gain() == 0 || is_bound(self.best) || sizes.len() < 2 {
            return None;
        }
        let name = &self.usual.policy;
        let enough = |row: &&Row| row.policy == *name && self.share(row).hits >= self.share(self.best).hits;
        let least = rows.iter().filter(enough).min_by_key(|row| row.size_blocks);
        Some(match least {
            Some(row) => format!("Of these sizes, {name} needs {} for as much.", size(row)),
            None => format!("{name} hits as much at none of these sizes."),
        })
    }
}

fn size(row: &Row) -> String {
    row.size_bytes.map_or_else(|| human::counted(row.size_blocks, "block"), human::bytes)
}

#[cfg(test)]
mod tests {
    use hotset_results::{Counts, RequestCounts};

    use super::*;

    /// Rows of 1000 references: policy, and hits at sizes 10, 20…
    fn rows(told: &[(&str, &[u64])]) -> Vec<Row> {
        let row = |policy: &str, index: usize, hits: u64| {
            let requests = RequestCounts { read_references: 1000, read_hits: hits, ..RequestCounts::default() };
            let counts = Counts { requests: Some(requests), ..Counts::new(1000, hits) };
            Row { policy: policy.to_owned(), size_blocks: 10 * (index as u64 + 1), counts, ..Row::default() }
        };
        let of_policy = |(policy, hits): &(&str, &[u64])| {
            hits.iter().enumerate().map(|(i, &hits)| row(policy, i, hits)).collect::<Vec<_>>()
        };
        told.iter().flat_map(of_policy).collect()
    }

    fn said(told: &[(&str, &[u64])]) -> String {
        summary(&rows(told), Metric::Reads).unwrap_or_default()
    }

    #[test]
    fn the_greatest_gain_is_told_with_its_price() {
        let text = said(&[
            ("lru", &[100, 250, 520]),
            ("arc", &[150, 500, 530]),
            ("fifo", &[90, 240, 500]),
            ("opt", &[300, 600, 700]),
        ]);
        assert_eq!(
            text,
            "At 20 blocks, the middle size, arc hits 50.00 % of references where lru hits 25.00 %: 250 fewer misses, 71 % of the way to the bound (opt, 60.00 %). \
             Of these sizes, lru needs 30 blocks for as much."
        );
        let text = said(&[("lru", &[100, 250]), ("arc", &[350, 500])]);
        assert!(text.ends_with("250 fewer misses. lru hits as much at none of these sizes."), "{text}");
    }

    #[test]
    fn what_is_read_besides_is_told() {
        let mut rows = rows(&[("lru", &[100]), ("virtual(lru)", &[700]), ("opt", &[300])]);
        rows[1].extra_reads = Some(650);
        assert_eq!(
            summary(&rows, Metric::Reads).unwrap_or_default(),
            "At 10 blocks, virtual(lru) hits 70.00 % of references where lru hits 10.00 %: 600 fewer misses, but 650 blocks more read without a request; \
             opt, which reads nothing ahead, hits 30.00 %."
        );
    }

    #[test]
    fn without_lru_the_worst_is_the_measure() {
        let text = said(&[("clock", &[300]), ("arc", &[400]), ("fifo", &[399])]);
        assert_eq!(text, "At 10 blocks, arc hits 40.00 % of references where clock hits 30.00 %: 100 fewer misses.");
    }

    #[test]
    fn nothing_to_gain_is_said_too() {
        let text = said(&[("lru", &[300, 400]), ("fifo", &[299, 400]), ("opt", &[500, 500])]);
        assert_eq!(text, "No online policy here hits a larger share of references than lru at any of these sizes.");
    }

    #[test]
    fn one_policy_is_held_against_the_bound() {
        let text = said(&[("lru", &[300]), ("opt", &[301])]);
        assert_eq!(text, "At 10 blocks, opt hits 30.10 % of references where lru hits 30.00 %: 1 fewer miss at best.");
        assert_eq!(said(&[("lru", &[300])]), "");
        assert_eq!(said(&[("opt", &[300])]), "");
    }

    /// It was stated at the size where a policy gains most, which may be the only one where it does.
    #[test]
    fn the_most_flattering_size_is_not_the_one_that_is_told() {
        let text = said(&[("lru", &[0, 300, 400]), ("arc", &[310, 301, 400])]);
        assert!(
            text.starts_with("At 20 blocks, the middle size, arc hits 30.10 % of references where lru hits 30.00 %")
        );
        let text = said(&[("lru", &[0, 300, 400]), ("arc", &[310, 300, 400])]);
        assert!(text.starts_with("At 20 blocks, the middle size, no online policy here hits more than lru."), "{text}");
    }

    /// 600 reads, of which 500 are repeats, and 400 writes, which all hit.
    #[test]
    fn reads_are_told_without_repeats_and_writes() {
        let mut rows = rows(&[("lru", &[910]), ("arc", &[960]), ("opt", &[970])]);
        for row in &mut rows {
            let read_hits = row.counts.hits - 400;
            row.counts.requests = Some(RequestCounts { read_references: 600, read_hits, ..RequestCounts::default() });
            (row.repeats, row.repeat_hits) = (Some(500), Some(500));
        }
        assert_eq!(
            summary(&rows, Metric::Reads).unwrap(),
            "At 10 blocks, arc hits 60.00 % of reads (repeats left out) where lru hits 10.00 %: 50 fewer misses; opt, which has the fewest misses of reads \
             and writes together, hits 70.00 %."
        );
        assert!(summary(&rows, Metric::References).unwrap().ends_with("83 % of the way to the bound (opt, 94.00 %)."));
    }
}
