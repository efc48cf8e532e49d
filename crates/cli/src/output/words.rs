//! What a table shows, in words.

use hotset_sim::results::{Choice, Row};

use super::human;
use super::table::{is_bound, knows_future};

/// The scheme that others are measured by.
const USUAL: &str = "lru";

/// The trace of a row and what was chosen of it, for headings: `app.hst [only ops=reads; warm-up 20%; mapped ranges as reads]`.
pub(crate) fn chosen(row: &Row) -> String {
    named(&row.trace, &row.choice)
}

/// The same for any trace.
pub(crate) fn named(trace: &str, choice: &Choice) -> String {
    let said = |word: &str, told: &Option<String>| told.as_ref().map(|told| format!("{word} {told}"));
    let maps = (choice.maps == Some("all")).then(|| "mapped ranges as reads".to_owned());
    let told =
        [said("only", &choice.filter), said("warm-up", &choice.warmup), said("counted", &choice.count_only), maps];
    match told.into_iter().flatten().collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => trace.to_owned(),
        told => format!("{trace} [{told}]"),
    }
}

/// What is worth telling of the rows of one trace: where another policy gains most over LRU (over the worst policy, where LRU is not
/// among them), how far that is from the bound, what LRU would need for as much, and who is best most often.
pub(crate) fn summary(rows: &[Row]) -> Option<String> {
    let sizes = sizes(rows);
    let verdicts = sizes.iter().filter_map(|&size| Verdict::at(rows, size));
    let verdict = verdicts.max_by_key(Verdict::gain)?;
    let mut sentences = vec![verdict.sentence()];
    sentences.extend(verdict.price(rows, &sizes));
    sentences.extend(champion(rows, &sizes));
    Some(sentences.join(" "))
}

/// Each size once, ascending.
fn sizes(rows: &[Row]) -> Vec<u32> {
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.size_blocks).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Rows at a size of the policies that could be run.
fn competing(rows: &[Row], size: u32) -> impl DoubleEndedIterator<Item = &Row> {
    rows.iter().filter(move |row| row.size_blocks == size && !knows_future(row))
}

/// What a comparison at one size shows.
struct Verdict<'a> {
    /// The policy with most hits, the first of equals; the bound where only one policy competes.
    best: &'a Row,
    /// LRU, or the policy with fewest hits.
    usual: &'a Row,
    /// The bound, where there is one.
    bound: Option<&'a Row>,
}

impl<'a> Verdict<'a> {
    fn at(rows: &'a [Row], size: u32) -> Option<Verdict<'a>> {
        let bounds = rows.iter().filter(|row| row.size_blocks == size && is_bound(row));
        let bound = bounds.max_by_key(|row| row.counts.hits);
        let lru = competing(rows, size).find(|row| row.policy == USUAL);
        let usual = lru.or_else(|| competing(rows, size).min_by_key(|row| row.counts.hits))?;
        let best = match competing(rows, size).count() {
            1 => bound?,
            _ => competing(rows, size).rev().max_by_key(|row| row.counts.hits)?,
        };
        Some(Verdict { best, usual, bound })
    }

    /// Misses saved.
    fn gain(&self) -> u64 {
        self.best.counts.hits.saturating_sub(self.usual.counts.hits)
    }

    fn sentence(&self) -> String {
        let Verdict { best, usual, bound } = self;
        let ratio = |row: &Row| human::percent(row.counts.hit_ratio);
        if self.gain() == 0 {
            return format!("No online policy here hits more than {} at any of these sizes.", usual.policy);
        }
        let (size, saved) = (size(best), human::counted_as(self.gain(), "fewer miss", "fewer misses"));
        let (best_ratio, usual_ratio) = (ratio(best), ratio(usual));
        let compared = format!(
            "At {size}, {} hits {best_ratio} % where {} hits {usual_ratio} %: {saved}{}",
            best.policy,
            usual.policy,
            self.extra()
        );
        match bound {
            Some(bound) if bound.policy == best.policy => format!("{compared} at best."),
            Some(bound) if bound.counts.hits >= best.counts.hits => {
                let room = (bound.counts.hits - usual.counts.hits) as f64;
                let closed = (100.0 * self.gain() as f64 / room).floor();
                format!("{compared}, {closed} % of the way to the bound ({}, {} %).", bound.policy, ratio(bound))
            }
            Some(bound) if best.extra_reads.is_some() => {
                format!("{compared}; {}, which reads nothing ahead, hits {} %.", bound.policy, ratio(bound))
            }
            // A policy that may refuse blocks can pass the bound of those that may not.
            Some(bound) => format!("{compared}; {}, which may refuse no block, hits {} %.", bound.policy, ratio(bound)),
            None => format!("{compared}."),
        }
    }

    /// What the best one reads more though nobody asked for it.
    fn extra(&self) -> String {
        let extra = |row: &Row| row.extra_reads.unwrap_or(0);
        match extra(self.best).saturating_sub(extra(self.usual)) {
            0 => String::new(),
            more => {
                format!(", but {} read that nobody had asked for", human::counted_as(more, "block more", "blocks more"))
            }
        }
    }

    /// The least size at which the usual policy hits as much as the best one does here.
    fn price(&self, rows: &[Row], sizes: &[u32]) -> Option<String> {
        if self.gain() == 0 || is_bound(self.best) || sizes.len() < 2 {
            return None;
        }
        let name = &self.usual.policy;
        let enough = |row: &&Row| row.policy == *name && row.counts.hits >= self.best.counts.hits;
        let least = rows.iter().filter(enough).min_by_key(|row| row.size_blocks);
        Some(match least {
            Some(row) => format!("Of these sizes, {name} needs {} for as much.", size(row)),
            None => format!("{name} hits as much at none of these sizes."),
        })
    }
}

/// The policy that is best, or as good as the best, at most sizes, where there is one such policy and a choice.
fn champion(rows: &[Row], sizes: &[u32]) -> Option<String> {
    let competitors: Vec<&str> = competing(rows, *sizes.first()?).map(|row| row.policy.as_str()).collect();
    if sizes.len() < 2 || competitors.len() < 3 {
        return None;
    }
    let wins = |name: &str| {
        let wins_at = |&&size: &&u32| {
            let most = competing(rows, size).map(|row| row.counts.hits).max();
            competing(rows, size).any(|row| row.policy == name && Some(row.counts.hits) == most)
        };
        sizes.iter().filter(wins_at).count()
    };
    let wins: Vec<(usize, &str)> = competitors.iter().map(|&name| (wins(name), name)).collect();
    let &(most, name) = wins.iter().max_by_key(|(wins, _)| *wins)?;
    let unrivalled = wins.iter().filter(|(wins, _)| *wins == most).count() == 1;
    unrivalled.then(|| format!("Best most often is {name}, at {most} of {} sizes.", sizes.len()))
}

fn size(row: &Row) -> String {
    row.size_bytes.map_or_else(|| human::counted(row.size_blocks.into(), "block"), human::bytes)
}

#[cfg(test)]
mod tests {
    use hotset_sim::Tally;
    use hotset_sim::results::TraceFacts;

    use super::*;

    /// Rows of 1000 references: policy, and hits at sizes 10, 20…
    fn rows(told: &[(&str, &[u64])]) -> Vec<Row> {
        let facts = TraceFacts {
            name: "t".into(),
            choice: Choice::default(),
            block_bytes: None,
            distinct: None,
            has_ops: false,
            apps: Vec::new(),
        };
        let row = |policy: &str, index: usize, hits: u64| {
            let mut tally = Tally::default();
            (tally.total.references, tally.total.hits) = (1000, hits);
            facts.row(policy.to_owned(), 10 * (index as u32 + 1), 1, &tally)
        };
        let of_policy = |(policy, hits): &(&str, &[u64])| {
            hits.iter().enumerate().map(|(i, &hits)| row(policy, i, hits)).collect::<Vec<_>>()
        };
        told.iter().flat_map(of_policy).collect()
    }

    fn said(told: &[(&str, &[u64])]) -> String {
        summary(&rows(told)).unwrap_or_default()
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
            "At 20 blocks, arc hits 50.00 % where lru hits 25.00 %: 250 fewer misses, 71 % of the way to the bound (opt, 60.00 %). \
             Of these sizes, lru needs 30 blocks for as much. Best most often is arc, at 3 of 3 sizes."
        );
        let text = said(&[("lru", &[100, 250]), ("arc", &[150, 500])]);
        assert!(text.ends_with("250 fewer misses. lru hits as much at none of these sizes."), "{text}");
    }

    #[test]
    fn what_is_read_besides_is_told() {
        let mut rows = rows(&[("lru", &[100]), ("virtual(lru)", &[700]), ("opt", &[300])]);
        rows[1].extra_reads = Some(650);
        assert_eq!(
            summary(&rows).unwrap_or_default(),
            "At 10 blocks, virtual(lru) hits 70.00 % where lru hits 10.00 %: 600 fewer misses, but 650 blocks more read that nobody had asked for; \
             opt, which reads nothing ahead, hits 30.00 %."
        );
    }

    #[test]
    fn without_lru_the_worst_is_the_measure() {
        let text = said(&[("clock", &[300]), ("arc", &[400]), ("fifo", &[399])]);
        assert_eq!(text, "At 10 blocks, arc hits 40.00 % where clock hits 30.00 %: 100 fewer misses.");
    }

    #[test]
    fn nothing_to_gain_is_said_too() {
        let text = said(&[("lru", &[300, 400]), ("fifo", &[299, 400]), ("opt", &[500, 500])]);
        assert_eq!(text, "No online policy here hits more than lru at any of these sizes.");
    }

    #[test]
    fn one_policy_is_held_against_the_bound() {
        let text = said(&[("lru", &[300]), ("opt", &[301])]);
        assert_eq!(text, "At 10 blocks, opt hits 30.10 % where lru hits 30.00 %: 1 fewer miss at best.");
        assert_eq!(said(&[("lru", &[300])]), "");
        assert_eq!(said(&[("opt", &[300])]), "");
    }

    #[test]
    fn equals_are_not_ranked() {
        let text = said(&[("lru", &[1, 1]), ("arc", &[5, 6]), ("car", &[5, 6])]);
        assert!(!text.contains("Best most often"), "{text}");
    }
}
