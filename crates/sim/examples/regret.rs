//! Regret of a policy: how many points of the hit ratio it is behind the best of all others, trace by trace and size by
//! size, over invented programs (`hotset generate program`) and files.
//!
//! `cargo run --release -p hotset-sim --example regret -- [--policy SPEC] [--rows FILE] [--table] TRACE…`
//!
//! A trace is a file, or `seeds:FROM..TO/STEP`. Even seeds are for development. Odd seeds are for validation: they are
//! run once for each change that is kept, and `docs/internals/auto-journal.md` records the run. Rows of the other
//! policies are kept in FILE and are not replayed again; the policy itself always is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use hotset_core::registry;
use hotset_core::view::Maps;
use hotset_sim::Silent;
use hotset_sim::sweep::Sweep;
use hotset_trace::formats::{BUILTIN, OpenOptions};
use hotset_trace::{Trace, generate, input::Progress};

/// Sizes in percent of the distinct blocks.
const SIZES: [u32; 4] = [5, 10, 20, 40];
/// Those that the policy must stay near on every trace that is long enough.
const NEAR: [&str; 5] = ["lru", "lirs", "s3-fifo", "arc", "w-tinylfu"];
/// A trace is long enough from so many references for each block of the cache on.
const LONG: u64 = 10;
/// Policies that are left out: they know more than a trace tells, read ahead, or are random.
const NO_RIVALS: [&str; 4] = ["opt", "opt-bypass", "karma", "random"];

/// The hits of one policy at one size.
#[derive(Clone, Copy)]
struct Row {
    hits: u64,
    references: u64,
    blocks: u64,
}

/// By trace, size and policy.
type Rows = BTreeMap<(String, u32, String), Row>;

/// The policy beside the others at one size of one trace.
struct Cell {
    trace: String,
    size: u32,
    ratio: f64,
    best: (String, f64),
    near: (String, f64),
    is_long: bool,
    lru: f64,
    lirs: f64,
    opt: f64,
}

impl Cell {
    fn regret(&self) -> f64 {
        self.best.1 - self.ratio
    }

    /// Points behind the best of [`NEAR`].
    fn behind(&self) -> f64 {
        self.near.1 - self.ratio
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (mut policy, mut file, mut is_table, mut traces) = ("auto".to_owned(), None, false, Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--policy" => policy = words.next().expect("--policy has a spec"),
            "--rows" => file = words.next(),
            "--table" => is_table = true,
            _ => traces.extend(named(&word)),
        }
    }
    let mut rows = file.as_deref().map_or(Rows::new(), read);
    let rivals: Vec<&str> = registry::ENTRIES
        .iter()
        .map(|entry| entry.info.name)
        .filter(|name| *name != "auto" && (*name == "opt" || !NO_RIVALS.contains(name)))
        .collect();
    let mut cells = Vec::new();
    for trace in &traces {
        let is_missing =
            |rival: &&str| SIZES.iter().any(|&size| !rows.contains_key(&(trace.clone(), size, (*rival).to_owned())));
        let missing: Vec<&str> = rivals.iter().copied().filter(is_missing).collect();
        if !missing.is_empty() {
            replay(trace, &missing, &mut rows);
            file.as_deref().inspect(|file| write(file, &rows, &policy));
        }
        replay(trace, &[&policy], &mut rows);
        cells.extend(SIZES.iter().map(|&size| cell(trace, size, &policy, &rivals, &rows)));
    }
    if is_table {
        println!("{}", table(&cells));
    }
    println!("{}", summary(&cells));
}

/// The traces that a word of the command names.
fn named(word: &str) -> Vec<String> {
    let Some(seeds) = word.strip_prefix("seeds:") else { return vec![word.to_owned()] };
    let (range, step) = seeds.split_once('/').unwrap_or((seeds, "1"));
    let (from, to) = range.split_once("..").expect("seeds:FROM..TO/STEP");
    let [from, to, step] = [from, to, step].map(|number| number.parse::<usize>().expect("a number"));
    (from..to).step_by(step).map(|seed| format!("seed={seed}")).collect()
}

fn open(trace: &str) -> Result<Trace, hotset_trace::TraceError> {
    if trace.starts_with("seed=") {
        let reader = generate::start("program", &[trace]).expect("a kind and its arguments");
        return Ok(Trace { format: "generated", reader, progress: Progress::default() });
    }
    hotset_trace::open(Path::new(trace), BUILTIN, &OpenOptions::default())
}

/// Replays policies at all sizes.
fn replay(trace: &str, policies: &[&str], rows: &mut Rows) {
    let sizes: Vec<String> = SIZES.iter().map(|size| format!("{size}%")).collect();
    let mut sweep = Sweep::parse(&policies.join(","), &sizes.join(",")).unwrap_or_else(|error| panic!("{error}"));
    sweep.options.maps = Maps::None;
    sweep.sizes = sweep.sizes.at_least_one_block();
    let swept = sweep.run(trace, || open(trace), &Silent).unwrap_or_else(|error| panic!("{trace}: {error}"));
    let cells = policies.iter().flat_map(|policy| SIZES.map(|size| (trace.to_owned(), size, (*policy).to_owned())));
    for (row, cell) in swept.rows.iter().zip(cells) {
        rows.insert(cell, Row { hits: row.counts.hits, references: row.counts.references, blocks: row.size_blocks });
    }
}

fn cell(trace: &str, size: u32, policy: &str, rivals: &[&str], rows: &Rows) -> Cell {
    let row = |name: &str| rows[&(trace.to_owned(), size, name.to_owned())];
    let ratio = |name: &str| 100.0 * row(name).hits as f64 / row(name).references.max(1) as f64;
    let best_of = |names: &mut dyn Iterator<Item = &str>| {
        let best = names.max_by(|one, other| ratio(one).total_cmp(&ratio(other))).expect("rivals");
        (best.to_owned(), ratio(best))
    };
    Cell {
        trace: trace.to_owned(),
        size,
        ratio: ratio(policy),
        best: best_of(&mut rivals.iter().copied().filter(|&name| name != "opt")),
        near: best_of(&mut NEAR.into_iter()),
        is_long: row(policy).references > LONG * row(policy).blocks,
        lru: ratio("lru"),
        lirs: ratio("lirs"),
        opt: ratio("opt"),
    }
}

/// All cells.
fn table(cells: &[Cell]) -> String {
    let mut text =
        "| trace | size | policy | best | lru | lirs | OPT | regret |\n|---|---:|---:|---|---:|---:|---:|---:|\n"
            .to_owned();
    for cell in cells {
        let Cell { trace, size, ratio, best, lru, lirs, opt, .. } = cell;
        let name = Path::new(trace).file_name().map_or(trace.clone(), |name| name.to_string_lossy().into_owned());
        let _ = writeln!(
            text,
            "| {name} | {size} % | {ratio:.1} | {} {:.1} | {lru:.1} | {lirs:.1} | {opt:.1} | {:.1} |",
            best.0,
            best.1,
            cell.regret()
        );
    }
    text
}

/// Means, the worst, and the ten worst cells.
fn summary(cells: &[Cell]) -> String {
    let mean = |of: &dyn Fn(&Cell) -> f64| cells.iter().map(of).sum::<f64>() / cells.len().max(1) as f64;
    let long: Vec<&Cell> = cells.iter().filter(|cell| cell.is_long).collect();
    let worst = long.iter().map(|cell| cell.behind()).fold(f64::NEG_INFINITY, f64::max);
    let beyond = long.iter().filter(|cell| cell.behind() > 3.0).count();
    let mean_long = long.iter().map(|cell| cell.behind()).sum::<f64>() / long.len().max(1) as f64;
    let mut text = format!(
        "{} cells: regret {:.2} mean, {:.2} worst; hit ratio {:.3}, OPT {:.2}\n{} long cells, behind the best of {}: \
         {mean_long:.2} mean, {worst:.2} worst, {beyond} by more than 3\n",
        cells.len(),
        mean(&Cell::regret),
        cells.iter().map(Cell::regret).fold(f64::NEG_INFINITY, f64::max),
        mean(&|cell| cell.ratio),
        mean(&|cell| cell.opt),
        long.len(),
        NEAR.join(", "),
    );
    let mut sorted: Vec<&Cell> = cells.iter().collect();
    sorted.sort_by(|one, other| other.regret().total_cmp(&one.regret()));
    for cell in sorted.iter().take(10) {
        let Cell { trace, size, ratio, best, near, lru, opt, .. } = cell;
        let _ = writeln!(
            text,
            "{:6.2} {trace} {size} %: {ratio:.1}, {} {:.1}, {} {:.1}, lru {lru:.1}, OPT {opt:.1}{}",
            cell.regret(),
            best.0,
            best.1,
            near.0,
            near.1,
            if cell.is_long { "" } else { ", short" }
        );
    }
    text
}

/// Rows of an earlier run; none if there is no such file.
fn read(file: &str) -> Rows {
    let Ok(text) = std::fs::read_to_string(file) else { return Rows::new() };
    let row = |line: &str| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().expect("six fields");
        let key = (next().to_owned(), next().parse().expect("a size"), next().to_owned());
        let [hits, references, blocks] = std::array::from_fn(|_| next().parse().expect("a count"));
        (key, Row { hits, references, blocks })
    };
    text.lines().map(row).collect()
}

/// Keeps all rows but those of the policy itself.
fn write(file: &str, rows: &Rows, policy: &str) {
    let mut text = String::new();
    for ((trace, size, name), Row { hits, references, blocks }) in rows.iter().filter(|(key, _)| key.2 != policy) {
        let _ = writeln!(text, "{trace}\t{size}\t{name}\t{hits}\t{references}\t{blocks}");
    }
    std::fs::write(file, text).unwrap_or_else(|error| panic!("{file}: {error}"));
}
