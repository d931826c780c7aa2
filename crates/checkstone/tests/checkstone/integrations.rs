//! What the workflow commands tell others, and what they wait for; the others are servers on loopback.

use std::os::unix::fs::PermissionsExt as _;

use sandbox::{RunToEnd as _, redacted};
use serde_json::{Value, json};

use crate::loopback_server::{Deed, Server, answer, nobody};
use crate::workplace::Workplace;

const FILE: &str = ".claude/config/integrations.json";

/// A repository on the branch of an issue, whose file and the user's own are as given.
fn workplace(repository: &Value, user: &str) -> Workplace {
    workplace_on("feature/BAS-6-parser", repository, user)
}

pub(crate) fn workplace_on(branch: &str, repository: &Value, user: &str) -> Workplace {
    let workplace = Workplace::new(None);
    workplace.git(&["branch", "--move", "--force", "main"]);
    workplace.git(&["switch", "--quiet", "--force-create", branch]);
    workplace.write(FILE, &repository.to_string());
    workplace.write(".gitignore", ".claude/\n");
    workplace.git(&["add", ".gitignore"]);
    workplace.git(&["commit", "--quiet", "--message=ignore"]);
    let folder = workplace.path("home/.config/checkstone");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), user).unwrap();
    std::fs::set_permissions(folder.join("config.toml"), std::fs::Permissions::from_mode(0o600)).unwrap();
    workplace
}

fn linear_and_vercel() -> Value {
    json!({
        "linear": {"enabled": true, "team": "Basecamp", "use_native_automation": false},
        "vercel": {"enabled": true, "preview_timeout_ms": 20000, "require_preview_success": true},
    })
}

fn complete_phase(workplace: &Workplace) -> String {
    workplace.shown(&[
        "workflow",
        "phase",
        "implement",
        "validation",
        "--feature",
        "parser",
        "--status",
        "complete",
        "--summary",
        "All tests pass.",
    ])
}

fn linear() -> Server {
    Server::by(|asked| {
        let data = if asked.body.contains("commentCreate") {
            json!({"commentCreate": {"success": true, "comment": {"id": "c", "url": "https://linear.app/c"}}})
        } else {
            let state = json!({"id": "s", "name": "Doing", "type": "started", "position": 1.0});
            let team = json!({"name": "Basecamp", "key": "BAS", "states": {"nodes": [state, {"id": "d", "type": "completed"}]}});
            json!({
                "issue": {"id": "u", "identifier": "BAS-6", "state": state, "team": team},
                "issueUpdate": {"success": true},
            })
        };
        answer(200, json!({"data": data}).to_string())
    })
}

/// A phase that ends is told to the webhooks and on the issue of the branch.
#[test]
fn a_phase_that_ends_is_told() {
    let (linear, hook) = (linear(), Server::new(vec![answer(200, "ok")]));
    let user = format!(
        "[integrations.linear]\nenabled = true\nurl = \"{}\"\ntoken = \"k\"\n\
         [[integrations.webhook]]\nurl = \"{}\"\nsecret = \"s\"\n\
         [[integrations.webhook]]\nurl = \"{}\"\nformat = \"slack\"\n",
        linear.url, hook.url, hook.url
    );
    let workplace = workplace(&linear_and_vercel(), &user);
    // What does not end is not told.
    workplace.run(&[
        "workflow",
        "phase",
        "implement",
        "validation",
        "--feature",
        "parser",
        "--status",
        "in_progress",
    ]);
    assert!(hook.asked().is_empty());
    let text = complete_phase(&workplace);
    assert!(text.starts_with("exit code: 0") && text.ends_with("--- stderr\n"), "{text}");
    // The first look is for the beginning.
    let comment = linear.asked()[2].json();
    assert_eq!(
        comment["variables"]["input"]["body"],
        "**repo: implement parser: phase validation is complete**\n\nAll tests pass."
    );
    let asked = hook.asked();
    assert_eq!(asked.len(), 2);
    let generic = asked.iter().find(|asked| asked.header("checkstone-signature").is_some()).unwrap().json();
    assert_eq!(generic["event"], "phase.complete");
    let data = &generic["data"];
    assert_eq!((&data["issue"], &data["branch"]), (&json!("BAS-6"), &json!("feature/BAS-6-parser")));
    assert_eq!((&data["summary"], &data["command"]), (&json!("All tests pass."), &json!("implement")));
    assert_eq!(data["head_commit"].as_str().unwrap().len(), 40);
    let slack = asked.iter().find(|asked| asked.header("checkstone-signature").is_none()).unwrap().json();
    assert_eq!(slack["text"], "repo: implement parser: phase validation is complete\nAll tests pass.");
    workplace.run(&["workflow", "complete", "implement", "--feature", "parser"]);
    assert!(hook.asked().iter().any(|asked| asked.json()["event"] == "workflow.complete"));
}

/// What cannot be told is a warning; the phase is recorded all the same.
#[test]
fn who_cannot_be_told_stops_nothing() {
    let refused = Server::new(vec![answer(401, "{}")]);
    let user = format!(
        "[integrations.linear]\nenabled = true\nurl = \"{}\"\ntoken = \"very-secret\"\n\
         [[integrations.webhook]]\nurl = \"{}/services/secret-path\"\n",
        refused.url,
        nobody()
    );
    let workplace = workplace(&linear_and_vercel(), &user);
    let text = complete_phase(&workplace);
    insta::assert_snapshot!(redacted(&text), @"
    exit code: 0
    --- stdout
    implement (parser), new: validation is complete; next phase: implementation
    --- stderr
    warning: `http://[server]` was not notified: http://[server] cannot be reached: the connection was refused
    hint: the workflow is saved; running the command again would notify all others twice
    warning: BAS-6 was not updated: Linear does not accept the token (HTTP 401)
    hint: the workflow is saved; run `checkstone workflow start implement --feature parser` to send it again
    ");
}

/// A repository can ask, and only the user switches on; where to send is never the repository's to say.
#[test]
fn a_repository_alone_makes_nothing_go_out() {
    let evil = Server::new(vec![answer(200, "ok")]);
    let mut repository = linear_and_vercel();
    repository["linear"]["api_url"] = json!(evil.url);
    repository["webhooks"] = json!([{"url": evil.url}]);
    let workplace = workplace(&repository, "");
    let mut command =
        workplace.checkstone(&["workflow", "phase", "implement", "validation", "--status", "complete"]);
    // A token that is there for other programs changes nothing.
    command.env("LINEAR_API_KEY", "k");
    let text = redacted(command.answer().to_string());
    insta::assert_snapshot!("only_the_repository", text);
    assert!(evil.asked().is_empty());
    let native = json!({"linear": {"enabled": true, "use_native_automation": true}});
    workplace.write(FILE, &native.to_string());
    let quiet = complete_phase(&workplace);
    assert!(quiet.ends_with("--- stderr\n"), "Linear's own automation needs nobody's token: {quiet}");
}

/// The policy does not trip over what the user says about services, and what is recorded holds no token.
#[test]
fn the_users_tokens_are_no_policy_and_are_not_recorded() {
    let user = "presets = \"auto\"\n[integrations.vercel]\nenabled = true\ntoken = \"very-secret\"\n";
    let workplace = workplace(&json!({}), user);
    workplace.write("Cargo.toml", "[package]\nname = \"x\"\n");
    workplace.git(&["add", "--all"]);
    workplace.git(&["commit", "--quiet", "--message=cargo"]);
    assert_eq!(workplace.held_turn(&[])["decision"], "block");
    let recorded: Vec<u8> = ["journal.db", "journal.db-wal", "log"]
        .iter()
        .flat_map(|name| std::fs::read(workplace.path("state").join(name)).unwrap_or_default())
        .collect();
    assert!(!recorded.is_empty());
    assert!(!recorded.windows(11).any(|window| window == b"very-secret"));
}

/// S9: however the user writes it, the gate judges by the rest of the file, and nothing of it is printed or recorded.
#[test]
fn s9_tokens_in_any_spelling_are_no_policy_and_are_not_recorded() {
    for user in [
        "integrations.webhook = [\n  {url = \"https://very-secret\", secret = \"very-secret\"}, # very-secret\n]\npresets = \"auto\"\n",
        "presets = \"auto\" # or so\n[\"integrations\".\"linear\"] # very-secret\n# very-secret\ntoken = \"very-secret\"\n",
        "\"presets\" = 'auto'\nintegrations = { linear = { token = 'very-secret' } }\n",
        "integrations.'linear'.\"token\" = \"\"\"\nvery-secret\"\"\"\npresets = 'auto'\n",
        "presets = \"auto\"\n['\u{69}ntegrations'.vercel]\ntoken = \"very-secret\"\n[[\"int\\u0065grations\".webhook]]\nurl = \"very-secret\"\n",
    ] {
        let workplace = workplace(&json!({}), user);
        workplace.write("Cargo.toml", "[package]\nname = \"x\"\n");
        workplace.git(&["add", "--all"]);
        workplace.git(&["commit", "--quiet", "--message=cargo"]);
        assert_eq!(workplace.held_turn(&[])["decision"], "block", "{user}");
        assert_eq!(
            workplace.shown(&["policy", "check"]),
            "exit code: 0\n--- stdout\n✓ the policy is valid (detected presets)\n--- stderr\n",
            "{user}"
        );
        assert_eq!(workplace.run(&["explain"]).code, Some(0), "{user}");
        assert_eq!(everything_recorded(&workplace).find("very-secret"), None, "{user}");
    }
}

/// S9: also where the file is broken, nobody reads a part of a token in what is told, logged or printed of it.
#[test]
fn s9_a_broken_file_shows_nothing_of_its_tokens() {
    for (user, place) in [
        ("presets = \"auto\"\n[integrations.linear]\ntoken = very-secret\n", "3:9"),
        ("presets = \"auto\"\n[integratons.linear]\ntoken = very-secret\n", "3:9"),
        (
            "presets = \"auto\"\n[[integrations.webhook]]\nurl = \"https://x\" secret = \"very-secret\"\n",
            "3:19",
        ),
        ("presets = [\"rust\"]\n[integratons.linear]\ntoken = \"very-secret\"\n", "2:2"),
    ] {
        let workplace = workplace(&json!({}), user);
        workplace.write("checkstone.toml", "presets = [\"rust\"]\n");
        let told = workplace.held_turn(&[])["systemMessage"].as_str().unwrap_or_default().to_owned();
        assert!(told.contains(&format!("config.toml:{place}: ")), "{user}: {told}");
        let mut shown = told + &everything_recorded(&workplace) + &complete_phase(&workplace);
        for command in
            [&["policy", "check"][..], &["policy", "show"], &["check"], &["status"], &["doctor"], &["log"]]
        {
            shown += &workplace.shown(command);
        }
        assert_eq!(shown.find("very-secret"), None, "{user}: {shown}");
    }
}

fn everything_recorded(workplace: &Workplace) -> String {
    let files = ["journal.db", "journal.db-wal", "log"].map(|name| workplace.path("state").join(name));
    let bytes: Vec<u8> = files.iter().flat_map(|path| std::fs::read(path).unwrap_or_default()).collect();
    assert!(!bytes.is_empty());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_token_that_others_can_read_is_told() {
    let workplace = workplace(&json!({}), "[integrations.linear]\nenabled = true\ntoken = \"k\"\n");
    let path = workplace.path("home/.config/checkstone/config.toml");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let text = complete_phase(&workplace);
    insta::assert_snapshot!(redacted(&text), @"
    exit code: 0
    --- stdout
    implement (parser), new: validation is complete; next phase: implementation
    --- stderr
    warning: other users can read the token in `[folder]/home/.config/checkstone/config.toml`
    hint: run `chmod 600 [folder]/home/.config/checkstone/config.toml`
    ");
}

fn deployment(workplace: &Workplace, state: &str) -> Deed {
    let head =
        std::fs::read_to_string(workplace.repo().join(".git/refs/heads/feature/BAS-6-parser")).unwrap();
    let deployment = json!({
        "uid": "d", "name": "web", "url": "web-1.vercel.app", "readyState": state, "createdAt": 1, "target": null,
        "meta": {"githubCommitSha": head.trim()},
    });
    answer(200, json!({"deployments": [deployment]}).to_string())
}

/// A workflow that nothing but its preview can stand against.
fn ready_to_ship(workplace: &Workplace) {
    workplace.run(&["workflow", "start", "ship"]);
    for phase in ["pre-flight", "commit"] {
        workplace.run(&["workflow", "phase", "ship", phase, "--status", "complete"]);
    }
}

fn gate(workplace: &Workplace, server: &Server) -> String {
    let mut command = workplace.checkstone(&["workflow", "gate", "ship"]);
    command
        .env("CHECKSTONE_INTEGRATIONS", "vercel")
        .env("CHECKSTONE_VERCEL_URL", &server.url)
        .env("VERCEL_TOKEN", "the-token");
    redacted(command.answer().to_string())
}

#[test]
fn shipping_waits_for_the_preview() {
    let mut repository = linear_and_vercel();
    repository["linear"]["enabled"] = json!(false);
    let workplace = workplace(&repository, "");
    ready_to_ship(&workplace);
    let server = Server::new(vec![deployment(&workplace, "READY")]);
    insta::assert_snapshot!("preview_ready", gate(&workplace, &server));
    let asked = server.asked();
    assert_eq!((asked.len(), asked[0].header("authorization")), (1, Some("Bearer the-token")));

    let server = Server::new(vec![deployment(&workplace, "ERROR")]);
    insta::assert_snapshot!("preview_failed", gate(&workplace, &server));
    let server = Server::new(vec![answer(401, "{}")]);
    insta::assert_snapshot!("preview_unknown", gate(&workplace, &server));

    // Where success is not required, a preview that failed is told and blocks nothing.
    repository["vercel"]["require_preview_success"] = json!(false);
    workplace.write(FILE, &repository.to_string());
    let server = Server::new(vec![deployment(&workplace, "ERROR")]);
    insta::assert_snapshot!("preview_failed_not_required", gate(&workplace, &server));

    // What may not be shipped anyway is not waited for.
    workplace.write("src/lib.rs", "changed");
    let server = Server::new(vec![deployment(&workplace, "READY")]);
    assert!(gate(&workplace, &server).starts_with("exit code: 1"));
    assert!(server.asked().is_empty());
}

/// A preview that is required and cannot be asked for is not taken for ready.
#[test]
fn a_required_preview_that_is_not_switched_on_blocks() {
    let mut repository = linear_and_vercel();
    repository["linear"]["enabled"] = json!(false);
    let workplace = workplace(&repository, "");
    ready_to_ship(&workplace);
    insta::assert_snapshot!("preview_not_switched_on", workplace.shown(&["workflow", "gate", "ship"]));
}

#[test]
fn a_branch_is_named_by_the_repositorys_prefix() {
    let workplace = workplace(&json!({"linear": {"branch_prefix": "fix"}}), "");
    let name = workplace.run(&["workflow", "branch", "bas-6", "--title", "The parser"]).stdout;
    assert_eq!(name, "fix/BAS-6-the-parser\n");
    let value = workplace.json(&["workflow", "branch", "BAS-6", "--json"], "workflow-branch.schema.json");
    assert_eq!(value, json!({"issue": "BAS-6", "branch": "fix/BAS-6"}));
    insta::assert_snapshot!("no_issue", workplace.shown(&["workflow", "branch", "../x"]));
}
