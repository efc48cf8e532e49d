#![no_main]

// The first byte says which format reads the others.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let formats = hotset_cli::all_formats();
    if let Some((number, bytes)) = bytes.split_first() {
        hotset_trace::fuzzing::parse(&formats[usize::from(*number) % formats.len()], bytes);
    }
});
