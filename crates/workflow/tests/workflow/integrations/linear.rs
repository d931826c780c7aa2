use std::time::Duration;

use serde_json::json;
use workflow::integrations::branch::IssueId;
use workflow::integrations::http::Secret;
use workflow::integrations::linear::{
    IssueNews, IssueProgress, IssueStanding, Linear, LinearError, NewIssue,
};
use workflow::integrations::retry::Retry;
use workflow::integrations::user_settings::Service;
use workflow::{Status, WantedIssue};

use super::linear_server::{Conduct, LinearServer, graphql_error};
use super::server::{Deed, Server, answer, nobody};
use super::{client, quick, service};
use crate::repository::{Folder, minute, name, status};

fn issue() -> IssueId {
    IssueId::parse("bas-6").unwrap()
}

fn news(progress: IssueProgress) -> IssueNews {
    let comment = Some("Phase research is complete.".to_owned());
    IssueNews { progress, comment, occasion: "save-1".to_owned(), tried_before: false }
}

fn told(at: &Service, team: Option<&str>, news: &[IssueNews]) -> Result<IssueStanding, LinearError> {
    Linear { client: &client(), service: at, retry: &quick() }.tell(&issue(), team, news)
}

fn with_issue(server: LinearServer) -> LinearServer {
    server.add_issue("BAS-6", "Parser");
    server
}

#[test]
fn a_comment_is_posted_on_the_issue_and_it_moves() {
    let server = with_issue(LinearServer::well_behaved());
    let standing = told(&service(server.url()), Some("Basecamp"), &[news(IssueProgress::Continued)]).unwrap();
    assert_eq!(
        standing,
        IssueStanding { state: "Zustand doing".to_owned(), moved: true, closed_by_others: false }
    );
    assert_eq!(server.requests(), ["issue", "comment", "move"]);
    assert_eq!(server.comments(), ["Phase research is complete."]);
    assert_eq!(
        server.issues(),
        ["BAS-6 Parser: doing"],
        "the first state that is `started`, whatever its name"
    );
    let asked = server.asked();
    assert_eq!(asked[0].header("authorization"), Some("the-token"), "a personal key stands alone");
    assert_eq!(asked[0].json()["variables"], json!({"id": "BAS-6"}));
    let input = &asked[1].json()["variables"]["input"];
    assert_eq!(input["issueId"], "uuid-BAS-6");
    let id = input["id"].as_str().unwrap();
    assert_eq!((id.len(), id.as_bytes()[14], id.as_bytes()[19]), (36, b'4', b'a'), "{id}");
}

#[test]
fn the_token_of_an_application_is_a_bearer_token() {
    let server = with_issue(LinearServer::well_behaved());
    let application = Service { token: Secret::new("lin_oauth_x"), ..service(server.url()) };
    told(&application, None, &[news(IssueProgress::Begun)]).unwrap();
    assert_eq!(server.asked()[0].header("authorization"), Some("Bearer lin_oauth_x"));
}

/// A connection that breaks after the comment has arrived does not make a second one.
#[test]
fn a_comment_that_arrived_unanswered_is_not_posted_twice() {
    let server = with_issue(LinearServer::new(|kind, before| match (kind, before) {
        ("comment", 0) => Conduct::Lost(Deed::Closed),
        _ => Conduct::Well,
    }));
    told(&service(server.url()), None, &[news(IssueProgress::Continued)]).unwrap();
    assert_eq!(server.requests(), ["issue", "comment", "posted", "move"]);
    // Nor does whoever tries again later.
    let again = IssueNews { tried_before: true, ..news(IssueProgress::Continued) };
    told(&service(server.url()), None, &[again]).unwrap();
    assert_eq!(server.requests()[4..], ["issue", "posted"]);
    assert_eq!(server.comments().len(), 1);
}

#[test]
fn every_attempt_of_a_comment_has_the_same_id() {
    let server = with_issue(LinearServer::new(|kind, before| match (kind, before) {
        ("comment", 0) => Conduct::Instead(answer(502, "")),
        _ => Conduct::Well,
    }));
    told(&service(server.url()), None, &[news(IssueProgress::Continued)]).unwrap();
    let ids: Vec<_> = server
        .asked()
        .iter()
        .map(|asked| asked.json()["variables"]["input"]["id"].clone())
        .filter(|id| id.is_string())
        .take(2)
        .collect();
    assert_eq!((ids.len(), &ids[0]), (2, &ids[1]));
}

#[test]
fn another_team_hears_nothing() {
    let server = with_issue(LinearServer::well_behaved());
    let error = told(&service(server.url()), Some("Design"), &[news(IssueProgress::Ended)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "BAS-6 belongs to the team Basecamp, not to Design as the repository says; nothing was sent"
    );
    assert_eq!(server.requests(), ["issue"]);
    // By its key the team is the same.
    told(&service(server.url()), Some("bas"), &[news(IssueProgress::Ended)]).unwrap();
}

/// By the type of the state that it is in, and never against what people decided.
#[test]
fn an_issue_moves_only_forward_unless_work_begins_again() {
    use IssueProgress::{Begun, Continued, Ended};
    for (progress, from, to, moved) in [
        (Begun, "unstarted", "doing", true),
        (Begun, "backlog", "doing", true),
        (Begun, "started", "review", false),
        (Begun, "completed", "doing", true),
        (Begun, "canceled", "no", false),
        (Continued, "unstarted", "doing", true),
        (Continued, "started", "review", false),
        (Continued, "completed", "done", false),
        (Ended, "unstarted", "done", true),
        (Ended, "started", "done", true),
        (Ended, "completed", "done", false),
        (Ended, "canceled", "no", false),
    ] {
        let server = with_issue(LinearServer::well_behaved());
        server.set_state("BAS-6", from);
        let quiet = IssueNews { comment: None, ..news(progress) };
        let standing = told(&service(server.url()), None, &[quiet]).unwrap();
        let closed_by_others = from == "canceled";
        let expected = IssueStanding { state: format!("Zustand {to}"), moved, closed_by_others };
        assert_eq!(standing, expected, "{progress:?} from {from}");
        assert_eq!(server.issues(), [format!("BAS-6 Parser: {to}")], "{progress:?} from {from}");
    }
}

#[test]
fn errors_of_graphql_are_understood_whatever_their_status() {
    let says = |status, code| graphql_error(status, code, "It is so");
    for (deed, message, times) in [
        (says(401, "AUTHENTICATION_ERROR"), "Linear does not accept the token (HTTP 401)", 1),
        (says(200, "AUTHENTICATION_ERROR"), "Linear does not accept the token (HTTP 200)", 1),
        (says(400, "RATELIMITED"), "Linear got too many requests (HTTP 400)", 4),
        (says(400, "ENTITY_NOT_FOUND"), "Linear did not find what was requested: It is so", 1),
        (
            graphql_error(200, "INPUT_ERROR", "Entity not found: Issue"),
            "Linear did not find what was requested: Entity not found: Issue",
            1,
        ),
        (says(400, "INVALID_INPUT"), "Linear answered with HTTP 400: It is so", 1),
        (says(200, "INTERNAL_SERVER_ERROR"), "Linear has an internal problem (HTTP 200)", 4),
        (answer(429, "{}"), "Linear got too many requests (HTTP 429)", 4),
        (answer(500, "oops"), "Linear has an internal problem (HTTP 500)", 4),
        (answer(200, "<html>"), "the answer of Linear was not understood", 4),
        (answer(200, "{}"), "the answer of Linear was not understood", 4),
        (
            answer(200, r#"{"data": {"issue": null}}"#),
            "Linear did not find what was requested: there is no issue BAS-6",
            1,
        ),
        (answer(404, "Not found"), "Linear did not find what was requested: Not found", 1),
    ] {
        let server = Server::new(vec![deed]);
        let error = told(&service(&server.url), None, &[news(IssueProgress::Begun)]).unwrap_err();
        assert_eq!((error.to_string().as_str(), server.asked().len()), (message, times));
    }
}

#[test]
fn a_rate_limit_that_passes_is_waited_for() {
    let server = with_issue(LinearServer::new(|kind, before| match (kind, before) {
        ("issue", 0) => Conduct::Instead(graphql_error(400, "RATELIMITED", "Slower")),
        ("move", 0) => Conduct::Instead(answer(502, "")),
        _ => Conduct::Well,
    }));
    assert!(told(&service(server.url()), None, &[news(IssueProgress::Continued)]).is_ok());
    assert_eq!(server.requests(), ["issue", "issue", "comment", "move", "move"]);
}

#[test]
fn without_a_network_there_is_one_sentence() {
    let error = told(&service(&nobody()), None, &[news(IssueProgress::Begun)]).unwrap_err().to_string();
    assert!(error.ends_with("cannot be reached: the connection was refused"), "{error}");
}

const NEW: NewIssue<'_> =
    NewIssue { id: "11111111-2222-4333-a444-555555555555", team: "Basecamp", title: "Parse dates" };

fn asked_to_wait(retry_after: &str, date: Option<&str>) -> Deed {
    let mut headers = vec![("retry-after", retry_after.to_owned())];
    headers.extend(date.map(|date| ("date", date.to_owned())));
    Deed::Answer { status: 429, headers, body: "{}".to_owned() }
}

/// Whatever becomes of the requests, there is one issue in the end.
#[test]
fn an_issue_is_created_once() {
    let of_another_kind = Deed::Answer {
        status: 200,
        headers: vec![("content-type", "text/html".to_owned())],
        body: "<html>Sign in to the hotel's network</html>".to_owned(),
    };
    let until = asked_to_wait("Sun, 06 Nov 1994 08:49:38 GMT", Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    for deed in [
        Deed::Closed,
        Deed::HalfClosed,
        Deed::Silent,
        Deed::Raw(b"no HTTP\r\n\r\n"),
        asked_to_wait("1", None),
        until,
        asked_to_wait("Sun, 06 Nov 1994 08:49:38 GMT", None),
        answer(500, "oops"),
        answer(502, "<html>Bad gateway</html>"),
        graphql_error(200, "INTERNAL_SERVER_ERROR", "It is so"),
        of_another_kind,
        answer(200, r#"{"data": {"issueCreate": {"success": false}}}"#),
        answer(200, r#"{"data": null}"#),
    ] {
        for arrives in [false, true] {
            for at in ["teams", "create"] {
                let deed = deed.clone();
                let server =
                    LinearServer::new(move |kind, before| match (kind == at && before == 0, arrives) {
                        (false, _) => Conduct::Well,
                        (true, false) => Conduct::Instead(deed.clone()),
                        (true, true) => Conduct::Lost(deed.clone()),
                    });
                let retry = Retry { request: Duration::from_millis(300), ..quick() };
                let (client, service) = (client(), service(server.url()));
                let linear = Linear { client: &client, service: &service, retry: &retry };
                let issue = linear.create_issue(&NEW, false).unwrap();
                assert_eq!((issue.identifier.as_str(), issue.id.as_str()), ("BAS-7", NEW.id));
                assert_eq!(server.issues(), ["BAS-7 Parse dates: todo"], "{:?}", server.requests());
                // Whoever tries again finds it.
                assert_eq!(linear.create_issue(&NEW, true).unwrap(), issue);
                assert_eq!(server.issues().len(), 1);
            }
        }
    }
}

/// As long as nobody can look, nothing is created a second time.
#[test]
fn nothing_is_created_unseen() {
    let server = LinearServer::new(|kind, _| match kind {
        "create" => Conduct::Lost(Deed::Closed),
        "issue" => Conduct::Instead(answer(500, "oops")),
        _ => Conduct::Well,
    });
    let (client, retry, service) = (client(), quick(), service(server.url()));
    let linear = Linear { client: &client, service: &service, retry: &retry };
    for tried_before in [false, true] {
        let error = linear.create_issue(&NEW, tried_before).unwrap_err();
        assert_eq!(error.to_string(), "Linear has an internal problem (HTTP 500)");
    }
    assert_eq!(server.requests().iter().filter(|kind| *kind == "create").count(), 1);
}

#[test]
fn what_cannot_be_created_is_told_in_one_sentence() {
    let refused = |deed: Deed, at: &'static str| {
        LinearServer::new(
            move |kind, _| if kind == at { Conduct::Instead(deed.clone()) } else { Conduct::Well },
        )
    };
    for (server, team, message) in [
        (LinearServer::well_behaved(), "Nobody", "Linear has no team with the name or key `Nobody`"),
        (
            refused(graphql_error(400, "INVALID_INPUT", "title is too long"), "create"),
            "bas",
            "Linear answered with HTTP 400: title is too long",
        ),
        (
            refused(asked_to_wait("3600", None), "create"),
            "Basecamp",
            "Linear got too many requests (HTTP 429); it asks to wait 1 h 0 min",
        ),
        (refused(answer(403, ""), "teams"), "Basecamp", "Linear does not accept the token (HTTP 403)"),
    ] {
        let (client, retry, service) = (client(), quick(), service(server.url()));
        let linear = Linear { client: &client, service: &service, retry: &retry };
        let error = linear.create_issue(&NewIssue { team, ..NEW }, false).unwrap_err();
        assert_eq!((error.to_string().as_str(), server.issues().len()), (message, 0));
    }
}

/// The id is on the disk before Linear hears of it; whoever goes on uses the same.
#[test]
fn the_intent_is_kept_before_it_is_sent() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("start", Some("parser")));
    state.start(&name, None, workflow::Begin::Resume, minute(0)).unwrap();
    let wanted = WantedIssue { team: "Basecamp", title: "Parse dates", branch_prefix: "fix" };
    let file = folder.file("start-parser.json");
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (shared, path) = (std::sync::Arc::clone(&seen), file.clone());
    let server = LinearServer::new(move |kind, _| {
        let text = std::fs::read_to_string(&path).unwrap();
        let kept: serde_json::Value = serde_json::from_str(&text).unwrap();
        shared.lock().unwrap().push((kind.to_owned(), kept["checkstone"]["issue"].clone()));
        if kind == "create" { Conduct::Lost(Deed::Closed) } else { Conduct::Instead(answer(503, "")) }
    });
    let (client, retry) = (client(), Retry { attempts: 2, ..quick() });
    let create = |url: &str| {
        let service = service(url);
        let linear = Linear { client: &client, service: &service, retry: &retry };
        state.create_issue(&name, &wanted, &linear, minute(1))
    };
    assert_eq!(create(server.url()).unwrap_err().to_string(), "Linear has an internal problem (HTTP 503)");
    let intended = state.load(&name).unwrap().workflow.unwrap().issue_record();
    assert_eq!((intended.title.as_deref(), &intended.issue), (Some("Parse dates"), &None));
    let expected = json!({"id": intended.id, "title": "Parse dates"});
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty() && seen.iter().all(|(_, kept)| *kept == expected), "{seen:?}");

    let sound = LinearServer::well_behaved();
    let workflow = create(sound.url()).unwrap();
    assert_eq!(sound.requests(), ["issue", "teams", "create"], "it looks first");
    assert_eq!(sound.asked()[2].json()["variables"]["input"]["id"], json!(intended.id));
    let kept = workflow.issue_record();
    assert_eq!(
        (kept.issue.as_deref(), kept.branch.as_deref(), kept.url.as_deref()),
        (Some("BAS-7"), Some("fix/BAS-7"), Some("https://linear.app/acme/issue/BAS-7"))
    );
    let phase = workflow.file().phase("issue-creation").unwrap();
    assert_eq!(
        (phase.status, phase.context_summary.as_deref()),
        (Status::Complete, Some("BAS-7: https://linear.app/acme/issue/BAS-7"))
    );
    // Work that starts over goes on with its issue.
    let fresh = state.start(&name, None, workflow::Begin::Fresh, minute(2)).unwrap().workflow;
    assert_eq!(fresh.issue_record(), kept);
    state.update_phase(&name, "branch", &status(Status::Complete), minute(3)).unwrap();
    state.complete(&name, minute(4)).unwrap();
    let next = state.start(&name, None, workflow::Begin::Resume, minute(5)).unwrap().workflow;
    assert_eq!(next.issue_record(), workflow::IssueRecord::default());
}
