#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| hotset_testkit::fuzz::classes(text));
