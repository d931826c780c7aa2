//! May this be shipped? Every reason against it, in one sentence each. Pure: what git, the journal and the preview
//! deployment say comes in as facts.

use crate::format::{Gate, Phase, Status, WorkflowFile};
use crate::integrations::preview::Preview;
use crate::name::Name;
use crate::warning::{Warning, short};

/// So many files are named; the others are counted.
const NAMED_FILES: usize = 5;

/// What is true of the repository now.
#[derive(Clone, Debug, Default)]
pub struct ShipFacts {
    /// `None` without git, and before the first commit.
    pub head: Option<String>,
    /// Files with uncommitted changes, or why nobody knows.
    pub uncommitted: Uncommitted,
    /// What the gate's last verdict left open, one sentence each.
    pub unresolved: Vec<String>,
    /// The preview deployment, if it matters: what is passed on blocks unless it is ready.
    pub preview: Option<Preview>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncommitted {
    Files(Vec<String>),
    /// Git could not say.
    Unknown(String),
}

impl Default for Uncommitted {
    fn default() -> Self {
        Self::Files(Vec::new())
    }
}

/// What is against shipping. `related` are the other workflows of the same feature.
///
/// The last phase is the one that the gate stands before, so it need not be complete. The commit in the answer is the
/// one that was judged.
pub fn ship_gate(ship: &WorkflowFile, related: &[(Name, &WorkflowFile)], facts: &ShipFacts) -> Gate {
    let mut blockers = phase_blockers(None, ship);
    for (name, file) in related {
        blockers.extend(phase_blockers(Some(name), file));
    }
    if let (Some(saved), Some(current)) = (&ship.head_commit, &facts.head)
        && saved != current
    {
        let stale = Warning::Stale { saved: saved.clone(), current: current.clone() };
        blockers.push(format!("{stale}: update a phase once {} is what you want to ship", short(current)));
    }
    blockers.extend(uncommitted(&facts.uncommitted));
    blockers.extend(facts.unresolved.iter().map(|problem| format!("The gate found: {problem}")));
    blockers.extend(facts.preview.as_ref().and_then(Preview::trouble));
    Gate { ship_allowed: blockers.is_empty(), blockers, head_commit: facts.head.clone() }
}

fn phase_blockers(of: Option<&Name>, file: &WorkflowFile) -> Vec<String> {
    // What a completed workflow left out was left out on purpose; what failed has failed.
    let to_come = file.state.pending_phases.iter().filter(|name| file.phase(name).is_none());
    let named = file.phases.iter().map(|(name, phase)| (name.as_str(), phase.status, Some(phase)));
    let mut phases: Vec<_> =
        named.chain(to_come.map(|name| (name.as_str(), Status::Pending, None))).collect();
    let last = last_phase(file);
    phases.retain(|(name, status, _)| match status {
        Status::Failed => true,
        Status::Complete | Status::Skipped => false,
        Status::Pending | Status::InProgress | Status::Unknown => {
            file.completed_at.is_none() && (of.is_some() || Some(*name) != last)
        }
    });
    let of = of.map(|name| format!(" of `{name}`")).unwrap_or_default();
    phases
        .into_iter()
        .map(|(name, status, phase)| {
            let error = phase.and_then(|phase| phase.error.as_ref());
            let standing = match (status, error) {
                (Status::Failed, Some(error)) => format!("failed: {error}"),
                (Status::Failed, None) => "is failed".to_owned(),
                (Status::Pending, _) => "is missing: it has not been started".to_owned(),
                (Status::InProgress, _) => "is not finished".to_owned(),
                _ => {
                    let word = phase.map(Phase::status_in_words).unwrap_or_default();
                    format!("is `{word}`: set it to `complete` or `skipped` if it is over")
                }
            };
            format!("Phase `{name}`{of} {standing}")
        })
        .collect()
}

/// The one that ships.
fn last_phase(file: &WorkflowFile) -> Option<&str> {
    let usual = crate::usual_phases(&file.command).and_then(|phases| phases.last().copied());
    usual.or_else(|| file.state.pending_phases.last().map(String::as_str))
}

fn uncommitted(files: &Uncommitted) -> Option<String> {
    let files = match files {
        Uncommitted::Unknown(reason) => {
            return Some(format!("Cannot tell whether everything is committed: {reason}"));
        }
        Uncommitted::Files(files) if files.is_empty() => return None,
        Uncommitted::Files(files) => files,
    };
    let named: Vec<&str> = files.iter().take(NAMED_FILES).map(String::as_str).collect();
    let more = match files.len().saturating_sub(NAMED_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("Uncommitted changes in {}{more}", named.join(", ")))
}
