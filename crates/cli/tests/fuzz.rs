//! What the fuzzer has kept of the targets of `fuzz/`, and replays of damaged traces.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use hotset_capture::all_formats;
use hotset_core::random::Rng;
use hotset_core::registry;
use hotset_core::storage::StorageModel;
use hotset_sim::advise::Advisor;
use hotset_sim::clock::ClockOptions;
use hotset_sim::curve::Curves;
use hotset_sim::sweep::Sweep;
use hotset_sim::{Silent, SimError};
use hotset_testkit::fuzz::{classes, detect_and_parse, hst, mix, parse_named, policies, sizes};
use hotset_trace::formats::{by_name, open_input};
use hotset_trace::input::Input;
use hotset_trace::{Format, OpenOptions, Trace, TraceError, native};

/// Inputs that once broke something, and those that the fuzzer begins from; a folder a target.
#[test]
fn what_was_kept_stays_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept");
    for target in fs::read_dir(folder).expect("a folder of kept inputs") {
        let target = target.unwrap();
        for file in fs::read_dir(target.path()).unwrap() {
            let path = file.unwrap().path();
            println!("{}", path.display());
            let bytes = fs::read(path).unwrap();
            let text = || str::from_utf8(&bytes).expect("the target takes text");
            match target.file_name().to_str() {
                Some("classes") => classes(text()),
                Some("detect") => detect_and_parse(&bytes),
                Some("format") => parse_named(&all_formats(), &bytes),
                Some("hst") => hst(&bytes),
                // Unit tests beside the bodies read them.
                Some("command_line" | "experiment" | "listing") => {}
                Some("mix") => mix(&bytes),
                Some("policies") => policies(text()),
                Some("sizes") => sizes(text()),
                _ => panic!("{}: no target that is known here", target.path().display()),
            }
        }
    }
}

/// Policies that hold others, or cut what they see.
const NESTED: [&str; 7] = [
    "qos(lru, a=70%, b=10%)",
    "bypass(demote(lru, arc, client=20%), texture)",
    "attribute(64K/128 id, x/4K temporal, 64K/64K sequential)",
    "virtual(arc, queue=1000)",
    "shared(2q)",
    "max-size(policy=s3-fifo, max=64K)",
    "ucp(lru)",
];

/// Sizes of a cache, and bytes that a replay may take.
const SIZES: [&str; 5] = ["1 blocks", "3 blocks,10%", "64K", "100%", "7,40 blocks"];
const MEMORY: [u64; 3] = [0, 1 << 20, 64 << 20];

/// A replay takes at most so long, and the process so many bytes.
const LONGEST: Duration = Duration::from_secs(10);
const MOST_BYTES: u64 = 1 << 30;

/// Changes, drops, doubles or inserts a few bytes.
fn damage(random: &mut Rng, bytes: &mut Vec<u8>) {
    const TELLING: &[u8] = b"0123456789-+.,;*\"\n\r\t \0x\xff\x1fRWQ";
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len().max(1) as u32) as usize;
        let telling = TELLING[random.below(TELLING.len() as u32) as usize];
        match random.below(5) {
            0 if !bytes.is_empty() => bytes[at] = random.below(256) as u8,
            1 if !bytes.is_empty() => bytes[at] = telling,
            2 if !bytes.is_empty() => drop(bytes.remove(at)),
            3 => bytes.insert(at.min(bytes.len()), telling),
            _ => {
                let run = bytes[at..bytes.len().min(at + random.below(30) as usize)].to_vec();
                bytes.splice(at..at, run);
            }
        }
    }
}

/// The most memory that this process has taken, in bytes.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line of Linux");
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// A damaged trace, and what is done with it.
struct Case {
    format: &'static str,
    bytes: Vec<u8>,
    options: OpenOptions,
    sweep: Sweep,
    /// 0: a curve; 1: advice; 2 and 3: a replay on a disk; otherwise a replay.
    kind: u32,
}

impl Case {
    fn draw(random: &mut Rng, formats: &[Format], policies: &[&str]) -> Case {
        let format = &formats[random.below(formats.len() as u32) as usize];
        let mut bytes = format.sample.repeat(1 + random.below(3) as usize);
        damage(random, &mut bytes);
        if format.name == "hst" && random.below(2) == 0 {
            native::reseal(&mut bytes);
        }
        let policy = policies[random.below(policies.len() as u32) as usize];
        let sizes = SIZES[random.below(SIZES.len() as u32) as usize];
        let mut sweep = Sweep::parse(policy, sizes).unwrap_or_else(|error| panic!("{policy} at {sizes}: {error:?}"));
        sweep.options.memory_bytes = MEMORY[random.below(3) as usize];
        let options = OpenOptions { skip_bad: random.below(2) == 0, ..OpenOptions::default() };
        Case { format: format.name, bytes, options, sweep, kind: random.below(20) }
    }

    /// The number of rows, whose counts are checked.
    fn run(&self, formats: &[Format]) -> Result<u64, SimError> {
        let open = || -> Result<Trace, TraceError> {
            let input = Input::from_reader(Path::new("fuzz:input"), Cursor::new(self.bytes.clone()), None)?;
            open_input(input, by_name(self.format, formats).ok(), formats, &self.options)
        };
        let mut sweep = self.sweep.clone();
        match self.kind {
            0 => {
                let mut curves = Curves::new(sweep.policies);
                curves.options = sweep.options;
                return curves.run("trace", open, &Silent).map(|_| 0);
            }
            1 => {
                let advisor = Advisor { options: sweep.options, ..Advisor::default() };
                return advisor.run("trace", open, &Silent).map(|_| 0);
            }
            2 | 3 => {
                let store = Some(StorageModel::parse("hdd").expect("a known model"));
                sweep.clock = Some(ClockOptions { store, every: None, costs: false });
            }
            _ => {}
        }
        let rows = sweep.run("trace", open, &Silent)?.rows;
        for row in &rows {
            assert_eq!(row.counts.hits + row.counts.misses, row.counts.references, "{row:?}");
        }
        Ok(rows.len() as u64)
    }
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Case { format, kind, sweep, .. } = self;
        write!(f, "{format}, kind {kind}, {} at {:?}", sweep.policies[0], sweep.sizes)
    }
}

/// A damaged trace in any format under any policy gives counts or a sentence, in seconds and within the memory. More
/// cases with `HOTSET_FUZZ_CASES`.
#[test]
fn damaged_traces_replay_or_are_refused_under_any_policy() {
    let cases = std::env::var("HOTSET_FUZZ_CASES").map_or(50_000, |cases| cases.parse().expect("a number of cases"));
    let formats = all_formats();
    let policies: Vec<&str> = registry::all().map(|entry| entry.info.name).chain(NESTED).collect();
    let mut random = Rng::new(21);
    let (mut replayed, mut slowest, mut panicked) = (0, (Duration::ZERO, String::new()), Vec::new());
    for number in 0..cases {
        let case = Case::draw(&mut random, &formats, &policies);
        let began = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| case.run(&formats))) {
            Ok(Ok(rows)) => replayed += rows,
            Ok(Err(error)) => assert!(!error.to_string().is_empty(), "case {number}: {case}"),
            Err(_) => panicked.push(format!("case {number}: {case}")),
        }
        if began.elapsed() > slowest.0 {
            slowest = (began.elapsed(), format!("case {number}: {case}"));
        }
    }
    let peak = peak_bytes();
    println!("{cases} cases, {replayed} rows, slowest {slowest:?}, peak {} MiB", peak >> 20);
    assert!(panicked.is_empty(), "{panicked:#?}");
    assert!(replayed > cases / 4, "only {replayed} rows of {cases} cases");
    assert!(slowest.0 < LONGEST, "{slowest:?}");
    assert!(peak < MOST_BYTES, "{} MiB", peak >> 20);
}
