#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hotset_testkit::fuzz::mix(bytes));
