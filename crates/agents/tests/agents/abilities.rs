//! The table of hosts in docs/clients.md is made of the same data that the code uses.

use agents::{EventKind, Host, host};
use transcript::Agent;

/// A row: what it is about, and what it says of a host.
type TableRow = (&'static str, fn(&Host) -> String);

const ROWS: &[TableRow] = &[
    ("a session begins", |host| event(host, EventKind::SessionStart)),
    ("a prompt is sent", |host| event(host, EventKind::PromptSubmitted)),
    ("the agent wants to stop: the gate, autosave", |host| event(host, EventKind::Stop)),
    ("before a compaction: autosave", |host| event(host, EventKind::BeforeCompaction)),
    ("the session ends: autosave", |host| event(host, EventKind::SessionEnd)),
    ("settings", |host| format!("`~/{}/{}`", host.files.in_home(), host.files.settings)),
    ("a folder elsewhere", |host| {
        let variable = host.files.folder_variable;
        variable.map_or_else(no, |variable| format!("`{}`", variable.name))
    }),
    ("plugin or extension", |host| {
        host.files.package.as_ref().map_or_else(no, |package| package.kind.to_owned())
    }),
    ("it can be asked which hooks it runs", |host| yes(host.trust.is_some())),
    ("a hold is sent as context too", |host| yes(host.can.holds_by_context.is_some())),
    ("a message to the person beside a hold", |host| yes(host.can.tells_person_beside_hold)),
    ("its own id of the turn", |host| host.payload.turn.map_or_else(no, |name| format!("`{name}`"))),
    ("the transcript is written late", |host| yes(host.can.writes_late)),
    ("a hold is in the transcript", |host| yes(host.can.records_holds)),
    ("the size of the context is in the transcript", |host| yes(host.can.writes_window)),
    ("status line", |host| yes(host.can.has_status_line)),
    ("without hooks: `notify`", |host| yes(host.notify.is_some())),
    ("only if you name it", |host| yes(host.registration.only_if_named)),
    ("the transcript shows how commands ended", |host| yes(host.can.shows_results)),
    ("your hooks do not fire in", |host| listed(host.silent_in)),
    ("not tried in", |host| listed(host.untried_in)),
    ("notes of a save", |host| format!("`{}`", host.notes_file)),
];

fn event(host: &Host, kind: EventKind) -> String {
    host.event_name(kind).map_or_else(no, |name| format!("`{name}`"))
}

fn listed(surfaces: &[&str]) -> String {
    if surfaces.is_empty() { no() } else { surfaces.join("; ") }
}

fn yes(is_so: bool) -> String {
    if is_so { "yes".to_owned() } else { no() }
}

fn no() -> String {
    "–".to_owned()
}

#[test]
fn the_table_of_hosts_in_the_docs_says_what_the_code_does() {
    let hosts = Agent::ALL.map(host);
    let mut table = format!("| |{}\n", hosts.map(|host| format!(" {} |", host.title)).concat());
    table.push_str(&format!("|---|{}\n", "---|".repeat(hosts.len())));
    for (about, told) in ROWS {
        table.push_str(&format!("| {about} |{}\n", hosts.map(|host| format!(" {} |", told(host))).concat()));
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clients.md");
    let text = std::fs::read_to_string(file).unwrap();
    let (_, rest) = text.split_once("<!-- hosts -->\n").unwrap();
    let (written, _) = rest.split_once("<!-- /hosts -->").unwrap();
    // `INSTA_UPDATE=always` writes it, as it does with snapshots.
    if written != table && std::env::var_os("INSTA_UPDATE").is_some_and(|how| how == "always") {
        std::fs::write(file, text.replace(written, &table)).unwrap();
        return;
    }
    assert_eq!(written, table);
}
