//! What must hold for the bytes of any transcript, whichever client they are read as.

use transcript::{Agent, Extent, Options, Reading};

/// Reads the bytes whole and by small windows, and checks what holds of every reading.
pub fn check(bytes: &[u8], agent: Option<Agent>) {
    let whole = read(bytes, agent, 1 << 30);
    let by_windows = read(bytes, agent, 97);
    assert_eq!(whole, by_windows, "windows matter");
    let coverage = &whole.coverage;
    assert!(coverage.understood <= coverage.records);
    if coverage.extent == Extent::Unavailable {
        assert!(whole.calls.is_empty() && whole.turn.is_none() && whole.usage.is_none());
    }
    for call in &whole.calls {
        assert!(call.snippet.as_deref().unwrap_or_default().chars().count() <= 500);
        assert!(call.offset < bytes.len() as u64);
        assert_eq!(call.path, call.paths.first().cloned());
    }
    let options = Options { agent, ..Options::default() };
    for turn in transcript::walk_bytes(bytes, &options).into_iter().flatten() {
        assert!(turn.end <= bytes.len() as u64);
        assert!(turn.reading.coverage.understood <= turn.reading.coverage.records);
    }
    let plain = transcript::plain(&whole);
    assert!(!plain.contains('\u{1b}'), "an escape sequence got through");
}

fn read(bytes: &[u8], agent: Option<Agent>, first_window: u64) -> Reading {
    transcript::read_bytes(
        bytes,
        &Options { agent, first_window, count_lines_up_to: u64::MAX, ..Options::default() },
    )
}
