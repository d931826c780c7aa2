use std::time::Duration;

use serde_json::json;
use workflow::integrations::http::{Endpoint, EndpointError};
use workflow::integrations::repository_file::{FileError, PATH, RepositorySettings};
use workflow::integrations::user_settings::{
    Access, FromEnvironment, SettingsError, UserSettings, WebhookFormat,
};

fn written(text: &str) -> (tempfile::TempDir, Result<RepositorySettings, FileError>) {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join(".claude/config")).unwrap();
    std::fs::write(root.path().join(PATH), text).unwrap();
    let settings = RepositorySettings::read(root.path());
    (root, settings)
}

#[test]
fn the_file_of_the_format_is_read() {
    let (_root, settings) = written(
        r#"{
          "linear": {"enabled": true, "team": "Basecamp", "branch_prefix": "feature", "use_native_automation": true},
          "vercel": {"enabled": true, "wait_for_preview": true, "preview_timeout_ms": 300000,
                     "require_preview_success": false}
        }"#,
    );
    let settings = settings.unwrap();
    assert!(settings.linear.enabled && settings.linear.use_native_automation);
    assert_eq!(settings.linear.team.as_deref(), Some("Basecamp"));
    assert_eq!(settings.linear.branch_prefix, "feature");
    assert!(settings.vercel.enabled && settings.vercel.wait_for_preview);
    assert_eq!(settings.vercel.preview_timeout, Duration::from_secs(300));
    assert!(!settings.vercel.require_preview_success);
    assert!(settings.notes.is_empty());
}

#[test]
fn without_a_file_nothing_is_on() {
    let root = tempfile::tempdir().unwrap();
    let settings = RepositorySettings::read(root.path()).unwrap();
    assert!(!settings.linear.enabled && !settings.vercel.enabled);
}

/// What a repository says about where to send things is ignored, and the person is told.
#[test]
fn a_repository_cannot_say_where_anything_is_sent() {
    let settings = RepositorySettings::of(json!({
        "vercel": {"enabled": true, "api_url": "https://evil.example", "token": "x"},
        "linear": {"enabled": true, "apiKey": "y"},
        "webhooks": [{"url": "https://evil.example"}],
        "slack_url": "https://evil.example",
    }));
    assert_eq!(settings.notes.len(), 5, "{:#?}", settings.notes);
    for (note, name) in settings.notes.iter().zip([
        "linear.apiKey",
        "vercel.api_url",
        "vercel.token",
        "webhooks",
        "slack_url",
    ]) {
        assert!(note.starts_with(&format!("`{name}` in `{PATH}` is ignored")), "{note}");
    }
    insta::assert_snapshot!(settings.notes.join("\n"), @"
    `linear.apiKey` in `.claude/config/integrations.json` is ignored: URLs, tokens and secrets come only from your own `config.toml` or the environment
    `vercel.api_url` in `.claude/config/integrations.json` is ignored: URLs, tokens and secrets come only from your own `config.toml` or the environment
    `vercel.token` in `.claude/config/integrations.json` is ignored: URLs, tokens and secrets come only from your own `config.toml` or the environment
    `webhooks` in `.claude/config/integrations.json` is ignored: URLs, tokens and secrets come only from your own `config.toml` or the environment
    `slack_url` in `.claude/config/integrations.json` is ignored: URLs, tokens and secrets come only from your own `config.toml` or the environment
    ");
}

#[test]
fn mistakes_are_noted_and_cost_only_their_own_field() {
    let settings = RepositorySettings::of(json!({
        "vercel": {"enabled": "yes", "preview_timeout_ms": -1, "require_preview_sucess": true, "colour": 1},
        "linear": [],
        "vercell": {},
    }));
    assert_eq!(settings.vercel.preview_timeout, Duration::from_secs(300));
    let notes = settings.notes.join("\n");
    insta::assert_snapshot!(notes, @"
    `linear` in `.claude/config/integrations.json` is not an object, and is ignored
    `vercel.enabled` in `.claude/config/integrations.json` must be `true` or `false`; false is used instead
    `vercel.preview_timeout_ms` in `.claude/config/integrations.json` must be a number of milliseconds; 300000 is used instead
    `vercel.require_preview_sucess` in `.claude/config/integrations.json` is unknown: did you mean `require_preview_success`?
    `vercell` in `.claude/config/integrations.json` is unknown: did you mean `vercel`?
    ");
    let long = RepositorySettings::of(json!({"vercel": {"preview_timeout_ms": u64::MAX}}));
    assert_eq!(long.vercel.preview_timeout, Duration::from_secs(3600));
}

/// P9: a link out of the repository, a pipe, a huge or a broken file: one sentence, and nothing is waited for.
#[test]
fn bad_files_are_refused_in_one_sentence() {
    let (_root, broken) = written("{\"linear\": ");
    assert!(matches!(broken, Err(FileError::NotJson { .. })));
    let (_root, large) = written(&" ".repeat(300 * 1024));
    assert!(large.unwrap_err().to_string().ends_with("it is larger than 256 KiB"));
    let (root, _) = written("{}");
    let path = root.path().join(PATH);
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    let error = RepositorySettings::read(root.path()).unwrap_err().to_string();
    assert!(error.ends_with("the link points outside the repository"), "{error}");
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::create_dir(elsewhere.path().join("config")).unwrap();
    std::fs::write(elsewhere.path().join("config/integrations.json"), "{}").unwrap();
    let inside_out = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), inside_out.path().join(".claude")).unwrap();
    let error = RepositorySettings::read(inside_out.path()).unwrap_err().to_string();
    assert!(error.ends_with("the link points outside the repository"), "a folder: {error}");
    std::fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let error = RepositorySettings::read(root.path()).unwrap_err().to_string();
    assert!(error.ends_with("it is not a regular file"), "{error}");
}

const CONFIG: &str = r#"
presets = ["rust"]

[integrations.vercel]
enabled = true
token = "vt"
project = "web"

[integrations.linear]
enabled = true

[[integrations.webhook]]
url = "https://hooks.slack.com/services/T0/B0/secret-path"
format = "slack"

[[integrations.webhook]]
url = "https://example.org/hook"
secret = "s"
"#;

#[test]
fn the_user_switches_services_on() {
    let settings = UserSettings::read(CONFIG, &FromEnvironment::default()).unwrap();
    let Access::On(vercel) = &settings.vercel else { panic!("{settings:?}") };
    assert_eq!(vercel.endpoint.to_string(), "https://api.vercel.com");
    assert_eq!(vercel.project.as_deref(), Some("web"));
    assert_eq!(settings.linear, Access::NoToken);
    assert_eq!(settings.webhooks[0].format, WebhookFormat::Slack);
    assert_eq!(
        (settings.webhooks[1].format, settings.webhooks[1].secret.is_some()),
        (WebhookFormat::Generic, true)
    );
    assert_eq!(UserSettings::read("", &FromEnvironment::default()).unwrap(), UserSettings::default());
}

/// A token alone, which may be there for other programs, switches nothing on.
#[test]
fn the_environment_switches_on_and_overrides() {
    let token = FromEnvironment { vercel_token: Some("t".to_owned()), ..FromEnvironment::default() };
    assert_eq!(UserSettings::read("", &token).unwrap().vercel, Access::Off);
    let named = FromEnvironment {
        services: Some("vercel, linear".to_owned()),
        linear_url: Some("http://127.0.0.1:9/graphql".to_owned()),
        linear_token: Some("k".to_owned()),
        webhook_url: Some("https://hooks.slack.com/services/x".to_owned()),
        ..token
    };
    let settings = UserSettings::read("", &named).unwrap();
    assert!(matches!(settings.vercel, Access::On(_)));
    let Access::On(linear) = &settings.linear else { panic!("{settings:?}") };
    assert_eq!(linear.endpoint.to_string(), "http://127.0.0.1:9");
    assert_eq!(settings.webhooks[0].format, WebhookFormat::Slack);
    let unknown = FromEnvironment { services: Some("vercle".to_owned()), ..FromEnvironment::default() };
    assert!(matches!(UserSettings::read("", &unknown), Err(SettingsError::UnknownService { .. })));
}

/// Neither a token nor the path of a webhook is ever shown.
#[test]
fn secrets_are_not_shown() {
    let settings = UserSettings::read(CONFIG, &FromEnvironment::default()).unwrap();
    let shown = format!("{settings:?}");
    insta::assert_snapshot!(shown, @r#"UserSettings { vercel: On(Service { endpoint: Endpoint(https://api.vercel.com), token: Secret(…), project: Some("web"), team: None }), linear: NoToken, webhooks: [Webhook { endpoint: Endpoint(https://hooks.slack.com), format: Slack, secret: None }, Webhook { endpoint: Endpoint(https://example.org), format: Generic, secret: Some(Secret(…)) }], run_end: NotificationWays { webhooks: false, desktop: false, command: [] }, session_waits: NotificationWays { webhooks: false, desktop: false, command: [] } }"#);
    for (text, said) in [
        (
            "[integrations.linear]\nenabled = true\ntoken = lin_api_very_secret\n",
            "config.toml:3:9: string values must be quoted, expected literal string",
        ),
        (
            "[integrations.linear]\ntokn = \"lin_api_very_secret\"\n",
            "config.toml:2:1: unknown key `tokn`; did you mean `token`?",
        ),
        (
            "[integrations.linear]\nenabled = \"very_secret\"\n",
            "config.toml:2:11: `enabled` is not true or false",
        ),
        ("integrations.linear = \"very_secret\"\n", "config.toml:1:23: `linear` is not a table"),
        ("integrations.webhook = [\n  \"very_secret\",\n]\n", "config.toml:2:3: `webhook` is not a table"),
        (
            "integrations.webhook = [{secret = \"very_secret\", format = \"slakc\"}]\n",
            "config.toml:1:25: `webhook` has no `url`\n\
             config.toml:1:59: `format` is not one of slack, generic; did you mean `slack`?",
        ),
    ] {
        let error = UserSettings::read(text, &FromEnvironment::default()).unwrap_err().to_string();
        assert_eq!(error, format!("`[integrations]` has mistakes: {said}"), "{text}");
    }
}

/// However it is written, it is what the policy leaves out.
#[test]
fn services_are_found_in_any_spelling() {
    for text in [
        "integrations.linear = { enabled = true, token = 'k' }\n",
        "[\"integrations\".'linear'] # mine\nenabled = true\n\"token\" = \"\"\"\nk\"\"\"\n",
        "\u{feff}\"int\\u0065grations\".linear.enabled = true\nintegrations.linear.token = \"k\"\n",
    ] {
        let settings = UserSettings::read(text, &FromEnvironment::default()).unwrap();
        assert!(matches!(settings.linear, Access::On(_)), "{text}");
    }
    let list = "integrations.webhook = [\n  {url = \"https://example.org\", secret = \"s\"}, # one\n]\n";
    assert_eq!(UserSettings::read(list, &FromEnvironment::default()).unwrap().webhooks.len(), 1);
}

#[test]
fn only_this_machine_is_spoken_to_without_encryption() {
    for url in ["http://127.0.0.1:8080", "http://localhost/x", "http://[::1]:1", "https://example.org/"] {
        assert!(Endpoint::parse(url).is_ok(), "{url}");
    }
    for (url, error) in [
        ("http://example.org", EndpointError::NotEncrypted),
        ("http://127.0.0.1.example.org", EndpointError::NotEncrypted),
        ("ftp://example.org", EndpointError::NotEncrypted),
        ("https://user:pass@example.org", EndpointError::HoldsCredentials),
        ("http://localhost@example.org", EndpointError::HoldsCredentials),
        ("example.org", EndpointError::NotAUrl),
        ("", EndpointError::NotAUrl),
        ("https://", EndpointError::NotAUrl),
    ] {
        assert_eq!(Endpoint::parse(url), Err(error), "{url}");
    }
}
