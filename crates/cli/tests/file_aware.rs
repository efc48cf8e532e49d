//! Classes, caches in parts and experiments, through the command.

mod support;

use serde_json::Value;
use support::{Folder, hotset, keys};

const TRACE: &str = "op,file,offset,bytes,filesize,kind\nO,/d/a.png,0,0,9000,\nR,/d/a.png,0,9000,9000,datafile\nS,/d/b.py,0,0,10,\n\
                     R,/d/b.py,0,10,10,datafile\nW,/d/out.exr,0,5000,5000,datafile\nR,/d/a.png,0,9000,9000,datafile\n";

#[test]
fn a_cache_in_parts_has_rows_by_class() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", TRACE);
    let row = hotset(&["simulate", &trace, "-p", "unix", "-s", "256K", "--json", "-"]).rows().remove(0);
    let classes = row["classes"].as_array().unwrap();
    let names: Vec<&str> = classes.iter().map(|class| class["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["inode", "directory", "datafile"]);
    for field in
        ["references", "hits", "misses", "requests", "read_requests", "bytes_read", "bytes_written", "write_backs"]
    {
        let sum: u64 = classes.iter().map(|class| class[field].as_u64().unwrap()).sum();
        assert_eq!(Value::from(sum), row[field], "{field}");
    }
    assert!(keys(&row).contains(&"disk_accesses"));
    let table = hotset(&["simulate", &trace, "-p", "unix,attribute,lru", "-s", "256K"]).good().out;
    assert!(table.contains("class by class") && table.contains("directory") && table.contains("hit ratio"), "{table}");
}

#[test]
fn a_users_classes_steer_a_scheme() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", TRACE);
    let classes = folder.file("classes.toml", "[[class]]\nname = \"picture\"\nfiles = [\"*.png\"]\n");
    let arguments = ["simulate", &trace, "-p", "bypass(lru,picture)", "-s", "64K", "--json", "-"];
    let hits = |more: &[&str]| hotset(&[&arguments[..], more].concat()).rows()[0]["hits"].as_u64();
    assert_eq!(hits(&["--classes", &classes]), Some(0));
    let unknown = hotset(&arguments);
    assert_eq!(unknown.status, 2);
    assert!(unknown.err.contains("unknown class \"picture\": known are"), "{}", unknown.err);
    let wrong = folder.file("wrong.toml", "[[class]]\nname = \"a\"\n[[class]]\nname = \"b\"\nfiles = [\"[\"]\n");
    let refused = hotset(&[&arguments[..], &["--classes", &wrong]].concat());
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("wrong.toml, line 3: the pattern \"[\" cannot be read"), "{}", refused.err);
    let missing = hotset(&[&arguments[..], &["--classes", "nowhere.toml"]].concat());
    assert!(missing.status == 1 && missing.err.contains("nowhere.toml: cannot read it"), "{}", missing.err);
}

#[test]
fn sizes_and_parts_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    let (trace, ids) = (folder.file("t.csv", TRACE), folder.file("t.ids", "1\n2\n"));
    let cases: [(&str, &str, &str, &str); 4] = [
        (&trace, "attribute(1M/128 id,x/4K general)", "64K", "the parts take 1M, but the cache has 64K"),
        (&trace, "attribute(1M/128 id,x/4K everything)", "2M", "unknown class \"everything\" of a part"),
        (&trace, "bypass(unix,output)", "64K", "bypass cannot be put around unix"),
        (&ids, "unix", "10 blocks", "unix divides a cache by bytes, but blocks of this trace have no size in bytes"),
    ];
    for (trace, policy, size, message) in cases {
        let run = hotset(&["simulate", trace, "-p", policy, "-s", size]);
        assert_eq!(run.status, 2, "{}", run.err);
        assert!(run.err.contains(message), "{}", run.err);
    }
}

/// A read four times as long as the cache is one request that misses, and four accesses to storage.
#[test]
fn reads_and_writes_make_accesses() {
    let folder = Folder::new();
    let long = "O,/d/long,0,0,262144,\nR,/d/long,0,262144,262144,datafile\n";
    let trace = folder.file("t.csv", format!("{TRACE}{long}"));
    for policy in ["unix", "attribute"] {
        let row = hotset(&["simulate", &trace, "-p", policy, "-s", "64K", "--json", "-"]).rows().remove(0);
        let classes = row["classes"].as_array().unwrap();
        let sum = |field: &str| classes.iter().map(|class| class[field].as_u64().unwrap()).sum::<u64>();
        assert_eq!(Value::from(sum("read_accesses") + sum("write_backs")), row["disk_accesses"], "{row}");
        assert_eq!(Value::from(sum("read_accesses") - 3), row["read_request_misses"], "{row}");
    }
}

#[test]
fn an_experiment_prints_the_papers_figures_beside_ours() {
    let folder = Folder::new();
    folder.file("t.csv", TRACE);
    let text = "title = \"T\"\nsource = \"S, figure 1\"\nclaim = \"C\"\ntraces = [\"t.csv\"]\npolicies = \"lru,opt\"\nsizes = \"1,4 blocks\"\n\
                [[compare]]\nbetter = \"opt\"\nthan = \"lru\"\npaper_mean = 10\n";
    let file = folder.file("e.toml", text);
    let shown = hotset(&["experiment", &file, "--traces", &folder.path("")]).good().out;
    for part in ["S, figure 1", "The paper: C", "| policy |", "opt against lru", "+10.0"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(hotset(&["experiment", &file, "--traces", &folder.path(""), "--json", "-"]).rows().len(), 4);
    let wrong = folder.file("w.toml", text.replace("better = \"opt\"", "better = \"arc\""));
    let refused = hotset(&["experiment", &wrong]);
    assert!(
        refused.status == 2 && refused.err.contains("\"arc\" is compared, but not among the policies"),
        "{}",
        refused.err
    );
    let unknown = folder.file("u.toml", text.replace("claim", "clam"));
    let refused = hotset(&["experiment", &unknown]);
    assert!(refused.status == 2 && refused.err.contains("unknown field `clam`"), "{}", refused.err);
}

#[test]
fn an_experiment_counts_some_classes_and_tells_how_near_a_bound_is() {
    let folder = Folder::new();
    folder.file("t.csv", TRACE);
    let text = "title = \"T\"\nsource = \"S\"\ntraces = [\"./t.csv\"]\npolicies = \"unix,attribute\"\nsizes = \"64K\"\n\
                measure = \"read_request_misses\"\nclasses = [\"inode\"]\n";
    let file = folder.file("e.toml", text);
    // A trace that begins with a dot lies beside the experiment, wherever --traces points.
    let run = |file: &str| hotset(&["experiment", file, "--traces", "/nowhere"]).good().out;
    let row = hotset(&["simulate", &folder.path("t.csv"), "-p", "unix", "-s", "64K", "--json", "-"]).rows().remove(0);
    let misses = |row: &Value| row["read_request_misses"].as_u64().unwrap();
    let inode = misses(&row["classes"][0]);
    assert!(inode > 0 && inode < misses(&row), "{row}");
    let shown = run(&file);
    assert!(shown.contains("missed read requests (inode)"), "{shown}");
    let unix = shown.lines().find(|line| line.starts_with("| unix")).unwrap();
    assert_eq!(unix.trim_matches('|').split('|').nth(1).unwrap().trim(), inode.to_string());

    let none = folder.file("n.toml", text.replace("\"inode\"", "\"picture\""));
    assert!(run(&none).lines().any(|line| line.starts_with("| unix") && line.ends_with("- |")));

    let bound = "title = \"T\"\nsource = \"S\"\ntraces = [\"./t.csv\"]\npolicies = \"mru,lru,opt\"\nsizes = \"1,4 blocks\"\n\
                 [[compare]]\nbetter = \"lru\"\nthan = \"mru\"\nbound = \"opt\"\n";
    let shown = run(&folder.file("b.toml", bound));
    assert!(shown.contains("lru on the way from mru to opt"), "{shown}");
}
