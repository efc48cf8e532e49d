//! Everything that can be done to files, in random order, against a directory of byte arrays; `mounted_model.rs` does
//! it through a mount.

#[path = "support/memory.rs"]
#[allow(dead_code, reason = "every test file uses a part of it")]
mod memory;
mod model;

use model::cached::Cached;
use model::{exercise, steps};

#[test]
fn the_cache_is_a_directory_of_byte_arrays() {
    for seed in 0..200 {
        println!("seed {seed}");
        exercise(&steps(seed, 400), &mut Cached::new());
    }
}

#[test]
fn so_is_one_in_which_writes_wait() {
    for seed in 0..300 {
        println!("seed {seed}");
        let mut cached = Cached::new().later();
        exercise(&steps(seed, 400), &mut cached);
        cached.check_source();
    }
}

/// Earlier findings of the fuzzer.
#[test]
fn what_was_found_once_stays_right() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/model/corpus");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(!names.is_empty(), "{folder} has something");
    for name in names {
        println!("{}", name.display());
        let bytes = std::fs::read(name).unwrap();
        exercise(&bytes, &mut Cached::new());
        let mut later = Cached::new().later();
        exercise(&bytes, &mut later);
        later.check_source();
    }
}
