//! How full the context is, by the best witness of its size.

use agents::host;
use transcript::{Agent, Usage};

/// Below the threshold by so much, the context counts as emptied, and can fill up again.
const HYSTERESIS: u8 = 5;

/// Who may know the size of the window beside the transcript.
#[derive(Clone, Copy, Debug, Default)]
pub struct Windows {
    /// What the client told its status line in this session.
    pub told: Option<u64>,
    /// What the settings say.
    pub configured: Option<u64>,
}

/// Percent of the window that input tokens take, rounded down. `None` if anything of it is unknown or zero: then nothing is done
/// (A1).
///
/// A payload that tells is right about the moment. A file that tells the size is right about the model; the
/// status line is right about the session; the settings are a person's word; a list of models is a guess.
pub fn percent(
    agent: Agent,
    payload: Option<&Usage>,
    transcript: Option<&Usage>,
    windows: Windows,
) -> Option<u64> {
    if let Some(percent) = payload.and_then(|usage| of(usage.tokens, usage.window)) {
        return Some(percent);
    }
    let usage = transcript?;
    let of_file = usage.window.filter(|_| host(agent).can.writes_window);
    let known = [of_file, windows.told, windows.configured, usage.window];
    of(usage.tokens.saturating_sub(usage.answered), known.into_iter().flatten().find(|window| *window > 0))
}

fn of(tokens: u64, window: Option<u64>) -> Option<u64> {
    if tokens == 0 {
        return None;
    }
    tokens.saturating_mul(100).checked_div(window?)
}

/// Where a session that has crossed the threshold may cross it again.
pub fn rearms_below(threshold: u8) -> u64 {
    u64::from(threshold.saturating_sub(HYSTERESIS).max(1))
}
