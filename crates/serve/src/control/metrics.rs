//! The status in the text format of Prometheus.

use std::fmt::{Display, Write};

use hotset_cache::{Answers, AtRisk, Metadata, Named, Part, Status, TierStatus, Timing};
use hotset_core::host::{Ages, Estimate};
use hotset_store::{Hedged, Moved};

/// All figures, as counters and gauges; of a store what it was asked.
pub(super) fn text(status: &Status, asked: Option<(Hedged, Moved)>) -> String {
    let mut out = String::new();
    let Status { total, traffic, metadata, .. } = status;
    let counters = [
        ("references", "Blocks referenced", total.references),
        ("hits", "References that found their block", total.hits),
        ("requests", "Requests that touch at least one block", total.requests),
        ("request_misses", "Requests with at least one miss", total.request_misses),
        ("evictions", "Blocks whose data left the cache", status.evictions),
        ("extra_reads", "Blocks that the scheme had read unasked", status.extra_reads),
        ("served_bytes", "Bytes that readers were given", traffic.bytes_served),
        ("read_bytes", "Bytes read from the source", traffic.bytes_read),
        ("taken_bytes", "Bytes that writers gave", traffic.bytes_taken),
        ("written_bytes", "Bytes written to the source", traffic.bytes_written),
        ("reads", "Reads of the source", traffic.reads),
        ("reads_ahead", "Reads of the source before a program asked", traffic.reads_ahead),
        ("writes", "Writes of the source", traffic.writes),
        ("waits", "Times a reader waited for a read under way", traffic.waits),
        ("refills", "Resident blocks whose data had been invalidated", traffic.refills),
        ("errors", "Reads and writes of the source that failed", traffic.errors),
        ("repartitions", "Times that the room was divided anew", status.repartitions),
        ("renumbered_files", "Times that a file was recognised by path, size and times", metadata.renumbered),
    ];
    for (name, help, value) in counters {
        metric(&mut out, &format!("{name}_total"), "counter", help);
        line(&mut out, &format!("{name}_total"), None, value);
    }
    let gauges = [
        ("memory_bytes", "Memory of the scheme", status.memory_bytes),
        ("resident_blocks", "Blocks that are resident", status.resident_blocks.into()),
        ("metadata_kept", "Files whose attributes are kept", metadata.kept),
        ("metadata_kept_open", "Files and directories that are kept open", metadata.kept_open),
        ("broken", "1 if the cache is out of use since a thread has panicked", status.broken.into()),
    ];
    for (name, help, value) in gauges {
        metric(&mut out, name, "gauge", help);
        line(&mut out, name, None, value);
    }
    times(&mut out, &status.timing);
    status.at_risk.iter().for_each(|at_risk| waiting(&mut out, at_risk));
    status.tier.iter().for_each(|tier| below(&mut out, tier));
    asked.iter().for_each(|asked| of_store(&mut out, asked));
    answers(&mut out, metadata);
    for (label, named) in [("app", &status.apps), ("class", &status.classes)] {
        groups(&mut out, label, named);
    }
    parts(&mut out, &status.apps);
    estimates(&mut out, &status.what_if, status.eviction_ages.as_ref());
    out
}

/// The times of reads.
fn times(out: &mut String, timing: &Timing) {
    metric(out, "uptime_seconds", "gauge", "Seconds since the cache was built");
    line(out, "uptime_seconds", None, timing.uptime_seconds);
    if let Some(saved) = timing.saved_seconds {
        metric(out, "saved_seconds", "gauge", "Hits times the difference of the mean times of misses and hits");
        line(out, "saved_seconds", None, saved);
    }
    for (result, times) in [("hit", timing.hit_times), ("miss", timing.miss_times)] {
        let Some(times) = times else { continue };
        let name = format!("read_{result}_seconds");
        metric(out, &name, "summary", &format!("Time of a read that is a {result}"));
        line(out, &name, Some(("quantile", "0.5")), times.p50_seconds);
        line(out, &name, Some(("quantile", "0.99")), times.p99_seconds);
        line(out, &format!("{name}_sum"), None, times.mean_seconds * times.reads as f64);
        line(out, &format!("{name}_count"), None, times.reads);
    }
}

/// The second level.
fn below(out: &mut String, tier: &TierStatus) {
    let counters = [
        ("hits", "References that memory missed and the SSD tier has", tier.hits),
        ("demotions", "Blocks that went from memory to the SSD tier", tier.demotions),
        ("promotions", "Blocks that went from the SSD tier to memory", tier.promotions),
        ("skipped", "Blocks that did not enter the SSD tier since too much was to be written", tier.skipped),
        ("invalidated", "Blocks that left the SSD tier since their file was changed", tier.invalidated),
        ("read_bytes", "Bytes read from the SSD tier", tier.bytes_read),
        ("written_bytes", "Bytes written to the SSD tier", tier.bytes_written),
        ("damaged", "Blocks of the SSD tier that were not what was written", tier.damaged),
    ];
    for (name, help, value) in counters {
        metric(out, &format!("tier_{name}_total"), "counter", help);
        line(out, &format!("tier_{name}_total"), None, value);
    }
    let gauges = [
        ("size_bytes", "Bytes of the blocks that fit in the SSD tier", tier.size_bytes),
        ("resident_blocks", "Blocks that are in the SSD tier", tier.resident_blocks.into()),
        ("off", "1 if the SSD tier is off since its disk has failed", tier.off.is_some().into()),
    ];
    for (name, help, value) in gauges {
        metric(out, &format!("tier_{name}"), "gauge", help);
        line(out, &format!("tier_{name}"), None, value);
    }
}

/// Requests to the store.
fn of_store(out: &mut String, (asked, moved): &(Hedged, Moved)) {
    let counters = [
        ("reads", "Reads of ranges of objects", asked.reads),
        ("hedges", "Reads for which a second request was made, since they took long", asked.hedges),
        ("hedges_won", "Those of them that the second request has answered", asked.hedges_won),
        ("read_bytes", "Bytes that were read, or asked for a second time", moved.read),
        ("written_bytes", "Bytes that were written", moved.written),
    ];
    for (name, help, value) in counters {
        metric(out, &format!("store_{name}_total"), "counter", help);
        line(out, &format!("store_{name}_total"), None, value);
    }
    let name = "store_held_back_seconds_total";
    metric(out, name, "counter", "Seconds that reads and writes waited for the bandwidth limit, in sum");
    line(out, name, None, moved.held_back.as_secs_f64());
}

/// Delayed writes.
fn waiting(out: &mut String, at_risk: &AtRisk) {
    let gauges = [
        ("waiting_bytes", "Bytes that wait to be written to the source", at_risk.waiting_bytes),
        ("waiting_most_bytes", "Bytes that may wait at most", at_risk.waiting_most_bytes),
        ("waiting_files", "Files with bytes that wait", at_risk.waiting_files),
        ("failed_files", "Files that could not be written", at_risk.failed_files),
    ];
    for (name, help, value) in gauges {
        metric(out, name, "gauge", help);
        line(out, name, None, value);
    }
    metric(out, "waiting_seconds", "gauge", "For so long the oldest byte has waited at most");
    line(out, "waiting_seconds", None, at_risk.waiting_seconds);
    metric(out, "write_backs_total", "counter", "Blocks that left after they were written, or were not kept");
    line(out, "write_backs_total", None, at_risk.write_backs);
}

/// Requests that move no data.
fn answers(out: &mut String, metadata: &Metadata) {
    let Metadata { names, attributes, opens, listings, .. } = metadata;
    let about = [("names", names), ("attributes", attributes), ("opens", opens), ("listings", listings)];
    type Figure = fn(&Answers) -> u64;
    let figures: [(&str, &str, Figure); 2] = [
        ("metadata_known_total", "Requests that move no data, answered by what was known", |answers| answers.known),
        ("metadata_asked_total", "Requests that move no data, for which the source was asked", |answers| answers.asked),
    ];
    for (name, help, figure) in figures {
        metric(out, name, "counter", help);
        about.iter().for_each(|(about, answers)| line(out, name, Some(("about", about)), figure(answers)));
    }
}

/// What only applications with a part of their own have.
fn parts(out: &mut String, apps: &[Named]) {
    type Figure = fn(&Part) -> Option<f64>;
    let figures: [(&str, &str, Figure); 4] = [
        ("app_room_bytes", "Bytes that the application may have", |part| Some(part.room_bytes as f64)),
        ("app_promised_ratio", "The hit rate that it was promised", |part| Some(part.promised_percent? / 100.0)),
        ("app_reached_ratio", "Its hit rate since the scheme was set", |part| Some(part.reached_percent? / 100.0)),
        ("app_promise_flagged", "1 if the promise cannot be kept", |part| {
            part.promised_percent.map(|_| part.flagged.into())
        }),
    ];
    for (name, help, figure) in figures {
        let known = apps.iter().filter_map(|app| Some((&app.name, figure(app.part.as_ref()?)?)));
        for (index, (of, value)) in known.enumerate() {
            if index == 0 {
                metric(out, name, "gauge", help);
            }
            line(out, name, Some(("app", of)), value);
        }
    }
}

/// Estimates of other sizes and policies, and a sample of the evictions by age.
pub(crate) fn estimates(out: &mut String, what_if: &[Estimate], ages: Option<&Ages>) {
    let name = "what_if_hit_ratio";
    if !what_if.is_empty() {
        metric(out, name, "gauge", "Estimated hits of each reference with so many times the memory, under a policy");
    }
    for Estimate { factor, policy, hit_ratio } in what_if {
        labelled(out, name, &[("memory", &format!("{factor}x")), ("policy", policy)], hit_ratio);
    }
    let Some(ages) = ages else { return };
    let name = "eviction_age_seconds";
    metric(out, name, "histogram", "A sample of the evictions, by the time since the last reference to the block");
    let mut evictions = 0;
    let bounds = Ages::BOUNDS.iter().map(u64::to_string).chain(["+Inf".to_owned()]);
    for (bound, count) in bounds.zip(ages.counts) {
        evictions += count;
        line(out, &format!("{name}_bucket"), Some(("le", &bound)), evictions);
    }
    line(out, &format!("{name}_sum"), None, ages.sum_seconds);
    line(out, &format!("{name}_count"), None, evictions);
}

fn groups(out: &mut String, label: &str, named: &[Named]) {
    if named.is_empty() {
        return;
    }
    for name in ["references", "hits"] {
        let full = format!("{label}_{name}_total");
        metric(out, &full, "counter", &format!("The same by {label}"));
        for Named { name: of, counts, .. } in named {
            line(out, &full, Some((label, of)), if name == "hits" { counts.hits } else { counts.references });
        }
    }
}

/// The head of a metric.
pub(crate) fn metric(out: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(out, "# HELP hotset_{name} {help}\n# TYPE hotset_{name} {kind}").expect("a string can be written to");
}

/// One value of it.
pub(crate) fn line(out: &mut String, name: &str, label: Option<(&str, &str)>, value: impl Display) {
    labelled(out, name, label.as_slice(), value);
}

/// The same with several labels.
fn labelled(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels: Vec<String> = labels.iter().map(|(key, of)| format!("{key}=\"{}\"", escaped(of))).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    writeln!(out, "hotset_{name}{labels} {value}").expect("a string can be written to");
}
