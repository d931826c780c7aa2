#![no_main]

// The first byte chooses the host, so that the next one is fuzzed without a target of its own.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let hosts = transcript::Agent::ALL;
    if let Some((first, rest)) = bytes.split_first() {
        let host = hosts.get(usize::from(*first) % hosts.len()).copied();
        checkstone_fuzz::transcripts::check(rest, host);
    }
});
