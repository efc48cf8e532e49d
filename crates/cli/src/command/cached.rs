//! `hotset cached`: what of files is in the page cache.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use hotset_core::words::reason;
use hotset_results::{Column, ValueKind};
use hotset_steer::{CachedFile, CachedFiles, cached_files};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::options::results::ResultArgs;
use crate::output::{human, note, style, table};

/// Show how much of files is in the page cache, by file, directory or age
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset cached /var/lib/postgresql
  hotset cached . --by dir --top 20
  hotset cached /srv --by age
  hotset cached /srv --json before.jsonl
  hotset cached /srv --diff before.jsonl

No file is read, and the page cache stays as it is. Symbolic links are not followed, and other file systems below a directory are not counted. Before Linux 6.5 the columns `dirty` and `evicted` are empty.")]
pub(crate) struct Cached {
    /// Files and directories
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Group by this
    #[arg(long, value_name = "WHAT", default_value = "file")]
    by: By,
    /// Number of lines to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Compare with an earlier --json file of the same directories
    #[arg(long, value_name = "FILE", conflicts_with = "by")]
    diff: Option<PathBuf>,
    #[command(flatten)]
    results: ResultArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// The file
    File,
    /// The directory that the file is in
    Dir,
    /// The time since the file was last read or changed
    Age,
}

/// A file in results.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    path: String,
    file_bytes: u64,
    cached_bytes: u64,
    dirty_bytes: Option<u64>,
    evicted_bytes: Option<u64>,
    age_seconds: u64,
}

const COLUMNS: [Column; 6] = [
    Column::new("path", ValueKind::Text, true),
    Column::new("file_bytes", ValueKind::Whole, true),
    Column::new("cached_bytes", ValueKind::Whole, true),
    Column::new("dirty_bytes", ValueKind::Whole, false),
    Column::new("evicted_bytes", ValueKind::Whole, false),
    Column::new("age_seconds", ValueKind::Whole, true),
];

/// Groups of ages: each age is less than this number of seconds.
const AGES: [(u64, &str); 6] = [
    (60, "under 1 minute"),
    (3600, "1 minute to 1 hour"),
    (86_400, "1 hour to 1 day"),
    (604_800, "1 to 7 days"),
    (2_592_000, "7 to 30 days"),
    (u64::MAX, "30 days and more"),
];

/// Totals of some files.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    files: u64,
    bytes: u64,
    cached: u64,
    dirty: Option<u64>,
    evicted: Option<u64>,
}

impl Cached {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let inputs: Vec<PathBuf> = self.paths.iter().chain(&self.diff).cloned().collect();
        self.results.check(None, &inputs)?;
        let before = self.diff.as_deref().map(read).transpose()?;
        for path in &self.paths {
            std::fs::metadata(path).map_err(|error| absent(path, &error))?;
        }
        let found = cached_files(&self.paths)
            .map_err(|error| Failure::Work(format!("cannot look into the page cache: {error}")))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let rows: Vec<Row> = found.files.iter().map(|file| row(file, now)).collect();
        self.results.write(&COLUMNS, &rows)?;
        if !self.results.has_stdout() {
            let mut out = stdout().lock();
            match before {
                Some(before) => write!(out, "{}", compared(&before, &rows, self.top))?,
                None => write!(out, "{}", self.described(&rows))?,
            }
            out.flush()?;
        }
        told(&found);
        Ok(())
    }

    /// Totals, and a table of what has most in the cache.
    fn described(&self, rows: &[Row]) -> String {
        let total = total(rows);
        let mut groups: BTreeMap<(usize, String), Total> = BTreeMap::new();
        for row in rows {
            let group = match self.by {
                By::File => (0, row.path.clone()),
                By::Dir => (0, Path::new(&row.path).parent().unwrap_or(Path::new("")).display().to_string()),
                By::Age => {
                    let at = AGES.iter().position(|(limit, _)| row.age_seconds < *limit).unwrap_or(AGES.len() - 1);
                    (at, AGES[at].1.to_owned())
                }
            };
            groups.entry(group).or_default().add(row);
        }
        let mut groups: Vec<((usize, String), Total)> = groups.into_iter().collect();
        if self.by != By::Age {
            groups.retain(|(_, total)| total.cached > 0);
            groups.sort_by_key(|(_, total)| std::cmp::Reverse(total.cached));
        }
        let left = groups.len().saturating_sub(self.top);
        let mut text = format!("{}\n", sentence(&total));
        if !groups.is_empty() {
            let noun = match self.by {
                By::File => "file",
                By::Dir => "directory",
                By::Age => "last read or changed",
            };
            let mut table = table::numbers(&["cached", "% cached", "size", "dirty", "evicted", noun], ..5);
            for ((_, name), total) in groups.iter().take(self.top) {
                table.add_row([
                    human::bytes(total.cached),
                    share(total),
                    human::bytes(total.bytes),
                    optional(total.dirty),
                    optional(total.evicted),
                    human::name(name, style::width() / 2),
                ]);
            }
            text += &format!("\n{}\n", table.trim_fmt());
        }
        if left > 0 {
            text += &format!("... and {} more; --top N shows more.\n", human::count(left as u64));
        }
        text
    }
}

impl Total {
    fn add(&mut self, row: &Row) {
        let add = |sum: Option<u64>, part: Option<u64>| part.map(|part| sum.unwrap_or(0) + part).or(sum);
        self.files += 1;
        self.bytes += row.file_bytes;
        self.cached += row.cached_bytes;
        self.dirty = add(self.dirty, row.dirty_bytes);
        self.evicted = add(self.evicted, row.evicted_bytes);
    }
}

fn total(rows: &[Row]) -> Total {
    let mut total = Total::default();
    rows.iter().for_each(|row| total.add(row));
    total
}

fn row(file: &CachedFile, now: u64) -> Row {
    Row {
        path: file.path.to_string_lossy().into_owned(),
        file_bytes: file.file_bytes,
        cached_bytes: file.cached_bytes,
        dirty_bytes: file.dirty_bytes,
        evicted_bytes: file.evicted_bytes,
        age_seconds: now.saturating_sub(u64::try_from(file.used_at).unwrap_or(0)),
    }
}

fn share(total: &Total) -> String {
    match total.bytes {
        0 => "-".to_owned(),
        bytes => format!("{:.1}", total.cached as f64 * 100.0 / bytes as f64),
    }
}

fn optional(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), human::bytes)
}

fn sentence(total: &Total) -> String {
    let dirty = total.dirty.filter(|&dirty| dirty > 0);
    let dirty =
        dirty.map_or_else(String::new, |dirty| format!("; {} not yet written to the disk", human::bytes(dirty)));
    format!(
        "{} of {} in {} are in the page cache ({} %){dirty}.",
        human::bytes(total.cached),
        human::bytes(total.bytes),
        human::counted(total.files, "file"),
        share(total)
    )
}

/// The changes since `before`.
fn compared(before: &[Row], now: &[Row], top: usize) -> String {
    let mut changes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    before.iter().for_each(|row| changes.entry(&row.path).or_default().0 += row.cached_bytes);
    now.iter().for_each(|row| changes.entry(&row.path).or_default().1 += row.cached_bytes);
    let kept: u64 = changes.values().map(|(before, now)| before.min(now)).sum();
    let (had, has) = (total(before).cached, total(now).cached);
    let mut changes: Vec<(&str, (u64, u64))> = changes.into_iter().filter(|(_, (before, now))| before != now).collect();
    changes.sort_by_key(|(_, (before, now))| std::cmp::Reverse(before.abs_diff(*now)));
    let mut text = format!(
        "Before: {}. Now: {}. By file, {} of the {0} are still in the page cache, and {} came.\n",
        human::bytes(had),
        human::bytes(has),
        human::bytes(kept),
        human::bytes(has - kept)
    );
    if !changes.is_empty() {
        let mut table = table::numbers(&["before", "now", "change", "file"], ..3);
        for (path, (before, now)) in changes.iter().take(top) {
            let sign = if now > before { '+' } else { '-' };
            table.add_row([
                human::bytes(*before),
                human::bytes(*now),
                format!("{sign}{}", human::bytes(before.abs_diff(*now))),
                human::name(path, style::width() / 2),
            ]);
        }
        text += &format!("\n{}\n", table.trim_fmt());
    }
    let left = changes.len().saturating_sub(top);
    if left > 0 {
        text += &format!("... and {} more; --top N shows more.\n", human::count(left as u64));
    }
    text
}

/// The rows of an earlier `--json` file.
fn read(path: &Path) -> Result<Vec<Row>, Failure> {
    let name = path.display();
    let failed = |error: std::io::Error| Failure::Work(format!("{name}: cannot read it: {}", reason(&error)));
    let lines = BufReader::new(File::open(path).map_err(failed)?).lines().enumerate();
    let row = |(at, line): (usize, std::io::Result<String>)| {
        serde_json::from_str(&line.map_err(failed)?).map_err(|error| {
            let expected = "expected a row that `hotset cached --json` wrote";
            Failure::Work(format!("{name}, line {}: {expected} ({error})", at + 1))
        })
    };
    lines.map(row).collect()
}

fn absent(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Work(format!("cannot look at {}: {}", path.display(), reason(error)))
}

/// Says what could not be looked at.
fn told(found: &CachedFiles) {
    if let Some((path, error)) = found.failed.first() {
        let count = human::counted_as(found.failed.len() as u64, "file or directory", "files or directories");
        note(format_args!("{count} could not be opened and do not count, such as {}: {error}", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &str, cached: u64) -> Row {
        Row {
            path: path.to_owned(),
            file_bytes: 8192,
            cached_bytes: cached,
            dirty_bytes: Some(0),
            evicted_bytes: None,
            age_seconds: 0,
        }
    }

    #[test]
    fn changes_are_counted_by_file() {
        let text = compared(&[row("a", 8192), row("b", 4096)], &[row("a", 4096), row("c", 8192)], 2);
        assert!(
            text.starts_with(
                "Before: 12K. Now: 12K. By file, 4K of the 12K are still in the page cache, and 8K came.\n"
            ),
            "{text}"
        );
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[4], ["0B", "8K", "+8K", "c"]);
        assert_eq!(lines[5], ["8K", "4K", "-4K", "a"]);
        assert!(text.ends_with("... and 1 more; --top N shows more.\n"), "{text}");
    }
}
