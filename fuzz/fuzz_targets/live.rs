#![no_main]

#[path = "../../crates/cache/tests/support/memory.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod memory;
#[path = "../../crates/cache/tests/model/mod.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::exercise(bytes, &mut model::cached::Cached::new()));
