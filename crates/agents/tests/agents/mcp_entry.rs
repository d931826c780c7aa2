//! Our MCP server in the files of each client: there and back, and never in place of somebody else's.

use agents::registration::mcp_entry::{self, McpOwner};
use agents::{McpForm, McpText};
use serde_json::Value;
use transcript::Agent;

const OURS: &str = "/home/ann/.local/bin/checkstone";

fn forms() -> impl Iterator<Item = (Agent, &'static McpForm)> {
    Agent::ALL.into_iter().filter_map(|agent| Some((agent, mcp_entry::form(agent)?)))
}

fn is_json(form: &McpForm) -> bool {
    matches!(form.text, McpText::Json { .. })
}

#[test]
fn there_and_back_is_the_same_to_the_byte() {
    let json = [
        "{}",
        "{\n  \"model\": \"opus\"\n}\n",
        "{\n\t\"a\": 1,\n\t\"hooks\": {}\n}",
        "{\"a\":{\"b\":[1,2]}}",
        "{\n  \"SERVERS\": {}\n}\n",
        "{\n  \"SERVERS\": {\n    \"other\": {\n      \"command\": \"x\"\n    }\n  },\n  \"z\": 1\n}\n",
        "{\"SERVERS\": {\"a\": {\"command\": \"x\"}, \"b\": {}}}",
        // JavaScript writes a text that is cut in the middle of a character, and reads a number beyond all bounds.
        "{\n  \"history\": [{\"display\": \"cut \\ud83d\"}],\n  \"\\udc00\": 1e999,\n  \"SERVERS\": {\"o\": {\"command\": \"\\ud83d\"}}\n}\n",
    ];
    let toml = [
        "",
        "model = \"x\"\n",
        "model = \"x\"\n\n[SERVERS.other]\ncommand = \"y\"\n",
        "[a]\nb = 1\n# end\n",
        "SERVERS.other.command = \"y\"\n",
        "notes = \"\"\"\n[SERVERS.checkstone]\n\n# a heading\n\"\"\"\n\n[b]\nc = 1979-05-27T07:32:00Z\n",
    ];
    for (agent, form) in forms() {
        let (texts, key) = match form.text {
            McpText::Json { servers, .. } => (json.as_slice(), servers),
            McpText::Toml { table } => (toml.as_slice(), table),
        };
        for text in texts.iter().map(|text| text.replace("SERVERS", key)) {
            let added = mcp_entry::add(agent, form, &text, OURS, &[]).unwrap();
            let owner = mcp_entry::owner(agent, form, &added).unwrap();
            assert_eq!(owner, McpOwner::Ours(OURS.to_owned()), "{agent:?}: {added}");
            assert_eq!(mcp_entry::add(agent, form, &added, OURS, &[]).unwrap(), added, "once");
            let back = mcp_entry::remove(agent, form, &added, Some(&text)).unwrap();
            assert_eq!(back, text, "{agent:?}: {added}");
        }
    }
}

/// What stands behind our table, and what somebody remarked in it, stays.
#[test]
fn a_table_between_others_goes_alone() {
    for (agent, form) in forms().filter(|(_, form)| !is_json(form)) {
        let before = "a = 1\n\n[b]\nc = 2\n";
        let added = mcp_entry::add(agent, form, before, OURS, &[]).unwrap();
        let behind = "\n# of the next\n[d]\ne = 3\n";
        let rest = mcp_entry::remove(agent, form, &format!("{added}{behind}"), None).unwrap();
        assert_eq!(rest, format!("{before}{behind}"));
    }
}

/// Its header may be written in any way that means the same.
#[test]
fn our_table_goes_by_what_its_header_means() {
    for (agent, form) in forms().filter(|(_, form)| !is_json(form)) {
        for header in ["[ mcp_servers . checkstone ]", "[mcp_servers.\"checkstone\"] # ours"] {
            let text = format!(
                "{header}\ncommand = \"{OURS}\"\nargs = [\n  \"mcp\",\n]\n[mcp_servers.checkstone.env]\nA = \"[b]\"\n[b]\n"
            );
            assert_eq!(mcp_entry::remove(agent, form, &text, None).unwrap(), "[b]\n", "{header}");
        }
    }
}

/// What would become another document, or none at all, is not written.
#[test]
fn a_list_that_takes_no_table_is_left_alone() {
    let by_hand = format!(
        "`checkstone = {{ command = \"{OURS}\", args = [\"mcp\"] }}` cannot be added under `mcp_servers` in it without \
         changing anything else; add it by hand"
    );
    let no_table = "`mcp_servers` in it is not a table";
    for (agent, form) in forms().filter(|(_, form)| !is_json(form)) {
        for (text, why) in [
            ("mcp_servers = {}\n", by_hand.as_str()),
            ("mcp_servers = { other = { command = \"x\" } }\n", by_hand.as_str()),
            ("[a]\nb = 1\n", ""),
            ("mcp_servers = 3\n", no_table),
            ("mcp_servers = []\n", no_table),
            ("[[mcp_servers]]\nname = \"other\"\n", no_table),
        ] {
            let told = mcp_entry::add(agent, form, text, OURS, &[])
                .map_or_else(|error| error.to_string(), |_| String::new());
            assert_eq!(told, why, "{text}");
        }
    }
}

#[test]
fn a_new_file_is_as_the_client_writes_it() {
    let files: Vec<String> = forms()
        .map(|(agent, form)| {
            let text = mcp_entry::add(agent, form, "", OURS, &[]).unwrap();
            let empty = mcp_entry::remove(agent, form, &text, None).unwrap();
            assert!(mcp_entry::is_empty(form, &empty), "{agent:?}: {empty}");
            format!("{} {:?} {}\n{text}", agent.name(), form.user_file, form.project_file)
        })
        .collect();
    insta::assert_snapshot!(files.join("\n"));
}

#[test]
fn somebody_elses_server_of_our_name_stays() {
    for (agent, form) in forms() {
        let theirs = mcp_entry::add(agent, form, "", OURS, &[]).unwrap().replace("\"mcp\"", "\"other\"");
        // The key of some is called as our argument is.
        let theirs = theirs.replace("\"other\": {", "\"mcp\": {");
        assert_eq!(mcp_entry::owner(agent, form, &theirs).unwrap(), McpOwner::Others, "{theirs}");
        assert_eq!(mcp_entry::add(agent, form, &theirs, OURS, &[]).unwrap(), theirs);
        assert_eq!(mcp_entry::remove(agent, form, &theirs, None).unwrap(), theirs);
    }
}

#[test]
fn a_program_that_is_gone_is_exchanged() {
    for (agent, form) in forms() {
        let old = mcp_entry::add(agent, form, "", "/old/checkstone", &[]).unwrap();
        let gone = ["/old/checkstone".to_owned()];
        let new = mcp_entry::add(agent, form, &old, OURS, &gone).unwrap();
        assert_eq!(new, mcp_entry::add(agent, form, "", OURS, &[]).unwrap());
        assert_eq!(mcp_entry::add(agent, form, &old, OURS, &[]).unwrap(), old);
    }
}

#[test]
fn what_is_not_surely_understood_is_left_alone() {
    for (agent, form) in forms() {
        let wrong: &[&str] = match is_json(form) {
            true => &[
                "{",
                "[]",
                "{\"mcpServers\": 1, \"mcp\": 1}",
                "{\"mcpServers\": {}, \"mcpServers\": {}, \"mcp\": {}, \"mcp\": {}}",
            ],
            false => &["[a", "a = 1\na = 2\n"],
        };
        for text in wrong {
            assert!(mcp_entry::add(agent, form, text, OURS, &[]).is_err(), "{agent:?}: {text}");
        }
    }
    let inline =
        format!("mcp_servers = {{ checkstone = {{ command = {}, args = [\"mcp\"] }} }}\n", Value::from(OURS));
    for (agent, form) in forms().filter(|(_, form)| !is_json(form)) {
        assert_eq!(
            mcp_entry::remove(agent, form, &inline, None).unwrap_err().to_string(),
            "`mcp_servers.checkstone` cannot be taken out of it without changing anything else; remove it by hand"
        );
    }
}
