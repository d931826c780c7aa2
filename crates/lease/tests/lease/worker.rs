//! Child processes of the tests, and what they do: a job that another test names in the environment.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use lease::{FolderLease, KeptLease, LeaseError};

const JOB: &str = "LEASE_TEST_JOB";

/// So long that nothing expires by itself.
pub(crate) const LONG: Duration = Duration::from_secs(600);
/// Short enough to be waited for.
pub(crate) const SHORT: Duration = Duration::from_millis(600);

#[test]
#[ignore = "run by other tests, as a process of its own"]
fn job() {
    let Some(job) = variable(JOB) else { return };
    let arguments: Vec<&str> = job.split('\n').collect();
    match arguments[..] {
        ["contend"] => contend(),
        ["commit", folder, record] => commit_until_lost(Path::new(folder), Path::new(record)),
        _ => panic!("unknown job {arguments:?}"),
    }
}

fn say(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}

/// For every folder that it is told, tries to take its lease, and holds it to the next one.
fn contend() {
    let mut _held = None;
    for folder in std::io::stdin().lines() {
        _held = match FolderLease::take_now(Path::new(&folder.unwrap()), LONG) {
            Ok(lease) => {
                say(&format!("token {}\n", lease.fence().token()));
                Some(lease)
            }
            Err(LeaseError::Held { .. }) => {
                say("held\n");
                None
            }
            Err(error) => panic!("{error:?}"),
        };
    }
}

/// Adds numbers to a record, and says each one once it is committed: written, and the token still the newest.
fn commit_until_lost(folder: &Path, record: &Path) {
    let lease = KeptLease::take(folder, SHORT).unwrap();
    let mut file: File = fs_err::OpenOptions::new().append(true).open(record).unwrap().into();
    for number in 0.. {
        if lease.fence().check().is_err() {
            break;
        }
        writeln!(file, "{number}").unwrap();
        if lease.fence().check().is_err() {
            break;
        }
        say(&format!("{number}\n"));
    }
    say("lost\n");
}

pub(crate) struct Worker {
    pub(crate) child: Child,
    said: BufReader<ChildStderr>,
}

impl Worker {
    pub(crate) fn spawn(job: &[&str]) -> Self {
        Self::spawn_by(Command::new(std::env::current_exe().unwrap()), job)
    }

    /// Under another program, which has this one as its last word.
    pub(crate) fn spawn_by(mut command: Command, job: &[&str]) -> Self {
        let mut child = command
            .args(["--ignored", "--exact", "worker::job", "--nocapture", "--test-threads=1"])
            .env(JOB, job.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    pub(crate) fn tell(&mut self, line: &Path) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{}", line.display()).unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

/// What else it says.
impl Iterator for Worker {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        Some(self.line()).filter(|line| !line.is_empty())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder whose lease was last had by a process that is gone.
pub(crate) fn abandoned(parent: &Path, name: &str, lease: Option<&Path>) -> PathBuf {
    let folder = parent.join(name);
    fs_err::create_dir(&folder).unwrap();
    match lease {
        Some(lease) => {
            fs_err::copy(lease, folder.join("1")).unwrap();
        }
        None => {
            let mut owner = Worker::spawn(&["contend"]);
            owner.tell(&folder);
            assert_eq!(owner.line(), "token 1");
        }
    }
    folder
}

/// A number for soak runs from the environment, else the small one.
pub(crate) fn count(name: &str, otherwise: u64) -> u64 {
    variable(name).map_or(otherwise, |value| value.parse().unwrap())
}

#[expect(clippy::disallowed_methods, reason = "tests get their counts and jobs through the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
