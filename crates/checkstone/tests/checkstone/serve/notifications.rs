//! Who hears that a session waits: the user's own program, and nobody where nothing is switched on.

use sandbox::wait_for_some;
use serde_json::{Value, json};

use super::{POLICY, prompt, serve, write_turn};
use crate::workplace::Workplace;

/// The agent asks a question.
fn ask(workplace: &Workplace, session: &str) {
    write_turn(workplace, session, "Fix it", "src/lib.rs");
    let transcript = workplace.path(&format!("{session}.jsonl"));
    let at = jiff::Timestamp::try_from(sandbox::now()).unwrap().to_string();
    let question = json!({"type": "assistant", "uuid": "a9", "parentUuid": "u1", "isSidechain": false, "sessionId": session,
        "timestamp": at, "message": {"id": "m9", "role": "assistant", "type": "message", "content": [
            {"type": "tool_use", "id": "t9", "name": "AskUserQuestion", "input": {"questions": []}}]}});
    let known = std::fs::read_to_string(&transcript).unwrap();
    std::fs::write(&transcript, format!("{known}{question}\n")).unwrap();
}

#[test]
fn a_session_that_begins_to_wait_is_told_once() {
    let workplace = Workplace::new(Some(POLICY));
    let told = workplace.path("told.jsonl");
    let script = format!("cat >> {0}; echo >> {0}", told.display());
    let configuration = format!("[integrations.session_waits]\ncommand = [\"sh\", \"-c\", \"{script}\"]\n");
    std::fs::create_dir_all(workplace.path("home/.config/checkstone")).unwrap();
    std::fs::write(workplace.path("home/.config/checkstone/config.toml"), configuration).unwrap();
    // One that waited before anybody looked is no news.
    prompt(&workplace, "early", "Fix it");
    ask(&workplace, "early");
    let server = serve(&workplace);
    assert_eq!(server.page("/").status, 200);
    prompt(&workplace, "late", "Fix it");
    // The server has looked before the question comes.
    sandbox::wait_for("the session is on the page", || {
        server.page("/").texts_behind("href=\"/session/2\">").len() == 1
    });
    ask(&workplace, "late");
    let line = wait_for_some("the program was told", || {
        let text = std::fs::read_to_string(&told).unwrap_or_default();
        text.ends_with('\n').then_some(text)
    });
    let mut event: Value = serde_json::from_str(line.trim()).unwrap();
    event["at"] = json!("AT");
    assert_eq!(
        event,
        json!({"event": "session.waiting", "at": "AT", "repository": "repo", "client": "Claude Code", "session": 2,
            "reason": "the agent is waiting for your answer"})
    );
}

/// What goes wrong with it is on the page: nobody looks at the terminal.
#[test]
fn a_program_that_fails_is_told_on_the_page() {
    let workplace = Workplace::new(Some(POLICY));
    let configuration = "[integrations.session_waits]\ncommand = [\"no-such-program\"]\n";
    std::fs::create_dir_all(workplace.path("home/.config/checkstone")).unwrap();
    std::fs::write(workplace.path("home/.config/checkstone/config.toml"), configuration).unwrap();
    let server = serve(&workplace);
    prompt(&workplace, "one", "Fix it");
    sandbox::wait_for("the session is on the page", || {
        server.page("/").texts_behind("href=\"/session/1\">").len() == 1
    });
    ask(&workplace, "one");
    let said = wait_for_some("the page says so", || {
        server.page("/").texts_behind("A notification was not delivered</h2><ul><li>").pop()
    });
    assert_eq!(
        said,
        "`no-such-program` was not notified that a session waits: there is no such program in the absolute folders of PATH"
    );
}
