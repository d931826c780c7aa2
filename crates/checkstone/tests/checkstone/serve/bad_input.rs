//! What cannot be served, each in a sentence.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use super::{POLICY, prompt, serve};
use crate::workplace::Workplace;

#[test]
fn a_port_in_use() {
    let workplace = Workplace::new(Some(POLICY));
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let answer = workplace.run(&["serve", "--port", &port]);
    assert_eq!(answer.stdout, "");
    assert_eq!(
        answer.stderr,
        format!(
            "error: port {port} of 127.0.0.1 is in use\n\
             hint: another `checkstone serve` may be running; `--port 0` takes any port that is free\n"
        )
    );
    assert_eq!(answer.code, workplace.run(&["serve", "--port", &port]).code);
}

#[test]
fn a_journal_of_a_newer_version() {
    let workplace = Workplace::new(Some(POLICY));
    prompt(&workplace, "one", "Fix it");
    let journal = workplace.path("state/journal.db");
    let newer = |version: u32| {
        let connection = rusqlite::Connection::open(&journal).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
    };
    // While it is served, the page says so.
    let server = serve(&workplace);
    newer(99_099);
    let page = server.page("/");
    let sentence =
        format!("`{}` was written by a newer version (format 99, this one reads up to 8)", journal.display());
    assert_eq!((page.status, page.texts_behind("Nothing to show</h1><p>")), (503, vec![sentence.clone()]));
    let answer = workplace.run(&["serve", "--port", "0"]);
    assert_eq!(
        (answer.stdout.as_str(), answer.stderr),
        ("", format!("error: {sentence}\nhint: update checkstone to the version that wrote it\n"))
    );
}

#[test]
fn a_token_that_others_can_read() {
    let workplace = Workplace::new(Some(POLICY));
    drop(serve(&workplace));
    let token = workplace.path("state/serve.token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    let answer = workplace.run(&["serve", "--port", "0"]);
    let path = token.display();
    assert_eq!(
        (answer.stdout.as_str(), answer.stderr),
        (
            "",
            format!(
                "error: others can read `{path}`: its mode is 644\n\
                 hint: remove it, and a new token is made: `rm {path}`\n"
            )
        )
    );
}

/// A repository that is gone, and a session that never was.
#[test]
fn what_is_gone_is_said_to_be_gone() {
    let workplace = Workplace::new(Some(POLICY));
    prompt(&workplace, "one", "Fix it");
    let server = serve(&workplace);
    assert_eq!(server.page("/").texts_behind("<p class=\"problem\">"), Vec::<String>::new());
    std::fs::rename(workplace.repo(), workplace.path("elsewhere")).unwrap();
    std::fs::create_dir(workplace.repo()).unwrap();
    let server = serve(&workplace);
    let gone = "This folder is gone, or is no longer a repository.";
    assert_eq!(server.page("/").texts_behind("<p class=\"problem\">"), [gone]);
    let unknown = server.page("/session/77");
    assert_eq!(
        (unknown.status, unknown.texts_behind("Nothing to show</h1><p>")),
        (404, vec!["There is no session 77; old ones are pruned.".to_owned()])
    );
}
