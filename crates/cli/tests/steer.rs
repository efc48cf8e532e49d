//! `hotset steer` for its users. Steering needs root, BPF and control groups with memory; refusals do not.

mod support;

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hotset_feed::FileId;

use serde_json::Value;
use support::{Folder, Run, command, finish, hotset, hotset_without_events, page};

/// Words of a machine where nothing can be steered.
const CANNOT: [&str; 4] =
    ["no feed of the page cache", "control group", "controller of memory", "cannot find control groups"];

/// True if the run could not be for want of rights or of a kernel that tells; says so.
fn cannot(run: &Run) -> bool {
    let why = run.status == 1 && CANNOT.iter().any(|words| run.err.contains(words));
    if why {
        println!("NOT RUN: {}", run.err.trim());
    }
    why
}

fn steered(arguments: &[&str], script: &str) -> Run {
    let line = [&["steer"], arguments, &["--", "sh", "-c", script]].concat();
    hotset(&line)
}

#[test]
fn what_makes_no_sense_is_refused_in_a_sentence() {
    let folder = Folder::new();
    let (here, file) = (folder.path(""), folder.file("file", "x"));
    let refused = |arguments: &[&str]| {
        let run = hotset(&[&["steer"], arguments].concat());
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{run:?}");
        run.err
    };
    assert!(refused(&[]).contains("no directories; give one or more"));
    assert!(refused(&[&here]).contains("no control group; give --cgroup"));
    assert!(refused(&[&here, "--", "true"]).contains("expected --memory SIZE, such as --memory 512M"));
    assert!(refused(&[&file, "--memory", "64M", "--", "true"]).contains("is not a directory"));
    assert!(refused(&[&here, "--policy", "lirz", "--memory", "64M", "--", "true"]).contains("did you mean lirs?"));
    let both = ["--always", "--prove", "--memory", "64M", "--", "true"];
    assert!(refused(&[&[&here[..]], &both[..]].concat()).contains("cannot be used with"));
    assert!(refused(&["/nowhere", "--memory", "64M", "--", "true"]).contains("No such file or directory"));
}

#[test]
fn a_command_is_steered_and_its_status_is_ours() {
    let folder = Folder::new();
    let here = folder.path("data");
    fs::create_dir(&here).unwrap();
    let block: Vec<u8> = (0..1 << 20).map(|at| at as u8).collect();
    fs::write(format!("{here}/file"), block.repeat(96)).unwrap();
    let report = folder.path("report.json");
    let script = format!(
        "cat /proc/self/cgroup >{here}/group; sync {here}/file; for lap in 1 2 3 4; do cat {here}/file >/dev/null; sleep 0.3; done; exit 7"
    );
    let run = steered(&[&here, "--memory", "64M", "--always", "--json", &report], &script);
    if cannot(&run) {
        return;
    }
    assert_eq!(run.status, 7, "{run:?}");
    let group = fs::read_to_string(format!("{here}/group")).unwrap();
    let name = group.lines().find_map(|line| Some(line[line.find("hotset-steer-")?..].to_owned())).expect("a group");
    let root = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(|root| format!("{root}/{name}"));
    assert!(root.iter().all(|group| !support::exists(group)), "{name} is still there");
    let told: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    let figure = |key: &str| told[key].as_u64().unwrap_or_else(|| panic!("{key} of {told}"));
    if figure("references") == 0 {
        return println!("NOT RUN: the file system of {here} has no page cache that tells");
    }
    // 96 MiB are 1536 blocks, four times, and a file of one. Two reads between two checks count once.
    assert!((1536..=4 * 1536 + 1).contains(&figure("references")), "{told}");
    assert!(figure("misses") <= figure("kernel_misses"), "{told}");
    assert!(figure("pages_dropped") > 0 && told["residency"]["held"].as_u64().unwrap() > 0, "{told}");
    assert!(run.err.contains("hotset: steered ") && run.err.contains("missed by lirs"), "{}", run.err);
}

#[test]
fn a_command_that_cannot_be_started_leaves_nothing_behind() {
    let folder = Folder::new();
    let run = hotset(&["steer", &folder.path(""), "--memory", "64M", "--", "/nowhere/command"]);
    if cannot(&run) {
        return;
    }
    assert_eq!(run.status, 127);
    assert!(run.err.contains("cannot run /nowhere/command"), "{}", run.err);
}

/// A steer that runs, with the group it is in.
struct Running {
    child: Child,
    err: BufReader<std::process::ChildStderr>,
}

impl Running {
    fn start(arguments: &[&str]) -> Running {
        let mut child = command(&[&["steer"], arguments].concat()).spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        Running { child, err }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.err.read_line(&mut line).unwrap();
        line
    }

    fn rest(mut self) -> (i32, String) {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.err, &mut rest).unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), rest)
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

/// A group with a limit, as a service would have one; `None` where it cannot be made.
fn group(name: &str) -> Option<String> {
    let name = format!("hotset-test-{name}-{}", std::process::id());
    let (old, new) = (format!("/sys/fs/cgroup/memory/{name}"), format!("/sys/fs/cgroup/{name}"));
    let made = [(old, "memory.limit_in_bytes"), (new, "memory.max")].into_iter().find_map(|(folder, limit)| {
        fs::create_dir(&folder).ok()?;
        let limited = fs::write(format!("{folder}/{limit}"), (64 << 20).to_string());
        if limited.is_err() {
            let _ = fs::remove_dir(&folder);
        }
        limited.ok().map(|()| folder)
    });
    if made.is_none() {
        println!("NOT RUN: no control group can be made here");
    }
    made
}

#[test]
fn a_group_is_steered_once_until_a_signal_or_its_end() {
    use rustix::process::Signal;
    let folder = Folder::new();
    folder.file("file", "data");
    let here = folder.path("");
    let Some(group) = group("once") else { return };
    let limit = || {
        fs::read_to_string(format!("{group}/memory.limit_in_bytes"))
            .or_else(|_| fs::read_to_string(format!("{group}/memory.max")))
    };
    let before = limit().unwrap();
    let mut first = Running::start(&[&here, "--cgroup", &group, "--memory", "8M"]);
    let line = first.line();
    if !line.contains("watching 1 file") {
        let _ = fs::remove_dir(&group);
        assert!(CANNOT.iter().any(|words| line.contains(words)), "{line}");
        return println!("NOT RUN: {}", line.trim());
    }
    let second = hotset(&["steer", &here, "--cgroup", &group]);
    assert!(second.status == 1 && second.err.contains("is already steered by another hotset"), "{second:?}");
    first.signal(Signal::TERM);
    let (status, said) = first.rest();
    assert_eq!((status, limit().unwrap()), (0, before), "{said}");
    assert!(said.contains("watched for") && said.contains("the cache has not turned over once"), "{said}");
    // Killed in any way it leaves nothing that keeps the next one from beginning; the next one ends with its group.
    let mut killed = Running::start(&[&here, "--cgroup", &group]);
    assert!(killed.line().contains("watching"));
    killed.signal(Signal::KILL);
    killed.rest();
    let mut last = Running::start(&[&here, "--cgroup", &group]);
    assert!(last.line().contains("watching"));
    fs::remove_dir(&group).unwrap();
    let started = Instant::now();
    assert!(last.line().contains("the control group was removed; steering ends"));
    assert!(started.elapsed() < Duration::from_secs(120));
    assert_eq!(last.rest().0, 0);
}

#[test]
fn files_that_go_and_come_do_not_stop_anything() {
    let folder = Folder::new();
    let here = folder.path("data");
    fs::create_dir(&here).unwrap();
    let script = format!(
        "cd {here}; for number in 1 2 3 4 5 6; do head -c 20000000 /dev/zero >$number; sync $number; cat * >/dev/null; sleep 0.5; rm $number; done; rmdir {here}; sleep 2; exit 0"
    );
    let mut line = command(&["steer", &here, "--memory", "64M", "--always", "--", "sh", "-c", &script]);
    line.current_dir(folder.path(""));
    let run = finish(line);
    if cannot(&run) {
        return;
    }
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.err.contains("the command continues without steering"), "the directory itself went: {}", run.err);
}

#[test]
fn what_is_steered_is_shown_while_it_is() {
    let folder = Folder::new();
    folder.file("file", "data");
    let here = folder.path("");
    let Some(group) = group("shown") else { return };
    let mut running = Running::start(&[&here, "--cgroup", &group, "--policy", "qos", "--listen", "127.0.0.1:0"]);
    let mut said = String::new();
    while !said.contains("watching") {
        let line = running.line();
        if line.is_empty() {
            let _ = fs::remove_dir(&group);
            assert!(CANNOT.iter().any(|words| said.contains(words)), "{said}");
            return println!("NOT RUN: {said}");
        }
        said.push_str(&line);
    }
    assert!(said.contains("qos tells applications apart, so each single read is listened to"), "{said}");
    for steered in [&here, &group] {
        let shown = hotset(&["top", steered]).good().out;
        assert!(
            shown.starts_with("qos(") && shown.contains("  watching: the cache has not turned over once"),
            "{shown}"
        );
        assert!(shown.contains(&group) && shown.contains("files 1\n"), "{shown}");
    }
    let status: Value = serde_json::from_str(&hotset(&["ctl", &here, "status"]).good().out).unwrap();
    assert_eq!((&status["state"], &status["given_up"]), (&Value::from("watching"), &Value::Null), "{status}");
    let set = hotset(&["ctl", &here, "set", "policy=lru"]);
    assert!(set.status == 1 && set.err.contains("end `hotset steer` and begin it anew"), "{set:?}");
    let address = said.split_once("http://").unwrap().1.split_once('/').unwrap().0;
    let metrics = page(address, "/metrics", address);
    assert!(metrics.starts_with("HTTP/1.1 200 ") && metrics.contains("\nhotset_steer_files 1\n"), "{metrics}");
    assert!(page(address, "/status", address).contains("\"policy\":\"qos"));
    assert!(page(address, "/metrics", "evil.example").starts_with("HTTP/1.1 403 "));
    // A killed process cannot report its end; the next one takes its place.
    running.signal(rustix::process::Signal::KILL);
    running.rest();
    let nobody = hotset(&["top", &here]);
    assert!(nobody.status == 1 && nobody.err.contains("nor `hotset steer`"), "{nobody:?}");
    let mut next = Running::start(&[&here, "--cgroup", &group]);
    assert!(next.line().contains("watching"));
    assert!(hotset(&["top", &group]).good().out.starts_with("lirs  watching"));
    next.signal(rustix::process::Signal::TERM);
    assert_eq!(next.rest().0, 0);
    fs::remove_dir(&group).unwrap();
    assert_eq!(hotset(&["top", &here]).status, 1);
}

#[test]
fn a_proof_without_a_pair_says_so() {
    let folder = Folder::new();
    let (here, report) = (folder.path(""), folder.path("report.json"));
    folder.file("file", "data");
    let run = steered(&[&here, "--memory", "64M", "--prove", "--json", &report], &format!("cat {here}/file; sleep 1"));
    if cannot(&run) {
        return;
    }
    assert!(run.status == 0 && run.err.contains("no result: no pair of phases"), "{run:?}");
    let told: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!((&told["proof"]["pairs"], &told["proof"]["verdict"]), (&Value::from(0), &Value::from("unknown")));
}

#[test]
fn applications_are_counted_apart() {
    let folder = Folder::new();
    let (here, report) = (folder.path("data"), folder.path("report.json"));
    fs::create_dir(&here).unwrap();
    fs::write(format!("{here}/file"), vec![1; 8 << 20]).unwrap();
    // The reads last long enough for one check of the readers.
    let script = format!(
        "sync {here}/file; while read line; do :; done <{here}/file & sleep 1; kill $!; cat {here}/file >/dev/null"
    );
    let options = ["--memory", "64M", "--policy", "virtual", "--json", &report];
    let run = steered(&[&[&here[..]], &options[..]].concat(), &script);
    if cannot(&run) {
        return;
    }
    let told: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    let apps = told["apps"].as_array().unwrap();
    let all: u64 = apps.iter().map(|app| app["references"].as_u64().unwrap()).sum();
    assert_eq!(Some(all), told["references"].as_u64(), "{told}");
    assert!(all == 0 || apps.iter().any(|app| app["name"] != "unknown"), "{told}");
}

/// The command goes on, and nothing else of what was killed stays than the group that it is in.
#[test]
fn who_steers_may_be_killed_and_the_command_goes_on() {
    let folder = Folder::new();
    let here = folder.path("data");
    fs::create_dir(&here).unwrap();
    fs::write(format!("{here}/file"), vec![1; 8 << 20]).unwrap();
    let (group_file, done) = (folder.path("group"), folder.path("done"));
    let script = format!(
        "cat /proc/self/cgroup >{group_file}.new; mv {group_file}.new {group_file}; for lap in 1 2 3 4 5 6; do cat {here}/file >/dev/null; sleep 0.5; done; echo done >{done}"
    );
    let running = Running::start(&[&here, "--memory", "64M", "--always", "--", "sh", "-c", &script]);
    let waited = |path: &str| {
        let since = Instant::now();
        while !support::exists(path) && since.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(20));
        }
        support::exists(path)
    };
    if !waited(&group_file) {
        return println!("NOT RUN: {}", running.rest().1);
    }
    running.signal(rustix::process::Signal::KILL);
    running.rest();
    assert!(waited(&done), "the command still runs");
    let told = fs::read_to_string(&group_file).unwrap();
    let name = told.lines().find_map(|line| Some(line[line.find("hotset-steer-")?..].to_owned())).expect("a group");
    let paths = told.lines().filter_map(|line| line.rsplit(':').next().filter(|path| path.contains(&name)));
    let mut removed =
        paths.flat_map(|path| ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(|root| format!("{root}{path}")));
    thread::sleep(Duration::from_millis(200));
    assert!(removed.any(|group| fs::remove_dir(group).is_ok()), "{told}");
}

/// A file system in a file, mounted as long as this lives.
struct Mounted(String);

impl Mounted {
    /// A list in a file.
    fn image(folder: &Folder) -> Option<Mounted> {
        let image = folder.path("image");
        File::create(&image).unwrap().set_len(64 << 20).unwrap();
        Mounted::by(folder, &[&["mkfs.ext4", "-q", &image], &["mount", "-o", "loop", &image]])
    }

    /// Two directories merged.
    fn overlay(folder: &Folder) -> Option<Mounted> {
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| folder.path(name));
        [&lower, &upper, &work].into_iter().for_each(|path| fs::create_dir_all(path).unwrap());
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        Mounted::by(folder, &[&["mount", "-t", "overlay", "overlay", "-o", &options]])
    }

    /// Runs commands, the last of which mounts.
    fn by(folder: &Folder, commands: &[&[&str]]) -> Option<Mounted> {
        let at = folder.path("at");
        fs::create_dir(&at).unwrap();
        let run = |(number, words): (usize, &&[&str])| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).args((number + 1 == commands.len()).then_some(&at));
            command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        let mounted = commands.iter().enumerate().all(run);
        if !mounted {
            println!("NOT RUN: no file system can be mounted here");
        }
        mounted.then_some(Mounted(at))
    }

    fn unmount(&self) -> bool {
        Command::new("umount").arg(&self.0).status().is_ok_and(|status| status.success())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).stderr(Stdio::null()).status();
    }
}

#[test]
fn a_file_system_that_is_steered_can_be_unmounted() {
    let folder = Folder::new();
    let Some(image) = Mounted::image(&folder) else { return };
    let Some(group) = group("unmounted") else { return };
    fs::write(format!("{}/file", image.0), vec![1; 8 << 20]).unwrap();
    let mut running = Running::start(&[&image.0, "--cgroup", &group, "--always"]);
    let line = running.line();
    if line.contains("watching") {
        fs::read(format!("{}/file", image.0)).unwrap();
        thread::sleep(Duration::from_millis(1500));
        assert!(image.unmount(), "it is held open");
        let since = Instant::now();
        while !hotset(&["top", &group]).good().out.contains("files 0") {
            assert!(since.elapsed() < Duration::from_secs(60), "a removed file is not noticed");
            thread::sleep(Duration::from_millis(200));
        }
        running.signal(rustix::process::Signal::TERM);
        assert_eq!(running.rest().0, 0);
    } else {
        println!("NOT RUN: {line}");
    }
    fs::remove_dir(&group).unwrap();
}

#[test]
fn layers_are_steered_and_not_what_is_merged_of_them() {
    let folder = Folder::new();
    fs::create_dir(folder.path("lower")).unwrap();
    fs::write(folder.path("lower/file"), vec![1; 1 << 20]).unwrap();
    let Some(merged) = Mounted::overlay(&folder) else { return };
    let script = format!("cat {}/file >/dev/null", merged.0);
    let steer =
        |directory: &str| hotset(&["steer", directory, "--memory", "64M", "--always", "--", "sh", "-c", &script]);
    let run = steer(&merged.0);
    if cannot(&run) {
        return;
    }
    assert!(run.status == 1 && run.err.contains("it lies on overlayfs") && run.err.contains("lowerdir="), "{run:?}");
    let run = steer(&folder.path("lower"));
    // Functions in place of events (before Linux 6.12) missed reads through overlayfs.
    if Path::new("/sys/kernel/tracing/events/filemap/mm_filemap_get_pages").exists() {
        assert!(run.status == 0 && run.err.contains(" 16 blocks referenced"), "{run:?}");
    }
}

#[test]
fn a_kernel_without_the_events_gets_a_sentence() {
    let folder = Folder::new();
    let here = folder.path("");
    let Some(run) = hotset_without_events(&format!("steer {here} --memory 64M -- true")) else { return };
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.err.contains("no feed of the page cache can be had here") && run.err.contains("tracefs"), "{run:?}");
}

/// Fetched pages are charged to the control group, by a process that leaves it again.
#[test]
fn what_is_fetched_is_charged_to_the_group() {
    let folder = Folder::new();
    let path = folder.path("file");
    let pages = 2048u64;
    fs::write(&path, vec![1; (pages * 4096) as usize]).unwrap();
    let file = File::open(&path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let Some(group) = group("fetched") else { return };
    let charged = || {
        let stat = fs::read_to_string(format!("{group}/memory.stat")).unwrap();
        let of = |key: &str| stat.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        of("cache ").or(of("file ")).unwrap()
    };
    let mut fetcher = command(&["steer", "--fetcher"]).stdin(Stdio::piped()).spawn().unwrap();
    fs::write(format!("{group}/cgroup.procs"), fetcher.id().to_string()).unwrap();
    let (id, name) = (FileId::of(&file).unwrap(), Path::new(&path).as_os_str().as_bytes());
    let mut input = fetcher.stdin.take().unwrap();
    for first in (0..pages).step_by(64) {
        let numbers = [id.device, id.inode, first, first + 64, name.len() as u64];
        let request: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).chain(name.to_vec()).collect();
        input.write_all(&request).unwrap();
    }
    let since = Instant::now();
    while charged() < pages * 4096 * 9 / 10 && since.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(50));
    }
    let (charged, since) = (charged(), Instant::now());
    // It ends without a request, though more could follow.
    assert!(fetcher.wait().unwrap().success() && since.elapsed() < Duration::from_secs(30));
    drop(input);
    fs::remove_dir(&group).unwrap();
    if charged == 0 {
        return println!("NOT RUN: the file system of {path} has no page cache that is charged");
    }
    assert!((pages * 4096 * 9 / 10..(pages + 1024) * 4096).contains(&charged), "{charged}");
    // What makes no sense is refused.
    let mut fetcher = command(&["steer", "--fetcher"]).stdin(Stdio::piped()).spawn().unwrap();
    fetcher.stdin.take().unwrap().write_all(&[255; 40]).unwrap();
    assert_eq!(fetcher.wait().unwrap().code(), Some(1));
}

/// The arguments for running a program as the user `nobody` with these capabilities alone.
fn by_nobody(capabilities: &str, arguments: &[&str]) -> Command {
    let only = format!("-all{capabilities}");
    let mut line = Command::new("setpriv");
    line.args(["--reuid=65534", "--clear-groups", "--inh-caps", &only, "--ambient-caps", &only])
        .args(["--bounding-set", &only, env!("CARGO_BIN_EXE_hotset"), "steer"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    line
}

/// Reads a file of root's in a loop, or as a mapping, while it is steered with these rights; the report and what is
/// said.
fn steered_with(capabilities: &str, here: &str, group: &str, is_mapped: bool) -> Result<(Value, String), String> {
    let report = format!("{here}/open/report.json");
    let path = format!("{here}/file");
    rustix::fs::fadvise(File::open(&path).unwrap(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let arguments = [here, "--cgroup", group, "--memory", "8M", "--always", "--policy", "lirs", "--json", &report];
    let mut child = by_nobody(capabilities, &arguments).spawn().unwrap();
    let err = BufReader::new(child.stderr.take().unwrap());
    let mut running = Running { child, err };
    let first = running.line();
    if !first.contains("watching") {
        let (status, rest) = running.rest();
        return Err(format!("{status} {first}{rest}"));
    }
    let file = File::open(&path).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
    // SAFETY: the file is not changed or cut while it is mapped.
    let map = is_mapped.then(|| unsafe { memmap2::Mmap::map(&file).unwrap() });
    for at in (0..4).flat_map(|_| (0..16 << 20).step_by(1 << 16)) {
        match &map {
            Some(map) => _ = (at..at + (1 << 16)).step_by(4096).map(|at| u64::from(map[at])).sum::<u64>(),
            None => file.read_exact_at(&mut [0; 1 << 16], at as u64).unwrap(),
        }
    }
    thread::sleep(Duration::from_millis(1500));
    running.signal(rustix::process::Signal::TERM);
    let (status, said) = running.rest();
    assert_eq!(status, 0, "{said}");
    Ok((serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap(), said))
}

/// The guide's list of rights: each of them is needed for its stated purpose, and no other.
#[test]
fn the_rights_that_the_guide_names_suffice_and_none_can_be_left_out() {
    let folder = Folder::new();
    let here = folder.path("");
    fs::write(folder.path("file"), vec![7; 16 << 20]).unwrap();
    File::open(folder.path("file")).unwrap().sync_all().unwrap();
    fs::create_dir(folder.path("open")).unwrap();
    fs::set_permissions(folder.path("open"), Permissions::from_mode(0o777)).unwrap();
    let Some(group) = group("rights") else { return };
    let files = ["+bpf", "+perfmon", "+dac_read_search", "+fowner"];
    let with = |rights: &[&str], is_mapped| {
        steered_with(&rights.iter().map(|right| format!(",{right}")).collect::<String>(), &here, &group, is_mapped)
    };
    let figure = |told: &Value, key: &str| told[key].as_u64().unwrap_or_else(|| panic!("{key} of {told}"));
    let done = with(&files, false);
    let (told, said) = match done {
        Err(why) => {
            fs::remove_dir(&group).unwrap();
            let is_possible = !why.contains("setpriv") && !CANNOT.iter().any(|words| why.contains(words));
            assert!(!is_possible, "{why}");
            return println!("NOT RUN: rights cannot be dropped here, or nothing can be steered: {why}");
        }
        Ok(done) => done,
    };
    assert_eq!((figure(&told, "files_unasked"), figure(&told, "failed")), (0, 0), "{said}");
    if figure(&told, "references") > 0 {
        assert!(figure(&told, "pages_dropped") > 1000 && figure(&told["residency"], "extra") < 64, "{told}");
    }
    let left_out = |right: &str| files.into_iter().filter(|other| *other != right).collect::<Vec<_>>();
    for (right, sentence) in [
        ("+bpf", "it needs root, or CAP_BPF and CAP_PERFMON"),
        ("+perfmon", "it needs root, or CAP_BPF and CAP_PERFMON"),
        ("+dac_read_search", "it needs root or CAP_DAC_READ_SEARCH"),
    ] {
        let refused = with(&left_out(right), false).unwrap_err();
        assert!(refused.starts_with("1 ") && refused.contains(sentence), "{right}: {refused}");
        assert!(refused.contains("`hotset mount` runs the same policies without"), "{right}: {refused}");
    }
    let (told, said) = with(&left_out("+fowner"), false).unwrap();
    assert_eq!(figure(&told, "files_unasked"), 1, "{told}");
    assert!(said.contains("root or CAP_FOWNER is needed"), "{said}");
    // Pages of others' mappings are another matter.
    let (told, said) = with(&files, true).unwrap();
    if figure(&told, "references") > 0 {
        assert!(figure(&told, "failed") > 0 && said.contains("or a capability is missing"), "{told}: {said}");
    }
    let (told, said) = with(&[&files[..], &["+sys_nice"]].concat(), true).unwrap();
    assert_eq!(figure(&told, "failed"), 0, "{said}");
    fs::remove_dir(&group).unwrap();
}
