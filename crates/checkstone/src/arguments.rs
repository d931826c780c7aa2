//! What can be typed: the commands and their arguments. The doc comments are the help that people read.

use clap::{Parser, Subcommand};

use crate::commands::abort::AbortArguments;
use crate::commands::autosave::AutosaveArguments;
use crate::commands::background::BackgroundArguments;
use crate::commands::check::CheckArguments;
use crate::commands::checkpoint::CheckpointArguments;
use crate::commands::completions::CompletionsArguments;
use crate::commands::demo::DemoArguments;
use crate::commands::doctor::DoctorArguments;
use crate::commands::explain::ExplainArguments;
use crate::commands::handoff::HandoffArguments;
use crate::commands::hook::HookArguments;
use crate::commands::init::InitArguments;
use crate::commands::inject::InjectArguments;
use crate::commands::log::LogArguments;
use crate::commands::man::ManArguments;
use crate::commands::markers::MarkersArguments;
use crate::commands::policy::PolicyArguments;
use crate::commands::replay::ReplayArguments;
use crate::commands::report::ReportArguments;
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
use crate::error::exit_codes_help;

/// The version, and what it was built from and for, as far as that is known.
pub(crate) const VERSION: &str = env!("CHECKSTONE_VERSION");

/// Hold points for AI coding agents
///
/// checkstone stands at the boundaries of an agent's work (Claude Code, Gemini CLI, Codex CLI) and verifies
/// what was done, records it durably and makes it resumable.
#[derive(Debug, Parser)]
#[command(name = "checkstone", version = VERSION, max_term_width = 100, after_help = format!("Examples:
  checkstone demo
  checkstone init
  checkstone doctor
  checkstone check
  checkstone replay ~/.claude/projects --policy checkstone.toml

{}", exit_codes_help()))]
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
    Replay(ReplayArguments),
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
    Report(ReportArguments),
    Abort(AbortArguments),
    Watch(WatchArguments),
    Markers(MarkersArguments),
    Inject(InjectArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
    Hook(HookArguments),
    #[command(hide = true)]
    Background(BackgroundArguments),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_sound() {
        Arguments::command().debug_assert();
    }

    /// Every command below this one, and the words that lead to it.
    fn all(command: &clap::Command, words: &str) -> Vec<(String, clap::Command)> {
        let mut found = vec![(words.to_owned(), command.clone())];
        for below in
            command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set())
        {
            found.extend(all(below, &format!("{words} {}", below.get_name())));
        }
        found
    }

    #[test]
    fn every_command_teaches_by_examples_that_can_be_typed() {
        let mut examples = 0;
        for (words, command) in all(&Arguments::command(), "checkstone") {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            // A command may go on in the next line.
            let help = help.replace("\\\n", " ");
            let (_, section) =
                help.split_once("Examples:\n").unwrap_or_else(|| panic!("no examples: {words}"));
            let lines = section.lines().take_while(|line| line.starts_with("  "));
            let mut typed = 0;
            for line in lines.map(str::trim) {
                let intents = programs::shell::Intents::read(line);
                let own = intents.commands().iter().filter(|command| command.program == "checkstone");
                for example in own {
                    let typed_words = example.arguments.iter().map(programs::shell::Word::text);
                    let parsed = Arguments::command()
                        .try_get_matches_from(["checkstone"].into_iter().chain(typed_words));
                    assert!(parsed.is_ok(), "{words}: {line}: {}", parsed.unwrap_err());
                    typed += 1;
                }
            }
            assert!(typed > 0, "{words} has no example of its own program: {section}");
            examples += typed;
        }
        assert!(examples > 60, "{examples} examples");
    }

    /// Every command that the documents show can be typed.
    #[test]
    fn the_commands_in_the_documents_are_understood() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let docs = fs_err::read_dir(format!("{root}/docs")).unwrap().map(|entry| entry.unwrap().path());
        let files = docs.chain([format!("{root}/README.md").into()]);
        let mut count = 0;
        for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
            let text = fs_err::read_to_string(&file).unwrap();
            for command in documented(&text) {
                count += 1;
                let parsed = Arguments::try_parse_from(&command);
                let is_answer = |error: &clap::Error| error.exit_code() == 0;
                if let Err(error) =
                    parsed.map(|_| ()).or_else(|error| if is_answer(&error) { Ok(()) } else { Err(error) })
                {
                    panic!("{}: {command:?}\n{error}", file.display());
                }
            }
        }
        assert!(count > 20, "only {count} commands were found");
    }

    /// The commands in fenced blocks that begin with our name, as words.
    fn documented(text: &str) -> Vec<Vec<String>> {
        let mut commands = Vec::new();
        let blocks = text.split("```").skip(1).step_by(2);
        for block in blocks.filter(|block| block.starts_with("console") || block.starts_with("sh")) {
            let joined = block.replace("\\\n", " ");
            for line in joined.lines().filter_map(|line| line.trim_start().strip_prefix("$ ")) {
                for words in simple_commands(line) {
                    if words.first().is_some_and(|word| word == "checkstone") {
                        commands.push(words);
                    }
                }
            }
        }
        commands
    }

    /// A line of shell as documents have it: words, quotes, `#`, and what stands between commands.
    fn simple_commands(line: &str) -> Vec<Vec<String>> {
        let mut commands = vec![Vec::new()];
        let (mut word, mut quote) = (None::<String>, None);
        for letter in line.chars().chain([' ']) {
            match (quote, letter) {
                (Some(mark), letter) if letter == mark => quote = None,
                (Some(_), letter) => word.get_or_insert_default().push(letter),
                (None, '\'' | '"') => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                (None, '#') if word.is_none() => break,
                (None, ' ' | '|' | '&' | ';') => {
                    commands.last_mut().unwrap().extend(word.take());
                    if letter != ' ' {
                        commands.push(Vec::new());
                    }
                }
                (None, letter) => word.get_or_insert_default().push(letter),
            }
        }
        for command in &mut commands {
            // What comes out goes elsewhere.
            if let Some(at) = command.iter().position(|word| word.starts_with('>') || word.starts_with("2>"))
            {
                command.truncate(at);
            }
        }
        commands
    }
}
