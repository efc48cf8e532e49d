//! The fuzz targets of `fuzz/` for experiments, command lines and listings, seeded: sound texts and what becomes of
//! them; and what the fuzzer has kept of all targets.

use std::fs;
use std::path::Path;

use hotset_cli::all_formats;
use hotset_cli::fuzzing::{command_line, experiment};
use hotset_core::fuzzing::{classes, policies, sizes, vary};
use hotset_core::parts::random::Rng;
use hotset_store::fuzzing::listing;
use hotset_trace::fuzzing::{detect_and_parse, hst, mix, parse_named};

const LINES: [&str; 6] = [
    "mix lu=lu.hst tpcc=tpcc.hst --by time --start tpcc=10s --loops lu=3 --span lu=120s -o two.hst",
    "simulate mix.hst --policy shared(lru),qos(lru,lu=70%) --size 64M --store disk(seek=4ms) --series s --every 2s",
    "curve app.hst --policy lru,opt --points 30 --sample-size 1000 --block 4K --memory 1G",
    "generate zipf objects=500 skew=0.9 -o zipf.hst",
    "import log.strace -o x.hst --skip-bad --format strace --columns time,id",
    "mount /a /b --memory 2G --policy render --block 64K --listen 127.0.0.1:8000",
];

#[test]
fn damaged_command_lines_are_read_or_refused() {
    let mut random = Rng::new(21);
    for line in LINES {
        command_line(line);
        (0..400).for_each(|_| command_line(&vary(&mut random, line)));
    }
}

/// The experiments of the project itself, one of each folder.
#[test]
fn damaged_experiments_are_read_or_refused() {
    let mut random = Rng::new(22);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for paper in fs::read_dir(folder).expect("the experiments of the project") {
        let mut files: Vec<_> = fs::read_dir(paper.unwrap().path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        let last = files.iter().rfind(|file| file.extension().is_some_and(|ending| ending == "toml"));
        let text = fs::read_to_string(last.expect("a folder has an experiment")).unwrap();
        experiment(&text);
        (0..300).for_each(|_| experiment(&vary(&mut random, &text)));
    }
}

#[test]
fn damaged_listings_are_read_or_refused() {
    let mut random = Rng::new(23);
    for kind in ["webdav", "s3"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept/listing").join(kind);
        let text = fs::read_to_string(path).unwrap();
        (0..5000).for_each(|_| listing(vary(&mut random, &text).as_bytes()));
    }
}

/// Inputs that once broke something, and those that the fuzzer begins from; a folder a target.
#[test]
fn what_was_kept_stays_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept");
    for target in fs::read_dir(folder).expect("a folder of kept inputs") {
        let target = target.unwrap();
        for file in fs::read_dir(target.path()).unwrap() {
            let path = file.unwrap().path();
            println!("{}", path.display());
            let bytes = fs::read(path).unwrap();
            let text = || str::from_utf8(&bytes).expect("the target takes text");
            match target.file_name().to_str() {
                Some("classes") => classes(text()),
                Some("command_line") => command_line(text()),
                Some("detect") => detect_and_parse(&bytes),
                Some("experiment") => experiment(text()),
                Some("format") => parse_named(&all_formats(), &bytes),
                Some("hst") => hst(&bytes),
                Some("listing") => listing(&bytes),
                Some("mix") => mix(&bytes),
                Some("policies") => policies(text()),
                Some("sizes") => sizes(text()),
                _ => panic!("{}: no target that is known here", target.path().display()),
            }
        }
    }
}
