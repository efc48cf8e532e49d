//! Tables on a terminal.

use std::ops::RangeBounds;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use hotset_core::policy::PolicySpec;
use hotset_results::{AppCounts, Metric, Row};

use super::human;
use super::style::{self, Role, cell};

/// One rule, below the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The scheme that others are measured by.
pub(super) const USUAL: &str = "lru";

/// Between two columns.
const GAP: usize = 2;

/// A table with this header that fits the terminal.
pub(crate) fn plain(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.iter().map(|text| cell(text, Role::Heading)));
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP as u16));
    }
    if let Some(last) = table.column_mut(header.len() - 1) {
        last.set_padding((0, 0));
    }
    table
}

/// The same with numbers in `columns`.
pub(crate) fn numbers(header: &[&str], columns: impl RangeBounds<usize>) -> Table {
    let mut table = plain(header);
    for (_, column) in table.column_iter_mut().enumerate().filter(|(index, _)| columns.contains(index)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Remarks on a policy beside its name.
pub(crate) enum Marks<'a> {
    /// Nothing.
    None,
    /// `*` of the one to take, `°` of those that know the future.
    Ranked {
        /// The one to take.
        pick: Option<&'a str>,
    },
}

impl Marks<'_> {
    fn name(&self, row: &Row) -> String {
        match self {
            Marks::Ranked { pick } if *pick == Some(&row.policy) => format!("{} *", row.policy),
            Marks::Ranked { .. } if knows_future(row) => format!("{} °", row.policy),
            _ => row.policy.clone(),
        }
    }
}

/// The metrics of the tables of one trace, the main one first: reads if there are writes, then all references, then the
/// requested metric.
pub(crate) fn metrics(rows: &[Row], asked: Metric) -> Vec<Metric> {
    if asked == Metric::Misses {
        return vec![asked];
    }
    let mut metrics = Vec::from_iter((asked == Metric::Requests).then_some(asked));
    metrics.extend(rows.iter().any(Row::has_writes).then_some(Metric::Reads));
    metrics.push(Metric::References);
    metrics
}

/// True if the ratios of reads and those of reads and writes differ by less than a point in all rows.
pub(crate) fn writes_hardly_matter(rows: &[Row], metrics: &[Metric]) -> bool {
    let differs = |row: &Row| row.share(Metric::Reads).ratio() - row.share(Metric::References).ratio();
    metrics.contains(&Metric::Reads) && rows.iter().all(|row| differs(row).abs() < 0.01)
}

/// The title of a table of `metric`.
pub(crate) fn title(metric: Metric, metrics: &[Metric]) -> &'static str {
    match metric {
        Metric::Reads => "hit ratio of reads in %",
        Metric::References if metrics.len() == 1 => "hit ratio in %",
        Metric::References => "hit ratio of reads and writes in %",
        Metric::Requests => "requests to read that find all their blocks in %",
        Metric::Misses => "miss ratio in %",
    }
}

/// Hit ratios of one trace in percent, by size.
pub(crate) fn hit_ratios(rows: &[Row], metric: Metric, marks: &Marks) -> String {
    by_size(rows, marks, |line: &[&Row], row| ratio_cell(row, best_hits(line, metric), metric))
}

/// Bytes of objects that hit, or miss, of one trace in percent, by size.
pub(crate) fn byte_hits(rows: &[Row], metric: Metric) -> String {
    by_size(rows, &Marks::None, |line: &[&Row], row| {
        let best = line.iter().filter_map(|row| row.object_bytes_hit).max();
        let role = if row.object_bytes_hit == best { Role::Best } else { Role::Plain };
        cell(row.byte_hit_ratio.map_or_else(|| "-".to_owned(), |ratio| human::percent(metric.shown(ratio))), role)
    })
}

/// What no policy exceeds at each size in bytes, in percent: requests and bytes.
pub(crate) fn bounds(rows: &[Row], metric: Metric) -> String {
    let at_sizes: Vec<&Row> = rows.iter().take_while(|row| row.policy == rows[0].policy).collect();
    let header: Vec<String> = std::iter::once("of".to_owned()).chain(at_sizes.iter().map(|row| size(row))).collect();
    let mut table = numbers(&header.iter().map(String::as_str).collect::<Vec<_>>(), 1..);
    let bound = |ratio: Option<f64>| {
        cell(ratio.map_or_else(|| "-".to_owned(), |ratio| human::percent(metric.shown(ratio))), Role::Bound)
    };
    let requests = at_sizes.iter().map(|row| bound(row.bound_hit_ratio));
    table.add_row(std::iter::once(cell("references", Role::Plain)).chain(requests));
    let bytes = at_sizes.iter().map(|row| bound(row.bound_byte_hit_ratio));
    table.add_row(std::iter::once(cell("bytes", Role::Plain)).chain(bytes));
    table.trim_fmt()
}

/// Seconds until the end of one trace, by size.
pub(crate) fn finishes(rows: &[Row]) -> String {
    by_size(rows, &Marks::None, |line: &[&Row], row| {
        let online = line.iter().filter(|row| !knows_future(row)).filter_map(|row| row.finish_seconds);
        let role = match row.finish_seconds {
            _ if knows_future(row) => Role::Bound,
            finish if finish == online.reduce(f64::min) => Role::Best,
            _ => Role::Plain,
        };
        cell(row.finish_seconds.map_or_else(|| "-".to_owned(), seconds), role)
    })
}

/// A figure of one trace: a line a policy, a column a size; several tables where the terminal is too narrow for all
/// sizes. `rows` are policy by policy, every policy at the same sizes. `figure` is given the rows of a column and one
/// of them.
fn by_size(rows: &[Row], marks: &Marks, figure: impl Fn(&[&Row], &Row) -> comfy_table::Cell) -> String {
    let sizes = rows.iter().take_while(|row| row.policy == rows[0].policy).count();
    let policies = rows.iter().map(|row| marks.name(row).chars().count()).max().unwrap_or(0).max("policy".len());
    let widest = rows[..sizes].iter().map(|row| human::count(row.size_blocks).len()).max().unwrap_or(0);
    let fitting = style::terminal_width().map_or(sizes, |width| width.saturating_sub(policies) / (widest + GAP));
    let columns: Vec<usize> = (0..sizes).collect();
    let tables =
        columns.chunks(fitting.clamp(1, sizes)).map(|part| by_size_at(rows, sizes, part, marks, &figure).to_string());
    tables.collect::<Vec<_>>().join("\n\n")
}

/// The part of the table with these `columns` of all `sizes`.
fn by_size_at(
    rows: &[Row],
    sizes: usize,
    columns: &[usize],
    marks: &Marks,
    figure: &impl Fn(&[&Row], &Row) -> comfy_table::Cell,
) -> Table {
    let header: Vec<String> =
        std::iter::once("policy".to_owned()).chain(columns.iter().map(|&column| size(&rows[column]))).collect();
    let mut table = numbers(&header.iter().map(String::as_str).collect::<Vec<_>>(), 1..);
    let of_columns: Vec<Vec<&Row>> =
        columns.iter().map(|&column| rows.iter().skip(column).step_by(sizes).collect()).collect();
    for line in rows.chunks(sizes) {
        let figures = columns.iter().zip(&of_columns).map(|(&column, all)| figure(all, &line[column]));
        table.add_row(std::iter::once(cell(marks.name(&line[0]), Role::Plain)).chain(figures));
    }
    table
}

/// A column that is shown if any row has it, and its cells.
type Figure = (&'static str, fn(&Row) -> Option<String>);

/// The costs of a policy.
const COSTS: [Figure; 2] = [
    ("ns/reference", |row| row.reference_nanoseconds.map(|time| format!("{time:.1}"))),
    ("bytes/block", |row| row.policy_bytes_per_block.map(|bytes| format!("{bytes:.1}"))),
];

/// The costs of the policies of one trace at the middle one of several sizes, a line per policy; none if they were not
/// requested.
pub(crate) fn costs(rows: &[Row]) -> Option<(&Row, Table)> {
    let sizes = rows.iter().take_while(|row| row.policy == rows[0].policy).count();
    let middle = (sizes - 1) / 2;
    let told = rows.iter().skip(middle).step_by(sizes);
    let told: Vec<&Row> = told.filter(|row| row.reference_nanoseconds.is_some()).collect();
    let mut table = numbers(&["policy", COSTS[0].0, COSTS[1].0], 1..);
    for row in &told {
        let figures = COSTS.iter().map(|(_, of)| of(row).unwrap_or_else(|| "-".to_owned()));
        table.add_row(std::iter::once(row.policy.clone()).chain(figures).map(|text| cell(text, Role::Plain)));
    }
    Some((told.first()?, table))
}

/// Everything counted, of one trace at one size: a line a policy. Where there are seconds, also what is saved of those
/// of [`USUAL`].
pub(crate) fn counts(rows: &[Row], metrics: &[Metric]) -> Table {
    let more: [Figure; 8] = [
        ("bytes hit %", |row| row.byte_hit_ratio.map(human::percent)),
        ("bound %", |row| row.bound_hit_ratio.map(human::percent)),
        ("bytes bound %", |row| row.bound_byte_hit_ratio.map(human::percent)),
        ("write-backs", |row| row.write_backs.map(human::count)),
        ("extra reads", |row| row.extra_reads.map(human::count)),
        ("seconds", |row| row.finish_seconds.map(seconds)),
        COSTS[0],
        COSTS[1],
    ];
    let more: Vec<_> = more.into_iter().filter(|(_, of)| rows.iter().any(|row| of(row).is_some())).collect();
    let ratio = |metric: &Metric| match metric {
        Metric::Reads => "read hits %",
        Metric::References => "hit ratio %",
        Metric::Requests => "requests hit %",
        Metric::Misses => "miss ratio %",
    };
    let mut header = vec!["policy"];
    header.extend(metrics.iter().map(ratio));
    header.extend(["hits", "misses", "request misses"]);
    header.extend(more.iter().map(|(name, _)| name));
    let usual = rows.iter().find(|row| row.policy == USUAL && rows.len() > 1).and_then(|row| row.finish_seconds);
    // A column of zeros says nothing.
    let differs =
        |usual: &f64| rows.iter().any(|row| row.finish_seconds.is_some_and(|ours| (usual - ours).abs() >= 0.005));
    let usual = usual.filter(differs);
    header.extend(usual.map(|_| "time saved"));
    let mut table = numbers(&header, 1..);
    let all: Vec<&Row> = rows.iter().collect();
    let best: Vec<u64> = metrics.iter().map(|&metric| best_hits(&all, metric)).collect();
    for row in rows {
        let counts = &row.counts;
        let mut cells = vec![cell(&row.policy, Role::Plain)];
        cells.extend(metrics.iter().zip(&best).map(|(&metric, &best)| ratio_cell(row, best, metric)));
        let numbers = [counts.hits, counts.misses, counts.requests().request_misses].map(human::count).into_iter();
        let numbers = numbers.chain(more.iter().map(|(_, of)| of(row).unwrap_or_default()));
        let saved = usual.zip(row.finish_seconds).map(|(usual, ours)| seconds(usual - ours));
        let numbers = numbers.chain(saved);
        cells.extend(numbers.map(|number| cell(number, Role::Plain)));
        table.add_row(cells);
    }
    table
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.2}")
}

/// True if it is worth telling what each application got: the scheme divides, or applications take their time.
pub(crate) fn tells_applications(row: &Row) -> bool {
    row.apps.len() > 1 && row.apps.iter().any(|app| app.room_blocks.is_some() || app.finish_seconds.is_some())
}

/// A column of applications that is shown if any of them has it, and its cells.
type AppFigure = (&'static str, fn(&AppCounts) -> Option<String>);

/// The counts of one row application by application.
pub(crate) fn applications(row: &Row) -> Table {
    let more: [AppFigure; 4] = [
        ("blocks", |app| app.room_blocks.map(|blocks| human::count(blocks.into()))),
        ("seconds", |app| app.finish_seconds.map(seconds)),
        ("target %", |app| app.promised.map(human::percent)),
        ("outcome", promise),
    ];
    let more: Vec<_> = more.into_iter().filter(|(_, of)| row.apps.iter().any(|app| of(app).is_some())).collect();
    let mut header = vec!["application", "references", "hit ratio %"];
    header.extend(more.iter().map(|(name, _)| name));
    let words = header.iter().position(|&name| name == "outcome").unwrap_or(header.len());
    let mut table = numbers(&header, 1..words);
    for app in &row.apps {
        let counts = &app.counts;
        let mut cells = vec![app.name.clone(), human::count(counts.references), human::percent(counts.hit_ratio)];
        cells.extend(more.iter().map(|(_, of)| of(app).unwrap_or_default()));
        table.add_row(cells.iter().map(|text| cell(text, Role::Plain)));
    }
    table
}

/// `missed since 2.0 s: needs 309 blocks, has 302`.
fn promise(app: &AppCounts) -> Option<String> {
    if app.promise_met? {
        return Some("met".to_owned());
    }
    let since = match (app.missed_since_seconds, app.missed_since_references) {
        (Some(seconds), _) => format!(" since {seconds:.1} s"),
        (None, Some(references)) => format!(" since {}", human::counted(references, "reference")),
        (None, None) => String::new(),
    };
    let has = app.room_blocks.map_or_else(|| "none".to_owned(), |blocks| human::count(blocks.into()));
    let why = match (app.needs_blocks, app.flagged) {
        (Some(needs), Some(true)) => format!(": needs {}, has {has}", human::counted(needs.into(), "block")),
        (Some(needs), _) => {
            format!(": has {has}, {} assumed to be enough", human::counted(needs.into(), "block"))
        }
        (None, Some(true)) => format!(": infeasible, has {has}"),
        (None, _) => String::new(),
    };
    Some(format!("missed{since}{why}"))
}

/// The rows of schemes that cut files into blocks of their own, so that their references are others than those of plain
/// policies, and the rows of the others. A scheme whose own blocks are those of the run at some sizes stays whole.
pub(crate) fn apart(rows: &[Row]) -> (Vec<Row>, Vec<Row>) {
    let has_own_blocks = |row: &Row| row.classes.iter().any(|class| Some(class.block_bytes) != row.block_bytes);
    let of_policies: Vec<&[Row]> = rows.chunk_by(|one, other| one.policy == other.policy).collect();
    let (aware, plain): (Vec<&[Row]>, Vec<&[Row]>) =
        of_policies.into_iter().partition(|rows| rows.iter().any(has_own_blocks));
    (aware.concat(), plain.concat())
}

/// What schemes with blocks of their own cost: a line a scheme and size.
pub(crate) fn accesses(rows: &[Row]) -> Table {
    let mut table = numbers(
        &["policy", "size", "read requests", "missed", "missed %", "write-backs", "disk accesses", "read", "written"],
        1..,
    );
    for row in rows {
        let counts = row.counts.requests();
        let missed = counts.read_request_misses as f64 / counts.read_requests.max(1) as f64;
        let cells = [
            row.policy.clone(),
            row.size_bytes.map_or_else(String::new, human::bytes),
            human::count(counts.read_requests),
            human::count(counts.read_request_misses),
            human::percent(missed),
            human::count(row.write_backs.unwrap_or(0)),
            human::count(row.disk_accesses.unwrap_or(0)),
            human::bytes(row.bytes_read.unwrap_or(0)),
            human::bytes(row.bytes_written.unwrap_or(0)),
        ];
        table.add_row(cells.map(|text| cell(&text, Role::Plain)));
    }
    table
}

/// The counts of one row class by class.
pub(crate) fn classes(row: &Row) -> Table {
    let mut table = numbers(
        &["class", "block", "references", "hit ratio %", "read requests", "missed", "write-backs", "read"],
        1..,
    );
    for class in &row.classes {
        let counts = &class.counts;
        let cells = [
            class.name.clone(),
            human::bytes(class.block_bytes),
            human::count(counts.references),
            human::percent(counts.hit_ratio),
            human::count(counts.requests().read_requests),
            human::count(counts.requests().read_request_misses),
            human::count(class.write_backs),
            human::bytes(class.bytes_read),
        ];
        table.add_row(cells.map(|text| cell(&text, Role::Plain)));
    }
    table
}

/// True if the row's policy must know the future, so that it cannot compete.
pub(crate) fn knows_future(row: &Row) -> bool {
    PolicySpec::parse(&row.policy).is_ok_and(|spec| spec.is_offline())
}

/// True if no policy without the future can do better than the row's does.
pub(crate) fn is_bound(row: &Row) -> bool {
    PolicySpec::parse(&row.policy).is_ok_and(|spec| spec.info().family == "optimal")
}

/// Of rows at one size.
fn best_hits(rows: &[&Row], metric: Metric) -> u64 {
    let competing = rows.iter().filter(|row| !knows_future(row));
    competing.map(|row| row.share(metric).hits).max().unwrap_or(0)
}

fn ratio_cell(row: &Row, best: u64, metric: Metric) -> comfy_table::Cell {
    let share = row.share(metric);
    let role = match share.hits {
        _ if knows_future(row) => Role::Bound,
        hits if hits == best => Role::Best,
        _ => Role::Plain,
    };
    cell(human::percent(row.ratio(metric)), role)
}

/// A size in blocks, with bytes above it where blocks have a size; in bytes where objects are measured.
fn size(row: &Row) -> String {
    if let (Some(bytes), Some(_)) = (row.size_bytes, row.object_bytes) {
        return human::bytes(bytes);
    }
    let blocks = human::count(row.size_blocks);
    match row.size_bytes {
        Some(bytes) => format!("{}\n{blocks}", human::bytes(bytes)),
        None => blocks,
    }
}
