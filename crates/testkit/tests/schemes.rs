//! Caches made of other caches: laws of their own.

use hotset_testkit::harness::Case;
use hotset_testkit::{traces, traces::samples};

/// Hits of a policy on a trace; its model agreed at every step.
fn hits(policy: &str, capacity: u32, trace: &[u32]) -> u64 {
    Case::new(policy, capacity).check(&traces::events(trace)).unwrap_or_else(|what| panic!("{what}"))
}

/// Wong, Wilkes 2002: with one client, two exclusive LRU levels are one LRU cache of both sizes.
#[test]
fn demoting_between_two_lru_caches_is_one_lru_cache() {
    for trace in samples() {
        for capacity in [1, 2, 5, 13, 40] {
            for client in ["10%", "50%", "90%"] {
                let case = Case::new("demote", capacity).with("client", client);
                let reached = case.check(&traces::events(&trace)).unwrap_or_else(|what| panic!("{what}"));
                assert_eq!(reached, hits("lru", capacity, &trace), "{client} of {capacity}");
            }
        }
    }
}

#[test]
fn bypassing_a_class_that_does_not_occur_changes_nothing() {
    for trace in samples() {
        for policy in ["lru", "arc", "lirs"] {
            let case = Case::new("bypass", 9).with("policy", policy).with("class", "other");
            let reached = case.check(&traces::events(&trace)).unwrap_or_else(|what| panic!("{what}"));
            assert_eq!(reached, hits(policy, 9, &trace), "{policy}");
        }
    }
}
