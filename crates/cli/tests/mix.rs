//! `hotset mix`, as a user runs it.

mod support;

use support::{Folder, hotset};

fn trace(seconds: u32) -> String {
    let line = |step: u32| format!("{},R,/data/x,{},4096\n", step * seconds, step * 4096);
    format!("time_s,op,file,offset,bytes\n{}", (0..10).map(line).collect::<String>())
}

#[test]
fn applications_keep_their_names_and_files() {
    let folder = Folder::new();
    let (fast, slow) = (folder.file("fast.csv", trace(1)), folder.file("slow.csv", trace(2)));
    let out = folder.path("mix.hst");
    let (one, other) = (format!("fast={fast}"), format!("slow={slow}"));
    let said = hotset(&["mix", &one, &other, "--start", "slow=3s", "--loops", "fast=2", "-o", &out]).good().out;
    assert!(said.contains("30 requests") && said.contains("2 files") && said.contains("2 applications"), "{said}");
    let row = &hotset(&["simulate", &out, "-p", "lru", "-s", "30 blocks", "--json", "-"]).rows()[0];
    assert_eq!(row["distinct_blocks"], 20, "both have a file of the same name");
    assert_eq!((&row["apps"][0]["name"], &row["apps"][1]["name"]), (&"fast".into(), &"slow".into()));
    assert_eq!((row["apps"][0]["hits"].as_u64(), row["apps"][1]["hits"].as_u64()), (Some(10), Some(0)));
}

#[test]
fn what_does_not_fit_together_is_said() {
    let folder = Folder::new();
    let (csv, ids) = (folder.file("t.csv", trace(1)), folder.file("t.ids", "1\n2\n"));
    let out = folder.path("mix.hst");
    let refused = |more: &[&str]| {
        let parts = [format!("a={csv}"), format!("b={ids}")];
        let line = [&["mix", &parts[0], &parts[1], "-o", &out], more].concat();
        hotset(&line).err
    };
    assert!(refused(&[]).contains("b: its requests have no times; mix by request or by page"));
    assert!(
        refused(&["--by", "request", "--loops", "c=2"]).contains("the mix has no application \"c\": expected a, b")
    );
    assert!(refused(&["--by", "request", "--loops", "a=2", "--loops", "a=3"]).contains("\"a\" is given twice"));
    assert!(refused(&["--start", "a=soon"]).contains("expected one such as 10s"));
}
