//! `hotset mount --mode steered` for its users. Needs /dev/fuse, root and a feed of the page cache; refusals need less.

mod support;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::Advice;
use rustix::process::Signal;
use serde_json::Value;
use support::mounted::{Mount, can_mount, pattern, unmount};
use support::{Folder, hotset, hotset_without_events, page};

/// So long something may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// True if mounts can be steered here; says so if not.
fn can_steer() -> bool {
    if !can_mount() {
        return false;
    }
    let offers = hotset_feed::available();
    if offers.best().is_none() {
        println!("NOT RUN: {offers}");
    }
    offers.best().is_some()
}

fn steered(arguments: &[&str]) -> Mount {
    Mount::new(&[&["--mode", "steered", "--policy", "lirs"], arguments].concat())
}

/// A file of so many blocks of 64 KiB in the source, of which nothing is in memory.
fn file(mount: &Mount, name: &str, blocks: usize) -> File {
    fs::write(mount.source(name), pattern(blocks as u64, blocks << 16)).unwrap();
    let source = File::open(mount.source(name)).unwrap();
    source.sync_all().unwrap();
    rustix::fs::fadvise(&source, 0, None, Advice::DontNeed).unwrap();
    // Pages of a file that has just changed do not stay from one open to the next.
    thread::sleep(Duration::from_millis(2100));
    let file = File::open(mount.at(name)).unwrap();
    rustix::fs::fadvise(&file, 0, None, Advice::Random).unwrap();
    file
}

fn read(file: &File, blocks: usize) {
    let (mut bytes, all) = (vec![0; 1 << 16], pattern(blocks as u64, blocks << 16));
    for block in 0..blocks {
        file.read_exact_at(&mut bytes, (block << 16) as u64).unwrap();
        assert_eq!(bytes, all[block << 16..(block + 1) << 16], "block {block}");
    }
}

/// Pages of a file that are in memory: a read of them does not wait.
fn resident(path: &Path) -> u64 {
    let file = File::open(path).unwrap();
    let bytes = file.metadata().unwrap().len() as usize;
    // SAFETY: nothing is read through the mapping.
    let map = unsafe { memmap2::MmapOptions::new().len(bytes).map(&file).unwrap() };
    let mut pages = vec![0u8; bytes.div_ceil(4096)];
    // SAFETY: there is a byte for each page.
    let done = unsafe { libc::mincore(map.as_ptr().cast_mut().cast(), bytes, pages.as_mut_ptr()) };
    assert_eq!(done, 0);
    pages.iter().map(|page| u64::from(page & 1)).sum()
}

fn status(mount: &Mount) -> Value {
    let at = mount.at("");
    serde_json::from_str(&hotset(&["ctl", at.to_str().unwrap(), "status"]).good().out).unwrap()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A directory to serve and one to mount it at, as long as the folder lives.
fn directories() -> (Folder, String, String) {
    let folder = Folder::new();
    let (source, at) = (folder.path("source"), folder.path("at"));
    fs::create_dir(&source).unwrap();
    fs::create_dir(&at).unwrap();
    (folder, source, at)
}

#[test]
fn what_makes_no_sense_is_refused_in_a_sentence() {
    if !can_mount() {
        return;
    }
    let (_folder, source, at) = directories();
    let refused = |arguments: &[&str]| {
        let run = hotset(&[&["mount", &source, &at, "--mode", "steered"], arguments].concat());
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{run:?}");
        run.err
    };
    assert!(refused(&["--memory", "0B"]).contains("0B of memory hold no 16 blocks of 4K"));
    assert!(refused(&["--memory", "1M", "--block", "512"]).contains("expected a power of two from 4K to 2M"));
    assert!(refused(&["--memory", "1M", "--policy", "attribute"]).contains("choose another policy"));
    let no_use = [&["--record", "x.hst"][..], &["--log", "x"], &["--write-back"], &["--staleness", "10s"]];
    for option in no_use {
        let said = refused(&[&["--memory", "1M"], option].concat());
        assert!(said.contains(option[0]) && said.contains("cannot be combined with --mode steered"), "{said}");
    }
}

#[test]
fn without_a_feed_nothing_is_mounted() {
    if !can_mount() {
        return;
    }
    let (_folder, source, at) = directories();
    let arguments = format!("mount {source} {at} --mode steered --memory 1M --policy lirs");
    let Some(run) = hotset_without_events(&arguments) else { return };
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.err.contains("--mode steered needs reports of reads from the kernel"), "{run:?}");
    assert!(
        run.err.contains("no feed of the page cache can be had here") && run.err.contains("--mode strict"),
        "{run:?}"
    );
}

#[test]
fn the_kernel_keeps_what_the_policy_keeps_and_the_source_nothing() {
    if !can_steer() {
        return;
    }
    let mut mount = steered(&["--memory", "8M", "--block", "64K", "--listen", "127.0.0.1:0"]);
    let (blocks, at) = (256, mount.at(""));
    let reader = file(&mount, "file", blocks);
    // A loop over twice the memory: of each lap but the first, LIRS holds nearly half.
    for _ in 0..6 {
        read(&reader, blocks);
    }
    until("all that is to be dropped is dropped", || {
        let now = status(&mount);
        // The status is a second old at most.
        now["references"] == 6 * 256
            && now["blocks_pending"] == 0
            && now["pages_resident"].as_u64().unwrap() <= 128 * 16
    });
    let now = status(&mount);
    let figure = |key: &str| now[key].as_u64().unwrap_or_else(|| panic!("{key} of {now}"));
    assert_eq!((figure("blocks"), figure("files"), figure("failed"), figure("lost")), (128, 1, 0, 0), "{now}");
    assert_eq!(figure("references"), 6 * 256, "each block once a lap: {now}");
    assert!(figure("misses") < 256 + 5 * 140, "{now}");
    assert!(figure("kernel_misses") > 1400, "the kernel alone would have missed all of them: {now}");
    // Each miss of the policy was read once, and little else.
    assert!((figure("misses") * 16..=figure("misses") * 16 + 256).contains(&figure("pages_read")), "{now}");
    let kept = resident(&mount.at("file"));
    assert!((120 * 16..=128 * 16).contains(&kept), "{kept} pages of {}", 128 * 16);
    assert_eq!(resident(&mount.source("file")), 0, "all of it is kept twice");
    let shown = hotset(&["top", at.to_str().unwrap()]).good().out;
    assert!(
        shown.starts_with("lirs  steering: ") && shown.contains(at.to_str().unwrap().trim_end_matches('/')),
        "{shown}"
    );
    let set = hotset(&["ctl", at.to_str().unwrap(), "set", "policy=lru"]);
    assert!(set.status == 1 && set.err.contains("unmount and mount anew"), "{set:?}");
    drop(reader);
    let said = mount.stop();
    assert!(said.contains("1,536 blocks referenced, ") && said.contains("% missed by lirs"), "{said}");
}

#[test]
fn metrics_are_served() {
    if !can_steer() {
        return;
    }
    let (_folder, source, at) = directories();
    let options = ["--mode", "steered", "--policy", "lirs", "--memory", "1M", "--listen", "127.0.0.1:0"];
    let mut child = support::command(&[&["mount", &source, &at], &options[..]].concat()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    let address =
        line.split_once("http://").unwrap_or_else(|| panic!("{line}")).1.split_once('/').unwrap().0.to_owned();
    let answer = page(&address, "/metrics", &address);
    assert!(
        answer.contains("\nhotset_steer_steering 1\n") && answer.contains("\nhotset_steer_blocks 256\n"),
        "{answer}"
    );
    // Wherever it stands by now it can be unmounted from outside, and ends.
    until("it is mounted", || fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&at));
    unmount(Path::new(&at));
    assert!(child.wait().unwrap().success());
}

#[test]
fn files_that_change_while_they_are_steered_are_read_as_they_are() {
    if !can_steer() {
        return;
    }
    let mut mount = steered(&["--memory", "64K"]);
    let (name, here, there) = ("file", mount.at("file"), mount.source("file"));
    for turn in 1..=12u64 {
        let length = 40_000 + 7_000 * turn as usize;
        // Written here, cut here, replaced behind the mount, and written behind it.
        fs::write(&here, pattern(turn, length)).unwrap();
        assert_eq!(fs::read(&here).unwrap(), pattern(turn, length));
        assert_eq!(fs::read(&there).unwrap(), pattern(turn, length));
        File::options().write(true).open(&here).unwrap().set_len(10_000).unwrap();
        assert_eq!(fs::read(&here).unwrap(), pattern(turn, length)[..10_000]);
        fs::write(mount.source("new"), pattern(100 + turn, length)).unwrap();
        fs::rename(mount.source("new"), &there).unwrap();
        until("the new file is seen", || fs::read(mount.at(name)).unwrap() == pattern(100 + turn, length));
        thread::sleep(Duration::from_millis(12));
        fs::write(&there, pattern(200 + turn, length)).unwrap();
        assert_eq!(fs::read(&here).unwrap(), pattern(200 + turn, length), "an open asks the source");
        fs::remove_file(&here).unwrap();
        assert_eq!(fs::read(&here).unwrap_err().kind(), ErrorKind::NotFound);
    }
    until("a removed file is forgotten", || status(&mount)["pages_resident"] == 0);
    assert_eq!(status(&mount)["given_up"], Value::Null);
    mount.stop();
}

#[test]
fn a_mount_that_is_steered_is_unmounted_at_once_while_it_drops() {
    if !can_steer() {
        return;
    }
    let mut mount = steered(&["--memory", "64K"]);
    let reader = file(&mount, "file", 64);
    read(&reader, 64);
    drop(reader);
    // No descriptor of our own keeps it busy; those of programs that other tests start may.
    unmount(&mount.at(""));
    assert!(mount.wait() < Duration::from_secs(20));
}

#[test]
fn a_mount_that_was_killed_is_cleared_away_by_the_next() {
    if !can_steer() {
        return;
    }
    let mut mount = steered(&["--memory", "1M"]);
    let reader = file(&mount, "file", 32);
    read(&reader, 32);
    until("something was dropped", || status(&mount)["pages_dropped"].as_u64() > Some(0));
    mount.kill();
    // The kernel serves the pages that it still has; the others cannot be read.
    let read = (0..32).try_for_each(|block| reader.read_exact_at(&mut [0; 4096], block << 16));
    let gone = read.unwrap_err();
    assert_eq!(gone.raw_os_error(), Some(rustix::io::Errno::NOTCONN.raw_os_error()), "{gone}");
    let top = hotset(&["top", mount.at("").to_str().unwrap()]);
    assert!(top.status == 1 && top.err.contains("its process was killed"), "{top:?}");
    drop(reader);
    mount.start();
    assert_eq!(fs::read(mount.at("file")).unwrap(), pattern(32, 32 << 16));
    mount.signal(Signal::TERM);
    mount.wait();
}
