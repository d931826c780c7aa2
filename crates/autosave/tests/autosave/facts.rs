//! What the notes say of a turn, and what they must never say.

use autosave::{Asked, Facts, Look, Occasion, Reason};
use change_set::{ChangeSet, Scope};
use gate::policy::{Policy, Trust};
use gate::{Changes, Inputs};
use transcript::{Agent, Call, Extent, Kind, Options, Outcome, Reading};

/// The section of a turn with this prompt and these commands, each of which failed if it begins with `!`.
fn section(asked: &str, commands: &[&str]) -> String {
    section_of(asked, commands, |_| {})
}

fn section_of(asked: &str, commands: &[&str], change: fn(&mut Call)) -> String {
    let call = |command: &&str| {
        let failed = command.strip_prefix('!');
        let mut call = ran(failed.unwrap_or(command), i32::from(failed.is_some()), None);
        change(&mut call);
        call
    };
    section_of_calls(asked, commands.iter().map(call).collect())
}

/// A command with its exit code and what it printed.
fn ran(command: &str, exit_code: i32, printed: Option<&str>) -> Call {
    Call {
        tool: "Bash".to_owned(),
        kind: Kind::Shell,
        command: Some(command.to_owned()),
        outcome: if exit_code == 0 { Outcome::Ok } else { Outcome::Error },
        exit_code: Some(exit_code),
        snippet: printed.map(str::to_owned),
        ..Call::default()
    }
}

fn section_of_calls(asked: &str, calls: Vec<Call>) -> String {
    let mut reading = transcript::read_bytes(&[], &Options::default());
    reading.coverage.extent = Extent::Complete;
    let numbered = (1..).zip(calls).map(|(line, call)| Call { line: Some(line), ..call });
    let asked = Asked { prompt: Some(asked), ..Asked::default() };
    section_of_reading(asked, Reading { calls: numbered.collect(), ..reading })
}

fn section_of_reading(asked: Asked<'_>, reading: Reading) -> String {
    let changes = Changes::Known(ChangeSet {
        scope: Scope::TurnBaseline,
        files: Vec::new(),
        arrived: Vec::new(),
        head: None,
        branch: Some("main".to_owned()),
        root: "/home/kim/app".into(),
        baseline_unusable: None,
    });
    let inputs = Inputs::of_reading(reading, changes, "/home/kim/app".to_owned());
    let occasion = Occasion {
        at: jiff::Timestamp::UNIX_EPOCH,
        reason: Reason::Asked,
        percent: None,
        iteration: Some(1),
    };
    let policy = Policy::load(&[]).unwrap();
    let look =
        Look::new(policy.autosave.with(Trust::Given).unwrap(), None).with_home(Some("/data/lee".as_ref()));
    Facts::new(occasion, &inputs, asked, &look).section()
}

/// What the section says of commands and errors.
fn told(section: &str) -> Vec<&str> {
    let names = ["- Tests: ", "- Commands: ", "- Open errors: "];
    section.lines().filter(|line| names.iter().any(|name| line.starts_with(name))).collect()
}

/// S1: nothing that is given to a program as a secret is in the notes, whatever it looks like.
#[test]
fn s1_no_secret_of_a_command_is_in_the_notes() {
    for value in ["swordfish", "Sw0rdf1sh!", "zQ8kV3nT6wYb1LxC9mRd", "d41d8cd98f00b204e9800998ecf8427e"] {
        for spelling in [
            "PGPASSWORD=@ psql -h db",
            "export API_TOKEN=@ && ./deploy.sh",
            "env DB_PASS='@' python manage.py test",
            "curl -H 'Authorization: Bearer @' https://api.acme.dev",
            "curl -H \"X-Api-Key: @\" https://api.acme.dev",
            "curl -u kim:@ https://api.acme.dev",
            "curl -ukim:@ https://api.acme.dev",
            "curl https://kim:@@api.acme.dev/v1",
            "curl -d 'password=@' https://api.acme.dev",
            "curl -d '{\"token\": \"@\"}' https://api.acme.dev",
            "mysql -uroot -p@ shop",
            "mysql --password=@ shop",
            "sshpass -p @ ssh kim@host",
            "gh auth login --with-token <<< @",
            "echo @ | docker login -u kim --password-stdin",
            "docker login -u kim -p @",
            "docker run -e DB_PASSWORD=@ web",
            "kubectl create secret generic db --from-literal=password=@",
            "npm config set //registry.npmjs.org/:_authToken @",
            "npm test -- --token=@",
            "pytest --api-key @",
            "pytest -q --db postgres://app:@@db/shop",
            "API_KEY=@ cargo test",
            "aws configure set aws_secret_access_key @",
            "redis-cli -a @ ping",
            "git clone https://kim:@@github.com/acme/web",
            "git remote set-url origin https://@@github.com/acme/web",
            "vault login @",
            "openssl enc -k @ -in a -out b",
            "python -c \"connect(password='@')\"",
            "cat > .env <<END\nTOKEN=@\nEND",
            "printf 'machine a login b password @' > ~/.netrc",
            "psql \"host=db password=@\"",
            "mvn test -Ddb.password=@",
            "terraform apply -var db_password=@",
            "ansible-playbook -e 'vault_pass=@' site.yml",
        ] {
            let command =
                spelling.replace("@@", "\0").replace('@', value).replace('\0', &format!("{value}@"));
            for commands in [[command.as_str(), "make"], [&format!("!{command}"), "make"]] {
                let notes = section("Deploy it", &commands);
                assert_eq!(notes.find(value), None, "{command}\n{notes}");
            }
        }
        for spelling in [
            "The password is @",
            "password: @",
            "Use the token\nTOKEN=@\nto deploy",
            "the API key:\n\n@\n\nand then deploy",
            "password: |\n  @\nport: 1",
            "deploy --password \\\n  @",
            "DB_PW=@ is new",
            "send Cookie: session=@",
            "auth: @",
            "curl -H 'Authorization: Bearer @' fails",
            "connect to postgres://app:@@db/shop",
            "run mysql -uroot -p@",
            "log in as -u kim:@",
            "set db_password = '@' in the settings",
            "deploy --token @",
        ] {
            let asked = spelling.replace("@@", "\0").replace('@', value).replace('\0', &format!("{value}@"));
            let notes = section(&asked, &[]);
            assert_eq!(notes.find(value), None, "{asked}\n{notes}");
        }
    }
    // Nothing but its looks tells it from any other word.
    for value in ["Sw0rdf1sh!", "zQ8kV3nT6wYb1LxC9mRd"] {
        let notes = section(&format!("Log in with password {value} and go on"), &[]);
        assert_eq!(notes.find(value), None, "{notes}");
    }
}

/// What is shown: programs and what they were to do, the words of those that verify code, and nobody's home.
#[test]
fn commands_are_shown_as_far_as_they_are_plain() {
    insta::assert_snapshot!(section(
        "Fix /home/kim/app/src/a.rs, see /home/kim/notes.md; the token: abc is old\nThen release",
        &[
            "cd web && npm test -- --run",
            "cargo test -p gate --test corpus -- s1",
            "pytest tests/test_a.py -k 'one or two'",
            "python3 -m pytest -x /home/kim/app/tests",
            "git commit -m 'Say more'",
            "ls -la /home/kim",
            "./scripts/release.sh 1.2.3",
            "!make -j4 dist | tail -3",
            "if [ broken",
        ],
    ), @"
    - When: 1970-01-01 00:00:00 UTC, a save was requested (save 1 of the session)
    - Branch: `main`
    - Asked: `Fix src/a.rs, see ~/notes.md; the token: (withheld) Then release`
    - Files changed: none in this turn
    - Tests: `npm test -- --run` succeeded; `cargo test -p … --test … -- s1` succeeded; `pytest tests/test_a.py -k …` succeeded; `pytest -x …` succeeded
    - Commands: `git commit …` succeeded; `ls …` succeeded; `./scripts/release.sh …` succeeded; `make …; tail …` failed (exit code 1); `(a command that could not be parsed)` ended, its status is hidden
    - Open errors: none known
    ");
}

/// A flag's value is no subcommand, and what is given to a test tool is not shown.
#[test]
fn values_of_options_are_not_in_the_notes() {
    for value in ["sommer2024", "tiger", "123456", "prod"] {
        for spelling in [
            "kubectl -n @ get pods",
            "kubectl --password @ get pods",
            "docker --host @ ps",
            "npm --otp @ publish",
            "npm --otp @ test",
            "npm test -- --pin @",
            "npm test -- -p @",
            "npm test -- -p@",
            "pytest --dbpass @",
            "pytest --dbpass=@ tests",
            "pytest -D @ tests",
            "pytest scott/@",
            "pytest scott/@@db",
            "make test PASS=@",
            "mvn test -Ddb.login=@",
            "cargo test --features @",
        ] {
            let command = spelling.replace('@', value);
            let notes = section("Test it", &[&command]);
            assert_eq!(notes.find(value), None, "{command}\n{notes}");
        }
        let asked = format!("connect as scott/{value}");
        assert_eq!(section(&asked, &[]).find(value), None, "{asked}");
    }
}

/// What is private in a text of somebody's: a key beside no name, the query of an address, homes, machines.
#[test]
fn nothing_private_of_a_prompt_is_in_the_notes() {
    for (asked, shown) in [
        (
            "here's a cargo token with publish scope only: Xa81-KqLm",
            "here's a cargo token with publish scope only: (withheld)",
        ),
        ("this one: zQ8kV3nT6wYb1LxC9mRd", "this one: (withheld)"),
        ("open https://a.dev/cb?state=s1&code=c2 and go on", "open https://a.dev/cb and go on"),
        ("get https://a.dev/f?X-Amz-Signature=0f3b9c", "get https://a.dev/f"),
        ("see /data/lee/x and /mnt/c/Users/lee/y", "see ~/x and ~/y"),
        ("carol@Carols-MacBook proj % npm test", "(withheld) proj % npm test"),
        ("revert d41d8cd98f00b204e9800998ecf8427e00000000", "revert d41d8cd98f…"),
        ("log in with l9cDo#!GbVMs please", "log in with (withheld) please"),
        ("пароль: Falcon4885!", "пароль(withheld)"),
        ("password：Winter2031!", "password: (withheld)"),
        ("file%3A%2F%2F%2FUsers%2Fcarol%2Fa", "file%3A~%2Fa"),
    ] {
        let notes = section(asked, &[]);
        let told = notes.lines().find_map(|line| line.strip_prefix("- Asked: "));
        assert_eq!(told, Some(format!("`{shown}`").as_str()), "{asked}");
    }
}

/// A status that the shell hides is the status of nothing, whichever program it is (E3): what is shown decides, if anything.
#[test]
fn e3_a_hidden_status_is_no_good_end() {
    let rejected =
        " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs to 'origin'";
    for (command, printed, end) in [
        (
            "git push origin main 2>&1 | tail -3",
            rejected,
            "ended, its status is hidden, its output shows errors",
        ),
        (
            "make lint | tail",
            "make: *** [Makefile:2: lint] Error 1",
            "ended, its status is hidden, its output shows errors",
        ),
        ("git commit -m x; git log -1 --oneline", "0123abc x", "ended, its status is hidden"),
        ("./deploy.sh || true", "", "ended, its status is hidden"),
        ("npm run build & wait", "", "ended, its status is hidden"),
        ("grep error: log.txt | head -3", "error: no such host", "ended, its status is hidden"),
        ("cargo build 2>&1 | tail -1", "    Finished `dev` profile in 0.10s", "succeeded"),
        ("set -o pipefail; make lint | tail", "", "succeeded"),
        ("cd web; npm run build && git push", "", "succeeded"),
        ("echo building; make", "", "succeeded"),
    ] {
        let section = section_of_calls("Go", vec![ran(command, 0, Some(printed))]);
        let line = told(&section).into_iter().find(|line| line.starts_with("- Commands: ")).unwrap();
        let (_, shown) = line.rsplit_once("` ").unwrap();
        assert_eq!(shown, end, "{command}");
    }
    insta::assert_snapshot!(
        told(&section_of_calls("Go", vec![ran("git push origin main | tail -3", 0, Some(rejected))])).join("\n"),
        @"
    - Tests: none were run
    - Commands: `git push …; tail …` ended, its status is hidden, its output shows errors
    - Open errors: none known
    "
    );
}

/// Commands that look alike once their arguments are cut are several: the end of one says nothing of another.
#[test]
fn commands_that_look_alike_are_told_apart() {
    let all = |runs: &[(&str, i32, &str)]| {
        let calls = runs.iter().map(|(command, code, printed)| ran(command, *code, Some(printed)));
        told(&section_of_calls("Go", calls.collect())).join("\n")
    };
    insta::assert_snapshot!(all(&[
        ("git push origin main", 1, "error: failed to push some refs to 'origin'"),
        ("git push backup main", 0, "main -> main"),
    ]), @"
    - Tests: none were run
    - Commands: `git push …` failed (exit code 1), another one succeeded
    - Open errors: ``A command returned errors — verify the issue is resolved (`git push …`)``
    ");
    insta::assert_snapshot!(all(&[
        ("pytest -k login", 1, "1 failed, 2 passed in 0.10s"),
        ("pytest -k other", 0, "1 passed in 0.10s"),
    ]), @"
    - Tests: `pytest -k …` failed (1 failed), another one passed (1 passed)
    - Open errors: ``A command returned errors — verify the issue is resolved (`pytest -k …`)``
    ");
    insta::assert_snapshot!(all(&[
        ("cd web && npm test", 1, "no"),
        ("cd api && npm test", 0, "yes"),
    ]), @"
    - Tests: `npm test` failed (exit code 1), another one succeeded
    - Open errors: ``A command returned errors — verify the issue is resolved (`npm test`)``
    ");
    insta::assert_snapshot!(all(&[
        ("timeout 60 pytest -q", 1, "1 failed, 2 passed in 1.00s"),
        ("docker compose run web pytest -q", 0, "3 passed in 1.00s"),
    ]), @"
    - Tests: `pytest -q` failed (1 failed), another one passed (3 passed)
    - Open errors: none
    ");
    // The same command is one, and its last end counts.
    insta::assert_snapshot!(all(&[
        ("git push origin main", 1, "error: failed to push some refs to 'origin'"),
        ("git pull --rebase", 0, ""),
        ("git push origin main", 0, "main -> main"),
    ]), @"
    - Tests: none were run
    - Commands: `git pull …` succeeded; `git push …` succeeded
    - Open errors: none
    ");
    let in_folder =
        |folder: &str, code: i32| Call { cwd: Some(folder.to_owned()), ..ran("npm test", code, None) };
    let section =
        section_of_calls("Go", vec![in_folder("/home/kim/app/web", 1), in_folder("/home/kim/app/api", 0)]);
    insta::assert_snapshot!(told(&section).join("\n"), @"
    - Tests: `npm test` failed (exit code 1), another one succeeded
    - Open errors: ``A command returned errors — verify the issue is resolved (`npm test`)``
    ");
}

/// A prompt that says nothing by itself comes with the last one that did; both are told as prompts are.
#[test]
fn a_short_prompt_comes_with_the_longer_one_before_it() {
    let asked = |prompt: &str| {
        let before = Some("Fix the counting in the parser");
        let asked = Asked { prompt: Some(prompt), before, elsewhere: None };
        let section = section_of_reading(asked, transcript::read_bytes(&[], &Options::default()));
        section.lines().find(|line| line.starts_with("- Asked: ")).map(str::to_owned)
    };
    let told =
        [asked("yes"), asked("Fix the counting now!"), asked("token: abc")].map(Option::unwrap_or_default);
    assert_eq!(
        told,
        [
            "- Asked: `yes` (before: `Fix the counting in the parser`)",
            "- Asked: `Fix the counting now!`",
            "- Asked: `token: (withheld)` (before: `Fix the counting in the parser`)",
        ]
    );
}

/// What is cut is counted.
#[test]
fn commands_that_are_not_shown_are_counted() {
    let commands: Vec<String> = (0..11).map(|number| format!("make part{number}")).collect();
    let section = section("Go", &commands.iter().map(String::as_str).collect::<Vec<_>>());
    insta::assert_snapshot!(told(&section).join("\n"), @"
    - Tests: none were run
    - Commands: 3 earlier, not shown; `make part3` succeeded; `make part4` succeeded; `make part5` succeeded; `make part6` succeeded; `make part7` succeeded; `make part8` succeeded; `make part9` succeeded; `make part10` succeeded
    - Open errors: none
    ");
}

/// W13: a script of Codex that shows nothing but the output of a command does not tell whether that has ended.
#[test]
fn w13_a_command_did_not_end_only_if_the_last_look_found_it_running() {
    let line = |second: usize, kind: &str, payload: serde_json::Value| {
        let at = format!("2026-11-01T10:00:{second:02}.000Z");
        format!("{}\n", serde_json::json!({"timestamp": at, "type": kind, "payload": payload}))
    };
    let script = |second: usize, id: &str, source: &str, printed: &str| {
        let call = serde_json::json!({"type": "custom_tool_call", "id": id, "status": "completed", "call_id": id,
                                      "name": "exec", "input": source});
        let header = "Script completed\nWall time 1.2 seconds\nOutput:\n";
        let output = serde_json::json!({"type": "custom_tool_call_output", "call_id": id, "output": [
            {"type": "input_text", "text": header}, {"type": "input_text", "text": printed}]});
        line(second, "response_item", call) + &line(second + 1, "response_item", output)
    };
    let started = r#"{"chunk_id":"4ac216","wall_time_seconds":1.0,"session_id":58179,"output":"running"}"#;
    let poll = "const r = await tools.write_stdin({\"session_id\":58179,\"chars\":\"\"}); text(r);";
    let section = |looks: &[&str]| {
        let meta = serde_json::json!({"id": "s1", "cwd": "/home/kim/app", "originator": "codex_cli",
                                      "cli_version": "0.144.6", "timestamp": "2026-11-01T10:00:00.000Z"});
        let prompt = serde_json::json!({"type": "user_message", "message": "Build it", "images": []});
        let source =
            r#"const r = await tools.exec_command({"cmd":"make dist","yield_time_ms":1000}); text(r);"#;
        let mut text = line(0, "session_meta", meta) + &line(1, "event_msg", prompt);
        text += &script(2, "k0", source, started);
        for (number, printed) in looks.iter().enumerate() {
            text += &script(4 + 2 * number, &format!("k{}", number + 1), poll, printed);
        }
        let options = Options { agent: Some(Agent::Codex), ..Options::default() };
        section_of_reading(Asked::default(), transcript::read_bytes(text.as_bytes(), &options))
    };
    for (looks, end) in [
        (&[] as &[&str], "outcome unknown"),
        (&["packed 41 files"], "outcome unknown"),
        (&[started], "did not end"),
        (&[started, "packed 41 files"], "outcome unknown"),
        (&[started, r#"{"exit_code":0,"output":"packed"}"#], "succeeded"),
        (&[r#"{"exit_code":2,"output":"no"}"#], "failed (exit code 2)"),
    ] {
        let section = section(looks);
        assert_eq!(
            told(&section).get(1),
            Some(&format!("- Commands: `make dist` {end}").as_str()),
            "{looks:?}"
        );
    }
}

/// Nothing is claimed of an end that is not known, and a command that the person stopped did not fail.
#[test]
fn an_end_that_is_not_known_is_not_claimed() {
    let commands = |change: fn(&mut Call)| {
        let notes = section_of("Test it", &["cargo test"], change);
        notes.lines().find_map(|line| line.strip_prefix("- Tests: ").map(str::to_owned))
    };
    let unanswered = commands(|call| (call.outcome, call.exit_code) = (Outcome::Unknown, None));
    let hidden = commands(|call| {
        (call.outcome, call.exit_code) = (Outcome::Unknown, None);
        (call.is_status_hidden, call.snippet) = (true, Some("compiling".to_owned()));
    });
    let left_running = commands(|call| {
        (call.outcome, call.exit_code) = (Outcome::Unknown, None);
        call.at = Some(jiff::Timestamp::UNIX_EPOCH);
        call.snippet = Some("Command running in background with ID: b1".to_owned());
    });
    let rejected = commands(|call| (call.outcome, call.user_stopped) = (Outcome::Error, true));
    let told = [unanswered, hidden, left_running, rejected].map(Option::unwrap_or_default);
    assert_eq!(
        told,
        [
            "`cargo test` outcome unknown",
            "`cargo test` ended, its status is hidden",
            "`cargo test` outcome unknown",
            "`cargo test` was rejected or interrupted",
        ]
    );
}
