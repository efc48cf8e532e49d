//! What the fuzzer has kept of the targets of `fuzz/`.

use std::fs;
use std::path::Path;

use hotset_capture::all_formats;
use hotset_testkit::fuzz::{classes, detect_and_parse, hst, mix, parse_named, policies, sizes};

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
                Some("detect") => detect_and_parse(&bytes),
                Some("format") => parse_named(&all_formats(), &bytes),
                Some("hst") => hst(&bytes),
                // Unit tests beside the bodies read them.
                Some("command_line" | "experiment" | "listing") => {}
                Some("mix") => mix(&bytes),
                Some("policies") => policies(text()),
                Some("sizes") => sizes(text()),
                _ => panic!("{}: no target that is known here", target.path().display()),
            }
        }
    }
}
