//! Which programs read the keys of a terminal: the processes of its foreground group, as the system shows them. Typed text
//! is for an agent that reads keys by itself, and must never reach a shell.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use machine::ProcessTable;
use rustix::fs::{Mode, OFlags};
use rustix::termios::LocalModes;
use transcript::Agent;

use crate::host::agent_that;

const SHELLS: &[&str] = &[
    "ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "rbash", "sh",
    "tcsh", "xonsh", "yash", "zsh",
];

/// Programs that run a client which is a script.
const INTERPRETERS: &[&str] = &["bun", "deno", "node", "nodejs"];

/// The programs that read the keys of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreground {
    group: i32,
    programs: Vec<RunningProgram>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RunningProgram {
    arguments: Vec<String>,
    folder: Option<PathBuf>,
}

impl Foreground {
    /// The foreground of the terminal that the process `process` belongs to. Empty if the system does not tell.
    pub(crate) fn of_terminal_of(process: i32) -> Self {
        let Some((_, group)) = ProcessTable::groups(process) else { return Self::default() };
        let mut members = members(group);
        // The leader stands for its group.
        members.sort_by_key(|member| *member != group);
        Self { group, programs: members.into_iter().map(RunningProgram::of).collect() }
    }

    /// The client that is at work there.
    pub fn agent(&self) -> Option<Agent> {
        self.programs.iter().find_map(|program| agent_of(&program.arguments))
    }

    /// The shell whose prompt this is: nothing but shells runs here.
    pub fn shell(&self) -> Option<&str> {
        let mut names = self.programs.iter().map(RunningProgram::name);
        let first = names.next()?;
        (is_shell(first) && names.all(is_shell)).then_some(first)
    }

    /// The folder that the client runs in, or else the program in front.
    pub fn folder(&self) -> Option<&Path> {
        let agent = self.programs.iter().find(|program| agent_of(&program.arguments).is_some());
        agent.or(self.programs.first())?.folder.as_deref()
    }

    /// The name of the program in front.
    pub(crate) fn name(&self) -> Option<&str> {
        self.programs.first().map(RunningProgram::name)
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.group == other.group
    }
}

impl RunningProgram {
    fn of(process: i32) -> Self {
        let arguments = ProcessTable::arguments(process).into_iter();
        let arguments = arguments.map(|argument| String::from_utf8_lossy(&argument).into_owned()).collect();
        Self { arguments, folder: ProcessTable::working_folder(process) }
    }

    fn name(&self) -> &str {
        self.arguments.first().map_or("", |program| base_name(program))
    }
}

/// Whether a terminal hands each key to the program at once. Where it collects lines, what is typed now is read later,
/// and then perhaps by a shell.
pub(crate) fn hands_over_keys(terminal: &Path) -> std::io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(terminal, flags, Mode::empty())?;
    let modes = rustix::termios::tcgetattr(opened.as_fd())?;
    Ok(!modes.local_modes.contains(LocalModes::ICANON))
}

/// The name of a command line's program is a shell's. A login shell's name begins with a dash.
pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&base_name(name))
}

/// The client that a command line runs, by the program's name or, for a script, by its file.
pub(crate) fn agent_of(arguments: &[String]) -> Option<Agent> {
    let mut arguments = arguments.iter().map(String::as_str);
    let program = arguments.next()?;
    let by_name = Agent::named;
    if let Some(agent) = by_name(base_name(program)) {
        return Some(agent);
    }
    if !INTERPRETERS.contains(&base_name(program)) {
        return None;
    }
    let script = arguments.find(|argument| !argument.starts_with('-'))?;
    let stem = Path::new(script).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    by_name(stem).or_else(|| {
        let folder_is = |name: &str| Path::new(script).components().any(|part| part.as_os_str() == name);
        agent_that(|host| folder_is(host.package_folder))
    })
}

fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.trim_start_matches('-')
}

/// The processes of a group.
fn members(group: i32) -> Vec<i32> {
    let is_member = |process: &i32| ProcessTable::groups(*process).is_some_and(|(own, _)| own == group);
    ProcessTable::pids().into_iter().filter(is_member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn clients_are_known_by_their_program_or_script() {
        for (line, agent) in [
            ("codex --search", Some(Agent::Codex)),
            ("/opt/bin/codex resume", Some(Agent::Codex)),
            ("claude", Some(Agent::Claude)),
            ("node /usr/lib/node_modules/@openai/codex/bin/codex.js", Some(Agent::Codex)),
            ("node --no-warnings /usr/bin/gemini", Some(Agent::Gemini)),
            ("node /x/@anthropic-ai/claude-code/cli.js", Some(Agent::Claude)),
            ("/usr/bin/node /x/@google/gemini-cli/bundle/index.js", Some(Agent::Gemini)),
            ("vim codex", None),
            ("less /opt/bin/claude", None),
            ("node server.js codex", None),
            ("ssh host codex", None),
            ("bash", None),
        ] {
            assert_eq!(agent_of(&arguments(line)), agent, "{line}");
        }
    }

    #[test]
    fn a_shell_is_one_whatever_its_path_and_login() {
        for name in ["bash", "-zsh", "/bin/sh", "fish"] {
            assert!(is_shell(name), "{name}");
        }
        for name in ["codex", "vim", "ssh", "python3", ""] {
            assert!(!is_shell(name), "{name}");
        }
    }

    #[test]
    fn a_shell_that_runs_a_client_in_its_own_group_is_no_prompt() {
        let program = |line: &str| RunningProgram { arguments: arguments(line), folder: None };
        let script = Foreground { group: 1, programs: vec![program("bash work.sh"), program("codex")] };
        assert_eq!((script.shell(), script.agent()), (None, Some(Agent::Codex)));
        let prompt = Foreground { group: 1, programs: vec![program("-bash")] };
        assert_eq!((prompt.shell(), prompt.agent()), (Some("bash"), None));
        assert_eq!(Foreground::default().shell(), None);
    }
}
