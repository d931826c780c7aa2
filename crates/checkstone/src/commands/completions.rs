//! `checkstone completions`: what a shell needs to complete commands and options.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::arguments::VERSION;
use crate::error::CommandError;
use crate::printer::Printer;

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone completions bash > ~/.local/share/bash-completion/completions/checkstone
  checkstone completions zsh > ~/.zfunc/_checkstone
  checkstone completions fish > ~/.config/fish/completions/checkstone.fish")]
pub(crate) struct CompletionsArguments {
    shell: Shell,
}

pub(crate) fn run(
    arguments: &CompletionsArguments,
    whole: &clap::Command,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut for_people(whole), "checkstone", &mut script);
    printer.data(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}

/// Without the commands that only other programs call.
fn for_people(whole: &clap::Command) -> clap::Command {
    let commands = whole.get_subcommands().filter(|command| !command.is_hide_set());
    clap::Command::new("checkstone").version(VERSION).args(whole.get_arguments()).subcommands(commands)
}
