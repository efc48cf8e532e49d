//! `hotset mount --staleness`: its view of changes, and that inodes are kept as in a simulation. Needs /dev/fuse.

mod support;

use std::fs;

use hotset_core::random::Rng;
use serde_json::Value;

use support::mounted::{Mount, can_mount};
use support::{Run, hotset};

fn ask(mount: &Mount, words: &[&str]) -> Run {
    let at = mount.at("");
    hotset(&[&[words[0], at.to_str().unwrap()], &words[1..]].concat())
}

fn status(mount: &Mount) -> Value {
    ask(mount, &["ctl", "status"]).rows().remove(0)
}

/// References and hits of the inodes, in a status or a row of results.
fn inodes(told: &Value) -> (u64, u64) {
    let classes = told["classes"].as_array().unwrap_or_else(|| panic!("no classes: {told}"));
    let inodes = classes.iter().find(|class| class["name"] == "inode").unwrap_or_else(|| panic!("no inodes: {told}"));
    (inodes["references"].as_u64().unwrap(), inodes["hits"].as_u64().unwrap())
}

/// Each look at the attributes of a file is one reference to its inode. A resident inode costs no call of the source,
/// an absent one costs one.
#[test]
fn the_inodes_that_a_simulation_hits_are_those_that_the_source_is_not_asked_for() {
    if !can_mount() {
        return;
    }
    // 32 inodes, 64 files.
    for policy in ["attribute(4K/128 id, x/4K temporal, 128K/64K sequential)", "unix(inodes=4K, block=8K)"] {
        let record = tempfile::Builder::new().suffix(".hst").tempfile().unwrap().into_temp_path();
        let record = record.to_str().unwrap();
        let mount = &["--memory", "256K", "--policy", policy, "--staleness", "forever", "--record", record];
        let mut mount = Mount::new(mount);
        for number in 0..64 {
            fs::write(mount.source(&number.to_string()), "x").unwrap();
        }
        // Without data there is nothing to simulate.
        assert_eq!(fs::read(mount.at("63")).unwrap(), b"x");
        let before = status(&mount);
        let mut random = Rng::new(1);
        for _ in 0..2000 {
            // Some are asked for more than others.
            let number = random.below(64).min(random.below(64));
            assert_eq!(fs::metadata(mount.at(&number.to_string())).unwrap().len(), 1);
        }
        let live = status(&mount);
        let (all, all_hits) = inodes(&live);
        let (references, hits) = (all - inodes(&before).0, all_hits - inodes(&before).1);
        let grown = |key: &str| {
            let figure = |told: &Value| told["metadata"]["names"][key].as_u64().unwrap();
            figure(&live) - figure(&before)
        };
        assert_eq!((references, grown("known"), grown("asked")), (2000, hits, 2000 - hits), "{live}");
        assert!(live["metadata"]["kept"].as_u64().unwrap() <= 33, "32 of files, and the root's: {live}");
        mount.stop();
        let row = hotset(&["simulate", record, "--policy", policy, "--size", "256K", "--json", "-"]).rows().remove(0);
        assert_eq!(inodes(&row), (all, all_hits), "{policy}");
        assert!(hits > 300 && references - hits > 300, "{policy}: {hits} of {references}");
    }
}

#[test]
fn what_was_asked_and_what_was_known_is_shown() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(&["--memory", "256K", "--policy", "lru", "--staleness", "3600s"]);
    fs::write(mount.source("f"), "text").unwrap();
    for _ in 0..5 {
        assert_eq!(fs::read(mount.at("f")).unwrap(), b"text");
    }
    let told = status(&mount);
    let number = |about: &str, key: &str| told["metadata"][about][key].as_u64().unwrap();
    assert_eq!((number("opens", "asked"), number("opens", "known")), (1, 4), "{told}");
    assert_eq!(number("names", "asked"), 1, "{told}");
    let page = ask(&mount, &["top", "--once"]).out;
    let line = page.lines().find(|line| line.starts_with("metadata cached")).unwrap_or_else(|| panic!("{page}"));
    assert!(line.contains("asked") && line.contains("files cached"), "{line}");
    mount.stop();
}

#[test]
fn a_staleness_that_is_none_is_refused_in_a_sentence() {
    let folders = [tempfile::TempDir::new().unwrap(), tempfile::TempDir::new().unwrap()];
    let [source, at] = folders.each_ref().map(|folder| folder.path().to_str().unwrap());
    for (memory, staleness, expected) in [
        ("1M", "soon", "forever, revalidate, open"),
        ("1M", "0s", "forever, revalidate, open"),
        ("0", "10s", "--memory 0"),
    ] {
        let run = hotset(&["mount", source, at, "--memory", memory, "--policy", "lru", "--staleness", staleness]);
        assert!(run.status == 2 && run.err.contains(expected), "{staleness}: {}", run.err);
    }
}
