//! A page of experiments as `hotset experiment --markdown` prints it: sections with a source, and tables under a line
//! that says what they are.

use anyhow::{Result, ensure};

/// A page.
pub struct Page {
    /// Its file.
    pub name: String,
    pub title: String,
    pub experiments: Vec<Experiment>,
}

/// A section that names a source.
#[derive(Default)]
pub struct Experiment {
    pub title: String,
    pub source: String,
    pub figures: Vec<Figure>,
    /// What applications hit over time: a line an application, a column a stretch.
    pub over_time: Vec<Figure>,
    /// Where virtual queues are hit: a line a band of the queue from its head on, a column a stretch.
    pub queues: Vec<Figure>,
    /// How policies compare, beside the paper.
    pub compared: Option<Table>,
}

/// A measure on one trace by size, a line a policy; or, at one size, a line a trace or application and a column a
/// policy.
pub struct Figure {
    /// The trace, `at` and the size, or both.
    pub name: String,
    pub measure: String,
    pub table: Table,
}

/// Cells as they are on the page.
#[derive(Default)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// Reads a page. A table whose lines differ in length is an error.
pub fn read(name: &str, text: &str) -> Result<Page> {
    let mut page = Page { name: name.to_owned(), title: String::new(), experiments: Vec::new() };
    let mut section = Experiment::default();
    let (mut caption, mut table) = (String::new(), Vec::new());
    // An empty line at the end closes what is open.
    for line in text.lines().chain([""]) {
        if line.starts_with('|') {
            table.push(cells(line));
            continue;
        }
        if !table.is_empty() {
            section.take(&caption, std::mem::take(&mut table))?;
        }
        if let Some(title) = line.strip_prefix("# ") {
            title.clone_into(&mut page.title);
        } else if let Some(title) = line.strip_prefix("## ") {
            page.experiments
                .push(std::mem::replace(&mut section, Experiment { title: title.to_owned(), ..Experiment::default() }));
        } else if let Some(source) = line.strip_prefix("Source: ") {
            source.clone_into(&mut section.source);
        }
        if !line.is_empty() {
            line.clone_into(&mut caption);
        }
    }
    page.experiments.push(section);
    page.experiments.retain(|experiment| !experiment.source.is_empty());
    Ok(page)
}

impl Experiment {
    /// Takes a table that it knows by its first heading; others are words of the author.
    fn take(&mut self, caption: &str, mut lines: Vec<Vec<String>>) -> Result<()> {
        let head = lines.remove(0);
        ensure!(
            lines.iter().all(|line| line.len() == head.len()),
            "{caption}: the lines of the table have different lengths"
        );
        let rows = lines.into_iter().skip(1).collect();
        let table = Table { head, rows };
        match (table.head[0].as_str(), caption.split_once(": ")) {
            ("compared", _) if table.head.iter().any(|head| head == "mean") => self.compared = Some(table),
            ("policy", Some((name, measure))) if table.head[1..].iter().all(|size| number(size).is_some()) => {
                self.add(name, measure, table);
            }
            ("policy", Some((name, measure))) => self.add(name, measure, by_application(&table)),
            ("trace", Some((name, measure))) if name.starts_with("at ") => self.add(name, measure, table),
            // Drawn like a measure by size: a line a stretch instead of a policy.
            ("after", Some((name, measure))) => {
                self.add(name, measure, Table { head: by_size(&table.head), ..table });
            }
            ("until", Some((name, _))) => self.over_time.extend(by_policy(name, table)),
            ("position", _) if let Some((name, measure)) = caption.rsplit_once(": ") => {
                self.queues.push(Figure { name: name.to_owned(), measure: measure.to_owned(), table });
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, name: &str, measure: &str, table: Table) {
        self.figures.push(Figure { name: name.to_owned(), measure: measure.to_owned(), table });
    }
}

/// The heading of a table by size.
fn by_size(head: &[String]) -> Vec<String> {
    std::iter::once("policy".to_owned()).chain(head[1..].iter().cloned()).collect()
}

/// A table of stretches of time, cut by policy, whose lines are applications.
fn by_policy(name: &str, table: Table) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for row in table.rows {
        let (policy, app) = row[0].split_once(": ").unwrap_or((&row[0], ""));
        let title = format!("{policy}, {name}");
        let line = std::iter::once(app.to_owned()).chain(row[1..].iter().map(|cell| figure(cell))).collect();
        match figures.iter_mut().find(|figure| figure.name == title) {
            Some(known) => known.table.rows.push(line),
            None => figures.push(Figure {
                name: title,
                measure: "hits in %, over time".to_owned(),
                table: Table { head: table.head.clone(), rows: vec![line] },
            }),
        }
    }
    figures
}

/// Of what is said behind a figure (room, promises) nothing is kept.
fn figure(cell: &str) -> String {
    cell.split(' ').next().unwrap_or_default().to_owned()
}

/// A table with a column an application, turned: a line each.
fn by_application(table: &Table) -> Table {
    let line = |at: usize| {
        let cells = table.rows.iter().map(|row| figure(&row[at]));
        std::iter::once(table.head[at].clone()).chain(cells).collect()
    };
    let policies = table.rows.iter().map(|row| row[0].clone());
    let head = std::iter::once("application".to_owned()).chain(policies).collect();
    Table { head, rows: (1..table.head.len()).map(line).collect() }
}

fn cells(line: &str) -> Vec<String> {
    line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The number in a cell: `1,234`, `12.5`, `64K`, `1.2M`, `10 s`; `None` for a dash.
pub fn number(cell: &str) -> Option<f64> {
    let plain = cell.trim_end_matches(" s").replace(',', "");
    let scale = |power: i32| 1024f64.powi(power);
    let (digits, scale) = match plain.char_indices().last()? {
        (at, 'B') => (&plain[..at], 1.0),
        (at, 'K') => (&plain[..at], scale(1)),
        (at, 'M') => (&plain[..at], scale(2)),
        (at, 'G') => (&plain[..at], scale(3)),
        (at, 'T') => (&plain[..at], scale(4)),
        _ => (&*plain, 1.0),
    };
    Some(digits.parse::<f64>().ok().filter(|number| number.is_finite())? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_printed() {
        let cells = ["1,234", "12.50", "64K", "1.5M", "-", "", "0B", "nan", "10 s"];
        let read =
            [Some(1234.0), Some(12.5), Some(65536.0), Some(1.5 * 1048576.0), None, None, Some(0.0), None, Some(10.0)];
        assert_eq!(cells.map(number), read);
    }

    #[test]
    fn a_table_of_applications_is_turned() {
        let text = "## A\nSource: S\n\nIII at 1K: m\n\n| policy | film | all |\n| - | - | - |\n| lru | 1.5 in 9K, flagged | 2 |\n| qos(lru) | - | 3 |\n";
        let figure = &read("a.md", text).unwrap().experiments[0].figures[0];
        assert_eq!((figure.name.as_str(), figure.measure.as_str()), ("III at 1K", "m"));
        assert_eq!(figure.table.head, ["application", "lru", "qos(lru)"]);
        assert_eq!(figure.table.rows, [["film", "1.5", "-"], ["all", "2", "3"]]);
    }

    #[test]
    fn tables_over_time_are_cut_by_policy_and_queues_are_kept() {
        let text = "## A\nSource: S\n\nIII at 1K: hits in %, and room\n\n| until | 10 s | 20 s |\n| - | - | - |\n\
                    | lru: film | 1.5 in 9K | - |\n| lru: lu | 2 | 3 |\n| qos(lru): lu | 4 | 5 |\n\n\
                    III at 1K, v(lru): lu: where, in %\n\n| position | 10 s |\n| - | - |\n| from 0B | 1.00 |\n";
        let experiment = &read("a.md", text).unwrap().experiments[0];
        let told: Vec<_> = experiment.over_time.iter().map(|one| (one.name.as_str(), one.table.rows.len())).collect();
        assert_eq!(told, [("lru, III at 1K", 2), ("qos(lru), III at 1K", 1)]);
        assert_eq!(experiment.over_time[0].table.rows[0], ["film", "1.5", "-"]);
        assert_eq!(
            (experiment.queues[0].name.as_str(), experiment.queues[0].table.rows.len()),
            ("III at 1K, v(lru): lu", 1)
        );
    }

    #[test]
    fn a_broken_table_is_an_error() {
        let text = "## A\nSource: S\n\nt: m\n\n| policy | 1 |\n| - | - |\n| lru |\n";
        assert!(read("a.md", text).err().unwrap().to_string().contains("t: m: the lines of the table"));
    }
}
