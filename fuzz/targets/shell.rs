#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gate::shell::fuzz(&String::from_utf8_lossy(bytes)));
