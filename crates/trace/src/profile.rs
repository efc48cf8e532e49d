//! What applications hit alone, out of rows of results that were measured before: the off-line step of schemes that
//! keep promises.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use hotset_core::policy::{App, PolicySpec};
use hotset_core::spec::SpecError;
use serde::Deserialize;

/// Bytes of a file that are read at most: far beyond any use, and little memory.
const LIMIT: u64 = 64 << 20;

/// The fields of a row of `hotset curve` or `simulate` that are read.
#[derive(Deserialize)]
struct Row {
    trace: String,
    policy: String,
    size_blocks: u64,
    size_bytes: Option<u64>,
    references: u64,
    hits: u64,
    #[serde(default)]
    apps: Vec<AppRow>,
}

/// The fields of an application in one row that are read.
#[derive(Deserialize)]
struct AppRow {
    name: String,
    references: u64,
    hits: u64,
    room_blocks: Option<u64>,
}

/// Gives each of `apps` the points that the rows of `file` have for it: those of `policy`, or of a cache around it. A
/// row of one application belongs to the application with the name of its trace; a row of several counts if each had a
/// separate partition. Blocks of other sizes are converted to blocks of `block_bytes`. An application that is not in
/// the file keeps its points; it is an error if none is in it.
pub fn read(file: &str, policy: &PolicySpec, block_bytes: Option<u64>, apps: &mut [App]) -> Result<(), SpecError> {
    let failed = |error| SpecError::new(format!("profile: {file}: cannot read it: {error}"));
    let lines = BufReader::new(File::open(file).map_err(failed)?.take(LIMIT)).lines();
    let (mut names, mut read) = (Vec::new(), 0);
    for (number, line) in (1..).zip(lines) {
        let line = line.map_err(failed)?;
        read += line.len() as u64 + 1;
        if line.trim().is_empty() {
            continue;
        }
        let row: Row = serde_json::from_str(&line).map_err(|error| {
            SpecError::new(format!(
                "profile: {file}, line {number}: found no row of results ({error}): expected JSON Lines as `hotset curve` or \
                 `hotset simulate` writes them"
            ))
        })?;
        if !is_of(&row.policy, policy) {
            continue;
        }
        for (name, point) in points(&row, block_bytes) {
            if let Some(app) = apps.iter_mut().find(|app| app.is_called(&name)) {
                app.profile.push(point);
            }
            names.push(name);
        }
    }
    if read >= LIMIT {
        return Err(SpecError::new(format!(
            "profile: {file}: it is longer than 64M: expected some rows an application"
        )));
    }
    if apps.iter().all(|app| app.profile.is_empty()) {
        return Err(SpecError::new(format!(
            "profile: {file} says nothing of these applications under {policy}: {}",
            known(names)
        )));
    }
    apps.iter_mut().for_each(|app| app.profile.sort_by_key(|&(blocks, _)| blocks));
    Ok(())
}

/// True if a row of the policy with the spec `text` tells what `policy` does: it is that, or a cache around it.
fn is_of(text: &str, policy: &PolicySpec) -> bool {
    PolicySpec::parse(text).is_ok_and(|spec| spec == *policy || spec.args(None).policies().any(|inner| inner == policy))
}

/// Applications with their partition in blocks, and their hit rate in percent.
fn points(row: &Row, block_bytes: Option<u64>) -> Vec<(String, (u32, f64))> {
    let in_blocks = |blocks: u64| {
        let bytes = row.size_bytes.map(|bytes| bytes / row.size_blocks.max(1) * blocks);
        let here = bytes.zip(block_bytes).map_or(blocks, |(bytes, block)| bytes / block);
        u32::try_from(here.max(1)).unwrap_or(u32::MAX)
    };
    let rate = |hits: u64, references: u64| 100.0 * hits as f64 / references.max(1) as f64;
    if row.apps.is_empty() {
        return vec![(label(&row.trace), (in_blocks(row.size_blocks), rate(row.hits, row.references)))];
    }
    let point = |app: &AppRow| Some((app.name.clone(), (in_blocks(app.room_blocks?), rate(app.hits, app.references))));
    row.apps.iter().filter_map(point).collect()
}

/// The name of a trace up to the first dot, without the folders and the format before it.
fn label(trace: &str) -> String {
    let name = trace.rsplit_once(':').map_or(trace, |(_, path)| path);
    let name = Path::new(name).file_name().map_or(name.into(), |name| name.to_string_lossy());
    name.split('.').next().unwrap_or_default().to_owned()
}

fn known(mut names: Vec<String>) -> String {
    names.sort_unstable();
    names.dedup();
    match names.is_empty() {
        true => "it has no rows of that policy with one application, or with a partition for each".to_owned(),
        false => format!("it knows {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The points that `apps` get from these lines, with blocks of 4K, or the error.
    fn of(lines: &str, apps: &[&str]) -> Result<Vec<Vec<(u32, f64)>>, String> {
        let file = std::env::temp_dir().join(format!("hotset-profile-{}-{}.json", std::process::id(), lines.len()));
        std::fs::write(&file, lines).unwrap();
        let mut apps: Vec<App> = apps.iter().map(|&name| App::from(name)).collect();
        let told = read(file.to_str().unwrap(), &PolicySpec::parse("lru").unwrap(), Some(4096), &mut apps);
        std::fs::remove_file(file).unwrap();
        told.map(|()| apps.into_iter().map(|app| app.profile).collect()).map_err(|error| error.to_string())
    }

    /// A row with so many hits of eight references.
    fn row(trace: &str, policy: &str, blocks: u32, hits: u32, more: &str) -> String {
        format!(
            "{{\"version\":1,\"trace\":\"{trace}\",\"policy\":\"{policy}\",\"size_blocks\":{blocks},\"references\":8,\"hits\":{hits}{more}}}\n"
        )
    }

    #[test]
    fn rows_of_the_policy_count_for_the_application_that_they_name() {
        let lines = row("w/lu.hst", "lru", 9, 4, "")
            + &row("hst:w/lu.hst", "lru", 4, 2, ",\"size_bytes\":32768")
            + &row("w/lu.hst", "opt", 5, 7, "")
            + "\n"
            + &row("both.hst", "shared(lru)", 7, 3, ",\"apps\":[{\"name\":\"pid 1\",\"references\":4,\"hits\":4}]")
            + &row(
                "both.hst",
                "equal(lru)",
                6,
                3,
                ",\"apps\":[{\"name\":\"pid 1\",\"references\":8,\"hits\":1,\"room_blocks\":3}]",
            );
        let told = of(&lines, &["lu", "pid_1", "pid 1", "other"]).unwrap();
        // The second file's blocks have 8K.
        assert_eq!(told, [vec![(8, 25.0), (9, 50.0)], vec![], vec![(3, 12.5)], vec![]]);
    }

    #[test]
    fn a_file_that_does_not_help_is_refused_in_a_sentence() {
        let refused = |lines: &str| of(lines, &["lux"]).unwrap_err();
        assert!(refused(&row("lu.hst", "lru", 1, 1, "")).ends_with("under lru: it knows lu"));
        assert!(refused(&row("lu.hst", "arc", 1, 1, "")).contains("it has no rows of that policy"));
        let error = refused("{\"trace\":3}\n");
        assert!(error.contains("line 1: found no row of results") && error.contains("expected JSON Lines"), "{error}");
        let error = read("/no/such.json", &PolicySpec::parse("lru").unwrap(), None, &mut []).unwrap_err().to_string();
        assert!(error.starts_with("profile: /no/such.json: cannot read it: No such file"), "{error}");
    }
}
