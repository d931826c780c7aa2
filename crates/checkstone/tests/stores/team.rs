//! What a machine tells its team's database: facts and nothing else, each once, whatever is killed on the way; and who sees it.

use std::process::Stdio;

use database::{TeamLook, applied, migrate, migrate_to};
use sandbox::{wait_for, wait_for_equal, wait_for_some};
use serde_json::json;

use crate::machine::{Machine, events};
use crate::servers::{alone, connection, count, crash, new_database, shared};

/// The name of a database, from its address.
fn database_of(address: &str) -> &str {
    address.rsplit('/').next().unwrap()
}

/// Every row as text, of both tables.
fn rows(address: &str) -> Vec<String> {
    let query = "select machines::text from checkstone.team_machines as machines
        union all select event::text from checkstone.team_events as event";
    let found = connection(address).run(|client| client.query(query, &[])).unwrap();
    found.iter().map(|row| row.get(0)).collect()
}

fn look(address: &str) -> TeamLook {
    database::look(&mut connection(address), 12.0).unwrap()
}

#[test]
fn hooks_leave_the_sending_to_another_process_and_only_facts_travel() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let machine = Machine::new(&address, "");
    machine.turn("build the rocket");
    wait_for("both events are there", || events(&address) == 2);
    let all = rows(&address).join("\n");
    let private = ["rocket", "acme", "forge", "secret-plan", "lib.rs", "repo", "s1", "/"];
    let told: Vec<&str> = private.into_iter().filter(|word| all.contains(word)).collect();
    assert_eq!(told, Vec::<&str>::new(), "{all}");
    let look = look(&address);
    let session = &look.sessions[0];
    assert_eq!(
        (look.sessions.len(), session.agent.as_str(), session.verdict.as_deref(), session.changed),
        (1, "claude", Some("hold"), 1)
    );
    assert_eq!(session.rules, ["missing-action"]);
    // The outbox is emptied once the database has answered.
    let status = wait_for_some("nothing waits", || {
        let status = machine.run(&["team", "status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
        (status["waiting"] == 0).then_some(status)
    });
    assert_eq!((&status["waiting"], &status["sent"], &status["error"]), (&json!(0), &json!(2), &json!(null)));
}

#[test]
fn texts_travel_where_the_user_says_so_and_no_secret_does() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let machine = Machine::new(&address, "texts = true\nname = \"Ada's laptop\"");
    let secret = format!("ghp_{}", "x7Kq9Zt2Lm4Np8Rv6Ws1Yb3Dc5Fg0HjKlQwE");
    machine.turn("fix the parser");
    machine.turn(&format!("log in with {secret}"));
    wait_for("all four events are there", || events(&address) == 4);
    let all = rows(&address).join("\n");
    let root = machine.root().to_string_lossy().into_owned();
    let sent = ["fix the parser", "Ada's laptop", "src/lib.rs", "feature/secret-plan", "(withheld"];
    let words = [secret.as_str(), &root].into_iter().chain(sent);
    let told: Vec<&str> = words.filter(|word| all.contains(word)).collect();
    assert_eq!(told, sent, "{all}");
}

#[test]
fn two_machines_in_one_file_of_one_branch_are_a_conflict() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let (one, other) = (Machine::new(&address, "name = \"one\""), Machine::new(&address, "name = \"other\""));
    other.git(&["remote", "set-url", "origin", "https://forge.example/Acme/Rocket"]);
    one.turn("first");
    other.turn("second");
    wait_for("four events are there", || events(&address) == 4);
    let told = look(&address);
    assert_eq!((told.sessions.len(), told.conflicts.len()), (2, 1), "{told:?}");
    assert_eq!(told.conflicts[0].machines, ["one", "other"]);
    let weeks: Vec<_> = told.weeks.iter().map(|week| (week.held, week.followed, week.machines)).collect();
    assert_eq!(weeks, [(2, 0, 2)]);
    // The clock of one of them is hours behind: it is by the database's that they meet.
    let behind = "update checkstone.team_machines set clock_ahead = -21600 where name = 'other';
        update checkstone.team_events set at = at - interval '6 hours'
            where machine = (select id from checkstone.team_machines where name = 'other')";
    connection(&address).run(|client| client.batch_execute(behind)).unwrap();
    let corrected = look(&address);
    assert_eq!((corrected.sessions.len(), corrected.conflicts), (2, told.conflicts));
}

/// A session that somebody opens and leaves is no turn yet; the prompt gets the number that it had.
#[test]
fn a_session_that_is_opened_before_its_prompt_doubles_nothing() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let machine = Machine::new(&address, "");
    let sent = || {
        let status = machine.run(&["team", "status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
        (status["waiting"].clone(), status["sent"].clone())
    };
    machine.record(10);
    assert_eq!(machine.run(&["team", "send"]).code, Some(0));
    let before = events(&address);
    machine.hook("SessionStart", json!({"source": "startup"}));
    assert_eq!(machine.run(&["team", "send"]).code, Some(0));
    assert_eq!(events(&address), before, "nobody has asked for anything");
    machine.turn("first");
    wait_for_equal("its events are sent, and no other again", &(json!(0), json!(before + 2)), sent);
    assert_eq!(events(&address), before + 2);
}

/// What could not be sent waits, and is sent by the next one who can.
#[test]
fn days_offline_lose_nothing() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let machine = Machine::new("postgres://ada:hunter2@127.0.0.1:1/lab", "");
    // Whoever asks whether it works is not told of a success because there is nothing to do.
    let untried = machine.run(&["team", "send"]);
    assert_eq!((untried.code, untried.stdout.as_str()), (Some(5), ""));
    insta::assert_snapshot!("with_nothing_to_send", sandbox::redacted(untried.stderr));
    machine.record(120);
    let failed = machine.run(&["team", "send"]);
    assert_eq!(failed.code, Some(5), "{failed:?}");
    insta::assert_snapshot!(sandbox::redacted(format!("{}{}", failed.stdout, failed.stderr)));
    let status = machine.run(&["team", "status", "--json"]);
    let mut status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert!(status["failed_at"].take().is_string());
    insta::assert_snapshot!(sandbox::redacted(format!("{status:#}")));
    let text = machine.run(&["team", "status"]).stdout;
    let words: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(words, ["database", "what", "sent", "waiting", "problem"]);
    machine.configure(&address, "");
    let sent = machine.run(&["team", "send"]);
    assert_eq!((sent.code, events(&address)), (Some(0), 240), "{sent:?}");
    assert_eq!(machine.run(&["team", "send"]).stdout, format!("nothing to send; {address} answers\n"));
    // Whoever does not know what was sent sends all of it again.
    fs_err::remove_file(machine.state().join("team.db")).unwrap();
    assert_eq!(machine.run(&["team", "send"]).code, Some(0));
    assert_eq!(events(&address), 240);
}

#[test]
fn kills_of_the_sender_and_of_the_database_lose_nothing_and_double_nothing() {
    let Some(_servers) = alone() else { return };
    let address = new_database();
    let machine = Machine::new(&address, "");
    machine.record(3000);
    for _ in 0..count("CHECKSTONE_SOAK_KILLS", 2) {
        let mut child =
            machine.command(&["team", "send"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let before = events(&address);
        wait_for("it has begun", || events(&address) > before || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        let mut child =
            machine.command(&["team", "send"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        crash("postgresql");
        child.wait().unwrap();
        machine.record(500);
    }
    let sent = machine.run(&["team", "send"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let kills = i64::from(count("CHECKSTONE_SOAK_KILLS", 2));
    assert_eq!(events(&address), 2 * (3000 + 500 * kills));
}

/// The script of an administrator makes what the program makes, once for all teams, and a member sees the rows of their team alone.
#[test]
fn a_team_sees_its_own_rows_alone() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let id = files::random_id();
    let (web, data) = (format!("web_{id}"), format!("data_{id}"));
    let machine = Machine::new(&address, "");
    for role in [&web, &data, &web] {
        let script = machine.run(&["team", "schema", "--role", role, "--partitions", "2"]);
        assert_eq!(script.code, Some(0), "{script:?}");
        connection(&address).run(|client| client.batch_execute(&script.stdout)).unwrap();
    }
    assert_eq!(applied(&mut connection(&address)).unwrap(), database::MIGRATIONS.len());
    let members = format!(
        "create role ada_{id} login in role \"{web}\"; create role bob_{id} login in role \"{data}\"; create role eve_{id} login"
    );
    connection(&address).run(|client| client.batch_execute(&members)).unwrap();
    let as_member = |name: &str| address.replacen("postgres@", &format!("{name}_{id}@"), 1);
    let ada = Machine::new(&as_member("ada"), &format!("role = \"{web}\""));
    let bob = Machine::new(&as_member("bob"), &format!("role = \"{data}\""));
    ada.record(3);
    bob.record(2);
    for machine in [&ada, &bob] {
        let sent = machine.run(&["team", "send"]);
        assert_eq!(sent.code, Some(0), "{sent:?}");
    }
    let seen_by = |name: &str| events(&as_member(name));
    assert_eq!((seen_by("ada"), seen_by("bob"), events(&address)), (6, 4, 10));
    let others = "update checkstone.team_machines set name = 'x'; delete from checkstone.team_events";
    assert!(connection(&as_member("ada")).run(|client| client.batch_execute(others)).is_err());
    // Somebody of no team, and somebody who may not be the team.
    let eve = Machine::new(&as_member("eve"), "");
    eve.record(1);
    let refused = eve.run(&["team", "send"]);
    let hidden =
        |text: &str| sandbox::redacted(text.replace(&id, "ID").replace(database_of(&address), "NAME"));
    insta::assert_snapshot!(hidden(&refused.stderr));
    eve.configure(&as_member("eve"), &format!("role = \"{web}\""));
    insta::assert_snapshot!(hidden(&eve.run(&["team", "send"]).stderr));
}

#[test]
fn tables_of_a_newer_version_are_left_alone_and_told() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let mut connection = connection(&address);
    migrate(&mut connection).unwrap();
    // Back, and forth again.
    migrate_to(&mut connection, 1).unwrap();
    migrate(&mut connection).unwrap();
    let newer = "insert into checkstone.migrations (number, name, script) values (99, 'later', '')";
    connection.run(|client| client.batch_execute(newer)).unwrap();
    let machine = Machine::new(&address, "");
    machine.record(1);
    let refused = machine.run(&["team", "send"]);
    insta::assert_snapshot!(refused.stderr);
    let status = machine.run(&["status"]).stdout;
    let told: Vec<&str> = status.lines().filter(|line| line.starts_with("team")).collect();
    insta::assert_snapshot!(told.join("\n"));
}

/// Of a database that is full, the disk is what PostgreSQL cannot extend a table on; here it says so by itself.
#[test]
fn a_full_database_is_told() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    migrate(&mut connection(&address)).unwrap();
    let full = "create function checkstone.full() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
        create trigger full_disk before insert on checkstone.team_events_rest for each row execute function checkstone.full()";
    connection(&address).run(|client| client.batch_execute(full)).unwrap();
    let machine = Machine::new(&address, "");
    machine.record(1);
    let refused = machine.run(&["team", "send"]);
    insta::assert_snapshot!(sandbox::redacted(refused.stderr.replace(&address, "ADDRESS")));
    connection(&address)
        .run(|client| client.batch_execute("drop trigger full_disk on checkstone.team_events_rest"))
        .unwrap();
    assert_eq!(machine.run(&["team", "send"]).code, Some(0));
}

/// The database's clock is two hours slow for everybody who asks it.
#[test]
fn clocks_that_differ_are_told() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let slow = format!(
        "create schema slow;
         create function slow.clock_timestamp() returns timestamptz language sql as
             $$ select pg_catalog.clock_timestamp() - interval '7530 seconds' $$;
         alter database {} set search_path = slow, pg_catalog, public",
        database_of(&address)
    );
    connection(&address).run(|client| client.batch_execute(&slow)).unwrap();
    let machine = Machine::new(&address, "name = \"one\"");
    machine.record(1);
    let sent = machine.run(&["team", "send"]);
    let sentence = "this machine's clock is 2 h 5 min ahead of the database's: set it";
    assert_eq!((sent.code, sent.stderr), (Some(0), format!("warning: {sentence}\n")));
    let status = machine.run(&["team", "status"]).stdout;
    assert_eq!(status.lines().last(), Some(format!("clock     {sentence}").as_str()));
    let doctor = machine.run(&["doctor"]).stdout;
    let told: Vec<&str> = doctor.lines().filter(|line| line.ends_with(sentence)).collect();
    assert_eq!(told.len(), 1, "{doctor}");
    assert_eq!(look(&address).clocks.len(), 1);
    // What was just recorded happened just now, whatever the clocks say.
    assert_eq!(look(&address).sessions.len(), 1);
}
