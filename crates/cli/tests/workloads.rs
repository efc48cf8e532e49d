//! The recorded programs that lie in the repository: what their page says is what the command counts.

mod support;

use std::path::PathBuf;

use support::hotset;

#[test]
fn recorded_programs_count_as_their_page_says() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let page = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let mut checked = 0;
    for line in page.lines().skip_while(|line| !line.starts_with("| trace | references")).skip(2) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let trace = folder.join(format!("{}.hst", cells[0]));
        let arguments = ["--maps", "all", "--deletes", "ignore", "-p", "lru,opt", "-s", "10%,50%", "--json", "-"];
        let rows = hotset(&[&["simulate", trace.to_str().unwrap()], &arguments[..]].concat()).rows();
        let mut counts = vec![&rows[0]["references"], &rows[0]["distinct_blocks"]];
        counts.extend(rows.iter().map(|row| &row["hits"]));
        let counts: Vec<String> = counts.into_iter().map(ToString::to_string).collect();
        let written: Vec<String> = cells[1..].iter().map(|cell| cell.replace(',', "")).collect();
        assert_eq!(counts, written, "{}", cells[0]);
        checked += 1;
    }
    let traces = std::fs::read_dir(&folder).unwrap().filter(|entry| {
        let path = entry.as_ref().unwrap().path();
        path.extension().is_some_and(|extension| extension == "hst")
    });
    assert_eq!(checked, traces.count(), "every trace has its line");
}
