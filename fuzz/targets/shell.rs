#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| programs::shell::fuzz(&String::from_utf8_lossy(bytes)));
