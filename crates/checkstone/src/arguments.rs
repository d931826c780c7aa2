//! What can be typed: the commands and their arguments. The doc comments are the help that people read.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::command_groups;
use crate::commands::{
    abort, attest, autosave, background, check, checkpoint, ci, completions, demo, doctor, explain, handoff,
    hook, init, inject, log, man, markers, mcp, policy, prove, replay, report, resume, run, serve, session,
    snapshot, stage_exec, status, statusline, team, timeline, tokens, trust, uninstall, verify, version,
    watch, workflow,
};
use crate::error::exit_codes_help;
use crate::help_examples;
use crate::printer::{Printer, Verbosity};

/// The version, and what it was built from and for, as far as that is known.
pub(crate) const VERSION: &str = env!("CHECKSTONE_VERSION");

/// Hold points for AI coding agents
///
/// checkstone checks what an AI coding agent really did before the agent may stop, saves its work, and resumes it
/// later where it left off.
#[derive(Debug, Parser)]
#[command(name = "checkstone", bin_name = "checkstone", version = VERSION, max_term_width = MOST_COLUMNS, after_help = format!("Examples:
  checkstone demo
  checkstone init
  checkstone doctor
  checkstone check
  checkstone replay ~/.claude/projects

{}", exit_codes_help(help_width())))]
pub(crate) struct Arguments {
    /// Without one, checkstone shows what is on here and what to do next.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Print no progress: only the answer, warnings and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

impl Arguments {
    /// With the commands by what they are for, instead of in one list.
    pub(crate) fn grouped_command() -> clap::Command {
        let (command, width) = (Self::command(), help_width());
        let command = if width < MOST_COLUMNS { help_examples::within(width, command) } else { command };
        let help = command_groups::help(&command, false, width);
        command.override_help(help)
    }
}

/// As the help of single commands is wrapped.
pub(crate) fn help_width() -> usize {
    Printer::new(Verbosity::Quiet).width().unwrap_or(MOST_COLUMNS).min(MOST_COLUMNS)
}

const MOST_COLUMNS: usize = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::InitArguments),
    Uninstall(uninstall::UninstallArguments),
    Demo(demo::DemoArguments),
    Check(check::CheckArguments),
    Verify(verify::VerifyArguments),
    Prove(prove::ProveArguments),
    Attest(attest::AttestArguments),
    Ci(ci::CiArguments),
    Doctor(doctor::DoctorArguments),
    Explain(explain::ExplainArguments),
    Log(log::LogArguments),
    Policy(policy::PolicyArguments),
    Replay(replay::ReplayArguments),
    Trust(trust::TrustArguments),
    Session(session::SessionArguments),
    Snapshot(snapshot::SnapshotArguments),
    Autosave(autosave::AutosaveArguments),
    Status(status::StatusArguments),
    Statusline(statusline::StatuslineArguments),
    Timeline(timeline::TimelineArguments),
    Workflow(workflow::WorkflowArguments),
    Checkpoint(checkpoint::CheckpointArguments),
    Handoff(handoff::HandoffArguments),
    Tokens(tokens::TokensArguments),
    Run(run::RunArguments),
    Resume(resume::ResumeArguments),
    Report(report::ReportArguments),
    Abort(abort::AbortArguments),
    Watch(watch::WatchArguments),
    Markers(markers::MarkersArguments),
    Inject(inject::InjectArguments),
    Mcp(mcp::McpArguments),
    Serve(serve::ServeArguments),
    Team(team::TeamArguments),
    Completions(completions::CompletionsArguments),
    Man(man::ManArguments),
    Version(version::VersionArguments),
    Hook(hook::HookArguments),
    #[command(hide = true)]
    Background(background::BackgroundArguments),
    #[command(hide = true)]
    StageExec(stage_exec::StageExecArguments),
}

impl Command {
    /// Whether a line may say that it works while it prints nothing. Not those that ask, show their progress themselves, or have
    /// the terminal for another program.
    pub(crate) fn shows_work(&self) -> bool {
        !matches!(
            self,
            Self::Init(_)
                | Self::Uninstall(_)
                | Self::Trust(_)
                | Self::Demo(_)
                | Self::Prove(_)
                | Self::Replay(_)
                | Self::Run(_)
                | Self::Resume(_)
                | Self::Watch(_)
                | Self::Log(_)
                | Self::Serve(_)
                | Self::Mcp(_)
                | Self::Statusline(_)
                | Self::Hook(_)
                | Self::Background(_)
                | Self::StageExec(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                for example in own_commands(line) {
                    let parsed = Arguments::try_parse_from(&example);
                    assert!(parsed.is_ok(), "{words}: {line}: {}", parsed.unwrap_err());
                    typed += 1;
                }
            }
            assert!(typed > 0, "{words} has no example of its own program: {section}");
            examples += typed;
        }
        assert!(examples > 60, "{examples} examples");
    }

    /// What prints no data of its own, or only what another program reads.
    const WITHOUT_JSON: [&str; 9] = [
        "checkstone demo",
        "checkstone statusline",
        "checkstone serve",
        "checkstone team schema",
        "checkstone mcp",
        "checkstone completions",
        "checkstone man",
        "checkstone hook",
        "checkstone",
    ];

    #[test]
    fn every_command_that_prints_data_prints_json() {
        let leaves = all(&Arguments::command(), "checkstone").into_iter();
        let leaves = leaves.filter(|(_, command)| command.get_subcommands().next().is_none());
        let has_json = |command: &clap::Command| command.get_arguments().any(|one| one.get_id() == "json");
        for (words, command) in leaves {
            let prints_data = WITHOUT_JSON.iter().all(|without| *without != words);
            assert_eq!(has_json(&command), prints_data, "{words}");
        }
    }

    /// Names that mean something else in a command of another kind.
    const OTHER_MEANINGS: [&str; 8] = ["archived", "id", "limit", "new", "on", "policy", "title", "trust"];

    /// An option takes the same kind of value wherever it is, and the short form is the same.
    #[test]
    fn an_option_means_the_same_everywhere() {
        let mut known: std::collections::BTreeMap<String, (String, String)> = Default::default();
        for (words, command) in all(&Arguments::command(), "checkstone") {
            for option in command.get_arguments().filter(|option| option.get_long().is_some()) {
                let name = option.get_long().unwrap_or_default().to_owned();
                if OTHER_MEANINGS.contains(&name.as_str()) {
                    continue;
                }
                let values: Vec<String> =
                    option.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
                let takes_value = option.get_action().takes_values();
                let form = format!(
                    "{:?} {}",
                    option.get_short(),
                    if takes_value { values.join(" ") } else { String::new() }
                );
                let (first, other) =
                    known.entry(name.clone()).or_insert_with(|| (form.clone(), words.clone()));
                assert_eq!(*first, form, "--{name} of `{words}` and of `{other}`");
            }
        }
        assert!(known.len() > 60, "{known:?}");
    }

    /// Command lines are not wrapped, so that they can be copied.
    #[test]
    fn help_fits_sixty_columns() {
        for (words, command) in all(&Arguments::command(), "checkstone").into_iter().skip(1) {
            let help = command.term_width(60).render_long_help().to_string();
            let (text, _) = help.split_once("Examples:").unwrap_or((&help, ""));
            for line in text.lines().filter(|line| !line.starts_with("Usage:")) {
                assert!(unicode_width::UnicodeWidthStr::width(line) <= 60, "{words}: {line}");
            }
        }
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

    /// What hints, messages and documents name in backticks exists: commands, commands inside them, and options.
    #[test]
    fn commands_and_options_that_texts_name_exist() {
        let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let mut files = vec![root.join("README.md"), root.join("LIMITS.md")];
        for crate_ in fs_err::read_dir(root.join("crates")).unwrap() {
            collect(&crate_.unwrap().path().join("src"), "rs", &mut files);
        }
        collect(&root.join("docs"), "md", &mut files);
        let program = Arguments::command();
        let mut count = 0;
        for file in files {
            let text = fs_err::read_to_string(&file).unwrap();
            for named in text.split("`checkstone ").skip(1).filter_map(|rest| rest.split_once('`')) {
                let unknown = unknown_word(&program, named.0);
                assert_eq!(unknown, None, "{}: `checkstone {}`", file.display(), named.0);
                count += 1;
            }
        }
        assert!(count > 300, "only {count} were found");
        for (line, unknown) in
            [("polcy check", "polcy"), ("workflow strt", "strt"), ("session --offf", "--offf")]
        {
            assert_eq!(unknown_word(&program, line), Some(unknown));
        }
    }

    fn collect(folder: &std::path::Path, extension: &str, files: &mut Vec<std::path::PathBuf>) {
        for entry in fs_err::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, extension, files);
            } else if path.extension().is_some_and(|own| own == extension) {
                files.push(path);
            }
        }
    }

    /// The first word that is no command, or no option of the one before it. Words in capitals stand for something.
    fn unknown_word<'a>(program: &clap::Command, line: &'a str) -> Option<&'a str> {
        let mut command = program;
        for word in
            line.split_whitespace().take_while(|word| *word != "--" && !word.contains(['|', '&', '>']))
        {
            let word = word.trim_matches(['[', ']', ',']);
            if let Some(option) = word.strip_prefix("--") {
                let name = option.split('=').next().unwrap_or_default();
                let options = command.get_arguments().chain(program.get_arguments());
                let mut names = options.filter_map(clap::Arg::get_long).chain(["help", "version", "all"]);
                if !name.contains('{') && !names.any(|known| known == name) {
                    return Some(word);
                }
            } else if let Some(inside) = command.find_subcommand(word) {
                command = inside;
            } else if command.has_subcommands()
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            {
                return Some(word).filter(|word| *word != "help");
            }
        }
        None
    }

    /// The commands of ours in fenced blocks.
    fn documented(text: &str) -> Vec<Vec<String>> {
        let blocks = text.split("```").skip(1).step_by(2);
        let blocks = blocks.filter(|block| block.starts_with("console") || block.starts_with("sh"));
        let text: String = blocks.map(|block| block.replace("\\\n", " ")).collect();
        text.lines().filter_map(|line| line.trim_start().strip_prefix("$ ")).flat_map(own_commands).collect()
    }

    /// The commands of ours in a line for the shell, as words.
    fn own_commands(line: &str) -> Vec<Vec<String>> {
        let intents = programs::shell::Intents::read(line);
        let own = intents.commands().iter().filter(|command| command.program == "checkstone");
        own.map(|command| {
            let words = command.arguments.iter().map(|word| word.text().to_owned());
            std::iter::once("checkstone".to_owned()).chain(words).collect()
        })
        .collect()
    }
}
