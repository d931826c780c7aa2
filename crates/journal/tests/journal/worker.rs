//! What child processes of the tests do. Run only by other tests, which name the job in the environment.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use gate::Decision;
use journal::{Journal, JournalError, OpenFor, log};

use crate::support::{JOB, open_turn, record, see, variable};

#[test]
#[ignore = "run by other tests, as a process of its own"]
fn job() {
    let Some(job) = variable(JOB) else { return };
    let arguments: Vec<&str> = job.split('\n').collect();
    match arguments[..] {
        ["stop_hooks", directory, rounds] => stop_hooks(Path::new(directory), rounds.parse().unwrap()),
        ["hooks_until_killed", directory] => hooks_until_killed(Path::new(directory)),
        ["append_log", directory, name, lines] => {
            wait_for_start();
            for line in 0..lines.parse().unwrap() {
                log::append(Path::new(directory), &format!("{name} {line} {}", "x".repeat(1000))).unwrap();
            }
        }
        ["read_only", directory] => read_only(Path::new(directory)),
        ["fill_disk", directory] => fill_disk(Path::new(directory)),
        _ => panic!("unknown job {arguments:?}"),
    }
}

fn say(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}

fn wait_for_start() {
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// Runs the whole sequence of a stop hook, every time with a fresh connection. All workers use the same
/// session and turns, and each sequence adds one to a common number. Says which turns it held.
fn stop_hooks(directory: &Path, rounds: u64) {
    wait_for_start();
    let mut busy = 0;
    for round in 0..rounds {
        loop {
            match stop_hook(directory, &format!("turn-{round}")) {
                Ok(true) => say(&format!("held {round}\n")),
                Ok(false) => {}
                Err(JournalError::Busy { .. }) => {
                    busy += 1;
                    continue;
                }
                Err(error) => panic!("{error}: {error:?}"),
            }
            break;
        }
    }
    say(&format!("busy {busy}\n"));
}

/// Whether this stop holds.
fn stop_hook(directory: &Path, key: &str) -> Result<bool, JournalError> {
    let mut journal = Journal::open(directory, OpenFor::Hook)?;
    journal.read(|read| read.session("claude", "shared"))?;
    journal.write(|write| {
        let session = see(write, "shared")?;
        let number = write
            .value(session, "number")?
            .map_or(0, |number| String::from_utf8(number).unwrap().parse::<u64>().unwrap());
        write.set_value(session, "number", (number + 1).to_string().as_bytes())?;
        let turn = open_turn(write, session, Some(key))?;
        let held = write.try_hold(turn.id, 1)?;
        let verdict = if held { Decision::Hold } else { Decision::Pass };
        record(write, turn.id, verdict, &[b'i'; 5000])?;
        Ok(held)
    })
}

/// One dot for every commit, until the process is killed.
fn hooks_until_killed(directory: &Path) {
    for round in 0.. {
        stop_hook(directory, &format!("{}-{}", std::process::id(), round / 3)).unwrap();
        say(".");
    }
}

/// Makes a journal, takes the right to write away, and says what opening or writing it gives then. Runs as an
/// ordinary user: root may write anything.
fn read_only(directory: &Path) {
    stop_hook(directory, "turn").unwrap();
    let mode =
        |path: &Path, mode| fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(directory, 0o500);
    for entry in fs_err::read_dir(directory).unwrap() {
        mode(&entry.unwrap().path(), 0o400);
    }
    let error = stop_hook(directory, "turn").unwrap_err();
    say(&format!("{error:?}"));
    let fresh = directory.join("below");
    let error = stop_hook(&fresh, "turn").unwrap_err();
    say(&format!("\n{error:?}"));
    mode(directory, 0o700);
}

/// Writes until the disk is full, says what that gave, and that the journal is still readable.
fn fill_disk(directory: &Path) {
    let error = (0..10_000).find_map(|round| stop_hook(directory, &format!("turn-{round}")).err());
    say(&format!("{:?}", error.unwrap()));
    let mut journal = Journal::open(directory, OpenFor::Hook).unwrap();
    let session = journal.read(|read| read.session("claude", "shared")).unwrap().unwrap();
    let turn = journal.read(|read| read.latest_turn(session.id)).unwrap().unwrap();
    say(&format!("\nthe turn before has {} hold", turn.holds));
}
