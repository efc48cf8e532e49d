//! `hotset top`: the state of a mount or of a steering session, refreshed.

mod steered;
mod what_if;

use std::fmt::Write as _;
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use hotset_core::policy::Explained;
use hotset_serve::control::{self, Wish};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{explained, human};
use what_if::WhatIf;

/// Show the state of a mount or of `hotset steer`: hit ratios, bytes, evictions, applications, classes
#[derive(Args)]
pub(crate) struct Top {
    /// Mountpoint, or a steered directory or control group
    mountpoint: PathBuf,
    /// Seconds between updates
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    every: f64,
    /// Show the estimated hit ratio at half, twice and four times the memory, and under other policies
    #[arg(long)]
    what_if: bool,
    /// Print the state once and exit (default if the output is not a terminal)
    #[arg(long)]
    once: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| format!("{text:?} is not a valid interval; expected 0.1 to 86400 seconds"))
}

impl Top {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let repeats = !self.once && stdout().is_terminal();
        let mut before = Value::Null;
        loop {
            let status = control::ask(&self.mountpoint, &Wish::Status)?;
            let mut page = format!("{}{}", header(&self.mountpoint, &status), page(&status, &before));
            if self.what_if {
                page += &estimated(&status);
            }
            if !repeats {
                stdout().write_all(page.as_bytes())?;
                return Ok(());
            }
            // From the upper left corner, over what is there.
            write!(stdout(), "\x1b[H\x1b[J{page}")?;
            stdout().flush()?;
            before = status;
            thread::sleep(Duration::from_secs_f64(self.every));
        }
    }
}

fn figure(status: &Value, key: &str) -> u64 {
    status[key].as_u64().unwrap_or(0)
}

/// Bytes of the cache that a status is about.
fn cache_bytes(status: &Value) -> u64 {
    status["memory_bytes"].as_u64().unwrap_or_else(|| figure(status, "blocks") * figure(status, "block_bytes"))
}

/// All estimates of other sizes and policies.
fn estimated(status: &Value) -> String {
    match WhatIf::of(status, cache_bytes(status)) {
        Some(what_if) => what_if.table().join("\n") + "\n",
        None => {
            "no estimates yet: the sample of references is too small, or the policy cannot be estimated\n".to_owned()
        }
    }
}

/// Hit ratios since the mount, and since the previous update.
fn ratios(now: &Value, before: &Value) -> (String, String) {
    let ratio = |hits: u64, references: u64| match references {
        0 => "-".to_owned(),
        _ => format!("{:.1} %", 100.0 * hits as f64 / references as f64),
    };
    let grown = |key| figure(now, key).saturating_sub(figure(before, key));
    (ratio(figure(now, "hits"), figure(now, "references")), ratio(grown("hits"), grown("references")))
}

/// The mountpoint, its age, and the times of reads.
fn header(mountpoint: &Path, now: &Value) -> String {
    let Some(uptime) = now["uptime_seconds"].as_f64() else { return String::new() };
    let mut out = format!("{}  up {}\n", mountpoint.display(), human::duration(uptime.round()));
    let times = |key: &str| {
        let time = |quantile: &str| Some(human::latency(now[key][quantile].as_f64()?));
        Some(format!("p50 {} p99 {}", time("p50_seconds")?, time("p99_seconds")?))
    };
    let kinds = [("hits", times("hit_times")), ("misses", times("miss_times"))];
    let kinds: Vec<String> = kinds.into_iter().filter_map(|(kind, times)| Some(format!("{kind} {}", times?))).collect();
    if !kinds.is_empty() {
        let saved = now["saved_seconds"].as_f64();
        let saved = saved.map_or_else(String::new, |saved| match saved < 0.0 {
            true => format!("  LOST {}: hits are slower than misses", human::duration(-saved)),
            false => format!("  saved {}", human::duration(saved)),
        });
        out += &format!("reads: {}{saved}\n", kinds.join(", "));
    }
    out
}

fn page(now: &Value, before: &Value) -> String {
    if now["kernel_misses"].is_u64() {
        return steered::page(now, before);
    }
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("a string can be written to");
    let (all, lately) = ratios(now, before);
    line(format!(
        "{}  memory {}  {} blocks resident  {} evictions",
        now["policy"].as_str().unwrap_or("?"),
        human::bytes(figure(now, "memory_bytes")),
        human::count(figure(now, "resident_blocks")),
        human::count(figure(now, "evictions"))
    ));
    line(format!(
        "served {}  read {}  written {}  refills {}  errors {}",
        human::bytes(figure(now, "bytes_served")),
        human::bytes(figure(now, "bytes_read")),
        human::bytes(figure(now, "bytes_written")),
        human::count(figure(now, "refills")),
        human::count(figure(now, "errors"))
    ));
    if now["tier"].is_object() {
        line(tier(&now["tier"]));
        skipped(&now["tier"]).into_iter().for_each(&mut line);
    }
    if now["store"].is_object() {
        line(of_store(&now["store"]));
    }
    line(metadata(&now["metadata"]));
    if let renumbered @ 1.. = figure(&now["metadata"], "renumbered") {
        line(format!(
            "inode numbers of this source are not stable: files are identified by path, size and times ({} times)",
            human::count(renumbered)
        ));
    }
    order(&now["order"]).into_iter().for_each(&mut line);
    if now["waiting_bytes"].is_u64() {
        line(at_risk(now));
    }
    if now["broken"] == true {
        line("CACHE NOT USED: a thread has panicked; the source is served directly; mount again".to_owned());
    }
    if let Some(sentence) = WhatIf::of(now, cache_bytes(now)).and_then(|what_if| what_if.sentence()) {
        line(sentence);
    }
    line(format!("{:<30} {:>14} {:>9} {:>9}", "", "references", "hit", "recent"));
    line(format!("{:<30} {:>14} {all:>9} {lately:>9}", "all", human::count(figure(now, "references"))));
    for (title, key) in [("app", "apps"), ("class", "classes")] {
        let list = |status: &Value| status[key].as_array().cloned().unwrap_or_default();
        let known = list(before);
        for one in list(now) {
            let old = known.iter().find(|old| old["name"] == one["name"]).cloned().unwrap_or(Value::Null);
            let (all, lately) = ratios(&one, &old);
            let name = format!("{title} {}", one["name"].as_str().unwrap_or("?"));
            let counted = human::count(figure(&one, "references"));
            line(format!("{name:<30} {counted:>14} {all:>9} {lately:>9}{}", part(&one)));
        }
    }
    for learnt in learnt(&now["explained"]) {
        line(format!("learnt {learnt}"));
    }
    out
}

/// The most important parts of the policy's learnt state.
fn learnt(told: &Value) -> Vec<String> {
    let all: Vec<Explained> = serde_json::from_value(told.clone()).unwrap_or_default();
    explained::lines(&all, LEARNT)
}

/// Maximum number of lines of learnt state.
const LEARNT: usize = 6;

/// The SSD tier: contents and traffic.
fn tier(told: &Value) -> String {
    if let Some(off) = told["off"].as_str() {
        return off.to_owned();
    }
    format!(
        "SSD tier {} {}: {} blocks  hits {}  down {}  up {}  skipped {}  read {}  written {}  damaged {}",
        told["policy"].as_str().unwrap_or("?"),
        human::bytes(figure(told, "size_bytes")),
        human::count(figure(told, "resident_blocks")),
        human::count(figure(told, "hits")),
        human::count(figure(told, "demotions")),
        human::count(figure(told, "promotions")),
        human::count(figure(told, "skipped")),
        human::bytes(figure(told, "bytes_read")),
        human::bytes(figure(told, "bytes_written")),
        human::count(figure(told, "damaged"))
    )
}

/// What to change where the SSD takes in too little of what memory evicts.
fn skipped(told: &Value) -> Option<String> {
    let [skipped, demotions] = ["skipped", "demotions"].map(|key| figure(told, key));
    if skipped < 100 || skipped * 4 < demotions {
        return None;
    }
    Some(format!(
        "the SSD tier left out {} of {} blocks that memory evicted: the SSD writes more slowly than that, or --ssd-writes limits it; \
         --ssd-admit reused and --ssd-levels inclusive write less",
        human::count(skipped),
        human::count(skipped + demotions)
    ))
}

/// An announced order of files.
fn order(now: &Value) -> Option<String> {
    let [uses, position, opened, others, prefetched] =
        ["uses", "position", "opened", "others", "prefetched"].map(|key| human::count(figure(now, key)));
    let state = if now["is_over"].as_bool()? { "is over" } else { "is followed" };
    Some(format!(
        "the announced order {state}: position {position} of {uses}, {opened} announced opens, {others} others, \
         {prefetched} files prefetched"
    ))
}

/// Requests to the object store.
fn of_store(told: &Value) -> String {
    let [reads, hedges, won] = ["reads", "hedges", "hedges_won"].map(|key| human::count(figure(told, key)));
    let [read, written] = ["bytes_read", "bytes_written"].map(|key| human::bytes(figure(told, key)));
    let held_back = told["held_back_seconds"].as_f64().filter(|&seconds| seconds > 0.0);
    let held_back = held_back.map_or(String::new(), |seconds| format!("  throttled {}", human::duration(seconds)));
    format!(
        "object store reads {reads}  hedged {hedges}  won by the second request {won}  read {read}  written {written}{held_back}"
    )
}

/// Metadata requests: answered from memory, sent to the source, and the number of cached files.
fn metadata(told: &Value) -> String {
    let sum = |key| ABOUT.iter().map(|about| figure(&told[*about], key)).sum();
    format!(
        "metadata cached {}  asked {}  files cached {}  open {}",
        human::count(sum("known")),
        human::count(sum("asked")),
        human::count(figure(told, "kept")),
        human::count(figure(told, "kept_open"))
    )
}

/// Delayed writes: bytes at risk, their age, and failures.
fn at_risk(now: &Value) -> String {
    let failed = match figure(now, "failed_files") {
        0 => String::new(),
        files => format!("  CANNOT BE WRITTEN: {} files", human::count(files)),
    };
    format!(
        "at risk {} of at most {} in {} files, oldest {:.1} s  written back {} blocks{failed}",
        human::bytes(figure(now, "waiting_bytes")),
        human::bytes(figure(now, "waiting_most_bytes")),
        human::count(figure(now, "waiting_files")),
        now["waiting_seconds"].as_f64().unwrap_or(0.0),
        human::count(figure(now, "write_backs"))
    )
}

/// Kinds of metadata requests.
const ABOUT: [&str; 4] = ["names", "attributes", "opens", "listings"];

/// The partition of an application: quota, target and outcome.
fn part(app: &Value) -> String {
    let Some(room) = app["room_bytes"].as_u64() else { return String::new() };
    let room = human::bytes(room);
    let Some(promised) = app["promised_percent"].as_f64() else { return format!("  quota {room}") };
    let outcome = match (app["reached_percent"].as_f64(), app["flagged"].as_bool()) {
        (Some(reached), _) if reached >= promised => "met",
        (_, Some(true)) => "missed (infeasible)",
        (Some(_), _) => "missed",
        (None, _) => "no references yet",
    };
    format!("  quota {room}  target {promised:.1} %: {outcome}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn skipped_of(skipped: u64, demotions: u64) -> Option<String> {
        super::skipped(&json!({"skipped": skipped, "demotions": demotions}))
    }

    #[test]
    fn a_page_has_ratios_since_the_mount_and_since_the_last_update() {
        let status = |references: u64, hits: u64| {
            let app = json!({"name": "cc1", "references": references, "hits": hits});
            let metadata = json!({"names": {"known": 1, "asked": 2}, "opens": {"known": 3, "asked": 4}, "kept": 5});
            json!({"policy": "arc", "memory_bytes": 1 << 20, "references": references, "hits": hits, "apps": [app], "metadata": metadata})
        };
        let page = page(&status(200, 120), &status(100, 90));
        let lines: Vec<&str> = page.lines().collect();
        assert!(lines[0].starts_with("arc  memory "), "{page}");
        assert!(lines[4].ends_with("60.0 %    30.0 %") && lines[5].starts_with("app cc1"), "{page}");
        assert_eq!(lines[2], "metadata cached 4  asked 6  files cached 5  open 0");
        let times = |seconds: f64| json!({"p50_seconds": seconds, "p99_seconds": 2.0 * seconds});
        let timed = json!({"uptime_seconds": 3725.4, "hit_times": times(2e-5), "miss_times": times(2e-3), "saved_seconds": 61.2});
        let lines = header(Path::new("/mnt/x"), &timed);
        assert_eq!(
            lines,
            "/mnt/x  up 62 min 5 s\nreads: hits p50 20 µs p99 40 µs, misses p50 2.0 ms p99 4.0 ms  saved 61.2 s\n"
        );
        assert_eq!(header(Path::new("/mnt/x"), &Value::Null), "");
        let waiting = json!({"waiting_bytes": 8192, "waiting_most_bytes": 1 << 20, "waiting_files": 2, "waiting_seconds": 1.25, "failed_files": 1});
        assert_eq!(
            at_risk(&waiting),
            "at risk 8K of at most 1M in 2 files, oldest 1.2 s  written back 0 blocks  CANNOT BE WRITTEN: 1 files"
        );
        let promised = |reached: f64, flagged: bool| {
            part(&json!({"room_bytes": 8192, "promised_percent": 80, "reached_percent": reached, "flagged": flagged}))
        };
        assert_eq!(promised(80.0, true), "  quota 8K  target 80.0 %: met");
        assert_eq!(promised(79.9, false), "  quota 8K  target 80.0 %: missed");
        assert_eq!(promised(12.0, true), "  quota 8K  target 80.0 %: missed (infeasible)");
        let [few, many] = [90, 900].map(|skipped| skipped_of(skipped, 2000));
        assert!(few.is_none() && many.unwrap().starts_with("the SSD tier left out 900 of 2,900 blocks"));
        assert!(skipped_of(400, 2000).is_none());
        assert_eq!((part(&json!({"room_bytes": 8192})), part(&Value::Null)), ("  quota 8K".into(), String::new()));
        assert_eq!(ratios(&Value::Null, &Value::Null), ("-".to_owned(), "-".to_owned()));
    }
}
