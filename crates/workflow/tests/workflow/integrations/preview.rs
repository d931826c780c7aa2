use std::time::Duration;

use serde_json::{Value, json};
use workflow::integrations::http::Secret;
use workflow::integrations::preview::{LinkedProject, Preview, Wait, wait};
use workflow::integrations::retry::Retry;
use workflow::integrations::user_settings::Service;

use super::server::{Deed, Server, answer, nobody};
use super::{client, quick, service};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn deployment(state: &str) -> Value {
    json!({
        "uid": "dpl_1", "name": "web", "projectId": "prj_1", "url": "web-1.vercel.app", "readyState": state,
        "state": state, "createdAt": 1000, "created": 1000, "target": null,
        "inspectorUrl": "https://vercel.com/acme/web/1", "meta": {"githubCommitSha": COMMIT},
    })
}

fn listed(deployments: &[Value]) -> Deed {
    answer(200, json!({"deployments": deployments, "pagination": {"count": deployments.len()}}).to_string())
}

fn patient(timeout: Duration) -> Wait {
    Wait { timeout, pause: Duration::from_millis(5), retry: quick() }
}

fn waited(server: &Server) -> (Preview, Vec<String>) {
    waited_for(&service(&server.url), Duration::from_secs(20))
}

fn waited_for(at: &Service, timeout: Duration) -> (Preview, Vec<String>) {
    let mut told = Vec::new();
    let linked = LinkedProject::default();
    let preview = wait(&client(), at, &linked, COMMIT, &patient(timeout), |text| told.push(text.to_owned()));
    (preview, told)
}

fn error(server: &Server) -> String {
    match waited(server).0 {
        Preview::Unavailable { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_preview_is_waited_for_until_it_is_ready() {
    let server = Server::new(vec![
        listed(&[]),
        listed(&[deployment("QUEUED")]),
        listed(&[deployment("BUILDING")]),
        listed(&[deployment("READY")]),
    ]);
    let (preview, told) = waited(&server);
    assert_eq!(preview, Preview::Ready { urls: vec!["https://web-1.vercel.app".to_owned()] });
    assert_eq!(preview.trouble(), None);
    assert_eq!(
        told,
        [
            "there is no preview deployment of 0123456 yet",
            "the preview of 0123456: web is queued",
            "the preview of 0123456: web is building",
        ]
    );
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    assert_eq!(asked[0].line, format!("GET /v6/deployments?limit=100&sha={COMMIT}"));
    assert_eq!(asked[0].header("authorization"), Some("Bearer the-token"));
}

#[test]
fn the_project_and_the_team_are_named_where_they_are_known() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(LinkedProject::read(root.path()), LinkedProject::default());
    std::fs::create_dir(root.path().join(".vercel")).unwrap();
    std::fs::write(
        root.path().join(".vercel/project.json"),
        r#"{"projectId": "prj_1&x=1", "orgId": "team_9", "settings": {}}"#,
    )
    .unwrap();
    let linked = LinkedProject::read(root.path());
    let server = Server::new(vec![listed(&[deployment("READY")])]);
    wait(&client(), &service(&server.url), &linked, COMMIT, &patient(Duration::from_secs(5)), |_| {});
    let own =
        Service { project: Some("web".to_owned()), team: Some("acme".to_owned()), ..service(&server.url) };
    wait(&client(), &own, &linked, COMMIT, &patient(Duration::from_secs(5)), |_| {});
    let asked = server.asked();
    assert!(asked[0].line.ends_with("&projectId=prj_1%26x%3D1&teamId=team_9"), "{}", asked[0].line);
    assert!(asked[1].line.ends_with("&projectId=web&slug=acme"), "{}", asked[1].line);
}

#[test]
fn a_failed_preview_says_why() {
    for (state, how) in [
        ("ERROR", "did not build"),
        ("CANCELED", "was canceled"),
        ("BLOCKED", "is blocked"),
        ("DELETED", "was deleted"),
    ] {
        let mut failed = deployment(state);
        failed["errorMessage"] = json!("Command \"npm run build\" exited with 1");
        let (preview, _) = waited(&Server::new(vec![listed(&[failed])]));
        assert_eq!(
            preview.trouble().unwrap(),
            format!(
                "The preview deployment failed: web {how}: Command \"npm run build\" exited with 1 \
                 (https://vercel.com/acme/web/1)"
            )
        );
    }
}

/// A commit that is deployed again counts with its newest deployment; production and other commits do not count; every
/// project of the repository does.
#[test]
fn the_newest_preview_of_each_project_counts() {
    let mut again = deployment("READY");
    again["createdAt"] = json!(2000);
    let mut production = deployment("ERROR");
    production["target"] = json!("production");
    production["createdAt"] = json!(3000);
    let mut other_commit = deployment("ERROR");
    other_commit["meta"]["githubCommitSha"] = json!("ffff");
    other_commit["createdAt"] = json!(3000);
    let mut docs = deployment("BUILDING");
    docs["projectId"] = json!("prj_2");
    docs["name"] = json!("docs");
    let all = [deployment("ERROR"), again.clone(), production.clone(), other_commit.clone(), docs.clone()];
    docs["readyState"] = json!("READY");
    docs["url"] = json!("docs-1.vercel.app");
    let later = [deployment("ERROR"), again, production, other_commit, docs];
    let (preview, told) = waited(&Server::new(vec![listed(&all), listed(&later)]));
    assert_eq!(told, ["the preview of 0123456: docs is building"]);
    let urls = vec!["https://web-1.vercel.app".to_owned(), "https://docs-1.vercel.app".to_owned()];
    assert_eq!(preview, Preview::Ready { urls });
}

/// Of a repository with several projects, those that a commit does not touch are canceled.
#[test]
fn a_project_that_the_commit_does_not_touch_stands_in_nobodys_way() {
    let mut untouched = deployment("CANCELED");
    untouched["projectId"] = json!("prj_2");
    let (preview, _) = waited(&Server::new(vec![listed(&[untouched, deployment("READY")])]));
    assert_eq!(preview, Preview::Ready { urls: vec!["https://web-1.vercel.app".to_owned()] });
}

#[test]
fn the_time_is_over_at_some_point() {
    let server = Server::new(vec![listed(&[deployment("BUILDING")])]);
    let built = Preview::TimedOut { last: "the preview of 0123456: web is building".to_owned() };
    // A busy machine may need more time for the first answer.
    let tries = (0..12).map(|doubled| Duration::from_millis(60 << doubled));
    let mut previews = tries.map(|time| waited_for(&service(&server.url), time).0);
    let preview = previews.find(|preview| *preview == built).unwrap();
    assert!(preview.trouble().unwrap().starts_with("The preview deployment was not ready in time"));
}

/// 401 and 404 do not get better by asking again.
#[test]
fn a_refused_token_and_an_unknown_project_are_final() {
    let server =
        Server::new(vec![answer(401, r#"{"error": {"code": "forbidden", "message": "Not authorized"}}"#)]);
    assert_eq!(error(&server), "Vercel does not accept the token (HTTP 401)");
    assert_eq!(server.asked().len(), 1);
    let server =
        Server::new(vec![answer(404, r#"{"error": {"code": "not_found", "message": "Project not found"}}"#)]);
    assert_eq!(error(&server), "Vercel did not find what was requested: Project not found");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn too_many_requests_are_tried_again_when_the_server_says() {
    let busy = |after: &str| Deed::Answer {
        status: 429,
        headers: vec![("retry-after", after.to_owned())],
        body: "{}".to_owned(),
    };
    let server = Server::new(vec![busy("1"), listed(&[deployment("READY")])]);
    assert!(matches!(waited(&server).0, Preview::Ready { .. }));
    assert_eq!(server.asked().len(), 2);
    // A pause that is longer than there is time is not begun.
    let server = Server::new(vec![busy("3600")]);
    assert_eq!(error(&server), "Vercel got too many requests (HTTP 429); it asks to wait 1 h 0 min");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn trouble_of_the_server_is_tried_again_and_not_for_ever() {
    let server = Server::new(vec![answer(500, "oops"), answer(503, "oops"), listed(&[deployment("READY")])]);
    assert!(matches!(waited(&server).0, Preview::Ready { .. }));
    let server = Server::new(vec![answer(500, "oops")]);
    assert_eq!(error(&server), "Vercel has an internal problem (HTTP 500)");
    assert_eq!(server.asked().len(), 4);
}

#[test]
fn garbage_and_broken_connections_are_tried_again_and_told() {
    let shapes = [
        answer(200, "<html>Welcome to the hotel</html>"),
        answer(200, "{}"),
        answer(200, r#"{"deployments": [{"name": 1}]}"#),
        Deed::HalfClosed,
        Deed::Closed,
        Deed::Raw(b"220 mail.example.org ESMTP\r\n\r\n"),
    ];
    let mut all = Vec::new();
    for deed in shapes {
        let server = Server::new(vec![deed.clone()]);
        let told = error(&server).replace(&server.url, "[server]");
        // Whether such a connection was refused or broke off is a matter of time.
        let told =
            if matches!(deed, Deed::Closed) { told.split(": ").next().unwrap_or_default() } else { &told };
        all.push(told.to_owned());
        assert_eq!(server.asked().len(), 4, "{deed:?}");
        let server = Server::new(vec![deed.clone(), listed(&[deployment("READY")])]);
        assert!(matches!(waited(&server).0, Preview::Ready { .. }), "{deed:?}");
    }
    insta::assert_snapshot!(all.join("\n"), @"
    the answer of Vercel was not understood
    the answer of Vercel was not understood
    the answer of Vercel was not understood
    [server] cannot be reached: the connection was interrupted
    [server] cannot be reached
    [server] cannot be reached: what it sent is not HTTP
    ");
}

#[test]
fn a_server_that_never_answers_is_left() {
    let server = Server::new(vec![Deed::Silent]);
    let retry = Retry { request: Duration::from_millis(40), attempts: 2, ..quick() };
    let wait_for = Wait { retry, ..patient(Duration::from_secs(20)) };
    let preview =
        wait(&client(), &service(&server.url), &LinkedProject::default(), COMMIT, &wait_for, |_| {});
    assert!(preview.trouble().unwrap().ends_with("did not answer in time"), "{preview:?}");
}

#[test]
fn without_a_network_there_is_one_sentence() {
    let (preview, _) = waited_for(&service(&nobody()), Duration::from_secs(20));
    let trouble = preview.trouble().unwrap();
    assert!(
        trouble.starts_with("The state of the preview deployment is unknown: http://127.0.0.1:"),
        "{trouble}"
    );
    assert!(trouble.ends_with("cannot be reached: the connection was refused"), "{trouble}");
}

/// A token must not travel to where a redirect leads.
#[test]
fn redirects_are_not_followed() {
    let elsewhere = Server::new(vec![listed(&[deployment("READY")])]);
    let server = Server::new(vec![Deed::Answer {
        status: 302,
        headers: vec![("location", format!("{}/v6/deployments", elsewhere.url))],
        body: String::new(),
    }]);
    assert_eq!(error(&server), "Vercel answered with HTTP 302");
    assert!(elsewhere.asked().is_empty());
}

#[test]
fn an_endless_answer_is_cut_off() {
    let server = Server::new(vec![answer(200, "x".repeat(5 * 1024 * 1024))]);
    assert!(error(&server).ends_with(" is too large"));
}

/// A token with a line break, as copied from a file, is not sent and not shown.
#[test]
fn a_broken_token_is_told_without_it() {
    let server = Server::new(vec![listed(&[])]);
    let broken = Service { token: Secret::new("tok\nen"), ..service(&server.url) };
    let told = waited_for(&broken, Duration::from_secs(5)).0.trouble().unwrap();
    insta::assert_snapshot!(sandbox::redacted(told), @"The state of the preview deployment is unknown: no request can be sent to http://[server]: the URL, the token or the secret holds characters that cannot be sent");
    assert!(server.asked().is_empty());
}
