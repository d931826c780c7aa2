//! What can be typed: the commands and their arguments. The doc comments are the help that people read.

use clap::{Parser, Subcommand, ValueEnum};
use transcript::Agent;

use crate::commands::abort::AbortArguments;
use crate::commands::autosave::AutosaveArguments;
use crate::commands::background::BackgroundArguments;
use crate::commands::check::CheckArguments;
use crate::commands::checkpoint::CheckpointArguments;
use crate::commands::demo::DemoArguments;
use crate::commands::doctor::DoctorArguments;
use crate::commands::explain::ExplainArguments;
use crate::commands::handoff::HandoffArguments;
use crate::commands::hook::HookArguments;
use crate::commands::init::InitArguments;
use crate::commands::inject::InjectArguments;
use crate::commands::log::LogArguments;
use crate::commands::markers::MarkersArguments;
use crate::commands::policy::PolicyArguments;
use crate::commands::resume::ResumeArguments;
use crate::commands::run::RunArguments;
use crate::commands::session::SessionArguments;
use crate::commands::snapshot::SnapshotArguments;
use crate::commands::status::StatusArguments;
use crate::commands::statusline::StatuslineArguments;
use crate::commands::timeline::TimelineArguments;
use crate::commands::tokens::TokensArguments;
use crate::commands::trust::TrustArguments;
use crate::commands::uninstall::UninstallArguments;
use crate::commands::watch::WatchArguments;
use crate::commands::workflow::WorkflowArguments;

/// Hold points for AI coding agents
///
/// checkstone stands at the boundaries of an agent's work (Claude Code, Gemini CLI, Codex CLI) and verifies
/// what was done, records it durably and makes it resumable.
#[derive(Debug, Parser)]
#[command(name = "checkstone", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(InitArguments),
    Uninstall(UninstallArguments),
    Demo(DemoArguments),
    Check(CheckArguments),
    Doctor(DoctorArguments),
    Explain(ExplainArguments),
    Log(LogArguments),
    Policy(PolicyArguments),
    Trust(TrustArguments),
    Session(SessionArguments),
    Snapshot(SnapshotArguments),
    Autosave(AutosaveArguments),
    Status(StatusArguments),
    Statusline(StatuslineArguments),
    Timeline(TimelineArguments),
    Workflow(WorkflowArguments),
    Checkpoint(CheckpointArguments),
    Handoff(HandoffArguments),
    Tokens(TokensArguments),
    Run(RunArguments),
    Resume(ResumeArguments),
    Abort(AbortArguments),
    Watch(WatchArguments),
    Markers(MarkersArguments),
    Inject(InjectArguments),
    Hook(HookArguments),
    #[command(hide = true)]
    Background(BackgroundArguments),
}

/// A client, by the name it is typed with.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AgentName {
    Claude,
    Gemini,
    Codex,
}

impl From<AgentName> for Agent {
    fn from(name: AgentName) -> Self {
        match name {
            AgentName::Claude => Self::Claude,
            AgentName::Gemini => Self::Gemini,
            AgentName::Codex => Self::Codex,
        }
    }
}

/// A number of bytes: `1000`, `512K`, `64M`, `1G` (powers of 1,024).
pub(crate) fn byte_size(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or_else(|| upper.strip_suffix('B')).unwrap_or(&upper);
    let (digits, factor) = match upper.chars().next_back() {
        Some('K') => (upper.strip_suffix('K'), 1 << 10),
        Some('M') => (upper.strip_suffix('M'), 1 << 20),
        Some('G') => (upper.strip_suffix('G'), 1 << 30),
        _ => (Some(upper), 1),
    };
    let size = digits.and_then(|digits| digits.trim().parse::<u64>().ok()?.checked_mul(factor));
    match size {
        Some(size) if size > 0 => Ok(size),
        _ => Err("expected a size such as `512K`, `64M` or `1G`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn sizes_are_read() {
        for (text, size) in
            [("1", 1), ("512K", 512 << 10), ("64MiB", 64 << 20), ("1gb", 1 << 30), (" 2 M ", 2 << 20)]
        {
            assert_eq!(byte_size(text), Ok(size), "{text}");
        }
        for text in ["", "0", "-1", "x", "1T", "99999999999G"] {
            assert!(byte_size(text).is_err(), "{text}");
        }
    }
}
