//! The commands by what they are for, as the help lists them.

use std::fmt::Write as _;

use text::wrap;

/// One heading of the help, and the commands below it.
struct CommandGroup {
    heading: &'static str,
    commands: &'static [&'static str],
}

const GROUPS: &[CommandGroup] = &[
    CommandGroup {
        heading: "Gate: did the agent do what its changes require?",
        commands: &[
            "init",
            "doctor",
            "check",
            "verify",
            "prove",
            "attest",
            "ci",
            "explain",
            "status",
            "log",
            "timeline",
            "replay",
            "policy",
            "trust",
            "session",
            "uninstall",
        ],
    },
    CommandGroup {
        heading: "Saves: notes, commits and snapshots of the work",
        commands: &["autosave", "snapshot"],
    },
    CommandGroup {
        heading: "Long work: workflows in phases, runs in stages",
        commands: &["workflow", "handoff", "run", "resume", "watch", "abort", "report", "checkpoint"],
    },
    CommandGroup {
        heading: "Live: a page for you, a server for agents",
        commands: &["demo", "serve", "team", "mcp"],
    },
];

/// What clients, shells and scripts call.
const PLUMBING: CommandGroup = CommandGroup {
    heading: "Plumbing: for clients, shells and scripts",
    commands: &["hook", "statusline", "inject", "tokens", "markers", "completions", "version", "help"],
};

/// The column in which the descriptions begin.
const INDENT: usize = 14;

/// The help of the whole program. Plumbing is listed only for those who ask for all of it.
pub(crate) fn help(program: &clap::Command, with_plumbing: bool, width: usize) -> String {
    let mut text = program.get_about().map(|about| format!("{about}\n\n")).unwrap_or_default();
    text.push_str("Usage: checkstone [COMMAND]\n\n");
    for group in GROUPS.iter().chain(with_plumbing.then_some(&PLUMBING)) {
        let _ = writeln!(text, "{}", group.heading);
        for name in group.commands {
            let about = program.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string);
            let about = about.as_deref().unwrap_or("Print this help, or the help of a command");
            let _ = writeln!(text, "  {name:<12}{}", wrap(about, INDENT, Some(width)));
        }
        text.push('\n');
    }
    if !with_plumbing {
        text.push_str("More, for clients and scripts: `checkstone help --all`\n");
    }
    let more = "A command's help: `checkstone COMMAND --help`. Bug reports: `checkstone version`";
    let _ = writeln!(text, "{}\n", wrap(more, 0, Some(width)));
    if let Some(after) = program.get_after_help() {
        let _ = writeln!(text, "{after}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn every_command_stands_below_one_heading() {
        let mut listed: BTreeMap<&str, usize> = BTreeMap::new();
        for name in GROUPS.iter().chain([&PLUMBING]).flat_map(|group| group.commands) {
            *listed.entry(name).or_default() += 1;
        }
        let program = Arguments::command();
        let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
        let mut expected: BTreeMap<&str, usize> = commands.map(|command| (command.get_name(), 1)).collect();
        expected.insert("help", 1);
        assert_eq!(listed, expected);
    }
}
