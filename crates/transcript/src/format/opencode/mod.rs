//! opencode: a database of SQLite with sessions, messages and their parts, read as one message a line. That is also what its
//! server and `opencode export` call a message.

mod normaliser;

use super::{HostFormat, SubagentFiles};
use crate::database::DatabaseFormat;
use std::path::PathBuf;

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| line.has("info") && line.has("parts"),
    database: Some(DatabaseFormat {
        latest: "SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC LIMIT 1",
        sessions: "SELECT id, directory, parent_id FROM session ORDER BY time_updated DESC",
        // The texts around the columns have 28 bytes, the commas stand between the parts.
        messages: "SELECT m.rowid, 28 + octet_length(m.id) + octet_length(m.data) + coalesce( \
                     (SELECT sum(octet_length(p.data)) + count(*) - 1 FROM part p WHERE p.message_id = m.id), 0) \
                   FROM message m WHERE m.session_id = ?1 ORDER BY m.time_created DESC, m.id DESC",
        line: r#"SELECT '{"id":"' || m.id || '","info":' || m.data || ',"parts":[' || coalesce(
                   (SELECT group_concat(p.data, ',' ORDER BY p.id) FROM part p WHERE p.message_id = m.id), '') || ']}'
                 FROM message m WHERE m.rowid = ?1"#,
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
