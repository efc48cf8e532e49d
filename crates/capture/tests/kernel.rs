//! Recording what runs already, by BPF: from the middle, without touching it.
//!
//! Where the machine does not allow it, the tests say so and are left out.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hotset_capture::RecordError;
use hotset_capture::record::{KernelRecorder, Subject, Summary};
use hotset_capture::strace::Apps;
use hotset_core::request::{FLAG_AROUND, FLAG_CACHED, FLAG_CONTINUED, FLAG_FETCHED, FLAG_TOUCHED, Op, Request};
use hotset_trace::formats::hst;
use hotset_trace::{Batch, OpenOptions};

/// The references of a trace as `app OP path offset length`.
fn read(trace: &Path) -> Vec<String> {
    let mut trace = hotset_trace::open(trace, &[hst::FORMAT], &OpenOptions::default()).unwrap();
    let mut batch = Batch::new();
    let mut lines = Vec::new();
    loop {
        trace.reader.read(&mut batch).unwrap();
        if batch.is_empty() {
            return lines;
        }
        let tables = trace.reader.tables();
        lines.extend(batch.requests.iter().map(|request| {
            let (app, path) = (&tables.apps[request.app as usize], &tables.files[request.file as usize].path);
            format!("{app} {} {path} {} {}", request.op().letter(), request.offset, request.length)
        }));
    }
}

/// The reads and maps of a trace, each with its path.
fn data_requests(trace: &Path) -> Vec<(PathBuf, Request)> {
    let mut trace = hotset_trace::open(trace, &[hst::FORMAT], &OpenOptions::default()).unwrap();
    let mut batch = Batch::new();
    let mut all = Vec::new();
    loop {
        trace.reader.read(&mut batch).unwrap();
        if batch.is_empty() {
            return all;
        }
        let files = &trace.reader.tables().files;
        let of_data = batch.requests.iter().filter(|request| matches!(request.op(), Op::Read | Op::Map));
        all.extend(of_data.map(|request| (files[request.file as usize].path.to_string().into(), *request)));
    }
}

/// The requests of a trace for a file's data, as `OP offset length` and the known facts.
fn presence_of(trace: &Path, file: &Path) -> Vec<String> {
    const FLAGS: [(u16, &str); 5] = [
        (FLAG_CONTINUED, " continued"),
        (FLAG_TOUCHED, " touched"),
        (FLAG_AROUND, " around"),
        (FLAG_CACHED, " cached"),
        (FLAG_FETCHED, " fetched"),
    ];
    let told = |request: &Request| {
        let said: String = FLAGS.iter().filter(|(flag, _)| request.flags & flag != 0).map(|(_, word)| *word).collect();
        format!("{} {} {}{said}", request.op().letter(), request.offset, request.length)
    };
    data_requests(trace).iter().filter(|(path, _)| path == file).map(|(_, request)| told(request)).collect()
}

/// A directory for a test, and its path as the kernel tells it; none where the kernel cannot be asked.
fn place() -> Option<(tempfile::TempDir, PathBuf)> {
    support::can_ask_kernel().then(|| {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let place = directory.path().canonicalize().unwrap();
        (directory, place)
    })
}

/// A file of `pages` pages, of which the page cache has none.
fn cold_file(path: &Path, pages: usize) {
    let bytes: Vec<u8> = (0..pages * 4096).map(|at| (at / 4096) as u8).collect();
    fs::write(path, bytes).unwrap();
    let file = fs::File::open(path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

/// A script that waits for a line on its standard input in the middle.
fn waiting(script: &str, directory: &Path) -> Child {
    Command::new("bash")
        .args(["-c", script])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets a waiting script go on.
fn release(child: &mut Child) {
    drop(child.stdin.take());
}

fn await_file(path: &Path) {
    while !path.exists() {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Records in a thread, and returns when it has begun.
fn recording(recorder: KernelRecorder, trace: &Path) -> JoinHandle<Result<Summary, RecordError>> {
    let (begun, has_begun) = std::sync::mpsc::channel();
    let trace = trace.to_owned();
    let thread = thread::spawn(move || recorder.run(&trace, |_| _ = begun.send(())));
    has_begun.recv().ok();
    thread
}

#[test]
fn a_process_is_recorded_from_the_middle_with_its_names_and_positions() {
    let Some((_directory, place)) = place() else { return };
    fs::write(place.join("in"), "0123456789abcdef").unwrap();
    fs::write(place.join("log"), "before").unwrap();
    let script = "exec 3<in 4>>log; read -r -N 5 x <&3; touch ready; read -r go; cat <&3 >&4; \
                  cd /; cat \"$OLDPWD\"/in > /dev/null; exec 3<&-";
    let mut child = waiting(script, &place);
    await_file(&place.join("ready"));
    let trace = place.join("t.hst");
    let recorder = recording(KernelRecorder::new(Subject::Process(child.id())), &trace);
    release(&mut child);
    let summary = recorder.join().unwrap().unwrap();
    child.wait().unwrap();
    assert_eq!(summary.lost, 0);
    let references = read(&trace);
    let (input, log) = (place.join("in"), place.join("log"));
    for line in [
        format!("cat R {} 5 11", input.display()),
        format!("cat W {} 6 11", log.display()),
        format!("cat O {} 0 0", input.display()),
        format!("cat R {} 0 16", input.display()),
    ] {
        assert_eq!(references.iter().filter(|known| **known == line).count(), 1, "{line}\n{}", references.join("\n"));
    }
    assert!(references.iter().all(|line| !line.contains("t.hst")), "the recorder has recorded itself");
    // Earlier calls are not recorded.
    assert!(!references.iter().any(|line| line.contains("bash R") && line.contains("/in ")), "{references:?}");
}

#[test]
fn names_of_short_lived_processes_and_threads_are_not_lost() {
    let Some((_directory, place)) = place() else { return };
    (0..60).for_each(|number| fs::write(place.join(format!("f{number}")), vec![b'x'; 100 + number]).unwrap());
    let trace = place.join("t.hst");
    let script = format!("cd {}; for n in $(seq 0 59); do cat f$n & done > /dev/null; wait", place.display());
    let command = ["bash", "-c", &script].map(Into::into).to_vec();
    let summary = KernelRecorder::new(Subject::Command(command)).apps(Apps::Process).run(&trace, |_| {}).unwrap();
    assert!(summary.status.success() && summary.lost == 0);
    let references = read(&trace);
    for number in 0..60 {
        let read = format!(" R {} 0 {}", place.join(format!("f{number}")).display(), 100 + number);
        let by: Vec<&String> = references.iter().filter(|line| line.ends_with(&read)).collect();
        assert!(by.len() == 1 && by[0].starts_with("cat "), "{read}: {by:?}");
    }
}

#[test]
fn what_finds_no_room_is_counted() {
    if !support::can_ask_kernel() {
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let trace = directory.path().join("t.hst");
    let script = "i=0; while [ $i -lt 3000 ]; do read -r x < /etc/hostname; i=$((i+1)); done; exit 5";
    let command = ["bash", "-c", script].map(Into::into).to_vec();
    let summary = KernelRecorder::new(Subject::Command(command)).buffer(4096).run(&trace, |_| {}).unwrap();
    assert_eq!(summary.status.code(), Some(5));
    assert!(summary.lost > 0, "{summary:?}");
    assert!(!read(&trace).is_empty());
}

#[test]
fn reads_tell_what_the_page_cache_had() {
    if !support::can_ask_page_cache() {
        return;
    }
    let Some((_directory, place)) = place() else { return };
    let (file, trace) = (place.join("data"), place.join("t.hst"));
    cold_file(&file, 64);
    // Single pages in no order are not read ahead of.
    let script = "for skip in 19 19; do dd if=data bs=4096 count=1 skip=$skip of=out status=none; done; \
                  dd if=data bs=8192 count=1 skip=9 of=out status=none; \
                  dd if=data bs=4096 count=1 skip=40 iflag=direct of=out status=none";
    let command = || ["bash", "-c", &format!("cd {}; {script}", place.display())].map(Into::into).to_vec();
    let recorder = KernelRecorder::new(Subject::Command(command())).page_cache(true);
    let summary = recorder.run(&trace, |_| {}).unwrap();
    assert!(summary.status.success() && summary.lost == 0, "{summary:?}");
    assert_eq!(
        presence_of(&trace, &file),
        [
            "R 77824 4096 fetched",
            "R 77824 4096 cached",
            "R 73728 4096 fetched",
            "R 77824 4096 continued cached",
            "R 163840 4096"
        ]
    );
    let all = data_requests(&trace);
    let bytes = |flag| {
        all.iter()
            .filter(|(_, request)| request.op() == Op::Read && request.flags & flag != 0)
            .map(|(_, r)| u64::from(r.length))
            .sum()
    };
    assert_eq!((summary.stats.bytes_cached, summary.stats.bytes_fetched), (bytes(FLAG_CACHED), bytes(FLAG_FETCHED)));
    // Absent unless asked for.
    KernelRecorder::new(Subject::Command(command())).run(&trace, |_| {}).unwrap();
    assert_eq!(presence_of(&trace, &file), ["R 77824 4096", "R 77824 4096", "R 73728 8192", "R 163840 4096"]);
}

/// A helper, not a test: maps a file and looks at some of its pages, in this order.
#[test]
fn as_toucher() {
    let (Ok(path), Ok(pages)) = (std::env::var("HOTSET_TEST_MAPPED"), std::env::var("HOTSET_TEST_PAGES")) else {
        return;
    };
    let file = fs::File::open(path).unwrap();
    // SAFETY: the file does not change meanwhile.
    let map = unsafe { memmap2::MmapOptions::new().map(&file) }.unwrap();
    map.advise(memmap2::Advice::Random).unwrap();
    for page in pages.split(' ').map(|page| page.parse::<usize>().unwrap()) {
        assert_eq!(std::hint::black_box(map[page * 4096]), page as u8);
    }
}

#[test]
fn pages_of_mapped_files_are_told_as_they_are_touched() {
    if !support::can_ask_page_cache() {
        return;
    }
    let Some((_directory, place)) = place() else { return };
    let (file, trace) = (place.join("data"), place.join("t.hst"));
    cold_file(&file, 64);
    let touched = |pages: &str| {
        let mut command = vec!["env".into()];
        command.push(format!("HOTSET_TEST_MAPPED={}", file.display()).into());
        command.push(format!("HOTSET_TEST_PAGES={pages}").into());
        command.push(std::env::current_exe().unwrap().into_os_string());
        command.extend(["--exact", "as_toucher"].map(Into::into));
        let summary = KernelRecorder::new(Subject::Command(command)).page_cache(true).run(&trace, |_| {}).unwrap();
        assert!(summary.status.success() && summary.lost == 0, "{summary:?}");
        presence_of(&trace, &file)
    };
    // The kernel also maps the cached pages among the 16 around a touched one, aligned as its tables are. It reports
    // the touched page only if the page was absent.
    let touched = |pages: &str, expected: &[&str]| {
        let told = touched(pages);
        let exact: Vec<&str> = told.iter().filter(|line| line.ends_with("fetched")).map(String::as_str).collect();
        assert_eq!(exact, expected, "{told:?}");
        told.into_iter()
            .filter(|line| !line.ends_with("fetched"))
            .map(|line| {
                let numbers: Vec<u64> = line.split(' ').skip(1).flat_map(str::parse).collect();
                let end = numbers[0] + numbers[1];
                assert!(numbers[1] <= 16 * 4096, "{line}");
                (numbers[0] / 4096..end / 4096, line.split_once(" touched around").map(|(_, rest)| rest.to_owned()))
            })
            .collect::<Vec<_>>()
    };
    let around = touched("37 5 37", &["M 151552 4096 touched fetched", "M 20480 4096 touched fetched"]);
    for (pages, is_touched) in &around {
        assert!(
            is_touched.is_none() && [5, 37].iter().any(|page| pages.start == page + 1 || pages.end == *page),
            "{around:?}"
        );
    }
    let around = touched("5 37 63", &["M 258048 4096 touched fetched"]);
    let unsure: Vec<_> = around.iter().filter(|(_, presence)| presence.is_some()).collect();
    assert_eq!(unsure.len(), 2, "{around:?}");
    for ((pages, presence), page) in unsure.iter().zip([5, 37]) {
        assert!(pages.contains(&page) && presence.as_deref() == Some(" cached"), "{around:?}");
    }
}

#[test]
fn what_is_submitted_is_told() {
    let Some((_directory, place)) = place() else { return };
    let program = place.join("submitted");
    support::compile(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/truth/submitted.c")), &program);
    for way in ["ring", "registered", "list"] {
        let (file, trace) = (place.join(way), place.join("t.hst"));
        fs::write(&file, vec![b'x'; 18000]).unwrap();
        let command = vec![program.clone().into(), file.clone().into(), way.into()];
        let recorder = KernelRecorder::new(Subject::Command(command)).page_cache(support::has_page_cache());
        let summary = recorder.run(&trace, |_| {}).unwrap();
        if summary.status.code() == Some(77) {
            hotset_testkit::inputs::skip(&format!("the kernel does not allow requests by {way} here"));
            continue;
        }
        assert!(summary.status.success() && summary.lost == 0, "{way}: {summary:?}");
        let suffix = format!(" {} ", file.display());
        let told = read(&trace);
        let told: Vec<String> =
            told.iter().filter(|line| line.contains(&suffix)).map(|line| line.replace(&suffix, " ")).collect();
        let told: Vec<&str> = told.iter().filter_map(|line| line.strip_prefix("submitted ")).collect();
        // The lengths are cut to the file; by a ring the last one is read at the descriptor's own position.
        let last: &[&str] = if way == "list" { &[] } else { &["R 0 7"] };
        let expected = ["O 0 0", "R 8192 4096", "R 100 1500", "W 20000 10", "R 16384 3626"];
        assert_eq!(told, [&expected, last].concat(), "{way}");
        // The result is not known, so neither is the share of the page cache.
        assert!(presence_of(&trace, &file).iter().all(|line| line.split(' ').count() == 3), "{way}");
        let is_gap = |remark: &&String| remark.contains("cannot be seen") || remark.contains("could not be looked at");
        assert_eq!(summary.remarks.iter().find(is_gap), None, "{way}");
    }
}

/// The folder of a control group of the test's own, removed with it.
struct Group(std::path::PathBuf);

impl Group {
    fn make() -> Option<Group> {
        let tops = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let made = tops.map(|top| Path::new(top).join(format!("hotset-test-{}", std::process::id())));
        made.into_iter()
            .find(|folder| fs::create_dir(folder).is_ok() && folder.join("cgroup.procs").exists())
            .map(Group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last process may still be on its way out.
        while fs::remove_dir(&self.0).is_err_and(|error| error.kind() == std::io::ErrorKind::ResourceBusy) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_control_group_is_recorded_with_who_is_in_it_and_who_enters() {
    if !support::can_ask_kernel() {
        return;
    }
    let Some(group) = Group::make() else {
        return hotset_testkit::inputs::skip("no control group can be made here");
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = directory.path().canonicalize().unwrap();
    for name in ["inside", "outside", "entering", "left"] {
        fs::write(place.join(name), name).unwrap();
    }
    let mut inside = waiting("read -r go; cat inside", &place);
    let mut outside = waiting("read -r go; cat outside", &place);
    let mut entering = waiting("read -r go; cat entering", &place);
    let mut leaving = waiting("read -r go; cat left", &place);
    let procs = group.0.join("cgroup.procs");
    for member in [&inside, &leaving] {
        fs::write(&procs, member.id().to_string()).unwrap();
    }
    let trace = place.join("t.hst");
    // By the name of the group in which the kernel puts a process.
    let groups = fs::read_to_string(format!("/proc/{}/cgroup", inside.id())).unwrap();
    let name = groups.lines().find(|line| line.contains("hotset-test")).unwrap().rsplit(':').next().unwrap();
    let recorder = KernelRecorder::new(Subject::Group(name.into())).limit(Some(Duration::from_secs(4)));
    let recorder = recording(recorder.apps(Apps::Group), &trace);
    fs::write(&procs, entering.id().to_string()).unwrap();
    fs::write(group.0.parent().unwrap().join("cgroup.procs"), leaving.id().to_string()).unwrap();
    for child in [&mut inside, &mut outside, &mut entering, &mut leaving] {
        release(child);
        assert!(child.wait().unwrap().success());
    }
    recorder.join().unwrap().unwrap();
    let references = read(&trace);
    let reads = |name: &str| {
        let read = format!(" R {} 0 {}", place.join(name).display(), name.len());
        references.iter().filter(|line| line.ends_with(&read)).count()
    };
    let counts = ["inside", "outside", "entering", "left"].map(reads);
    assert_eq!(counts, [1, 0, 1, 0], "{}", references.join("\n"));
}

/// A helper, not a test: the test below runs it with fewer rights.
#[test]
fn as_recorder() {
    let Ok(trace) = std::env::var("HOTSET_TEST_TRACE") else { return };
    let command = ["cat", "/etc/hostname"].map(Into::into).to_vec();
    let recorder = KernelRecorder::new(Subject::Command(command)).page_cache(support::has_page_cache());
    match recorder.run(Path::new(&trace), |_| {}) {
        Ok(summary) => std::process::exit(summary.status.code().unwrap_or(98)),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(99);
        }
    }
}

/// The recorder's status and output, run by the user `nobody` with these capabilities alone.
fn with_capabilities(capabilities: &str, trace: &Path) -> Option<(i32, String)> {
    let only = format!("-all{capabilities}");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--clear-groups", "--inh-caps", &only, "--ambient-caps", &only])
        .args(["--bounding-set", &only])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "as_recorder", "--nocapture", "--quiet"])
        .env("HOTSET_TEST_TRACE", trace)
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // 126 and 127: setpriv is not allowed, or the user `nobody` may not execute the test.
    output.status.code().filter(|code| ![126, 127].contains(code)).map(|code| (code, said))
}

#[test]
fn two_capabilities_suffice_and_none_can_be_left_out() {
    if !support::can_ask_kernel() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(directory.path(), everybody).unwrap();
    let trace = directory.path().join("t.hst");
    let Some((status, said)) = with_capabilities(",+bpf,+perfmon", &trace) else {
        return hotset_testkit::inputs::skip("rights cannot be dropped here (setpriv of util-linux, run by root)");
    };
    assert_eq!(status, 0, "{said}");
    assert!(read(&trace).iter().any(|line| line.starts_with("cat R ") && line.contains("/hostname 0 ")));
    for fewer in ["", ",+bpf", ",+perfmon"] {
        let (status, said) = with_capabilities(fewer, &trace).unwrap();
        assert_eq!(status, 99, "{fewer}: {said}");
        assert!(said.contains("it needs root, or CAP_BPF and CAP_PERFMON"), "{fewer}: {said}");
        assert!(said.contains("`via=strace` needs no such rights"), "{fewer}: {said}");
    }
}

#[test]
fn what_is_not_there_is_refused_in_a_sentence() {
    if !support::can_ask_kernel() {
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let trace = directory.path().join("t.hst");
    let refusal = |subject: Subject| KernelRecorder::new(subject).run(&trace, |_| {}).unwrap_err().to_string();
    assert_eq!(refusal(Subject::Process(u32::MAX / 2)), "cannot record process 2147483647: no process has this number");
    let no_group = refusal(Subject::Group(directory.path().to_owned()));
    assert!(no_group.ends_with("neither a folder with a cgroup.procs in it nor the name of a group"), "{no_group}");
    assert!(refusal(Subject::Command(vec!["no-such-program".into()])).contains("the program does not exist"));
}
