//! The summary of a steering session as text.

use hotset_steer::{PAGE, Report, State};

use super::proved;
use crate::output::human;

/// Returns the lines of the summary.
pub(crate) fn lines(report: &Report) -> Vec<String> {
    let counts = &report.counts;
    let pages = |pages: u64| human::bytes(pages * PAGE);
    let of = |part: u64, all: u64| human::percent(part as f64 / all.max(1) as f64);
    let did = match (report.seconds_steered > 0.0, report.state) {
        (true, _) => {
            format!("steered {} of {}", human::duration(report.seconds_steered), human::duration(report.seconds))
        }
        (false, State::Resting) => format!("did not steer in {}; resting", human::duration(report.seconds)),
        (false, _) => format!("watched for {}, did not steer", human::duration(report.seconds)),
    };
    let mut lines = vec![
        format!("{did}: {}", report.reason),
        format!(
            "{} referenced, {} % missed by {}, {} % by a model of the kernel alone",
            human::counted(counts.references, "block"),
            of(counts.misses, counts.references),
            report.policy,
            of(counts.kernel_misses, counts.references),
        ),
        format!(
            "{} read into the page cache, {} dropped, {} of resident blocks evicted by the kernel, {} could not be dropped; maximum event delay {:.0} ms, {} events lost",
            pages(counts.pages_read),
            pages(counts.pages_dropped),
            pages(counts.pages_taken),
            human::counted(counts.left_to_kernel, "block"),
            report.lag_worst * 1e3,
            human::count(counts.lost),
        ),
    ];
    if let Some(memory) = report.memory {
        lines.push(format!(
            "memory available to the policy: {} of {}; processor time {}",
            human::bytes(memory.policy),
            human::bytes(memory.kernel),
            human::duration(report.cpu_seconds),
        ));
    }
    lines.extend(report.proof.iter().flat_map(proved::lines));
    if report.files_unwatched > 0 {
        let left = human::counted(report.files_unwatched, "file");
        lines.push(format!("{left} not steered: the kernel's table of watched files is full"));
    }
    if report.files_unasked > 0 {
        let left = human::counted(report.files_unasked, "file");
        lines.push(format!(
            "{left} of other users: pages resident before the start are unknown and stay until read; root or \
             CAP_FOWNER is needed to query them"
        ));
    }
    if report.files_late > 0 {
        let left = human::counted(report.files_late, "file");
        lines.push(format!("{left} not queried in time: pages resident before the start stay until read"));
    }
    if counts.failed > 0 {
        let failed = human::counted(counts.failed, "time");
        lines.push(format!(
            "pages could not be dropped or prefetched {failed}: the file was deleted or replaced, too many drops were \
             pending, or a capability is missing"
        ));
    }
    lines
}
