//! What can be done with the sessions of each host, in docs/clients.md: tried on recordings of the real clients.

use std::path::{Path, PathBuf};

use agents::{EventKind, host};
use transcript::{Agent, Extent, Options};

use crate::samples;

/// A row: what it is about, and whether a host has what it needs.
type UseRow = (&'static str, fn(Agent) -> bool);

const ROWS: &[UseRow] = &[
    ("`timeline`, `explain`: the calls of a turn", |agent| {
        let read = |file: &PathBuf| transcript::read(file, &Options::default());
        recordings(agent).iter().map(read).any(|turn| {
            turn.coverage.extent == Extent::Complete
                && !turn.calls.is_empty()
                && turn.last_assistant.is_some()
        })
    }),
    ("`replay`: every turn of a session", |agent| {
        let walk = |file: &PathBuf| transcript::walk(file, &Options::default()).ok();
        recordings(agent)
            .iter()
            .filter_map(walk)
            .any(|mut turns| turns.any(|turn| !turn.reading.calls.is_empty()))
    }),
    ("autosave's threshold: tokens in context", |agent| {
        let read = |file: &PathBuf| transcript::read(file, &Options::default());
        let is_recorded = recordings(agent).iter().map(read).any(|turn| turn.usage.is_some());
        is_recorded || samples::all(agent).iter().any(|payload| payload.usage.is_some())
    }),
    ("snapshots at the start of a turn", |agent| has(agent, EventKind::PromptSubmitted)),
    ("where a workflow or run resumes", |agent| has(agent, EventKind::SessionStart)),
];

fn has(agent: Agent, kind: EventKind) -> bool {
    host(agent).event_name(kind).is_some()
}

/// The sessions of this host that were recorded.
fn recordings(agent: Agent) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../transcript/tests/samples").join(agent.name());
    let Ok(files) = std::fs::read_dir(folder) else { return Vec::new() };
    files.map(|file| file.unwrap().path()).filter(|file| file.is_file()).collect()
}

#[test]
fn the_table_of_uses_in_the_docs_is_that_of_the_recordings() {
    let mut table = format!("| |{}\n", Agent::ALL.map(|agent| format!(" {} |", host(agent).title)).concat());
    table.push_str(&format!("|---|{}\n", "---|".repeat(Agent::ALL.len())));
    for (about, is_there) in ROWS {
        let cells = Agent::ALL.map(|agent| if is_there(agent) { " yes |" } else { " – |" });
        table.push_str(&format!("| {about} |{}\n", cells.concat()));
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clients.md");
    let text = std::fs::read_to_string(file).unwrap();
    let (_, rest) = text.split_once("<!-- recordings -->\n").unwrap();
    let (written, _) = rest.split_once("<!-- /recordings -->").unwrap();
    assert_eq!(written, table);
}
