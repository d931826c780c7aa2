//! opencode: a database of SQLite with sessions, messages and their parts, read as one message a line. That is also what its
//! server and `opencode export` call a message.

mod normaliser;

use super::{HostFormat, SubagentFiles};
use crate::database::DatabaseFormat;
use std::path::PathBuf;

/// A column of the message or the part from which on the person has taken everything back with `/undo`, or null. The client deletes it
/// at the next prompt.
macro_rules! reverted {
    ($table:literal, $id:literal, $column:literal, $session:literal) => {
        concat!(
            "(SELECT r.",
            $column,
            " FROM session s JOIN ",
            $table,
            " r ON r.id = json_extract(iif(json_valid(s.revert), s.revert, NULL), '$.",
            $id,
            "') WHERE s.id = ",
            $session,
            ")"
        )
    };
}

/// The parts of the message `m` that count.
macro_rules! parts {
    ($session:literal) => {
        concat!(
            "p.message_id = m.id AND (p.id < coalesce(",
            reverted!("part", "partID", "id", $session),
            ", '~') OR m.id <> ",
            reverted!("part", "partID", "message_id", $session),
            ")"
        )
    };
}

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| line.has("parts") && line.has_inside("info", &["role"]),
    database: Some(DatabaseFormat {
        latest: "SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC LIMIT 1",
        sessions: "SELECT id, directory, parent_id FROM session ORDER BY time_updated DESC",
        // The texts around the columns have 28 bytes, the commas stand between the parts.
        messages: concat!(
            "SELECT m.rowid, 28 + octet_length(m.id) + octet_length(m.data) + coalesce((SELECT sum(octet_length(p.data)) \
             + count(*) - 1 FROM part p WHERE ",
            parts!("?1"),
            "), 0) FROM message m WHERE m.session_id = ?1 AND (",
            reverted!("message", "messageID", "id", "?1"),
            " IS NULL OR (m.time_created, m.id) < (",
            reverted!("message", "messageID", "time_created", "?1"),
            ", ",
            reverted!("message", "messageID", "id", "?1"),
            // Taken back from the middle of a message on, its beginning stays.
            ") OR m.id = ",
            reverted!("part", "partID", "message_id", "?1"),
            ") ORDER BY m.time_created DESC, m.id DESC",
        ),
        line: concat!(
            r#"SELECT '{"id":"' || m.id || '","info":' || m.data || ',"parts":[' || coalesce("#,
            "(SELECT group_concat(p.data, ',' ORDER BY p.id) FROM part p WHERE ",
            parts!("m.session_id"),
            "), '') || ']}' FROM message m WHERE m.rowid = ?1",
        ),
    }),
    session_signs: &[r#""type":"tool""#, "<task id="],
    // A sub-agent's session lies in the same database.
    subagents: SubagentFiles::Named(|transcript, ids| {
        let beside =
            |id: &String| (id.clone(), transcript.parent().map_or_else(PathBuf::new, |all| all.join(id)));
        ids.iter().filter(|id| !id.is_empty() && !id.contains('/')).map(beside).collect()
    }),
    has_single_prompts: true,
    wakes_agent: true,
    ..HostFormat::BASE
};
