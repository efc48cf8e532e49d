#![no_main]

// Once as it is, and once with checksums that fit, so that the fuzzer reaches what lies behind them.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    hotset_trace::fuzzing::parse_any("hst", bytes);
    let mut sealed = bytes.to_vec();
    hotset_trace::native::reseal(&mut sealed);
    hotset_trace::fuzzing::parse_any("hst", &sealed);
});
