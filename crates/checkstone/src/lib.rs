//! The `checkstone` program: arguments, printing, exit codes and the wiring of the library crates. One file
//! per command in [`commands`].

mod agent_name;
mod agent_session;
mod arguments;
mod asked_for;
#[cfg(feature = "s3")]
mod aws_profile;
mod background;
mod base_commit;
#[cfg(feature = "s3")]
mod bucket_exchange;
#[cfg(feature = "s3")]
mod bucket_store;
mod busy_line;
mod byte_size;
mod clients;
mod command_groups;
mod commands;
mod confirmation;
mod demo;
mod detached_run;
mod doctor;
mod environment;
mod error;
mod fail_open;
mod file_change;
mod git_hook;
mod help_examples;
mod home_relative;
mod hook;
mod installed;
mod integrations;
mod interruption;
mod journal_access;
mod known_registrations;
#[cfg(feature = "mcp")]
mod mcp;
mod mcp_registration;
#[cfg(any(feature = "mcp", feature = "schema"))]
mod mcp_settings;
mod moment;
mod new_policy;
mod notification;
mod own_program;
mod printer;
mod public_commands;
mod recorded_facts;
mod reductions;
mod replay_page;
mod replay_table;
mod repository_argument;
mod repository_policy;
mod run_display;
mod run_notification;
mod run_project;
mod run_storage;
mod saving_environment;
#[cfg(feature = "schema")]
mod schemas;
#[cfg(feature = "serve")]
mod serve;
mod settings_file;
mod settings_problem;
mod team_sending;
mod tmux_argument;
mod typed_message;
mod typed_word;
mod unheard_sessions;
mod unproven_work;
mod verdict_text;
#[cfg(feature = "serve")]
mod waiting_notification;
mod watched_command;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use arguments::{Arguments, Command};
use error::{CommandError, ErrorKind};
use printer::{Printer, Verbosity};

#[cfg(feature = "schema")]
pub use mcp_settings::reference as mcp_settings_reference;
#[cfg(feature = "schema")]
pub use schemas::json_schemas;
#[cfg(all(feature = "schema", feature = "postgres"))]
pub use team::reference as team_settings_reference;

/// Runs the program with the arguments of a command line, the program's own name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    // A client must never be stopped by its hook, so not even by arguments that this version does not know.
    let is_word = |place: usize, words: &[&str]| {
        arguments.get(place).is_some_and(|given| words.iter().any(|word| given == word))
    };
    if is_word(1, &["hook"]) && !is_word(2, &["--help", "-h"]) {
        return fail_open::guard(|| commands::hook::run(&arguments), hook::report_panic);
    }
    #[cfg(feature = "planted-faults")]
    if let Some(fault) = environment::text(environment::PLANTED_FAULT)
        && !run::planted_fault::plant(&fault)
    {
        let unknown = CommandError::usage(format!("no fault is called `{fault}`"));
        return answered(Err(unknown), &Printer::new(Verbosity::Usual));
    }
    let asks_for_help = is_word(1, &["help"]);
    if asks_for_help && is_word(2, &["--all"]) {
        let help = command_groups::help(&Arguments::command(), true, arguments::help_width());
        let printer = Printer::new(Verbosity::Usual);
        printer.data(&help);
        return answered(Ok(ExitCode::SUCCESS), &printer);
    }
    if asks_for_help {
        // Help about help is the help.
        arguments.retain(|given| given != "--help" && given != "-h");
    }
    let matches = Arguments::grouped_command().try_get_matches_from(arguments);
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers, not errors; clap prints each where it belongs.
            let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
            let printer = Printer::new(Verbosity::Usual);
            printer.keep(error.print());
            return answered(Ok(code), &printer);
        }
    };
    let printer = Printer::new(if arguments.quiet { Verbosity::Quiet } else { Verbosity::Usual });
    let Some(command) = &arguments.command else {
        return answered(commands::status::overview(&printer), &printer);
    };
    if command.shows_work() {
        printer.begin_work("working");
    }
    let result = match command {
        Command::Init(arguments) => commands::init::run(arguments, &printer),
        Command::Uninstall(arguments) => commands::uninstall::run(arguments, &printer),
        Command::Demo(arguments) => commands::demo::run(arguments, &printer),
        Command::Check(arguments) => commands::check::run(arguments, &printer),
        Command::Verify(arguments) => commands::verify::run(arguments, &printer),
        Command::Prove(arguments) => commands::prove::run(arguments, &printer),
        Command::Attest(arguments) => commands::attest::run(arguments, &printer),
        Command::Ci(arguments) => commands::ci::run(arguments, &printer),
        Command::Checkpoint(arguments) => commands::checkpoint::run(arguments, &printer),
        Command::Doctor(arguments) => commands::doctor::run(arguments, &printer),
        Command::Explain(arguments) => commands::explain::run(arguments, &printer),
        Command::Log(arguments) => commands::log::run(arguments, &printer),
        Command::Policy(arguments) => commands::policy::run(arguments, &printer),
        Command::Replay(arguments) => commands::replay::run(arguments, &printer),
        Command::Trust(arguments) => commands::trust::run(arguments, &printer),
        Command::Session(arguments) => commands::session::run(arguments, &printer),
        Command::Autosave(arguments) => commands::autosave::run(arguments, &printer),
        Command::Background(arguments) => commands::background::run(arguments),
        Command::StageExec(arguments) => commands::stage_exec::run(arguments),
        Command::Snapshot(arguments) => commands::snapshot::run(arguments, &printer),
        Command::Status(arguments) => commands::status::run(arguments, &printer),
        Command::Statusline(arguments) => commands::statusline::run(arguments, &printer),
        Command::Timeline(arguments) => commands::timeline::run(arguments, &printer),
        Command::Workflow(arguments) => commands::workflow::run(arguments, &printer),
        Command::Handoff(arguments) => commands::handoff::run(arguments, &printer),
        Command::Tokens(arguments) => commands::tokens::run(arguments, &printer),
        Command::Run(arguments) => commands::run::run(arguments, &printer),
        Command::Report(arguments) => commands::report::run(arguments, &printer),
        Command::Resume(arguments) => commands::resume::run(arguments, &printer),
        Command::Abort(arguments) => commands::abort::run(arguments, &printer),
        Command::Watch(arguments) => commands::watch::run(arguments, &printer),
        Command::Markers(arguments) => commands::markers::run(arguments, &printer),
        Command::Completions(arguments) => {
            commands::completions::run(arguments, &Arguments::command(), &printer)
        }
        Command::Man(arguments) => commands::man::run(arguments, Arguments::command(), &printer),
        Command::Version(arguments) => commands::version::run(arguments, &printer),
        Command::Inject(arguments) => commands::inject::run(arguments, &printer),
        Command::Mcp(arguments) => commands::mcp::run(arguments, &printer),
        Command::Serve(arguments) => commands::serve::run(arguments, &printer),
        Command::Team(arguments) => commands::team::run(arguments, &printer),
        // Answered above, before anything could go wrong.
        Command::Hook(_) => Ok(ExitCode::SUCCESS),
    };
    let result = delivered(result, &printer);
    match (&result, command) {
        // Asked for a yes or a no by scripts, which take 2 for neither.
        (Err(error), Command::Check(_) | Command::Verify(_)) => {
            printer.error(error);
            ErrorKind::Usage.exit_code()
        }
        _ => answered(result, &printer),
    }
}

/// An answer that could not be written is none.
fn delivered(result: Result<ExitCode, CommandError>, printer: &Printer) -> Result<ExitCode, CommandError> {
    result.and_then(|code| printer.written().map(|()| code))
}

fn answered(result: Result<ExitCode, CommandError>, printer: &Printer) -> ExitCode {
    delivered(result, printer).unwrap_or_else(|error| {
        printer.error(&error);
        error.kind().exit_code()
    })
}
