//! The page in a real browser: what it shows, what it shows next without being asked, keys, and texts that would like to be
//! markup.

use std::net::TcpStream;

use sandbox::wait_for;
use serde_json::json;

use super::{POLICY, prompt, serve, stop, write_turn};
use crate::run::{Project, plan, stage};
use crate::workplace::Workplace;

/// Each card: what its session does, and its prompt.
const CARDS: &str = "Array.from(document.querySelectorAll('.card'), (card) => \
    card.querySelector('.state').textContent + ': ' + card.querySelector('h3').textContent)";

/// A session is asked, held, and done: the page shows each without being asked for it.
#[test]
fn a_session_is_seen_while_it_works() {
    let workplace = Workplace::new(Some(POLICY));
    let server = serve(&workplace);
    let Some(mut browser) = server.in_browser("/") else { return };
    browser.shows("document.querySelector('h1').textContent", "No agent is waiting for you");
    prompt(&workplace, "one", "Add a second function");
    browser.wait_for("document.querySelectorAll('.card.working').length === 1");
    write_turn(&workplace, "one", "Add a second function", "src/lib.rs");
    workplace.write("src/lib.rs", "pub fn two() {}\n");
    // How full the context is comes from the transcript alone.
    browser.wait_for("document.querySelector('.context span')?.textContent === 'context 42 %'");
    stop(&workplace, "one");
    browser.wait_for("document.querySelectorAll('.card.held').length === 1");
    browser.shows(CARDS, json!(["held: Add a second function"]));
    stop(&workplace, "one");
    browser.wait_for("document.querySelectorAll('.card.done').length === 1");
    browser.shows("document.querySelector('.unproven summary').textContent", "1 file unproven");
    // From the card to the session, by the keyboard.
    browser.press("j");
    browser.press("Enter");
    browser
        .wait_for("location.pathname === '/session/1' && document.querySelectorAll('.verdict').length === 2");
    let said = "Array.from(document.querySelectorAll('.verdict .state'), (one) => one.textContent)";
    browser.shows(said, json!(["held", "passed"]));
    let edited = workplace.repo().join("src/lib.rs");
    browser.shows("document.querySelector('.call code').textContent", edited.to_str().unwrap());
    browser.click(".changed a");
    browser.wait_for("location.pathname === '/changes/1' && document.querySelectorAll('.diff').length === 1");
    let lines = "Array.from(document.querySelectorAll('.diff pre span'), (line) => line.textContent)";
    browser.shows(lines, json!(["-pub fn one() -> u32 { 1 }", "+pub fn two() {}"]));
    browser.wait_for("document.getElementById('live').dataset.state === 'on'");
    // By two keys to the history, which knows both stops.
    browser.press("g");
    browser.press("h");
    browser.wait_for("location.pathname === '/history' && document.querySelector('.totals') !== null");
    let totals = "Array.from(document.querySelectorAll('.totals dd'), (one) => one.textContent)";
    browser.shows(totals, json!(["1", "0", "1", "0 %"]));
}

/// Two sessions that edit one file are told of in a banner; whoever asks a question comes first.
#[test]
fn who_waits_stands_first_and_conflicts_are_told() {
    let workplace = Workplace::new(Some(POLICY));
    let server = serve(&workplace);
    let Some(mut browser) = server.in_browser("/") else { return };
    for session in ["one", "two"] {
        prompt(&workplace, session, &format!("Work of {session}"));
        write_turn(&workplace, session, &format!("Work of {session}"), "src/lib.rs");
    }
    browser.wait_for("document.querySelectorAll('.banner li').length === 1");
    let named = "Array.from(document.querySelectorAll('.banner a'), (one) => one.textContent)";
    browser.shows(named, json!(["Claude Code (“Work of one”)", "Claude Code (“Work of two”)"]));
    let transcript = workplace.path("one.jsonl");
    let question = json!({"type": "assistant", "uuid": "a9", "parentUuid": "u1", "isSidechain": false, "sessionId": "one",
        "timestamp": jiff::Timestamp::try_from(sandbox::now()).unwrap().to_string(),
        "message": {"id": "m9", "role": "assistant", "type": "message", "content": [
            {"type": "tool_use", "id": "t9", "name": "AskUserQuestion", "input": {"questions": []}}]}});
    let known = std::fs::read_to_string(&transcript).unwrap();
    std::fs::write(&transcript, format!("{known}{question}\n")).unwrap();
    browser.wait_for("document.querySelectorAll('.card.waiting').length === 1");
    browser.shows(CARDS, json!(["waiting for you: Work of one", "working: Work of two"]));
    browser.shows("document.title", "(1) checkstone");
}

/// Nothing of a prompt, a path or a command becomes markup, on any page, also if it comes by the stream.
#[test]
fn hostile_texts_stay_texts() {
    let workplace = Workplace::new(Some(POLICY));
    let server = serve(&workplace);
    let hostile = "</script><img src=x onerror=\"document.title='owned'\">'\"&amp; <b>\u{202e}";
    let Some(mut browser) = server.in_browser("/") else { return };
    prompt(&workplace, "one", hostile);
    write_turn(&workplace, "one", hostile, "src/<b>'\"&.rs");
    workplace.write("src/<b>'\"&.rs", "pub fn two() {} // </pre><img>\n");
    browser.wait_for("document.querySelectorAll('.card').length === 1");
    let shown = "</script><img src=x onerror=\"document.title='owned'\">'\"&amp; <b>\u{fffd}";
    browser.shows("document.querySelector('.card h3').textContent", shown);
    stop(&workplace, "one");
    let foreign =
        "document.querySelectorAll('img, b:not(main b):not(#live b), main script, main style').length";
    let named = "document.title !== 'owned'";
    for (path, mark) in [
        ("/", ".card.held"),
        ("/session/1", ".verdict"),
        ("/changes/1", ".diff"),
        ("/history?words=onerror", ".found li"),
    ] {
        browser.open(&server.address_of(path));
        browser.wait_for(&format!("document.querySelectorAll('{mark}').length > 0"));
        assert_eq!((browser.value(foreign), browser.value(named)), (json!(0), json!(true)), "{path}");
    }
}

/// Two hundred sessions fit on the page, on a phone too, and one that changes is exchanged alone.
#[test]
fn two_hundred_sessions() {
    let workplace = Workplace::new(Some(POLICY));
    prompt(&workplace, "first", "The first of many");
    let journal = rusqlite::Connection::open(workplace.path("state/journal.db")).unwrap();
    let many = "WITH RECURSIVE number(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < 200)
        INSERT INTO sessions (agent, client_id, repository, started_at, seen_at)
        SELECT 'claude', 'many-' || n, '/srv/project-' || (n % 10), started_at, seen_at - n FROM number, sessions WHERE sessions.id = 1";
    let turns = "INSERT INTO turns (session, key, opened_at, prompt)
        SELECT id, 'key', seen_at, 'Prompt number ' || id FROM sessions WHERE id > 1";
    assert_eq!((journal.execute(many, []).unwrap(), journal.execute(turns, []).unwrap()), (199, 199));
    drop(journal);
    let server = serve(&workplace);
    let Some(mut browser) = server.in_browser("/") else { return };
    browser.resize(390, 800);
    browser.shows("document.querySelectorAll('.card.working').length", 200);
    browser.shows("document.documentElement.scrollWidth", 390);
    // What did not change stays the very same element.
    browser.value("document.querySelectorAll('.part').forEach((part) => part.dataset.old = 'yes')");
    stop(&workplace, "first");
    browser.wait_for("document.querySelectorAll('.card.done').length === 1");
    let changed = "document.querySelectorAll('.part:not([data-old])').length";
    // The summary, and the repository of the session.
    browser.shows(changed, 2);
}

/// Streams that nobody reads cost nobody anything.
#[test]
fn browsers_that_never_read_do_not_hurt() {
    let workplace = Workplace::new(Some(POLICY));
    prompt(&workplace, "one", "Fix it");
    let server = serve(&workplace);
    let cookie = server.cookie();
    let silent: Vec<TcpStream> =
        (0..30).map(|_| server.send("GET", "/live?page=/", &[("Cookie", &cookie)], "")).collect();
    let long = "long ".repeat(90);
    for number in 0..20 {
        prompt(&workplace, &format!("session-{number}"), &long);
    }
    wait_for("all sessions on a page that is asked for", || {
        server.page("/").texts_behind("<h3><a href=\"/session/").len() == 21
    });
    drop(silent);
    assert_eq!(server.page("/").status, 200);
}

/// A run is seen while it runs, with what it prints, and is aborted only after a second look.
#[test]
fn a_run_is_seen_and_aborted() {
    let project = Project::new(&plan(&[stage("S01_sleep_long", "command = 'echo asleep; exec sleep 1000'")]));
    let server = serve(&project.workplace);
    let Some(mut browser) = server.in_browser("/") else { return };
    let child = project.start(&[]);
    browser.click("nav a[href=\"/runs\"]");
    browser.wait_for("location.pathname === '/runs'");
    browser.click(".card.working h3 a");
    browser.wait_for("location.pathname === '/run/1' && document.querySelector('.output pre')?.textContent === 'asleep\\n'");
    browser.shows("document.querySelectorAll('.gantt .bar.running').length", 1);
    browser.click("a.button");
    browser
        .wait_for("location.pathname === '/run/1/abort' && document.querySelector('button.danger') !== null");
    assert_eq!(project.run_state(), "IN_PROGRESS");
    browser.click("button.danger");
    browser.wait_for(
        "location.pathname === '/run/1' && document.querySelector('.state')?.textContent === 'aborted'",
    );
    assert_eq!(sandbox::finish(child).code, Some(130));
    assert_eq!(project.run_state(), "ABORTED");
}

/// A workflow that is started beside the open page, and a phase that ends, are on it at once.
#[test]
fn a_workflow_is_seen_while_it_goes_on() {
    let workplace = Workplace::new(Some(POLICY));
    prompt(&workplace, "one", "Build the parser");
    let started = workplace.run(&["workflow", "start", "implement", "--feature", "parser"]);
    assert_eq!(started.code, Some(0), "{started:?}");
    let server = serve(&workplace);
    let Some(mut browser) = server.in_browser("/") else { return };
    browser.press("g");
    browser.press("w");
    browser
        .wait_for("location.pathname === '/workflows' && document.querySelectorAll('.phases').length === 1");
    browser.shows("document.querySelector('summary b').textContent", "implement (parser)");
    browser.wait_for("document.getElementById('live').dataset.state === 'on'");
    let phase = [
        "workflow",
        "phase",
        "implement",
        "planning",
        "--feature",
        "parser",
        "--status",
        "complete",
        "--summary",
        "<b>done</b>",
    ];
    let ended = workplace.run(&phase);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    browser.wait_for("document.querySelectorAll('.phases tr.done').length === 1");
    browser.shows("document.querySelector('.phases tr.done p').textContent", "<b>done</b>");
    // What a person closed stays closed when more comes.
    browser.value("document.querySelector('details.turn').open = false");
    let begun = [
        "workflow",
        "phase",
        "implement",
        "implementation",
        "--feature",
        "parser",
        "--status",
        "in_progress",
    ];
    assert_eq!(workplace.run(&begun).code, Some(0));
    browser.wait_for("document.querySelectorAll('.phases tr.working').length === 1");
    browser.shows("document.querySelector('details.turn').open", false);
    // From any view to the search.
    browser.press("/");
    browser.wait_for("location.pathname === '/history' && document.activeElement.id === 'words'");
}

/// In the dark every view is dark, and what is read stands out from what is behind it.
#[test]
fn every_view_has_a_dark_side() {
    let workplace = Workplace::new(Some(POLICY));
    prompt(&workplace, "one", "Fix it");
    write_turn(&workplace, "one", "Fix it", "src/lib.rs");
    stop(&workplace, "one");
    let server = serve(&workplace);
    let Some(mut browser) = server.in_browser("/") else { return };
    for (scheme, is_dark) in [("dark", true), ("light", false)] {
        browser.prefer(scheme);
        for path in ["/", "/session/1", "/changes/1", "/runs", "/workflows", "/history"] {
            browser.open(&server.address_of(path));
            browser.wait_for("document.querySelector('main').children.length > 0");
            let brightness = browser.brightness();
            assert_eq!(brightness.is_dark(), Some(is_dark), "{scheme} {path}: {brightness:?}");
        }
    }
}

/// A command is found, also one that proved nothing.
#[test]
fn a_command_that_proved_nothing_is_found() {
    let workplace = Workplace::new(Some(POLICY));
    prompt(&workplace, "one", "Look around");
    write_turn(&workplace, "one", "Look around", "src/lib.rs");
    let transcript = workplace.path("one.jsonl");
    let known = std::fs::read_to_string(&transcript).unwrap();
    let ran = known
        .replace("\"Write\"", "\"Bash\"")
        .replace("\"file_path\"", "\"command\": \"Terraform plan -out=x\", \"file_path\"");
    std::fs::write(&transcript, ran).unwrap();
    workplace.write("src/lib.rs", "pub fn two() {}\n");
    stop(&workplace, "one");
    let server = serve(&workplace);
    let found = |words: &str| server.page(&format!("/history?words={words}")).texts_behind("?before=2\">");
    assert_eq!((found("terraform+PLAN"), found("kubectl")), (vec!["Look around".to_owned()], Vec::new()));
}
