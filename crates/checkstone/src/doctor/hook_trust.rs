//! What a client says of our hooks, where it can be asked: which of them it knows and which of them it trusts. Only asked;
//! the trust itself is the person's to give. It is asked in a copy of its folder, since every start of it writes there.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agents::{KnownHook, TrustQuestion, host};
use files::BoundedChild;
use tempfile::TempDir;
use transcript::Agent;

use super::client;
use crate::interruption::Interruption;

const LIMIT: Duration = Duration::from_secs(10);

/// Of folders no more is copied than this; a client whose folders are larger answers without the rest.
const MOST_BYTES: u64 = 64 << 20;
const MOST_FILES: usize = 5_000;

/// Whether any of the files that the client reads names us; else there is no need to start it.
pub(crate) fn may_know_us(agent: Agent, question: &TrustQuestion, home: &Path, root: Option<&Path>) -> bool {
    let names_us = |file: PathBuf| {
        fs_err::read(file).is_ok_and(|bytes| bytes.windows(10).any(|window| window == b"checkstone"))
    };
    let folders = [Some(home.to_owned()), root.map(|root| root.join(host(agent).files.folder))];
    let mut folders = folders.into_iter().flatten();
    folders.any(|folder| question.files.iter().any(|name| names_us(folder.join(name))))
}

/// Asks the client; what went wrong, where it does not answer.
pub(crate) fn ask(
    agent: Agent,
    question: &TrustQuestion,
    program: &Path,
    home: &Path,
    folder: &Path,
    interruption: &Interruption,
) -> Result<Vec<KnownHook>, String> {
    let service = question.service;
    let copy = FolderCopy::make(question, home)
        .map_err(|error| format!("its folder could not be copied to ask it: {error}"))?;
    let mut command = client::command(agent, program);
    command.args((question.arguments)(home)).current_dir(folder);
    command.envs(host(agent).files.folder_variable.map(|variable| (variable.name, copy.folder.path())));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = BoundedChild::start(&mut command, interruption.bounds(LIMIT))
        .map_err(|error| format!("`{service}` cannot be started: {error}"))?;
    // It ends when its stdin does, so that stays open; all of this fits into the pipe.
    let input = (question.input)(folder, env!("CARGO_PKG_VERSION"));
    let _ = child.stdin().map(|stdin| stdin.write_all(input.as_bytes()));
    while let Ok(Some(line)) = child.line() {
        if let Some(answer) = (question.answer)(&line) {
            return answer.map_err(|error| error.to_string()).map(|known| copy.as_in_the_original(known));
        }
    }
    Err(format!("`{service}` did not answer within {} seconds", LIMIT.as_secs()))
}

/// A copy of what a client reads in its folder, without what it keeps there: no sessions, no credentials.
struct FolderCopy {
    folder: TempDir,
    /// As the client names them, without links.
    original: PathBuf,
    copied: PathBuf,
}

impl FolderCopy {
    fn make(question: &TrustQuestion, home: &Path) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("checkstone-doctor-").tempdir()?;
        let copied = fs_err::canonicalize(folder.path())?;
        let original = fs_err::canonicalize(home)?;
        for name in question.files {
            match fs_err::read_to_string(original.join(name)) {
                Ok(text) => {
                    fs_err::write(copied.join(name), (question.moved)(&text, &original, &copied))?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let mut room = (MOST_BYTES, MOST_FILES);
        for name in question.folders {
            copy_files(&original.join(name), &copied.join(name), &mut room)?;
        }
        Ok(Self { folder, original, copied })
    }

    /// What the client reports about the copy, with the paths of the original. A plugin's command line has the folder in it, too.
    fn as_in_the_original(&self, mut known: Vec<KnownHook>) -> Vec<KnownHook> {
        let [copied, original] = [&self.copied, &self.original].map(|folder| folder.to_string_lossy());
        for hook in &mut known {
            if let Ok(inside) = hook.file.strip_prefix(&self.copied) {
                hook.file = self.original.join(inside);
            }
            hook.command = hook.command.replace(&*copied, &original);
        }
        known
    }
}

/// Regular files, and the folders that they lie in. No link is followed.
fn copy_files(from: &Path, to: &Path, room: &mut (u64, usize)) -> std::io::Result<()> {
    for entry in from.read_dir().into_iter().flatten().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let found = entry.metadata()?;
        if found.is_dir() {
            copy_files(&path, &target, room)?;
        } else if found.is_file() && found.len() <= room.0 && room.1 > 0 {
            *room = (room.0 - found.len(), room.1 - 1);
            fs_err::create_dir_all(to)?;
            fs_err::copy(&path, &target)?;
        }
    }
    Ok(())
}
