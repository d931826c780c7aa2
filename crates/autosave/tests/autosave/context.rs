//! How full the context is.

use autosave::context::{Windows, percent, rearms_below};
use transcript::{Agent, Usage};

fn usage(tokens: u64, window: Option<u64>) -> Usage {
    Usage { tokens, answered: 0, window, percent: None, model: None }
}

/// A1: the stop payload has no usage, the transcript has; 79,999 of 200,000 tokens are 39 %.
#[test]
fn a1_the_percentage_is_rounded_down() {
    let of = |tokens| percent(Agent::Claude, None, Some(&usage(tokens, Some(200_000))), Windows::default());
    assert_eq!((of(79_999), of(80_000), of(80_001)), (Some(39), Some(40), Some(40)));
}

/// What goes into the next request counts, and not what the last response came to.
#[test]
fn the_percentage_counts_input_tokens() {
    let usage = Usage { answered: 1, ..usage(80_000, Some(200_000)) };
    assert_eq!(percent(Agent::Claude, None, Some(&usage), Windows::default()), Some(39));
}

/// A1.
#[test]
fn a1_what_is_unknown_or_zero_is_no_percentage() {
    for (payload, transcript) in [
        (None, None),
        (None, Some(usage(80_000, None))),
        (None, Some(usage(80_000, Some(0)))),
        (None, Some(usage(0, Some(200_000)))),
        (Some(usage(80_000, Some(0))), None),
        (Some(usage(80_000, None)), None),
    ] {
        let found = percent(Agent::Claude, payload.as_ref(), transcript.as_ref(), Windows::default());
        assert_eq!(found, None, "{payload:?} {transcript:?}");
    }
    let zero = Windows { told: Some(0), configured: Some(0) };
    assert_eq!(percent(Agent::Claude, None, Some(&usage(5, None)), zero), None);
}

#[test]
fn the_best_witness_of_the_size_counts() {
    let windows = |told, configured| Windows { told, configured };
    let of = |agent, payload: Option<&Usage>, windows| {
        percent(agent, payload, Some(&usage(100_000, Some(200_000))), windows)
    };
    assert_eq!(of(Agent::Claude, None, windows(None, None)), Some(50));
    assert_eq!(of(Agent::Claude, None, windows(None, Some(400_000))), Some(25));
    assert_eq!(of(Agent::Claude, None, windows(Some(1_000_000), Some(400_000))), Some(10));
    assert_eq!(of(Agent::Codex, None, windows(Some(1_000_000), Some(400_000))), Some(50));
    let payload = usage(30, Some(100));
    assert_eq!(of(Agent::Claude, Some(&payload), windows(Some(1_000_000), None)), Some(30));
}

#[test]
fn a_session_can_cross_again_only_well_below() {
    assert_eq!((rearms_below(40), rearms_below(3)), (35, 1));
}
