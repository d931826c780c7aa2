//! Our lines in a hook of git's, which run `checkstone verify` before a push or a commit. They stand before whatever else the
//! hook does, hand on what git says on standard input, and let git go on if anything is wrong with us. Only a shell script can
//! hold them; any other program is left as it is.

use std::ops::Range;
use std::path::{Path, PathBuf};

use changes::Repository;
use clap::ValueEnum;
use serde::Serialize;

use crate::environment;
use crate::file_change::{ChangeState, FileChange, FileChangeOutput};
use crate::home_relative::home_relative;
use crate::installed::{self, Before};
use crate::settings_file::SettingsFile;

const FIRST_LINE: &str = "# >>> checkstone >>>";
const LAST_LINE: &str = "# <<< checkstone <<<";
const PROGRAM: &str = "checkstone_program=";
const NEW_SCRIPT: &str = "#!/bin/sh\n";

/// Shells that understand the lines.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"];

/// A hook of git's, by the name it is typed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GitHookName {
    PrePush,
    PreCommit,
}

impl GitHookName {
    pub(crate) const ALL: [Self; 2] = [Self::PrePush, Self::PreCommit];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PrePush => "pre-push",
            Self::PreCommit => "pre-commit",
        }
    }

    /// What git is about to do.
    pub(crate) fn deed(self) -> &'static str {
        match self {
            Self::PrePush => "push",
            Self::PreCommit => "commit",
        }
    }

    fn subject(self) -> &'static str {
        match self {
            Self::PrePush => "git's pre-push hook",
            Self::PreCommit => "git's pre-commit hook",
        }
    }

    /// Under which name `installed` knows the file.
    fn owner(self) -> &'static str {
        match self {
            Self::PrePush => "git-pre-push",
            Self::PreCommit => "git-pre-commit",
        }
    }

    fn of_owner(owner: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.owner() == owner)
    }

    fn lines(self, program: &str) -> String {
        let (name, program) = (self.name(), text::shell_word(program));
        let head = format!(
            "{FIRST_LINE} added by `checkstone init --git-hook {name}`, removed by `checkstone uninstall`\n{PROGRAM}{program}\n"
        );
        let call = format!("\"$checkstone_program\" verify --hook {name} >&2 || [ $? -ne 1 ] || exit 1");
        let missing = "echo \"checkstone: there is no $checkstone_program, so nothing was verified\" >&2";
        let is_there = "command -v \"$checkstone_program\" >/dev/null 2>&1";
        match self {
            Self::PrePush => format!(
                "{head}checkstone_input=$(cat)\n\
                 if {is_there}; then\n  printf '%s\\n' \"$checkstone_input\" | {call}\nelse\n  {missing}\nfi\n\
                 # What follows reads the same input.\n\
                 if [ -n \"$checkstone_input\" ]; then\n  exec <<checkstone_end\n$checkstone_input\ncheckstone_end\n\
                 else\n  exec </dev/null\nfi\n{LAST_LINE}\n"
            ),
            Self::PreCommit => {
                format!("{head}if {is_there}; then\n  {call}\nelse\n  {missing}\nfi\n{LAST_LINE}\n")
            }
        }
    }
}

/// Where our lines stand in a text, and which program they call.
#[derive(Debug, PartialEq)]
struct OwnLines {
    place: Range<usize>,
    program: String,
}

impl OwnLines {
    /// `Err` if they begin and do not end.
    fn find(text: &str) -> Result<Option<Self>, String> {
        let mut place: Option<(usize, String)> = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let (begin, end) = (at, at + line.len());
            at = end;
            let line = line.trim_end();
            match &mut place {
                None if line.starts_with(FIRST_LINE) => place = Some((begin, String::new())),
                Some((begin, program)) if line == LAST_LINE => {
                    return Ok(Some(Self { place: *begin..end, program: program.clone() }));
                }
                Some((_, program)) => {
                    if let Some(word) = line.strip_prefix(PROGRAM) {
                        let inside = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\''));
                        *program = inside.map_or(word.to_owned(), |word| word.replace(r"'\''", "'"));
                    }
                }
                None => {}
            }
        }
        match place {
            None => Ok(None),
            Some(_) => Err(format!("has our first line but not our last one, `{LAST_LINE}`")),
        }
    }

    fn has_program(&self) -> bool {
        match self.program.contains('/') {
            true => Path::new(&self.program).is_file(),
            false => environment::program(&self.program).is_some(),
        }
    }
}

fn replaced(text: &str, place: Range<usize>, lines: &str) -> String {
    let (before, after) = (text.get(..place.start), text.get(place.end..));
    [before.unwrap_or_default(), lines, after.unwrap_or_default()].concat()
}

/// Whether a shell runs it; without a first line that names a program, one does.
fn is_shell_script(text: &str) -> bool {
    let Some(words) = text.strip_prefix("#!") else { return !text.contains('\0') };
    let mut words =
        words.lines().next().unwrap_or_default().split_whitespace().flat_map(|word| word.rsplit('/').next());
    let first = words.next().unwrap_or_default();
    let program = match first == "env" {
        true => words.find(|word| !word.starts_with('-') && !word.contains('=')).unwrap_or_default(),
        false => first,
    };
    SHELLS.contains(&program)
}

/// The folder without links and `..`, also where it is not there yet.
fn resolved(folder: &Path) -> PathBuf {
    let found = folder.ancestors().find_map(|above| {
        let rest = folder.strip_prefix(above).ok()?;
        Some(fs_err::canonicalize(above).ok()?.join(rest))
    });
    found.unwrap_or_else(|| folder.to_owned())
}

/// A hook of a repository: the file that a person writes, and who runs it.
#[derive(Debug)]
pub(crate) struct GitHook {
    name: GitHookName,
    path: PathBuf,
    /// It lies in the working tree, so that others get it too.
    is_shared: bool,
    /// It lies outside of the repository, so that others use it too.
    is_elsewhere: bool,
    /// A program of somebody else's starts it, executable or not.
    is_started: bool,
}

impl GitHook {
    pub(crate) fn find(name: GitHookName, repository: &Repository) -> Result<Self, changes::Error> {
        Ok(Self::in_folder(name, repository, &changes::hooks_folder(repository, &environment::git())?))
    }

    fn in_folder(name: GitHookName, repository: &Repository, folder: &Path) -> Self {
        // Husky makes the files of its folder `_` anew whenever it likes; they start those in the folder above.
        let is_started =
            folder.ends_with("_") && ["h", "husky.sh"].iter().any(|file| folder.join(file).is_file());
        let folder = folder.parent().filter(|_| is_started).unwrap_or(folder);
        let path = resolved(folder).join(name.name());
        let real = fs_err::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let is_of_git = [&repository.common_dir, &repository.git_dir].iter().any(|own| real.starts_with(own));
        let is_inside = real.starts_with(&repository.root);
        Self {
            name,
            path,
            is_shared: is_inside && !is_of_git,
            is_elsewhere: !is_inside && !is_of_git,
            is_started,
        }
    }

    /// Adds our lines, so that they call `program`, unless they are there and call one that exists.
    pub(crate) fn plan_lines(self, program: &str) -> PlannedGitHook {
        let Self { name, path, is_shared, .. } = &self;
        let shown = home_relative(path);
        let say = |state, message: String| FileChange::new(name.subject(), path, state, message);
        let planned = |change, work| PlannedGitHook { name: *name, change, work };
        let refused = |why: String| {
            let mut change = say(ChangeState::Refused, format!("`{shown}` {why}"));
            let hook = name.name();
            change
                .notes
                .push(format!("have it run `checkstone verify --hook {hook}` with git's standard input"));
            planned(change, None)
        };
        let file = match SettingsFile::read(path) {
            Ok(file) => file.executable(),
            Err(problem) => return refused(problem.to_string()),
        };
        let text = file.text.as_deref().unwrap_or(NEW_SCRIPT);
        let own = match OwnLines::find(text) {
            Ok(own) => own,
            Err(problem) => return refused(problem),
        };
        if !is_shell_script(text) {
            return refused("is not a shell script, so it is left unchanged".to_owned());
        }
        let first_line = text.split('\n').next().unwrap_or_default();
        if first_line.starts_with("#!") && first_line.ends_with('\r') && !self.is_started {
            return refused(
                "has a first line that ends with CR and LF, so git cannot run it; save it with LF alone"
                    .to_owned(),
            );
        }
        // What others get too, they have somewhere else.
        let program = if *is_shared { "checkstone" } else { program };
        let program = match &own {
            Some(own) if own.has_program() => own.program.as_str(),
            _ => program,
        };
        let lines = name.lines(program);
        let new = match &own {
            Some(own) => replaced(text, own.place.clone(), &lines),
            None => {
                let first = text.find('\n').filter(|_| text.starts_with("#!")).map_or(0, |end| end + 1);
                replaced(text, first..first, &lines)
            }
        };
        if file.text.as_deref() == Some(new.as_str()) {
            let message = format!("`{shown}` already runs `checkstone verify`");
            return planned(say(ChangeState::Unchanged, message), None);
        }
        if file.text.is_some() && !self.is_started && !file.is_executable() {
            return refused(
                "is not executable, so git does not run it; make it executable, or remove it".to_owned(),
            );
        }
        if let Some(obstacle) = file.obstacle() {
            return refused(obstacle);
        }
        let deed = name.deed();
        let message = format!("`{shown}` runs `checkstone verify` before every {deed}");
        let mut change = say(ChangeState::Changed, message).with_diff(file.text.as_deref(), Some(&new));
        change.notes.extend(self.to_know(&file, own.is_some()));
        planned(change, Some(PlannedEdit::AddLines(file, new)))
    }

    fn to_know(&self, file: &SettingsFile, had_lines: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if file.text.is_some() && !had_lines {
            notes.push("what was in it stays, and runs after our lines".to_owned());
        }
        if let Some(target) = file.leads_elsewhere() {
            notes.push(format!("it is a link to `{}`, which is written", home_relative(target)));
        }
        if self.is_shared {
            notes.push(
                "the file is part of the working tree: others get it too; without `checkstone` on their `PATH` \
                 nothing is verified"
                    .to_owned(),
            );
        }
        if self.is_elsewhere {
            notes.push(
                "`core.hooksPath` points there: other repositories that use it are verified too, if they have a policy"
                    .to_owned(),
            );
        }
        let deed = self.name.deed();
        notes.push(format!("`git {deed} --no-verify` skips it"));
        notes
    }

    /// Takes our lines out; `None` if there are none.
    fn plan_removal(self, state: &Path) -> Option<PlannedGitHook> {
        let Self { name, path, .. } = self;
        let shown = home_relative(&path);
        let say = |state, message: String| FileChange::new(name.subject(), &path, state, message);
        let refused = |why: String| {
            let why = format!("`{shown}` {why}; fix that and run `uninstall` again");
            Some(PlannedGitHook { name, change: say(ChangeState::Refused, why), work: None })
        };
        let record = installed::of_file(state, name.owner(), &path);
        let file = match SettingsFile::read(&path) {
            Ok(file) => file,
            Err(_) if record.is_none() => return None,
            Err(problem) => return refused(problem.to_string()),
        };
        let text = file.text.as_deref()?;
        let rest = match OwnLines::find(text) {
            Ok(own) => replaced(text, own?.place, ""),
            Err(problem) => return refused(problem),
        };
        if let Some(obstacle) = file.obstacle() {
            return refused(obstacle);
        }
        let before = record.as_ref().and_then(|record| record.before(state));
        let is_ours = record.is_some_and(|record| record.wrote(text));
        let is_clean = |before: &Before| match before {
            Before::Absent => true,
            Before::Text(text) => OwnLines::find(text) == Ok(None),
        };
        let is_empty = before == Some(Before::Absent) && rest == NEW_SCRIPT;
        let after = match before.filter(|before| is_ours && is_clean(before)) {
            Some(before) => before,
            None if is_empty => Before::Absent,
            None => Before::Text(rest),
        };
        let (message, new) = match &after {
            Before::Absent => ("is removed, because `init` created it", None),
            Before::Text(text) => ("no longer has our lines", Some(text.as_str())),
        };
        let change = say(ChangeState::Changed, format!("`{shown}` {message}")).with_diff(Some(text), new);
        Some(PlannedGitHook { name, change, work: Some(PlannedEdit::TakeBack(file, after)) })
    }
}

/// A hook, and what is to become of its file.
#[derive(Debug)]
pub(crate) struct PlannedGitHook {
    pub(crate) name: GitHookName,
    pub(crate) change: FileChange,
    work: Option<PlannedEdit>,
}

#[derive(Debug)]
enum PlannedEdit {
    AddLines(SettingsFile, String),
    TakeBack(SettingsFile, Before),
}

impl PlannedGitHook {
    /// Our lines in every hook that git runs in this repository, and in every file that `init` ever wrote, to be taken out.
    pub(crate) fn removals(state: &Path, repository: Option<&Repository>) -> Vec<Self> {
        let folder = repository.and_then(|repository| {
            Some((repository, changes::hooks_folder(repository, &environment::git()).ok()?))
        });
        let here = folder.iter().flat_map(|(repository, folder)| {
            GitHookName::ALL.map(|name| GitHook::in_folder(name, repository, folder))
        });
        let mut hooks: Vec<GitHook> = here.collect();
        for record in installed::all(state) {
            let Some(name) = GitHookName::of_owner(&record.owner) else { continue };
            if !hooks.iter().any(|hook| hook.path == record.file) {
                let path = record.file;
                hooks.push(GitHook { name, path, is_shared: false, is_elsewhere: false, is_started: false });
            }
        }
        hooks.into_iter().filter_map(|hook| hook.plan_removal(state)).collect()
    }

    /// Does what was planned.
    pub(crate) fn carry_out(&mut self, state: &Path) {
        let owner = self.name.owner();
        match self.work.take() {
            None => {}
            Some(PlannedEdit::AddLines(file, text)) => self.change.write(state, owner, &file, &text),
            Some(PlannedEdit::TakeBack(file, after)) => {
                if let Err(error) = installed::take_back(state, owner, &file, &after) {
                    self.change.refuse(&error);
                }
            }
        }
    }

    pub(crate) fn output(&self) -> GitHookOutput<'_> {
        GitHookOutput { hook: self.name, change: self.change.output() }
    }
}

/// What becomes of a hook of git's.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "GitHook"))]
pub(crate) struct GitHookOutput<'a> {
    hook: GitHookName,
    #[serde(flatten)]
    change: FileChangeOutput<'a>,
}

/// How a hook that `init` once wrote, or that has our lines, stands.
#[derive(Debug)]
pub(crate) struct KnownGitHook {
    pub(crate) name: GitHookName,
    pub(crate) file: PathBuf,
    /// Why nothing is verified, if so.
    pub(crate) problem: Option<String>,
}

impl KnownGitHook {
    pub(crate) fn of_repository(repository: &Repository, state: Option<&Path>) -> Vec<Self> {
        let Ok(folder) = changes::hooks_folder(repository, &environment::git()) else { return Vec::new() };
        let recorded = state.map(installed::all).unwrap_or_default();
        let known = GitHookName::ALL.into_iter().filter_map(|name| {
            let hook = GitHook::in_folder(name, repository, &folder);
            let file = SettingsFile::read(&hook.path).ok();
            let text = file.as_ref().and_then(|file| file.text.as_deref()).unwrap_or_default();
            let shown = home_relative(&hook.path);
            let problem = match OwnLines::find(text) {
                Ok(Some(own)) if !own.has_program() => {
                    Some(format!("`{shown}` calls `{}`, which does not exist", own.program))
                }
                Ok(Some(_))
                    if !hook.is_started && !file.as_ref().is_some_and(SettingsFile::is_executable) =>
                {
                    Some(format!("git does not run `{shown}`: it is not executable"))
                }
                Ok(Some(_)) => None,
                Ok(None) | Err(_) => {
                    let is_of_here = |file: &Path| {
                        [&repository.root, &repository.common_dir]
                            .iter()
                            .any(|folder| file.starts_with(folder))
                    };
                    let mut files = recorded.iter().filter(|record| record.owner == name.owner());
                    let record = files.find(|record| record.file == hook.path || is_of_here(&record.file))?;
                    let recorded = home_relative(&record.file);
                    Some(match record.file == hook.path {
                        true => format!("our lines in `{shown}` are gone"),
                        false => format!("our lines are in `{recorded}`, and git runs `{shown}`"),
                    })
                }
            };
            Some(Self { name, file: hook.path, problem })
        });
        known.collect()
    }

    /// What is so, in one sentence.
    pub(crate) fn sentence(&self) -> String {
        let deed = self.name.deed();
        match &self.problem {
            None => format!("`{}` verifies before every {deed}", home_relative(&self.file)),
            Some(problem) => format!("{problem}: nothing is verified before a {deed}"),
        }
    }

    /// What to do about the problem.
    pub(crate) fn advice(&self) -> String {
        format!("`checkstone init --git-hook {}` fixes it", self.name.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_lines_are_found_with_the_program_that_they_call() {
        for program in ["/usr/bin/checkstone", "/it's here/checkstone", "checkstone"] {
            let lines = GitHookName::PrePush.lines(program);
            let text = format!("#!/bin/sh\n{lines}exit 0\n");
            let own = OwnLines::find(&text).unwrap().unwrap();
            assert_eq!((own.program.as_str(), &text[own.place.clone()]), (program, lines.as_str()));
            assert_eq!(replaced(&text, own.place, ""), "#!/bin/sh\nexit 0\n");
        }
        assert_eq!(OwnLines::find("#!/bin/sh\nexit 0\n"), Ok(None));
        assert!(OwnLines::find(FIRST_LINE).is_err());
    }

    #[test]
    fn a_shell_script_is_known_by_its_first_line() {
        for (text, expected) in [
            ("#!/bin/sh -e\n", true),
            ("#!/usr/bin/env bash\n", true),
            ("#!/usr/bin/env -S A=b zsh -f\n", true),
            ("npm test\n", true),
            ("#!/usr/bin/env python3\n", false),
            ("#!/usr/bin/perl\n", false),
            ("#!\n", false),
            ("\u{7f}ELF\0", false),
        ] {
            assert_eq!(is_shell_script(text), expected, "{text}");
        }
    }
}
