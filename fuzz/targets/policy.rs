#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checkstone_fuzz::policy::check(&String::from_utf8_lossy(bytes)));
