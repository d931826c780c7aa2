#![no_main]

// The first line chooses the host: its name, or any byte, so that the next one is fuzzed without a target of its own.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let hosts = transcript::Agent::ALL;
    let line = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (name, rest) = bytes.split_at(line);
    let named = hosts.into_iter().find(|host| host.name().as_bytes() == name);
    let any = name.first().and_then(|first| hosts.get(usize::from(*first) % hosts.len()).copied());
    if let Some(host) = named.or(any) {
        checkstone_fuzz::transcripts::check(rest.get(1..).unwrap_or_default(), Some(host));
    }
});
