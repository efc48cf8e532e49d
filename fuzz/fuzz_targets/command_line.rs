#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| hotset_cli::fuzzing::command_line(text));
