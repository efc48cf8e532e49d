//! The fuzz targets of `fuzz/` for experiments and command lines, seeded: sound texts and what becomes of them.

use std::fs;
use std::path::Path;

use hotset_cli::fuzzing::{command_line, experiment};
use hotset_core::fuzzing::vary;
use hotset_core::parts::random::Random;

const LINES: [&str; 6] = [
    "mix lu=lu.hst tpcc=tpcc.hst --by time --start tpcc=10s --loops lu=3 --span lu=120s -o two.hst",
    "simulate mix.hst --policy shared(lru),qos(lru,lu=70%) --size 64M --disk disk(seek=4ms) --series s --every 2s",
    "curve app.hst --policy lru,opt --points 30 --sample-size 1000 --block 4K --memory 1G",
    "generate zipf objects=500 skew=0.9 -o zipf.hst",
    "import log.strace -o x.hst --skip-bad --format strace --columns time,id",
    "mount /a /b --memory 2G --policy render --block 64K --listen 127.0.0.1:8000",
];

#[test]
fn damaged_command_lines_are_read_or_refused() {
    let mut random = Random::new(21);
    for line in LINES {
        command_line(line);
        (0..400).for_each(|_| command_line(&vary(&mut random, line)));
    }
}

/// The experiments of the project itself, one of each folder.
#[test]
fn damaged_experiments_are_read_or_refused() {
    let mut random = Random::new(22);
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
