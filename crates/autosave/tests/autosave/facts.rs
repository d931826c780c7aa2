//! What the notes say of a turn, and what they must never say.

use autosave::{Facts, Look, Occasion, Reason};
use change_set::{ChangeSet, Scope};
use gate::policy::{Policy, Trust};
use gate::{Changes, Inputs, RecordedCall};
use transcript::{Call, Kind, Options, Outcome};

/// The section of a turn with this prompt and these commands, each of which failed if it begins with `!`.
fn section(asked: &str, commands: &[&str]) -> String {
    section_of(asked, commands, |_| {})
}

fn section_of(asked: &str, commands: &[&str], change: fn(&mut Call)) -> String {
    let changes = Changes::Known(ChangeSet {
        scope: Scope::TurnBaseline,
        files: Vec::new(),
        arrived: Vec::new(),
        head: None,
        branch: Some("main".to_owned()),
        root: "/home/kim/app".into(),
        baseline_unusable: None,
    });
    let call = |(place, command): (usize, &&str)| {
        let failed = command.strip_prefix('!');
        let mut call = Call {
            tool: "Bash".to_owned(),
            kind: Kind::Shell,
            command: Some(failed.unwrap_or(command).to_owned()),
            outcome: if failed.is_some() { Outcome::Error } else { Outcome::Ok },
            exit_code: Some(i32::from(failed.is_some())),
            line: Some(place as u64 + 1),
            ..Call::default()
        };
        change(&mut call);
        RecordedCall::new(call, "/home/kim/app")
    };
    let nothing = transcript::read_bytes(&[], &Options::default());
    let mut inputs = Inputs::of_reading(nothing, changes, "/home/kim/app".to_owned());
    inputs.calls = commands.iter().enumerate().map(call).collect();
    let occasion =
        Occasion { at: jiff::Timestamp::UNIX_EPOCH, reason: Reason::Asked, percent: None, iteration: 1 };
    let policy = Policy::load(&[]).unwrap();
    let look =
        Look::new(policy.autosave.with(Trust::Given).unwrap(), None).with_home(Some("/data/lee".as_ref()));
    Facts::new(occasion, &inputs, Some(asked), &look).section()
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
    - When: 1970-01-01 00:00:00 UTC, somebody asked for it (save 1 of the session)
    - Branch: `main`
    - Asked: `Fix src/a.rs, see ~/notes.md; the token: (withheld) Then release`
    - Files changed: none in this turn
    - Tests: `npm test -- --run` ended well; `cargo test -p … --test … -- s1` ended well; `pytest tests/test_a.py -k …` ended well; `pytest -x …` ended well
    - Commands: `git commit …` ended well; `ls …` ended well; `./scripts/release.sh …` ended well; `make …; tail …` failed (exit code 1); `(a command that could not be parsed)` ended, its status is hidden
    - Open errors: none
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

/// Nothing is said of an end that is not known; a command did not end only if the transcript shows it running.
#[test]
fn an_end_that_is_not_known_is_not_told() {
    let commands = |change: fn(&mut Call)| {
        let notes = section_of("Test it", &["cargo test"], change);
        notes.lines().find_map(|line| line.strip_prefix("- Tests: ").map(str::to_owned))
    };
    let ended = commands(|call| {
        (call.outcome, call.exit_code) = (Outcome::Unknown, None);
        (call.at, call.ended_at) = (Some(jiff::Timestamp::UNIX_EPOCH), Some(jiff::Timestamp::UNIX_EPOCH));
        call.snippet = Some("compiling".to_owned());
    });
    let unanswered = commands(|call| (call.outcome, call.exit_code) = (Outcome::Unknown, None));
    let running = commands(|call| {
        (call.outcome, call.exit_code) = (Outcome::Unknown, None);
        call.at = Some(jiff::Timestamp::UNIX_EPOCH);
        call.snippet = Some("Command running in background with ID: b1".to_owned());
    });
    let told = [ended, unanswered, running].map(Option::unwrap_or_default);
    assert_eq!(told, ["`cargo test`", "`cargo test`", "`cargo test` did not end"]);
}
