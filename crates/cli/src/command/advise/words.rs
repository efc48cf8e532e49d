//! Advice in plain words.

use comfy_table::Table;
use hotset_sim::advise::{Advice, Beside, Change, ENOUGH, Finding, Memory, REPEATED};

use crate::output::{human, table, words};

/// The evidence and the conclusion, which stand before what to do.
pub(super) fn findings(advice: &Advice) -> Vec<String> {
    let mut paragraphs = vec![heading(advice)];
    paragraphs.extend(storage(advice));
    match &advice.change {
        None => paragraphs.push(without_figures(advice)),
        Some(change) if advice.measures.is_empty() => paragraphs.push(nothing_helps(advice, change)),
        Some(_) => {}
    }
    paragraphs
}

/// The reasons, a paragraph a subject.
pub(super) fn details(advice: &Advice) -> Vec<String> {
    let mut paragraphs = Vec::new();
    if let (Some(memory), Some(change)) = (&advice.memory, &advice.change) {
        paragraphs.extend([of_memory(advice, memory), of_policy(advice, change)]);
        paragraphs.extend((!advice.beside.is_empty()).then(|| of_buffers(advice, change)));
        paragraphs.extend((change.pays && !change.gains.is_empty()).then(|| certainty(advice, change)));
        if change.today_seconds.is_none() {
            paragraphs.push("Seconds are unknown: `hotset try` measures them, --store estimates them.".to_owned());
        }
    }
    paragraphs.extend(unseen(advice));
    paragraphs
}

/// Whether storage was waited for while the recording was made, where it holds that.
fn storage(advice: &Advice) -> Option<String> {
    let share = |share: f64| human::percent(share);
    let is_bypassed = advice.evidence.bypassed.is_some_and(|bypassed| bypassed > 0.0);
    let of = if is_bypassed { "the bytes that did not bypass it" } else { "the bytes" };
    let cached = advice.evidence.cached.map(|cached| format!("the page cache served {} % of {of}", share(cached)));
    let waited =
        advice.evidence.waited.map(|waited| format!("processes waited for it {} % of the time", share(waited)));
    let both: Vec<String> = cached.into_iter().chain(waited).collect();
    (!both.is_empty()).then(|| format!("Storage: while this was recorded, {}.", both.join(" and ")))
}

/// The conclusion where no measure gains.
fn nothing_helps(advice: &Advice, change: &Change) -> String {
    let what = if change.today_seconds.is_some() { "time" } else { "reads from storage" };
    format!(
        "Nothing helps: in {} the kernel alone serves {} % of the reads, {} % of those that any memory serves, and no measure saves 1 % of the {what}.",
        size(change.size_blocks, advice),
        percent(change.today_hits, advice.reads),
        percent(change.today_hits, advice.attainable_hits)
    )
}

/// The result where no figures are given.
fn without_figures(advice: &Advice) -> String {
    match advice.finding {
        Finding::FromMemory => {
            "Nothing to gain: storage was not the bottleneck. To ask what less memory would do, give --size.".to_owned()
        }
        Finding::Bypassed => format!(
            "Nothing to gain from the page cache: {} % of the bytes read bypass it, by direct I/O or as files in memory. Use the program's own cache.",
            human::percent(advice.evidence.bypassed.unwrap_or(0.0))
        ),
        Finding::Unseen if advice.evidence.has_touches => {
            "No figures: too much of the data is mapped, and the kernel reports a mapped page only when it is first touched. Measure instead.".to_owned()
        }
        Finding::Unseen => {
            "No figures: too much of the data is mapped, and the recording lacks what was touched of it.".to_owned()
        }
        Finding::NothingRepeats => {
            let why = match advice.attainable_hits {
                0 => "no block is read twice".to_owned(),
                hits => format!("memory for everything would save {}", human::counted(hits, "read")),
            };
            format!(
                "Nothing to gain within one run: {why}, so no cache helps, whatever its size and policy. The next run is another question: it would find {} in memory if that much stays free.",
                human::blocks(advice.distinct_blocks, advice.block_bytes)
            )
        }
        _ => format!(
            "Too little evidence for figures: {}, where {} are needed. Record a longer run.",
            human::counted(advice.attainable_hits, "repeated read"),
            human::count(REPEATED)
        ),
    }
}

/// Mapped data of which the figures lack touches.
fn unseen(advice: &Advice) -> Option<String> {
    let unseen = advice.evidence.unseen.as_ref()?;
    let (what, why) = match advice.evidence.has_touches {
        true => ("Counted once", "Repeated touches of a mapped page are invisible."),
        false => ("Not counted", "`hotset record --via bpf --page-cache` records the pages that are touched."),
    };
    Some(format!(
        "{what}: {} of {}, mapped, such as {}. {why}",
        human::bytes(unseen.bytes),
        human::counted(unseen.files, "file"),
        unseen.largest
    ))
}

fn heading(advice: &Advice) -> String {
    let first = advice.reads - advice.attainable_hits;
    format!(
        "{}: {} of {}, repeats left out. {} % of the reads are the first of their blocks, which no cache serves.",
        words::named(&advice.trace, &advice.choice),
        human::counted(advice.reads, "read"),
        human::blocks(advice.distinct_blocks, advice.block_bytes),
        percent(first, advice.reads)
    )
}

fn of_memory(advice: &Advice, memory: &Memory) -> String {
    let size = size(memory.size_blocks, advice);
    let mut text = format!(
        "Memory: {size}. There {} hits {} % of the reads, {} % of the hits that any memory gives ({:.0} % is taken for enough).",
        advice.today,
        percent(memory.hits, advice.reads),
        percent(memory.hits, advice.attainable_hits),
        ENOUGH * 100.0
    );
    if let Some(next) = memory.next.as_ref().filter(|next| next.fewer_reads > 0) {
        let more = self::size(next.size_blocks - memory.size_blocks, advice);
        let reads = human::counted(next.fewer_reads, "read");
        let seconds = next.fewer_seconds.filter(|saved| *saved >= 0.005);
        let seconds = seconds.map_or(String::new(), |saved| format!(" and {saved:.2} s"));
        text += &format!(" {more} more would save {reads} from storage{seconds}.");
    }
    text
}

fn of_policy(advice: &Advice, change: &Change) -> String {
    let Advice { today, policy, reads, .. } = advice;
    if policy == today {
        let than = if change.today_seconds.is_some() {
            "quicker by 1 % there"
        } else {
            "better by a point on average over the sizes below"
        };
        return format!("Policy: keep {today}. No other is {than}.");
    }
    let size = size(change.size_blocks, advice);
    let compared = format!(
        "At {size} {policy} hits {} % of the reads where {today} hits {} %",
        percent(change.hits, *reads),
        percent(change.today_hits, *reads)
    );
    let seconds = match (change.seconds, change.today_seconds) {
        (Some(ours), Some(todays)) => format!(", and takes {ours:.2} s where that takes {todays:.2} s"),
        _ => String::new(),
    };
    let less = change.enough_blocks.map_or(String::new(), |blocks| {
        format!(" With {policy}, {} would hit as much as {size} with {today}.", self::size(blocks, advice))
    });
    match change.pays {
        true => format!("Policy: {policy}. {compared}{seconds}.{less}"),
        false => format!("Policy: keep {today}. {compared}{seconds}: not worth a change."),
    }
}

/// The gain of the same memory as buffers of the database.
fn of_buffers(advice: &Advice, change: &Change) -> String {
    let hits = |beside: &Beside| format!("{} % as {}", percent(beside.hits, advice.reads), beside.policy);
    let hits = advice.beside.iter().map(hits).collect::<Vec<_>>().join(", ");
    format!(
        "Buffers of the database: {} more of them would hit {hits} of these reads, which its buffers of today let through.",
        size(change.size_blocks, advice)
    )
}

fn certainty(advice: &Advice, change: &Change) -> String {
    let ahead = change.gains.iter().filter(|&&gain| gain > 0.0).count();
    let [least, most] = [f64::min, f64::max].map(|pick| change.gains.iter().copied().reduce(pick).unwrap_or(0.0));
    format!(
        "Certainty: {} hits more than {} in {ahead} of {} parts of the trace, by {} to {} points of the reads.",
        advice.policy,
        advice.today,
        change.gains.len(),
        human::percent(least),
        human::percent(most)
    )
}

/// Of the sizes that were simulated, the table has one in so many.
const ROW: usize = 3;

/// Hits per read in percent at some sizes: what runs today, the policy to have, the bound.
pub(super) fn table(advice: &Advice) -> Table {
    let change = advice.policy != advice.today;
    let mut header = vec!["memory", advice.today.as_str()];
    header.extend(change.then_some(advice.policy.as_str()));
    header.push(&advice.bound);
    let mut table = table::numbers(&header, 1..);
    for at in advice.sizes.iter().skip(advice.sizes.len().saturating_sub(1) % ROW).step_by(ROW) {
        let mut hits = vec![at.today_hits];
        hits.extend(change.then_some(at.hits));
        hits.push(at.bound_hits);
        let ratios = hits.into_iter().map(|hits| percent(hits, advice.reads));
        table.add_row(std::iter::once(size(at.size_blocks, advice)).chain(ratios));
    }
    table
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / whole.max(1) as f64)
}

/// A size as people read it: bytes where blocks have them.
fn size(blocks: u32, advice: &Advice) -> String {
    let bytes = advice.block_bytes.map(|block| human::bytes(block * u64::from(blocks)));
    bytes.unwrap_or_else(|| human::counted(blocks.into(), "block"))
}
