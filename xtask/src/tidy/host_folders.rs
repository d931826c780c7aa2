//! A host is one folder in each of three crates, and its row of data is in it. No other source names a host: what one can do is asked
//! of that data.

use transcript::Agent;

use super::Source;

/// Where the folders of the hosts lie.
pub(crate) const FOLDERS: [&str; 3] =
    ["crates/transcript/src/format", "crates/agents/src/host", "crates/scripted-model/src/client"];

/// Where the cases of the hosts lie, a file each.
pub(crate) const CASES: &str = "crates/transcript/tests/transcript/host";

/// Test support has a client in two forms.
const NAMES_A_HOST: &str = "crates/scripted-model/src/client.rs";

/// Whether the file is in the folder of a host.
fn is_in_folder(name: &str) -> bool {
    let inside = FOLDERS.iter().find_map(|folder| name.strip_prefix(folder)?.strip_prefix('/'));
    inside.and_then(|inside| inside.split_once('/')).is_some_and(|(host, _)| Agent::named(host).is_some())
}

/// Whether the file is the row of a host, which lies in its folder.
pub(super) fn is_row(name: &str) -> bool {
    is_in_folder(name) && name.ends_with("/mod.rs")
}

/// Each line outside of these folders that names a host.
pub(super) fn wrong(sources: &[Source]) -> Vec<String> {
    let hosts = Agent::ALL.map(|host| format!("Agent::{host:?}"));
    let mut wrong = Vec::new();
    for source in sources.iter().filter(|source| !is_in_folder(&source.name) && source.name != NAMES_A_HOST) {
        for (number, line) in source.own_lines() {
            let is_named = hosts.iter().any(|host| line.contains(host.as_str()));
            if is_named && !line.trim_start().starts_with("//") {
                wrong.push(format!("{}:{number}: names a host; ask for what it can do", source.name));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_in_its_folder_alone() {
        let source =
            |name: &str| Source { name: name.to_owned(), text: "    Agent::Qwen => 1,\n".to_owned() };
        let names =
            ["crates/agents/src/host/qwen/mod.rs", "crates/agents/src/host.rs", "crates/gate/src/judge.rs"];
        let sources = names.map(source);
        let expected =
            names.iter().skip(1).map(|name| format!("{name}:1: names a host; ask for what it can do"));
        assert_eq!(wrong(&sources), expected.collect::<Vec<_>>());
        assert_eq!(names.map(is_row), [true, false, false]);
        assert!(!is_row("crates/agents/src/host/nobody/mod.rs"));
    }
}
