#![no_main]

use hotset_trace::formats::BUILTIN;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let formats = BUILTIN.iter().chain([&hotset_capture::strace::FORMAT]);
    hotset_testkit::fuzz::parse_named(formats, bytes);
});
