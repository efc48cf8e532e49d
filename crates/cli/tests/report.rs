//! `--report`: a page that holds exactly the results, whatever a trace is called.

mod support;

use serde_json::Value;
use support::viewer::Viewer;
use support::{Folder, command, csv, hotset, ids};

/// The data of a page.
fn data(path: &str) -> Value {
    let page = std::fs::read_to_string(path).unwrap();
    let (_, after) = page.split_once("<script type=\"application/json\" id=\"report\">").expect("a place for data");
    let (data, _) = after.split_once("</script>").unwrap();
    serde_json::from_str(data).expect("the data is JSON")
}

#[test]
fn a_page_holds_the_rows_the_command_and_the_trace() {
    let folder = Folder::new();
    let (trace, page) = (folder.file("t.csv", csv()), folder.path("t.html"));
    let commands: [&[&str]; 2] = [
        &["simulate", &trace, "-p", "lru,s3-fifo(small=5%),opt", "-s", "1 blocks,7 blocks,100 blocks"],
        &["curve", &trace, "-p", "lru,opt", "--points", "5"],
    ];
    for command in commands {
        let rows = hotset(&[command, &["--json", "-"]].concat()).rows();
        hotset(&[command, &["--report", &page]].concat()).good();
        let told = data(&page);
        assert_eq!(told["rows"], Value::from(rows));
        assert_eq!((&told["version"], &told["hotset"]), (&1.into(), &env!("CARGO_PKG_VERSION").into()));
        let line = told["command"].as_str().unwrap();
        assert!(line.starts_with(&format!("hotset {} ", command[0])) && line.ends_with(&page), "{line}");
        assert_eq!(told["traces"][0]["name"], trace.as_str());
        assert_eq!(told["traces"][0]["bytes"], std::fs::metadata(&trace).unwrap().len());
        let first = std::fs::read(&page).unwrap();
        hotset(&[command, &["--report", &page]].concat()).good();
        assert!(std::fs::read(&page).unwrap() == first, "the same command gives the same page");
    }
}

/// An experiment on one trace at two sizes, with a class and with the paper's figures.
const EXPERIMENT: &str = "title = \"T <1>\"\nsource = \"S\"\nclaim = \"C\"\ntraces = [\"ids:t.x\"]\npolicies = \"lru,s3-fifo,opt\"\n\
                          sizes = \"10%,50%\"\n[[compare]]\nbetter = \"opt\"\nthan = \"lru\"\nbound = \"opt\"\npaper_mean = 10\n\
                          paper_worse = []\n";

#[test]
fn a_page_of_experiments_holds_their_figures_and_the_papers() {
    let folder = Folder::new();
    folder.file("t.x", ids());
    let (one, page) = (folder.file("e.toml", EXPERIMENT), folder.path("t.html"));
    let run = |more: &[&str]| hotset(&[&["experiment", &one, &one, "--traces", &folder.path("")], more].concat());
    let rows = run(&["--json", "-"]).rows();
    let shown = run(&["--report", &page]).good().out;
    let told = data(&page);
    assert_eq!(told["rows"], Value::from(rows.clone()));
    assert_eq!(told["traces"].as_array().unwrap().len(), 1, "a trace of two experiments appears once");
    assert!(rows.iter().all(|row| row["trace"] == "ids:t.x"), "rows name the trace as the experiment does");
    for (number, told) in told["experiments"].as_array().unwrap().iter().enumerate() {
        assert_eq!(
            (&told["title"], &told["axis"], &told["measure"]),
            (&"T <1>".into(), &"share".into(), &"hit_ratio".into())
        );
        let first = told["traces"][0]["from"].as_u64().unwrap() as usize;
        assert_eq!(first, 6 * number);
        let ratios: Vec<&Value> = rows[first..first + 6].iter().map(|row| &row["hit_ratio"]).collect();
        assert_eq!(told["traces"][0]["values"].as_array().unwrap().iter().collect::<Vec<_>>(), ratios);
        // The gain of opt over lru, from the rows.
        let gain = |at: usize| (ratios[4 + at].as_f64().unwrap() - ratios[at].as_f64().unwrap()) * 100.0;
        let compare = &told["compare"][0];
        assert!((compare["mean"].as_f64().unwrap() - (gain(0) + gain(1)) / 2.0).abs() < 1e-9, "{compare}");
        assert_eq!((&compare["paper_mean"], &compare["traces"][0]["way"]), (&10.0.into(), &1.0.into()));
        assert_eq!((&compare["traces"][0]["trace"], &compare["traces"][0]["agrees"]), (&"t".into(), &"yes".into()));
        assert!(shown.contains(&format!("{:+.1}", compare["mean"].as_f64().unwrap())), "the table says the same");
    }
}

#[test]
fn a_page_of_an_inspection_holds_it_and_every_reference_of_the_picture() {
    let folder = Folder::new();
    let (trace, page) = (folder.file("t.csv", csv()), folder.path("t.html"));
    let seen = hotset(&["inspect", &trace, "--json", "-"]).rows().remove(0);
    hotset(&["inspect", &trace, "--report", &page]).good();
    let told = data(&page);
    assert_eq!(told["inspection"], seen);
    assert_eq!(told.get("reading"), None, "it was read without options");
    let pattern = &told["pattern"];
    assert_eq!((&pattern["references"], &pattern["blocks"]), (&seen["references"], &seen["distinct_blocks"]));
    let counts = |kind: &Value| -> u64 {
        let pairs = kind["points"].as_array().unwrap();
        pairs.iter().skip(1).step_by(2).map(|count| count.as_u64().unwrap()).sum()
    };
    assert_eq!(pattern["kinds"].as_array().unwrap().iter().map(counts).sum::<u64>(), seen["references"]);
    // Rows tell which blocks of which files they are of: of two files, all.
    let (places, hottest) = (&pattern["places"], &seen["files"]["top"][0]);
    let numbers =
        |row: &Value| row.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect::<Vec<_>>();
    let rows: Vec<Vec<u64>> = places["rows"].as_array().unwrap().iter().map(numbers).collect();
    let [blocks, a_row] = ["blocks", "blocks_per_row"].map(|field| pattern[field].as_u64().unwrap());
    assert_eq!(rows.len() as u64, blocks.div_ceil(a_row));
    let of_hottest = |place: &&[u64]| places["files"][place[0] as usize] == hottest["path"];
    let named = rows.iter().flat_map(|row| row.chunks(4)).filter(of_hottest).map(|place| place[3]).sum::<u64>();
    assert_eq!(hottest["distinct_blocks"], named, "{hottest}");
    hotset(&["inspect", &trace, "--memory", "1B", "--report", &page]).good();
    assert!(data(&page).get("pattern").is_none(), "more blocks than memory is allowed for");
}

#[test]
fn a_page_of_advice_holds_what_was_said_and_what_to_do() {
    let folder = Folder::new();
    let (trace, page) = (folder.file("t.csv", csv()), folder.path("t.html"));
    let said = hotset(&["advise", &trace, "--block", "8192", "--report", &page]).good().out;
    let told = data(&page);
    let advice = &told["advice"][0];
    let json = hotset(&["advise", &trace, "--block", "8192", "--json", "-"]).rows().remove(0);
    assert!(json.as_object().unwrap().iter().all(|(field, value)| advice[field] == *value), "{advice}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words(&said);
    let of = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|line| words(line.as_str().unwrap())).collect()
    };
    let steps = &advice["steps"];
    let lines = [of(&advice["paragraphs"]), of(&steps["next"]), of(&steps["checks"])].concat();
    assert!(lines.len() >= 5 && lines.iter().all(|line| said.contains(line)), "{lines:?} in {said}");
}

#[test]
fn pages_tell_how_other_commands_read_the_trace() {
    let folder = Folder::new();
    let (trace, page) = (folder.file("t.csv", csv()), folder.path("t.html"));
    let reading = ["--format", "csv", "--block", "8192", "--to", "40"];
    let commands: [&[&str]; 3] =
        [&["simulate", "-p", "lru", "-s", "5 blocks"], &["curve", "--points", "5"], &["inspect"]];
    for name in commands {
        hotset(&[name, &reading, &[&trace, "--report", &page]].concat()).good();
        assert_eq!(data(&page)["reading"], serde_json::json!(reading), "{name:?}");
    }
}

/// Rows tell how their trace was read, and so do pages of rows that were written before.
#[test]
fn pages_of_results_and_experiments_tell_how_the_traces_were_read() {
    let folder = Folder::new();
    let (trace, page) = (folder.file("t.csv", csv()), folder.path("t.html"));
    let [one, other] = ["1.jsonl", "2.jsonl"].map(|name| folder.path(name));
    let run = ["simulate", &trace, "-p", "lru", "-s", "5 blocks"];
    hotset(&[&run[..], &["--block", "8K", "--to", "40", "--ops", "reads", "--json", &one]].concat()).good();
    hotset(&[&run[..], &["--json", &other]].concat()).good();
    let reading = serde_json::json!(["--block", "8192", "--ops", "reads", "--to", "40"]);
    assert_eq!(Viewer::of(&[&one]).data()["reading"], reading);
    assert_eq!(Viewer::of(&[&one, &other]).data().get("reading"), None, "they were read in two ways");
    let experiment = folder.file(
        "e.toml",
        "title = \"t\"\nsource = \"s\"\ntraces = [\"./t.csv\"]\npolicies = \"lru\"\nsizes = \"5 blocks\"\nblock = 8192\n",
    );
    hotset(&["experiment", &experiment, "--report", &page]).good();
    assert_eq!(data(&page)["reading"], serde_json::json!(["--block", "8192"]));
}

/// `hotset … --report page.html | head -1`.
#[test]
fn a_page_is_written_though_nobody_reads_what_is_shown() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let commands: [&[&str]; 2] = [&["advise"], &["simulate", "-p", "lru", "-s", "5 blocks"]];
    for (number, arguments) in commands.into_iter().enumerate() {
        let page = folder.path(&format!("{number}.html"));
        let mut run = command(&[arguments, &[&trace, "--report", &page]].concat());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = run.stdout(writer).status().unwrap();
        assert!(status.success(), "{arguments:?}");
        assert!(data(&page)["version"].is_number(), "{arguments:?}");
    }
}

#[test]
fn a_hostile_name_stays_a_name() {
    let folder = Folder::new();
    let name = "<!--<script>'\"&lt;\u{202e}.ids";
    let (trace, page) = (folder.file(name, ids()), folder.path("t.html"));
    hotset(&["simulate", &trace, "-p", "lru", "-s", "10 blocks", "--report", &page]).good();
    assert_eq!(data(&page)["rows"][0]["trace"], trace.as_str());
    assert_eq!(data(&page)["traces"][0]["name"], trace.as_str());
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_work() {
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    let run = |page: &str| hotset(&["simulate", &trace, "-p", "lru", "-s", "10 blocks", "--report", page]);
    let refused = run("-");
    assert_eq!(refused.status, 2);
    assert!(refused.out.is_empty() && refused.err.contains("expected the name of a file"), "{refused:?}");
    let refused = run(&trace);
    assert!(refused.status == 2 && refused.err.contains("the same file as the input"), "{refused:?}");
    let refused = run(&folder.path("no/where.html"));
    assert!(refused.status == 1 && refused.out.is_empty(), "{refused:?}");
}
