//! What was done, in words.

use hotset_steer::{PAGE, Report, State};

use super::proved;
use crate::output::human;

/// Lines about what was done.
pub(crate) fn lines(report: &Report) -> Vec<String> {
    let counts = &report.counts;
    let pages = |pages: u64| human::bytes(pages * PAGE);
    let of = |part: u64, all: u64| human::percent(part as f64 / all.max(1) as f64);
    let did = match (report.seconds_steered > 0.0, report.state) {
        (true, _) => {
            format!("steered {} of {}", human::duration(report.seconds_steered), human::duration(report.seconds))
        }
        (false, State::Resting) => format!("did not steer in {}, and rests", human::duration(report.seconds)),
        (false, _) => format!("watched for {} and did not steer", human::duration(report.seconds)),
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
            "{} came into the page cache, {} were dropped, {} were taken by the kernel though they were to stay, {} would not leave; events were {:.0} ms old at worst, {} were lost",
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
            "the policy may hold {} of {}; {} of processor time",
            human::bytes(memory.policy),
            human::bytes(memory.kernel),
            human::duration(report.cpu_seconds),
        ));
    }
    lines.extend(report.proof.iter().flat_map(proved::lines));
    if report.files_unwatched > 0 {
        let left = human::counted(report.files_unwatched, "file");
        lines.push(format!("{left} found no place in the kernel's table and were left to the kernel"));
    }
    if report.files_unasked > 0 {
        let left = human::counted(report.files_unasked, "file");
        lines.push(format!(
            "of {left} of other users the kernel does not say what was in memory before, which stays until it is read: \
             that needs root or CAP_FOWNER"
        ));
    }
    if report.files_late > 0 {
        let left = human::counted(report.files_late, "file");
        lines.push(format!("there was no time to ask what was in memory of {left}, which stays until it is read"));
    }
    if counts.failed > 0 {
        let failed = human::counted(counts.failed, "time");
        lines.push(format!(
            "{failed} pages could not be dropped or fetched: the file was gone or another one, too many drops waited, \
             or a right is missing"
        ));
    }
    lines
}
