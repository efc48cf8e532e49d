//! The page that people read.

use std::io::{self, Write};

use comfy_table::Table;
use hotset_sim::inspect::{
    Bin, File, Group, Inspection, Operation, PageCache, Ranked, RankedBy, Reuse, Sequences, SizeBin, Sizes,
};

use crate::output::style::{self, Role, cell, paint};
use crate::output::{human, plot, table};

/// Lines of a histogram, at most.
const LINES: usize = 14;

/// Columns of a histogram's longest bar.
const BAR: usize = 30;

/// Writes all that applies to the trace, or the ranking that was asked for.
pub(super) fn write(out: &mut impl Write, name: &str, seen: &Inspection) -> io::Result<()> {
    writeln!(out, "{}\n", paint(&human::name(name, 200), Role::Heading))?;
    summary(out, seen)?;
    if let Some(RankedBy { by, groups: Ranked { total, top } }) = &seen.ranked {
        let title = title(&format!("By {}", by.name()), top.len(), *total);
        return section(out, &title, groups(by.name(), top));
    }
    section(out, "Operations", operations(&seen.operations))?;
    section(out, "Request sizes", seen.request_sizes.as_ref().and_then(sizes))?;
    section(out, "Kinds", groups("kind", &seen.kinds))?;
    if let Some(apps) = &seen.apps {
        section(out, &title("Applications", apps.top.len(), apps.total), groups("application", &apps.top))?;
    }
    if let Some(files) = &seen.files {
        section(out, &title("Hottest files", files.top.len(), files.total), hottest(files))?;
    }
    let estimated = if seen.sampling_rate.is_some() { ", estimated" } else { "" };
    let title = format!("Reuse distances: distinct blocks since the last use of a block{estimated}");
    section(out, &title, seen.reuse.as_ref().and_then(|reuse| reuses(reuse, seen)))
}

fn section(out: &mut impl Write, title: &str, table: Option<Table>) -> io::Result<()> {
    match table {
        Some(table) => writeln!(out, "\n{}\n{}", paint(title, Role::Heading), table.trim_fmt()),
        None => Ok(()),
    }
}

/// `Applications`, or `Applications (the first 10 of 23)`.
fn title(what: &str, shown: usize, total: u64) -> String {
    if (shown as u64) < total {
        format!("{what} (the first {shown} of {})", human::count(total))
    } else {
        what.to_owned()
    }
}

fn summary(out: &mut impl Write, seen: &Inspection) -> io::Result<()> {
    let span = seen.time_span_s.map_or(String::new(), |span| format!(" in {}", human::duration(span)));
    let failed = match seen.failed_requests {
        0 => String::new(),
        failed => format!(", {} of which failed", human::count(failed)),
    };
    writeln!(out, "requests    {}{span}{failed}", human::count(seen.requests))?;
    if seen.references == 0 {
        return writeln!(out, "references  none: no request reads, writes or maps data");
    }
    let unit = seen.block_bytes.map_or(String::new(), |block| format!(" of {}", human::bytes(block)));
    writeln!(out, "references  {} to blocks{unit}", human::count(seen.references))?;
    let estimate = match seen.sampling_rate {
        Some(rate) => format!(
            "about {}, from a sample of {} % of the blocks: ",
            human::count(seen.distinct_blocks),
            human::percent(rate)
        ),
        None => String::new(),
    };
    let footprint = human::blocks(seen.distinct_blocks, seen.block_bytes);
    let each = seen.references as f64 / seen.distinct_blocks.max(1) as f64;
    if seen.sampling_rate.is_some() {
        writeln!(out, "footprint   {estimate}more than --memory can hold")?;
    } else {
        writeln!(out, "footprint   {footprint}, each referenced {each:.1} times on average")?;
    }
    if let Some(sizes) = &seen.request_sizes {
        writeln!(out, "sizes       {}", size_range(sizes))?;
    }
    if let Some(sequences) = &seen.sequences {
        writeln!(out, "sequential  {}", sequential(sequences))?;
    }
    if let Some(seen) = &seen.page_cache {
        writeln!(out, "page cache  {}", page_cache(seen))?;
    }
    Ok(())
}

fn size_range(sizes: &Sizes) -> String {
    let (min, max) = (human::bytes(sizes.min), human::bytes(sizes.max));
    if sizes.min == sizes.max {
        return format!("every request is of {min}");
    }
    let (median, mean) = (human::bytes(sizes.median), human::bytes_of(sizes.mean));
    format!("{min} to {max} a request, {median} in the median and {mean} on average")
}

fn sequential(runs: &Sequences) -> String {
    format!(
        "{} % of reads and writes begin where the last one to the file ended;\n            {:.1} requests ({}) a run",
        human::percent(runs.sequential_share),
        runs.mean_run_requests,
        human::bytes_of(runs.mean_run_bytes),
    )
}

fn page_cache(seen: &PageCache) -> String {
    let read = seen.cached_bytes + seen.fetched_bytes;
    let had = match read {
        0 => "nothing was read through it".to_owned(),
        read => {
            let share = seen.cached_bytes as f64 / read as f64;
            format!("it had {} % of {} read", human::percent(share), human::bytes(read))
        }
    };
    let past = human::bytes(seen.bypassed_bytes);
    let had = if seen.bypassed_bytes > 0 { format!("{had}, {past} bypassed it") } else { had };
    match seen.touches {
        0 => had,
        touches => format!(
            "{had};\n            {} of {} first touches of mapped pages waited for storage",
            human::count(seen.fetched_touches),
            human::count(touches)
        ),
    }
}

fn operations(operations: &[Operation]) -> Option<Table> {
    let mut table = table::numbers(&["operation", "requests", "failed", "bytes"], 1..);
    for operation in operations {
        table.add_row([
            operation.name.to_owned(),
            human::count(operation.requests),
            human::count(operation.failed),
            operation.bytes.map_or(String::new(), human::bytes),
        ]);
    }
    (!operations.is_empty()).then_some(table)
}

/// Nothing where all requests are of one size.
fn sizes(sizes: &Sizes) -> Option<Table> {
    let bins = grouped(&sizes.bins);
    let total: u64 = bins.iter().map(|bin| bin.requests).sum();
    let largest = bins.iter().map(|bin| bin.requests).max()?;
    let mut table = table::numbers(&["bytes", "%", "share"], 0..2);
    for bin in &bins {
        let share = human::percent(bin.requests as f64 / total as f64);
        let range = format!("{} to <{}", human::bytes(bin.from), human::bytes(bin.to));
        table.add_row([range, share, plot::bar(bin.requests as f64 / largest as f64, BAR)]);
    }
    (sizes.min < sizes.max).then_some(table)
}

/// As many neighbours put together as it takes to fit into [`LINES`].
fn grouped(bins: &[SizeBin]) -> Vec<SizeBin> {
    let log = |bin: &SizeBin| bin.from.ilog2() as usize;
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return Vec::new() };
    let together = (log(last) + 1 - log(first)).div_ceil(LINES);
    let same = |left: &SizeBin, right: &SizeBin| log(left) / together == log(right) / together;
    let merge = |bins: &[SizeBin]| SizeBin {
        from: bins[0].from,
        to: bins[bins.len() - 1].to,
        requests: bins.iter().map(|bin| bin.requests).sum(),
    };
    bins.chunk_by(same).map(merge).collect()
}

/// Groups by a common name, which `what` says what it is of.
fn groups(what: &str, groups: &[Group]) -> Option<Table> {
    /// The largest width of the columns of numbers.
    const NUMBERS: usize = 46;
    let room = style::width().saturating_sub(NUMBERS).max(30);
    let mut table = table::numbers(&[what, "requests", "references", "read", "written"], 1..);
    for group in groups {
        table.add_row([
            human::name(&group.name, room),
            human::count(group.requests),
            human::count(group.references),
            human::bytes(group.bytes_read),
            human::bytes(group.bytes_written),
        ]);
    }
    (!groups.is_empty()).then_some(table)
}

fn hottest(files: &Ranked<File>) -> Option<Table> {
    /// The width of the columns before the path.
    const NUMBERS: usize = 42;
    let room = style::width().saturating_sub(NUMBERS).max(20);
    let mut table = table::numbers(&["references", "%", "blocks", "reads", "writes", "file"], 0..5);
    for file in &files.top {
        table.add_row([
            human::count(file.references),
            human::percent(file.share),
            file.distinct_blocks.map_or("?".to_owned(), human::count),
            human::count(file.read_requests),
            human::count(file.write_requests),
            human::name(&file.path, room),
        ]);
    }
    (!files.top.is_empty()).then_some(table)
}

/// Shares by distance and their sum so far, which is what an LRU cache of that size hits.
fn reuses(reuse: &Reuse, seen: &Inspection) -> Option<Table> {
    let total = seen.references as f64;
    let bins = merged(&reuse.bins);
    let largest = bins.iter().map(|bin| bin.references).chain([reuse.first_uses]).max()? as f64;
    let mut table = table::numbers(&["blocks", "%", "share", "LRU hits %"], ..);
    table.column_mut(2)?.set_cell_alignment(comfy_table::CellAlignment::Left);
    let mut hits = 0;
    for bin in &bins {
        hits += bin.references;
        let up_to = match seen.block_bytes {
            Some(block) => format!("≤ {} ({})", human::count(bin.to), human::bytes(bin.to.saturating_mul(block))),
            None => format!("≤ {}", human::count(bin.to)),
        };
        let share = bin.references as f64 / total;
        let bar = plot::bar(bin.references as f64 / largest, BAR);
        table.add_row([up_to, human::percent(share), bar, human::percent(hits as f64 / total)]);
    }
    let first = human::percent(reuse.first_uses as f64 / total);
    table.add_row(
        ["first use".to_owned(), first, plot::bar(reuse.first_uses as f64 / largest, BAR), String::new()]
            .map(|text| cell(text, Role::Plain)),
    );
    Some(table)
}

/// As many neighbours put together as it takes to fit into [`LINES`].
fn merged(bins: &[Bin]) -> Vec<Bin> {
    let together = bins.len().div_ceil(LINES).max(1);
    let merge = |bins: &[Bin]| Bin {
        from: bins[0].from,
        to: bins[bins.len() - 1].to,
        references: bins.iter().map(|bin| bin.references).sum(),
    };
    bins.chunks(together).map(merge).collect()
}
