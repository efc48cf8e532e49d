#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| hotset_core::fuzzing::policies(text));
