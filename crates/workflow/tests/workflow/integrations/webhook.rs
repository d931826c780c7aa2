use jiff::Timestamp;
use serde_json::json;
use workflow::integrations::http::{Endpoint, Secret};
use workflow::integrations::user_settings::{Webhook, WebhookFormat};
use workflow::integrations::webhook::{PhaseEvent, send, signature};

use super::server::{Deed, Server, answer, nobody};
use super::{client, quick};

fn event() -> PhaseEvent {
    PhaseEvent {
        event: "phase.complete".to_owned(),
        at: "2026-11-15T07:00:00Z".to_owned(),
        repository: "shop".to_owned(),
        command: "implement".to_owned(),
        feature: Some("parser".to_owned()),
        phase: Some("validation".to_owned()),
        status: "complete".to_owned(),
        summary: Some("All <tests> & checks pass; ping <!channel>.".to_owned()),
        error: None,
        head_commit: Some("0123456".to_owned()),
        branch: Some("feature/BAS-6".to_owned()),
        issue: Some("BAS-6".to_owned()),
    }
}

fn webhook(url: &str, format: WebhookFormat, secret: Option<&str>) -> Webhook {
    Webhook {
        endpoint: Endpoint::parse(&format!("{url}/services/secret-path")).unwrap(),
        format,
        secret: secret.map(Secret::new),
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_531_420_618).unwrap()
}

/// The example that Slack's documentation of its request signing gives.
#[test]
fn the_signature_is_slacks() {
    let body = [
        "token=xyzz0WbapA4vBCDEFasx0q6G", // checkstone:allow-secret
        "&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA",
        "&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2F",
        "commands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN",
        "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    ]
    .concat();
    let secret = Secret::new("8f742231b10e8888abcd99yyyzzz85a5");
    assert_eq!(
        signature(&secret, "1531420618", body.as_bytes()),
        "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    );
}

#[test]
fn a_generic_webhook_gets_the_whole_event_signed() {
    let server = Server::new(vec![answer(204, "")]);
    let webhook = webhook(&server.url, WebhookFormat::Generic, Some("secret"));
    send(&client(), &webhook, &event(), &quick(), now).unwrap();
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "POST /services/secret-path");
    assert_eq!(asked.json()["event"], "phase.complete");
    assert_eq!(asked.json()["data"]["summary"], json!(event().summary));
    let timestamp = asked.header("checkstone-timestamp").unwrap();
    assert_eq!(timestamp, "1531420618");
    assert_eq!(
        asked.header("checkstone-signature").unwrap(),
        signature(&Secret::new("secret"), timestamp, asked.body.as_bytes())
    );
}

/// What Slack could take for a mention or a link is plain text.
#[test]
fn slack_gets_one_text() {
    let server = Server::new(vec![answer(200, "ok")]);
    let webhook = webhook(&server.url, WebhookFormat::Slack, None);
    send(&client(), &webhook, &event(), &quick(), now).unwrap();
    let asked = &server.asked()[0];
    assert_eq!(
        asked.json(),
        json!({"text": "shop: implement parser: phase validation is complete\n\
                        All &lt;tests&gt; &amp; checks pass; ping &lt;!channel&gt;."})
    );
    assert_eq!(asked.header("checkstone-signature"), None);
}

/// A receiver can drop what it has already; each attempt is signed with its own time.
#[test]
fn a_second_attempt_is_the_same_delivery() {
    let server = Server::new(vec![answer(500, ""), Deed::Closed, answer(200, "ok")]);
    let webhook = webhook(&server.url, WebhookFormat::Generic, Some("secret"));
    let seconds = std::cell::Cell::new(100);
    let later = || {
        seconds.set(seconds.get() + 1);
        Timestamp::from_second(seconds.get()).unwrap()
    };
    send(&client(), &webhook, &event(), &quick(), later).unwrap();
    let asked = server.asked();
    let all =
        |name: &str| asked.iter().map(|asked| asked.header(name).unwrap().to_owned()).collect::<Vec<_>>();
    let deliveries = all("checkstone-delivery");
    assert_eq!(deliveries.len(), 3);
    assert!(deliveries.iter().all(|delivery| *delivery == deliveries[0]));
    assert_eq!(all("checkstone-timestamp"), ["101", "102", "103"]);
}

#[test]
fn a_webhook_that_is_gone_is_told_without_its_path() {
    for (deed, message) in [
        (answer(404, "no_service"), "the webhook did not find what was requested: no_service"),
        (answer(410, "channel_is_archived"), "the webhook answered with HTTP 410: channel_is_archived"),
        (answer(403, "invalid_token"), "the webhook does not accept the token (HTTP 403)"),
        (answer(500, ""), "the webhook has an internal problem (HTTP 500)"),
    ] {
        let server = Server::new(vec![deed]);
        let webhook = webhook(&server.url, WebhookFormat::Slack, None);
        assert_eq!(send(&client(), &webhook, &event(), &quick(), now).unwrap_err().to_string(), message);
    }
    let webhook = webhook(&nobody(), WebhookFormat::Slack, None);
    let told = send(&client(), &webhook, &event(), &quick(), now).unwrap_err().to_string();
    insta::assert_snapshot!(sandbox::redacted(told), @"http://[server] cannot be reached: the connection was refused");
}
