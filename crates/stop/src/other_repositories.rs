//! The repositories that a turn worked in beside the session's own (L9, W11): those in which its tools wrote or its commands ran,
//! by the paths that its transcript has. A sibling worktree, a second checkout, a submodule, a repository below a session's folder
//! that is none, and the folder in which the session was before.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use changes::Repository;
use gate::{Inputs, RecordedCall};
use jiff::{SignedDuration, Timestamp};
use programs::Deed;
use programs::shell::{Directory, Intents, SimpleCommand, Word, one_spelling};
use transcript::{Kind, Outcome};

use crate::client_event::ClientEvent;
use crate::written_files::commands;

/// Of a turn that wrote in more folders, the others are not looked at.
const MOST_FOLDERS: usize = 500;

/// Clocks and records are not more exact than this.
const SLACK: SignedDuration = SignedDuration::from_secs(1);

/// From when to when a command ran.
pub(crate) type RunTime = (Timestamp, Timestamp);

#[derive(Clone, Debug)]
pub(crate) struct OtherRepository {
    pub(crate) repository: Repository,
    /// When commands of the turn may have written there.
    pub(crate) written: Vec<RunTime>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OtherRepositories {
    pub(crate) found: Vec<OtherRepository>,
}

impl OtherRepositories {
    /// In the order in which the turn came to them. `own` is the root of the session's repository.
    pub(crate) fn of_turn(inputs: &Inputs, own: Option<&Path>, event: &ClientEvent) -> Self {
        let mut folders: BTreeMap<PathBuf, Option<PathBuf>> = BTreeMap::new();
        let mut found: Vec<OtherRepository> = Vec::new();
        for WorkFolder { folder, ran } in work_folders(inputs, event.now) {
            let is_too_much = folders.len() >= MOST_FOLDERS && !folders.contains_key(&folder);
            if own == Some(folder.as_path()) || is_too_much {
                continue;
            }
            let root = folders.entry(folder).or_insert_with_key(|folder| root_of(folder, own, event));
            let Some(root) = root else { continue };
            if let Some(known) = found.iter_mut().find(|other| other.repository.root == *root) {
                known.written.extend(ran);
            } else if let Ok(repository) = Repository::discover(root) {
                found.push(OtherRepository { repository, written: ran.into_iter().collect() });
            }
        }
        Self { found }
    }
}

/// A folder in which the turn did something.
struct WorkFolder {
    folder: PathBuf,
    /// When the command ran that may have written there without naming the files.
    ran: Option<RunTime>,
}

fn work_folders(inputs: &Inputs, now: Timestamp) -> Vec<WorkFolder> {
    let absolute = |path: &str| PathBuf::from(one_spelling(&format!("/{}", inputs.cwd), path));
    let mut folders = Vec::new();
    let mut add_file = |path: &str| {
        if let Some(folder) = absolute(path).parent() {
            folders.push(WorkFolder { folder: folder.to_owned(), ran: None });
        }
    };
    for recorded in &inputs.calls {
        let is_edit = matches!(recorded.call.kind, Kind::Edit | Kind::Write);
        if is_edit && recorded.call.outcome != Outcome::Error {
            recorded.call.paths.iter().for_each(|path| add_file(path));
        }
        for command in commands(recorded) {
            command.edits.paths.iter().for_each(|path| add_file(path));
        }
    }
    for recorded in &inputs.calls {
        for command in commands(recorded).iter().filter(|command| acts(command)) {
            let Some(folder) = folder_of(command, &inputs.cwd) else { continue };
            for named in named_elsewhere(command) {
                let folder = PathBuf::from(one_spelling(&folder, named));
                folders.push(WorkFolder { folder, ran: None });
            }
            let ran = may_write(command).then(|| run_time(recorded, now));
            folders.push(WorkFolder { folder: PathBuf::from(folder), ran });
        }
    }
    folders
}

/// Whether a command does something where it runs: what is only looked at is nobody's work.
fn acts(command: &SimpleCommand) -> bool {
    !matches!(command.deed(), Deed::Prints | Deed::Steers | Deed::Looks | Deed::Asks | Deed::Ends)
}

/// What a run verifies although it lies elsewhere: `pytest ../lib/tests`.
fn named_elsewhere(command: &SimpleCommand) -> impl Iterator<Item = &str> {
    let is_elsewhere = |word: &&str| word.starts_with('/') || word.starts_with("..");
    let verifies = command.deed() >= Deed::Lints;
    command.known_arguments().filter(move |word| verifies && is_elsewhere(word))
}

/// Whether a command can write what it does not name. What only verifies counts as writing nothing: others may work there too.
fn may_write(command: &SimpleCommand) -> bool {
    let deed = command.deed();
    matches!(deed, Deed::Changes | Deed::Fixes | Deed::Formats | Deed::Installs | Deed::Runs | Deed::Other)
}

fn run_time(recorded: &RecordedCall, now: Timestamp) -> RunTime {
    let began = recorded.call.at.unwrap_or(now);
    let ended = recorded.call.ended_at.unwrap_or(now);
    (began.saturating_sub(SLACK).unwrap_or(began), ended.saturating_add(SLACK).unwrap_or(ended))
}

/// Where a command ran, if that is known.
fn folder_of(command: &SimpleCommand, cwd: &str) -> Option<String> {
    let base = format!("/{cwd}");
    let folder = match &command.directory {
        Directory::Start => one_spelling(&base, "."),
        Directory::At(folder) => one_spelling(&base, folder),
        Directory::Unknown => return None,
    };
    Some(command.chosen_folder().map_or(folder.clone(), |chosen| one_spelling(&folder, &chosen)))
}

/// The root of the repository that a folder lies in; `None` if there is none, if it is the session's own, or if it is the
/// user's home or the root of the file system, where a repository is for settings and no project.
fn root_of(folder: &Path, own: Option<&Path>, event: &ClientEvent) -> Option<PathBuf> {
    let existing = folder.ancestors().find(|folder| folder.is_dir())?;
    // By real paths: a link may lead from one repository into another.
    let real = fs_err::canonicalize(existing).ok()?;
    let is_root = |folder: &&Path| Some(*folder) == own || Repository::at(folder).is_some();
    let root = real.ancestors().find(is_root)?;
    let is_home = |home: &Path| home == root || fs_err::canonicalize(home).is_ok_and(|home| home == root);
    let is_nobodys = root.parent().is_none() || event.settings.home.as_deref().is_some_and(is_home);
    (Some(root) != own && !is_nobodys).then(|| root.to_owned())
}

/// The way from one folder to another, as `cd` takes it. Both are absolute.
pub(crate) fn way(from: &Path, to: &Path) -> String {
    const MOST_UP: usize = 4;
    let from: Vec<Component<'_>> = from.components().collect();
    let target: Vec<Component<'_>> = to.components().collect();
    let shared = from.iter().zip(&target).take_while(|(one, other)| one == other).count();
    let up = from.len() - shared;
    if up > MOST_UP || shared < 2 {
        return to.to_string_lossy().into_owned();
    }
    let down = target.get(shared..).unwrap_or_default().iter().map(|part| part.as_os_str());
    let parts = std::iter::repeat_n("..".as_ref(), up).chain(down);
    parts.collect::<PathBuf>().to_string_lossy().into_owned()
}

/// The calls of a turn that are about a repository: what was read and written in it, and commands that ran in it, name
/// something of it, or ran nobody knows where.
pub(crate) fn is_about(recorded: &RecordedCall, root: &Path, inner: &[&Path], cwd: &str) -> bool {
    let base = format!("/{cwd}");
    let lies_here = |path: &str| {
        let path = PathBuf::from(path);
        let path = if path.starts_with(root) { path } else { real(&path) };
        path.starts_with(root) && !inner.iter().any(|inner| path.starts_with(inner))
    };
    let call = &recorded.call;
    match call.kind {
        Kind::Read | Kind::Edit | Kind::Write => {
            call.paths.iter().any(|path| lies_here(&one_spelling(&base, path)))
        }
        Kind::Shell => {
            let commands: Vec<&SimpleCommand> =
                commands(recorded).iter().filter(|command| command.deed() != Deed::Steers).collect();
            commands.is_empty()
                || commands.iter().any(|command| match folder_of(command, cwd) {
                    None => true,
                    Some(folder) => {
                        let names = |word: &Word| {
                            let path = word.known().filter(|word| word.contains('/') || *word == "..");
                            let value = path.map(|word| word.rsplit('=').next().unwrap_or(word));
                            value.is_some_and(|path| lies_here(&one_spelling(&folder, path)))
                        };
                        lies_here(&folder) || command.arguments.iter().any(names)
                    }
                })
        }
        Kind::Other => true,
    }
}

/// The path with its links followed, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|folder| Some((folder, fs_err::canonicalize(folder).ok()?)));
    match existing {
        Some((folder, real)) => path.strip_prefix(folder).map_or(real.clone(), |rest| real.join(rest)),
        None => path.to_owned(),
    }
}

/// Spells the files and folders of a repository that were reached through a link by their real paths.
pub(crate) fn spell_by_real_paths(inputs: &mut Inputs, root: &Path) {
    let base = format!("/{}", inputs.cwd);
    let real_folder = |directory: &Directory| {
        let folder = match directory {
            Directory::Start => PathBuf::from(one_spelling(&base, ".")),
            Directory::At(folder) => PathBuf::from(one_spelling(&base, folder)),
            Directory::Unknown => return None,
        };
        let real = Some(&folder).filter(|folder| !folder.starts_with(root)).map(|folder| real(folder));
        let real = real.filter(|real| real.starts_with(root))?;
        Some(Directory::At(real.to_string_lossy().into_owned()))
    };
    let spell = |path: &mut String| {
        let absolute = PathBuf::from(one_spelling(&base, path));
        if !absolute.starts_with(root)
            && let Some(folder) = absolute.parent().map(real).filter(|folder| folder.starts_with(root))
            && let Some(name) = absolute.file_name()
        {
            *path = folder.join(name).to_string_lossy().into_owned();
        }
    };
    for RecordedCall { call, intents } in &mut inputs.calls {
        if let Some(Intents::Understood(commands)) = intents {
            for command in commands {
                command.directory = real_folder(&command.directory).unwrap_or(command.directory.clone());
            }
        }
        call.paths.iter_mut().chain(&mut call.created).chain(&mut call.path).for_each(spell);
        call.edits.iter_mut().map(|edit| &mut edit.path).for_each(spell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_as_short_as_cd_would_take_it() {
        let ways = [
            ("/w/main", "/w/lib", "../lib"),
            ("/w/main/src", "/w/lib/core", "../../lib/core"),
            ("/w", "/w/lib", "lib"),
            ("/w/main/sub", "/w/main", ".."),
            ("/home/a/main", "/srv/lib", "/srv/lib"),
            ("/w/a/b/c/d/e/f", "/w/lib", "/w/lib"),
        ];
        for (from, to, expected) in ways {
            assert_eq!(way(Path::new(from), Path::new(to)), expected);
        }
    }
}
