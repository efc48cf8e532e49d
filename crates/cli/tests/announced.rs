//! `hotset ctl warm` and `expect`: files that are cached before they are needed, and an announced order of files. Needs
//! /dev/fuse.

mod support;

use std::fs;
use std::thread;
use std::time::Duration;

use hotset_core::random::Rng;
use serde_json::Value;

use support::mounted::{Mount, can_mount, pattern};
use support::{Folder, Run, hotset};

const BYTES: usize = 64 << 10;

fn ask(mount: &Mount, words: &[&str]) -> Run {
    let at = mount.at("");
    hotset(&[&[words[0], at.to_str().unwrap()], &words[1..]].concat())
}

fn status(mount: &Mount) -> Value {
    ask(mount, &["ctl", "status"]).rows().remove(0)
}

fn figure(mount: &Mount, key: &str) -> u64 {
    status(mount)[key].as_u64().unwrap()
}

fn name(file: usize) -> String {
    format!("data/{file}.bin")
}

/// A mount of files of 64K in a directory `data`.
fn mount(files: usize, options: &[&str]) -> Mount {
    let mount = Mount::new(&[&["--memory", "640K", "--block", "16K", "--policy", "lru"], options].concat());
    fs::create_dir(mount.source("data")).unwrap();
    for file in 0..files {
        fs::write(mount.source(&name(file)), pattern(file as u64, BYTES)).unwrap();
    }
    mount
}

fn read(mount: &Mount, file: usize) {
    assert!(fs::read(mount.at(&name(file))).unwrap() == pattern(file as u64, BYTES), "wrong bytes in file {file}");
}

/// Shuffled epochs, one after the other.
fn epochs(files: usize, epochs: usize) -> Vec<usize> {
    let mut random = Rng::new(1);
    let mut order: Vec<usize> = (0..files).collect();
    let mut all = Vec::new();
    for _ in 0..epochs {
        (1..files).rev().for_each(|last| order.swap(last, random.below(last as u32 + 1) as usize));
        all.extend(&order);
    }
    all
}

#[test]
fn warmed_files_are_hits() {
    if !can_mount() {
        return;
    }
    let mut mount = mount(20, &[]);
    // A file that was just written may change once more with the same times, and is read again.
    thread::sleep(Duration::from_millis(2100));
    let folder = Folder::new();
    let list = folder.file("list", "data/7.bin\n\ndata/8.bin\n");
    let run = ask(&mount, &["ctl", "warm", "data/1?.bin", &format!("@{list}")]).good();
    assert!(run.out.starts_with("10 files read, 640K in "), "{}", run.out);
    assert!(run.out.contains("2 files of 128K left out, because the memory of 640K is full"), "{}", run.out);
    let before = figure(&mount, "bytes_read");
    (10..20).for_each(|file| read(&mount, file));
    assert_eq!(figure(&mount, "bytes_read"), before, "all are hits");
    read(&mount, 7);
    assert!(figure(&mount, "bytes_read") > before);
    let none = ask(&mount, &["ctl", "warm", "nothing*"]);
    assert!(none.status == 2 && none.err.contains("nothing*: no file below"), "{}", none.err);
    rustix::fs::mkfifoat(rustix::fs::CWD, mount.source("pipe"), 0o600.into()).unwrap();
    for (words, expected) in [
        (["ctl", "warm", "pipe"], "pipe: not a regular file"),
        (["ctl", "warm", "/etc/passwd"], "/etc/passwd: not in the mount"),
        (["ctl", "warm", ".."], "not in the mount"),
        (["ctl", "warm", ""], "no file below"),
        (["ctl", "warm", "@/dev/zero"], "the list is longer than 64M"),
    ] {
        let run = ask(&mount, &words);
        assert!(run.status > 0 && run.err.contains(expected), "{words:?}: {}", run.err);
    }
    let gone = ask(&mount, &["ctl", "warm", "@/nowhere"]);
    assert!(gone.status == 1 && gone.err.contains("/nowhere: "), "{}", gone.err);
    mount.stop();
}

#[test]
fn an_announced_order_has_nearly_the_hits_of_the_optimum() {
    if !can_mount() {
        return;
    }
    let folder = Folder::new();
    let record = folder.path("epochs.hst");
    let order = epochs(40, 5);
    let mut plain = mount(40, &["--record", &record]);
    order.iter().for_each(|&file| read(&plain, file));
    let lru = figure(&plain, "hits");
    let text: String = order.iter().map(|&file| name(file) + "\n").collect();
    let list = folder.file("order", text);
    let refused = ask(&plain, &["ctl", "expect", &format!("@{list}")]);
    assert!(refused.status == 1 && refused.err.contains("the cache records its requests"), "{}", refused.err);
    plain.stop();
    let simulate = ["simulate", &record, "--policy", "opt-bypass", "--size", "640K", "--json", "-", "--block", "16K"];
    let optimum = hotset(&simulate).rows().remove(0)["hits"].as_u64().unwrap();

    let mut mount = mount(40, &[]);
    let run = ask(&mount, &["ctl", "expect", &format!("@{list}")]).good();
    assert_eq!(run.out, "200 opens of 40 files expected\n");
    order.iter().for_each(|&file| read(&mount, file));
    let hits = figure(&mount, "hits");
    // Of 40 blocks that fit, the one that was referenced last stays.
    assert!(hits * 40 >= optimum * 38 && optimum > lru + 100, "{hits} hits, optimum {optimum}, lru {lru}");
    let page = ask(&mount, &["top", "--once"]).out;
    let line = "the announced order is over: position 200 of 200, 200 announced opens, 0 others, ";
    assert!(page.contains(line), "{page}");
    mount.stop();
}

#[test]
fn an_order_that_cannot_be_meant_is_refused_in_a_sentence() {
    if !can_mount() {
        return;
    }
    let mut mount = mount(3, &[]);
    let folder = Folder::new();
    let at = mount.at("data/1.bin");
    let good = folder.file("good", format!("./data/0.bin\n{}\n", at.display()));
    assert_eq!(ask(&mount, &["ctl", "expect", &format!("@{good}")]).good().out, "2 opens of 2 files expected\n");
    read(&mount, 0);
    read(&mount, 2);
    let ended = ask(&mount, &["ctl", "expect", "--end"]).good().out;
    assert_eq!(ended, "the order ends: 1 announced opens came, and 1 others\n");
    for (text, expected) in [
        ("data/0.bin\n/etc/passwd\n", "line 2: /etc/passwd is not below"),
        ("data/0.bin\n../x\n", "line 2: ../x leads out of a directory by `..`"),
        ("\n\n", "the list is empty"),
        ("data/7.bin\ndata/8.bin\n", "none of the first 2 paths is a file"),
    ] {
        let list = folder.file("bad", text);
        let run = ask(&mount, &["ctl", "expect", &format!("@{list}")]);
        assert!(run.status == 1 && run.err.contains(expected), "{}", run.err);
    }
    for (words, expected) in
        [(vec!["data/0.bin"], "expected @FILE"), (vec![], "required"), (vec!["@/nowhere"], "/nowhere")]
    {
        let run = ask(&mount, &[&["ctl", "expect"], &words[..]].concat());
        assert!(run.status > 0 && run.err.contains(expected), "{words:?}: {}", run.err);
    }
    mount.stop();
}
