//! Which feed is listened to, and how it names applications.

use std::fs;
use std::os::unix::fs::MetadataExt;

use hotset_core::policy::PolicySpec;
use hotset_feed::{Feed, FeedOptions, Kind, available};
use hotset_mount::AppBy;
use hotset_steer::{Naming, pages_per_stamp, tells_applications};

/// The best feed that can be had for a policy on blocks of `block` bytes: one that tells every single read where that
/// is `exact`, one that tells processes where the policy treats applications apart.
///
/// # Errors
///
/// Why there is none.
pub fn feed(policy: &PolicySpec, block: u64, exact: bool) -> Result<Box<dyn Feed>, String> {
    let options = FeedOptions { pages_per_stamp: pages_per_stamp(block), ..FeedOptions::default() };
    let by_app = tells_applications(policy);
    let kinds = match (exact, by_app) {
        (true, _) => &[Kind::Ring][..],
        (false, true) => &[Kind::Ring, Kind::Tracefs],
        (false, false) => &Kind::ALL,
    };
    let mut opened = kinds.iter().filter_map(|&kind| hotset_feed::open(kind, &options).ok());
    opened.next().ok_or_else(|| available().to_string())
}

/// Names the application of a process, where the policy asks for that.
pub fn naming(policy: &PolicySpec, by: AppBy) -> Option<Naming> {
    let named = move |process: u32| {
        let user = fs::metadata(format!("/proc/{process}")).ok()?.uid();
        Some(by.name(process, user))
    };
    tells_applications(policy).then(|| Box::new(named) as Naming)
}
