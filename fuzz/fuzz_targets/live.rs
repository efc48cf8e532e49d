#![no_main]

#[path = "../../crates/live/tests/support/memory.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod memory;
#[path = "../../crates/live/tests/model/mod.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::exercise(bytes, &mut model::cached::Cached::new()));
