//! What the hook needs around it, whichever the client: a place to write, a sound journal, git, a valid policy; and the
//! switches that turn it off.

use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use changes::{GitVersion, Repository, Request};
use journal::{Soundness, switch};
use keeping::{LeftoverFile, LeftoverKind};
use text::{counted, duration_in_words, shell_word, size_in_words};

use super::finding::{Finding, Surroundings};
use super::remedy::Remedy;
use crate::agent_session::AgentSession;
use crate::asked_for::nothing_asked_for;
use crate::environment;
use crate::error::CommandError;
use crate::git_hook::KnownGitHook;
use crate::home_relative::home_relative;
use crate::journal_access;
use crate::repository_policy;
#[cfg(feature = "postgres")]
use crate::{commands::team::clock_sentence as team_clock, team_sending};

/// A journal that cannot be looked through in this time is large, and sound so far.
pub(crate) const JOURNAL_LIMIT: Duration = Duration::from_secs(2);

const GIT_LIMIT: Duration = Duration::from_secs(5);

/// What one record takes at most, with what the database needs beside it.
const ROOM: usize = 256 * 1024;

pub(crate) fn machine() -> Vec<Finding> {
    let mut findings = vec![git()];
    match environment::state_directory() {
        Some(state) => {
            findings.push(state_directory(&state));
            findings.extend(journal(&state));
            findings.extend(abandoned_mirrors(&state));
            findings.extend(team(&state));
        }
        None => findings.push(
            Finding::problem(
                Surroundings::Machine,
                "state",
                "there is no place for the journal: neither `HOME` nor `CHECKSTONE_STATE_DIR` is set",
            )
            .advice("set `CHECKSTONE_STATE_DIR` to a folder of your own"),
        ),
    }
    if environment::is_switched_off() {
        findings.push(
            Finding::problem(
                Surroundings::Machine,
                "switch",
                "`CHECKSTONE=off` is set here, so no hook that inherits it decides anything",
            )
            .advice("unset `CHECKSTONE`"),
        );
    }
    findings
}

fn git() -> Finding {
    let git = environment::git().within(GIT_LIMIT);
    let Some(program) = git.path() else {
        return Finding::problem(
            Surroundings::Machine,
            "git",
            "there is no `git` on `PATH`, so nothing can be held",
        )
        .advice("install git");
    };
    let shown = program.display().to_string();
    match GitVersion::ask(&git) {
        Ok(version) if version < GitVersion::OLDEST_SAFE => Finding::problem(
            Surroundings::Machine,
            "git",
            format!(
                "git {version} is older than {}, and would run what a repository's own configuration names",
                GitVersion::OLDEST_SAFE
            ),
        )
        .advice("update git"),
        Ok(version) => Finding::good(Surroundings::Machine, "git", format!("{version}, `{shown}`")),
        Err(error) => Finding::problem(Surroundings::Machine, "git", error.to_string())
            .advice("run `git version` to see why"),
    }
}

fn state_directory(state: &Path) -> Finding {
    let shown = home_relative(state);
    if state.is_dir() {
        return match write_into(state) {
            Ok(()) => Finding::good(Surroundings::Machine, "state", format!("`{shown}` can be written")),
            Err(error) if matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge) => {
                full(&shown, &error.kind().to_string())
            }
            Err(error) => unwritable(&shown, &error.kind().to_string()),
        };
    }
    // Not made by looking: the first hook makes it.
    match state.ancestors().find(|folder| folder.exists()) {
        Some(folder) if journal_access::is_writable(state) && can_hold_folders(folder) => Finding::good(
            Surroundings::Machine,
            "state",
            format!("`{shown}` will be created by the first hook"),
        ),
        Some(folder) => unwritable(&shown, &format!("it cannot be created in `{}`", home_relative(folder))),
        None => unwritable(&shown, "it cannot be created"),
    }
}

/// Root may write everything, and still no folder can be made in `/proc`: so one is made, and removed.
fn can_hold_folders(folder: &Path) -> bool {
    tempfile::Builder::new().prefix(".checkstone-").tempdir_in(folder).is_ok()
}

/// As much as a record may take. That a file can be made shows nothing: on a full disk it can, and nothing gets into it.
fn write_into(state: &Path) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".doctor-").tempfile_in(state)?;
    file.write_all(&[0; ROOM])?;
    file.as_file().sync_data()
}

fn full(shown: &str, why: &str) -> Finding {
    let room = size_in_words(ROOM as u64);
    let text = format!("`{shown}` has no room for {room}, so nothing can be recorded or held: {why}");
    Finding::problem(Surroundings::Machine, "state", text)
        .advice("free some space, or name another folder with `CHECKSTONE_STATE_DIR`")
}

fn unwritable(shown: &str, why: &str) -> Finding {
    Finding::problem(
        Surroundings::Machine,
        "state",
        format!("`{shown}` cannot be written, so nothing is held: {why}"),
    )
    .advice("make it writable for you, or name another folder with `CHECKSTONE_STATE_DIR`")
}

fn journal(state: &Path) -> Option<Finding> {
    match journal::examine(state, JOURNAL_LIMIT) {
        Ok(Soundness::Missing) => None,
        Ok(Soundness::Sound) => Some(Finding::good(Surroundings::Machine, "journal", "sound")),
        Ok(Soundness::SoundSoFar) => Some(Finding::good(
            Surroundings::Machine,
            "journal",
            "no damage found, but two seconds were not enough to read all of it",
        )),
        Err(error) => {
            let told = CommandError::from(error);
            let finding = Finding::problem(Surroundings::Machine, "journal", told.message());
            Some(match told.hints().first() {
                Some(hint) => finding.advice(hint),
                None => finding,
            })
        }
    }
}

/// Whether the team's database takes what this machine sends. It is asked now.
#[cfg(feature = "postgres")]
fn team(state: &Path) -> Vec<Finding> {
    let about = Surroundings::Machine;
    let settings = match team_sending::settings() {
        Ok(None) => return Vec::new(),
        Ok(Some(settings)) => settings,
        Err(error) => {
            let finding = Finding::problem(about, "team", error.message());
            return vec![finding.advice("correct `[team]` in your own `config.toml`")];
        }
    };
    let outbox = team::Outbox::open_existing(state).ok().flatten();
    let waiting = outbox.and_then(|outbox| outbox.waiting().ok()).unwrap_or_default();
    let waiting = format!("{} waiting", counted(usize::try_from(waiting).unwrap_or(usize::MAX), "event"));
    match team::ask_database(&settings) {
        Ok(answer) => {
            let tables =
                if answer.lacks_tables { ", and has no tables yet: the first send creates them" } else { "" };
            let text = format!("`{}` answers{tables}; {waiting}", settings.address);
            let apart =
                team_clock(-answer.clock.ahead).map(|sentence| Finding::problem(about, "clock", sentence));
            std::iter::once(Finding::good(about, "team", text)).chain(apart).collect()
        }
        Err(error) => {
            let text = format!("{}; {waiting}, and no hook waits for it", text::error_chain(&error));
            let advice = error.advice().map(|advice| format!("{advice}; ")).unwrap_or_default();
            let advice = format!("{advice}`checkstone team send` tries again");
            vec![Finding::problem(about, "team", text).advice(advice)]
        }
    }
}

#[cfg(not(feature = "postgres"))]
fn team(_state: &Path) -> Vec<Finding> {
    Vec::new()
}

/// The last copy of a project is nobody's to remove but its owner's.
fn abandoned_mirrors(state: &Path) -> impl Iterator<Item = Finding> {
    stop::abandoned_mirrors(state).into_iter().map(|mirror| {
        let (project, size) = (home_relative(&mirror.project), size_in_words(mirror.bytes));
        let text = format!("there is still a copy of `{project}`, which is gone or not mounted: {size}");
        let remove = shell_word(&mirror.folder.to_string_lossy());
        Finding::note(Surroundings::Machine, "leftovers", text).advice(format!(
            "if you no longer need it, `rm -rf {remove}`; to restore it, create that folder and run `checkstone snapshot restore --from-mirror` in it"
        ))
    })
}

/// The policy of the repository, the hooks of git's that verify there, and what switches the gate off there.
pub(crate) fn repository(repository: Option<&Repository>) -> Vec<Finding> {
    let about = Surroundings::Repository;
    let Some(repository) = repository else {
        return vec![Finding::note(about, "policy", "this folder is not in a git repository")];
    };
    let root = repository.root.as_path();
    let mut findings = Vec::new();
    match repository_policy::of(root).map(|texts| (texts.load(), texts)) {
        None => findings.push(
            Finding::note(about, "policy", "there is none, so nothing is asked for and every stop passes")
                .advice("`checkstone init` writes one"),
        ),
        Some((Err(problems), _)) => {
            let first = problems.0.first().map(repository_policy::located).unwrap_or_default();
            findings.push(
                Finding::problem(about, "policy", format!("broken, so every stop passes: {first}"))
                    .advice("fix it; `checkstone policy check` shows every mistake"),
            );
        }
        Some((Ok(policy), texts)) => {
            let mut from: Vec<String> = texts.texts.iter().map(|text| format!("`{}`", text.name)).collect();
            from.extend(policy.presets.iter().map(|preset| format!("preset {preset}")));
            let from = from.join(", ");
            findings.push(match nothing_asked_for(root, &policy) {
                None => Finding::good(about, "policy", from),
                Some((why, advice)) => {
                    Finding::note(about, "policy", format!("{from}: {why}")).advice(advice)
                }
            });
            if !policy.gate.enabled {
                findings.push(Finding::note(
                    about,
                    "switch",
                    "`enabled = false` in the policy: no stop is judged here",
                ));
            }
        }
    }
    findings.extend(git_hooks(repository));
    findings.extend(leftovers(repository));
    findings.extend(session(root));
    findings
}

fn git_hooks(repository: &Repository) -> impl Iterator<Item = Finding> {
    let known = KnownGitHook::of_repository(repository, environment::state_directory().as_deref());
    known.into_iter().map(|hook| match hook.problem {
        None => Finding::good(Surroundings::Repository, "git-hook", hook.sentence()),
        Some(_) => Finding::problem(Surroundings::Repository, "git-hook", hook.sentence())
            .advice(hook.advice())
            .remedy(Remedy::GitHook { hook: hook.name }),
    })
}

/// What killed processes left in the git folder: each lock, and the rest together.
fn leftovers(repository: &Repository) -> Vec<Finding> {
    let about = Surroundings::Repository;
    let (locks, parts): (Vec<LeftoverFile>, Vec<LeftoverFile>) =
        keeping::leftover_files(repository, SystemTime::now())
            .into_iter()
            .partition(|file| file.kind == LeftoverKind::Lock);
    let lock = |file: LeftoverFile| {
        let path = file.path.to_string_lossy();
        let age = duration_in_words(Duration::from_secs(file.age.as_secs()));
        let text =
            format!("`{path}` was left {age} ago by a git that is gone, and git refuses to work there");
        Finding::problem(about, "leftovers", text)
            .advice(format!("`rm -f {}`", shell_word(&path)))
            .remedy(Remedy::RemoveFile { path: file.path.clone() })
    };
    let mut findings: Vec<Finding> = locks.into_iter().map(lock).collect();
    if !parts.is_empty() {
        let size = size_in_words(parts.iter().map(|file| file.bytes).sum());
        let text = format!("{} of killed git processes, {size}", counted(parts.len(), "temporary file"));
        findings.push(
            Finding::note(about, "leftovers", text)
                .advice("`checkstone snapshot prune` removes those of snapshots, and `git gc` the others when they are two weeks old"),
        );
    }
    for file in interrupted_writes(repository) {
        let path = file.path.to_string_lossy();
        let text = format!("`{path}` was left by a restore or save that was interrupted");
        findings.push(
            Finding::note(about, "leftovers", text)
                .advice(format!("`rm -f {}`", shell_word(&path)))
                .remedy(Remedy::RemoveFile { path: file.path.clone() }),
        );
    }
    findings
}

/// What a restore or save of ours was writing in the working tree when it was interrupted.
fn interrupted_writes(repository: &Repository) -> Vec<LeftoverFile> {
    let pending = changes::start_in(repository.clone(), &environment::git().within(GIT_LIMIT));
    let set = pending.and_then(|pending| pending.change_set(Request::Worktree));
    let paths = set.map(|set| set.files).unwrap_or_default().into_iter().map(|file| file.path);
    keeping::interrupted_writes(&repository.root, paths, SystemTime::now())
}

/// What may be removed: it was left by a process that is gone, and it is in the way.
pub(crate) fn removable_files(repository: &Repository) -> Vec<LeftoverFile> {
    let locks = keeping::leftover_files(repository, SystemTime::now())
        .into_iter()
        .filter(|file| file.kind == LeftoverKind::Lock);
    locks.chain(interrupted_writes(repository)).collect()
}

/// Only where an agent itself asks.
fn session(root: &Path) -> Option<Finding> {
    let state = environment::state_directory()?;
    let session = AgentSession::calling(None, Some(root)).ok().flatten()?;
    switch::is_off(&state, session.agent.name(), &session.id).then(|| {
        Finding::note(Surroundings::Repository, "switch", "this session is switched off")
            .advice("`checkstone session --on` switches it on")
    })
}
