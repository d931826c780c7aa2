//! What holds for any transcript: how it is read does not change what is read.

use std::fs;

use proptest::prelude::*;
use serde_json::Value;
use transcript::{Agent, Options, Reading};

use crate::host::{any_record, read_hosts};
use crate::write::lines;

fn read(bytes: &[u8], agent: Agent, first_window: u64) -> Reading {
    let whole =
        Options { agent: Some(agent), first_window, count_lines_up_to: u64::MAX, ..Options::default() };
    transcript::read_bytes(bytes, &whole)
}

pub(crate) fn transcripts() -> impl Strategy<Value = (Agent, Vec<Value>)> {
    prop::sample::select(read_hosts())
        .prop_flat_map(|agent| (Just(agent), prop::collection::vec(any_record(agent), 1..30)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Reading by windows equals reading whole.
    #[test]
    fn windows_do_not_matter((agent, records) in transcripts(), window in 1_u64..600) {
        let bytes = lines(&records);
        prop_assert_eq!(read(&bytes, agent, window), read(&bytes, agent, 1 << 30));
    }

    /// Cutting the file at any byte changes nothing of what was understood before the cut, except in the torn
    /// record: the reading is that of the whole lines, and the torn record counts as one not understood.
    #[test]
    fn a_cut_changes_only_the_torn_record((agent, records) in transcripts(), cut in 0.0_f64..1.0) {
        let bytes = lines(&records);
        let cut = (bytes.len() as f64 * cut) as usize;
        let whole_lines = bytes[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let torn = &bytes[whole_lines..cut];
        let complete = serde_json::from_slice::<Value>(torn).is_ok();
        prop_assume!(!complete);
        let before = read(&bytes[..whole_lines], agent, 512);
        let after = read(&bytes[..cut], agent, 512);
        let torn_record = u64::from(!torn.trim_ascii().is_empty());
        prop_assert_eq!(after.coverage.records, before.coverage.records + torn_record);
        prop_assert_eq!(after.coverage.understood, before.coverage.understood);
        if after.coverage.extent != transcript::Extent::Unavailable {
            prop_assert_eq!(after.turn, before.turn);
            prop_assert_eq!(after.calls, before.calls);
            prop_assert_eq!(after.last_assistant, before.last_assistant);
        }
    }

    /// Any bytes at all are read without a panic, as any client's.
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400), window in 1_u64..64) {
        for agent in Agent::ALL {
            let _ = read(&bytes, agent, window);
        }
        let _ = transcript::read_bytes(&bytes, &Options::default());
    }
}

/// The same for the real samples: every window size from tiny to whole, and a cut inside every line.
#[test]
fn real_samples_read_by_windows_and_cut_anywhere() {
    for path in crate::samples::all() {
        let bytes = fs::read(&path).unwrap();
        let agent = transcript::read_bytes(&bytes, &Options::default()).agent.unwrap();
        let whole = read(&bytes, agent, 1 << 30);
        for window in [1, 7, 100, 1000, 4096, 65_536] {
            assert_eq!(read(&bytes, agent, window), whole, "{path:?} by {window}");
        }
        if path.extension().is_some_and(|extension| extension == "json") {
            continue;
        }
        let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
        for pair in ends.windows(2).step_by(3) {
            let middle = pair[0] + 1 + (pair[1] - pair[0]) / 2;
            let before = read(&bytes[..=pair[0]], agent, 4096);
            let torn = read(&bytes[..middle], agent, 4096);
            assert_eq!((&torn.turn, &torn.calls), (&before.turn, &before.calls), "{path:?} at {middle}");
            assert_eq!(torn.coverage.understood, before.coverage.understood);
        }
    }
}
