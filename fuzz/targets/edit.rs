#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checkstone_fuzz::edit::check(bytes));
