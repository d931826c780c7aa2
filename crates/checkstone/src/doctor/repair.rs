//! What `checkstone doctor --fix` does: the remedies of the findings, planned together, shown, asked for once, and carried out by
//! what `init` does it with.

use std::path::{Path, PathBuf};

use changes::Repository;

use super::finding::{Finding, FindingState};
use super::remedy::{RegistrationPlace, Remedy};
use super::surroundings::removable_files;
use crate::clients::ClientFiles;
use crate::commands::init::{ClientRegistration, RegistrationPlan};
use crate::error::CommandError;
use crate::file_change::{ChangeState, FileChange};
use crate::git_hook::{GitHook, PlannedGitHook};
use crate::home_relative::home_relative;
use crate::own_program::OwnProgram;

/// All that can be done about some findings.
pub(crate) struct RepairPlan {
    clients: Vec<ClientRegistration>,
    git_hooks: Vec<PlannedGitHook>,
    removals: Vec<LeftoverRemoval>,
}

/// A file that is to be removed, if it is still one that nobody writes.
struct LeftoverRemoval {
    path: PathBuf,
    change: FileChange,
}

impl RepairPlan {
    /// Writes nothing. What would change nothing is left out.
    pub(crate) fn of(findings: &[Finding], repository: Option<&Repository>) -> Result<Self, CommandError> {
        let wanted = findings.iter().filter(|finding| finding.state != FindingState::Good);
        let mut remedies: Vec<&Remedy> = Vec::new();
        for remedy in wanted.filter_map(|finding| finding.remedy.as_ref()) {
            if !remedies.contains(&remedy) {
                remedies.push(remedy);
            }
        }
        let mut plan = Self { clients: Vec::new(), git_hooks: Vec::new(), removals: Vec::new() };
        if remedies.is_empty() {
            return Ok(plan);
        }
        let program = OwnProgram::find()?;
        let root = repository.map(|repository| repository.root.as_path());
        // One change for each file, whatever it is changed for.
        let mut registrations: Vec<(transcript::Agent, RegistrationPlace, bool)> = Vec::new();
        for remedy in remedies {
            match remedy {
                Remedy::Register { agent, place, status_line } => {
                    match registrations.iter_mut().find(|known| (known.0, known.1) == (*agent, *place)) {
                        Some(known) => known.2 |= *status_line,
                        None => registrations.push((*agent, *place, *status_line)),
                    }
                }
                Remedy::GitHook { hook } => {
                    if let Some(repository) = repository {
                        plan.git_hooks.push(GitHook::find(*hook, repository)?.plan_lines(&program.path));
                    }
                }
                Remedy::RemoveFile { path } => {
                    let change = FileChange::new(
                        "left by a killed process",
                        path,
                        ChangeState::Changed,
                        String::new(),
                    );
                    plan.removals.push(LeftoverRemoval { path: path.clone(), change });
                }
            }
        }
        for (agent, place, with_status_line) in registrations {
            let Some(scope) = place.scope(root) else { continue };
            let place = RegistrationPlan { root, program: &program.path, scope, with_status_line };
            let files = ClientFiles::of(agent, scope);
            plan.clients.extend(files.and_then(|files| ClientRegistration::plan(files, &place)));
        }
        plan.clients.retain(|client| client.change.state != ChangeState::Unchanged);
        plan.git_hooks.retain(|hook| hook.change.state != ChangeState::Unchanged);
        Ok(plan)
    }

    pub(crate) fn changes(&self) -> Vec<&FileChange> {
        let hooks = self.git_hooks.iter().map(|hook| &hook.change);
        let removals = self.removals.iter().map(|removal| &removal.change);
        self.clients.iter().map(|client| &client.change).chain(hooks).chain(removals).collect()
    }

    /// How much can be done.
    pub(crate) fn possible(&self) -> usize {
        self.changes().iter().filter(|change| change.state == ChangeState::Changed).count()
    }

    /// It was only to be shown.
    pub(crate) fn not_done(&mut self) {
        let hooks = self.git_hooks.iter_mut().map(|hook| &mut hook.change);
        self.clients.iter_mut().map(|client| &mut client.change).chain(hooks).for_each(FileChange::not_done);
        for removal in &mut self.removals {
            removal.change.message = format!("`{}` would be removed", home_relative(&removal.path));
        }
    }

    pub(crate) fn carry_out(&mut self, state: &Path, repository: Option<&Repository>) {
        for client in &mut self.clients {
            client.register(state);
        }
        for hook in &mut self.git_hooks {
            hook.carry_out(state);
        }
        if self.removals.is_empty() {
            return;
        }
        // Somebody may have begun to use one since it was looked at.
        let left: Vec<PathBuf> = repository
            .map(|repository| removable_files(repository).into_iter().map(|file| file.path).collect())
            .unwrap_or_default();
        for LeftoverRemoval { path, change } in &mut self.removals {
            let shown = home_relative(path);
            if !left.contains(path) {
                change.state = ChangeState::Unchanged;
                change.message = format!("`{shown}` is gone, or in use again, and was left alone");
                continue;
            }
            match fs_err::remove_file(&*path) {
                Ok(()) => change.message = format!("`{shown}` removed"),
                Err(error) => change.refuse(&CommandError::from(error)),
            }
        }
    }
}
