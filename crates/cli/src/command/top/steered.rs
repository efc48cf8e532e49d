//! The page of a steering session.

use serde_json::Value;

use super::figure;
use super::what_if::WhatIf;
use crate::output::human;

/// Returns the page for a status and the one before it.
pub(super) fn page(now: &Value, before: &Value) -> String {
    let word = |key: &str| now[key].as_str().unwrap_or("?");
    let seconds = |key: &str| now[key].as_f64().unwrap_or(0.0);
    let pages = |key: &str| human::bytes(figure(now, key) * 4096);
    let mut lines = vec![match now["given_up"].as_str() {
        Some(why) => format!("{}  STOPPED: {why}", word("policy")),
        None => format!("{}  {}: {}", word("policy"), word("state"), word("reason")),
    }];
    lines.push(format!(
        "{}  steered {} of {}  processor time {}",
        now["cgroup"].as_str().or(now["directories"][0].as_str()).unwrap_or("?"),
        human::duration(seconds("seconds_steered")),
        human::duration(seconds("seconds")),
        human::duration(seconds("cpu_seconds"))
    ));
    lines.push(format!(
        "{} of {} blocks of {} resident{}  page cache {}  files {}",
        human::count(figure(now, "blocks_held")),
        human::count(figure(now, "blocks")),
        human::bytes(figure(now, "block_bytes")),
        division(&now["memory"]),
        pages("pages_resident"),
        human::count(figure(now, "files"))
    ));
    lines.push(format!(
        "read {}  dropped {}  evicted by the kernel {}  prefetched {}  blocks to drop {}  not droppable {}  failed {}",
        pages("pages_read"),
        pages("pages_dropped"),
        pages("pages_taken"),
        pages("pages_fetched"),
        human::count(figure(now, "blocks_pending")),
        human::count(figure(now, "left_to_kernel")),
        human::count(figure(now, "failed"))
    ));
    lines.push(format!(
        "event delay {:.1} ms, maximum {:.0} ms  lost {}",
        seconds("lag_mean") * 1e3,
        seconds("lag_worst") * 1e3,
        human::count(figure(now, "lost"))
    ));
    lines.extend(WhatIf::of(now, super::cache_bytes(now)).and_then(|what_if| what_if.sentence()));
    lines.push(format!("{:<30} {:>14} {:>9}", "", "all", "recent"));
    lines.push(format!("{:<30} {:>14}", "references", human::count(figure(now, "references"))));
    lines.push(missed(now, before, "missed by the policy", "misses"));
    lines.push(missed(now, before, "missed by the kernel's model", "kernel_misses"));
    let apps = |status: &Value| status["apps"].as_array().cloned().unwrap_or_default();
    let known = apps(before);
    for app in apps(now) {
        let old = known.iter().find(|old| old["name"] == app["name"]).cloned().unwrap_or(Value::Null);
        lines.push(missed(&app, &old, &format!("app {}", app["name"].as_str().unwrap_or("?")), "misses"));
    }
    lines.extend(proved(&now["proof"]));
    lines.join("\n") + "\n"
}

/// Miss ratio since the start, and since the previous update.
fn missed(now: &Value, before: &Value, title: &str, key: &str) -> String {
    let grown = |key: &str| figure(now, key).saturating_sub(figure(before, key));
    let all = share(figure(now, key), figure(now, "references"));
    format!("{title:<30} {all:>14} {:>9}", share(grown(key), grown("references")))
}

fn share(part: u64, all: u64) -> String {
    if all == 0 { "-".to_owned() } else { format!("{:.1} %", 100.0 * part as f64 / all as f64) }
}

/// The memory of policy and kernel.
fn division(memory: &Value) -> String {
    if !memory.is_object() {
        return String::new();
    }
    let of = |key: &str| human::bytes(figure(memory, key));
    format!("  policy {} of the kernel's {}  slack {}", of("policy"), of("kernel"), of("slack"))
}

/// The preliminary result of a proof.
fn proved(proof: &Value) -> Option<String> {
    let gain = proof["read"].as_object()?;
    let of = |key: &str| gain.get(key).and_then(Value::as_f64).map(|share| 100.0 * share);
    let half = of("half").map_or(String::new(), |half| format!(" \u{b1} {half:.1}"));
    Some(format!(
        "measured in {} pairs of phases: read {:.1} % kernel alone, {:.1} % steered, {:.1}{half} points less ({})",
        figure(proof, "pairs"),
        of("kernel")?,
        of("steered")?,
        of("saved")?,
        proof["verdict"].as_str().unwrap_or("?")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_has_state_misses_and_the_measured_gain() {
        let status = |references: u64, misses: u64| {
            json!({
                "policy": "lirs", "state": "steering", "reason": "it pays", "cgroup": "/g", "references": references,
                "misses": misses, "kernel_misses": references, "blocks": 2000, "blocks_held": 1900, "block_bytes": 65536,
                "memory": {"policy": 134 << 20, "kernel": 145 << 20, "slack": 11 << 20}, "files": 3, "lag_mean": 0.002,
                "apps": [{"name": "cc1", "references": references, "misses": 50}],
                "proof": {"pairs": 4, "verdict": "gained",
                    "read": {"kernel": 1.0, "steered": 0.5, "saved": 0.5, "half": 0.01}},
            })
        };
        let page = page(&status(200, 100), &status(100, 10));
        assert!(page.starts_with("lirs  steering: it pays\n/g  steered "), "{page}");
        assert!(
            page.contains("1,900 of 2,000 blocks of 64K resident  policy 134M of the kernel's 145M  slack 11M"),
            "{page}"
        );
        assert!(page.contains("missed by the policy                   50.0 %    90.0 %"), "{page}");
        assert!(page.contains("missed by the kernel's model          100.0 %   100.0 %"), "{page}");
        assert!(page.contains("app cc1                                25.0 %     0.0 %"), "{page}");
        assert!(
            page.contains(
                "in 4 pairs of phases: read 100.0 % kernel alone, 50.0 % steered, 50.0 \u{b1} 1.0 points less"
            ),
            "{page}"
        );
        let given_up = json!({"policy": "lirs", "kernel_misses": 0, "given_up": "the control group was removed"});
        assert!(super::page(&given_up, &Value::Null).starts_with("lirs  STOPPED: the control group was removed\n"));
    }
}
