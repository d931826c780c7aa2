#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| checkstone_fuzz::repository::check(text));
