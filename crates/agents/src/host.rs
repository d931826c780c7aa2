//! What is to be known of each host: what it sends, what it can be told, where it keeps what. One row of data each, in a
//! folder of its own; everything else asks for it here and knows no host by its name.

use std::path::{Path, PathBuf};

use serde_json::Value;
use transcript::Agent;

use crate::answer::AnswerForm;
use crate::caller::CallerMarks;
use crate::known_hook::TrustQuestion;
use crate::notification::NotifyForm;
use crate::payload::EventKind;
use crate::registration::hand_written::HandWrittenHooks;
use crate::rehearsed_turn::RehearsedTurn;
use crate::transcripts::Introduction;

/// One client.
#[derive(Debug)]
pub struct Host {
    /// How people call it, and in short.
    pub title: &'static str,
    pub short_title: &'static str,
    /// What its program is called on `PATH`, if not as people type its name here.
    pub program: Option<&'static str>,
    /// The folder of its npm package, by which a script that runs is known.
    pub package_folder: &'static str,
    /// How it is known where it runs the hooks of another client's settings.
    pub marks: CallerMarks,
    pub payload: PayloadForm,
    pub can: Abilities,
    pub answer: AnswerForm,
    pub registration: RegistrationForm,
    pub files: HostFiles,
    pub variables: HostVariables,
    pub transcripts: TranscriptPlaces,
    pub rehearsal: RehearsalForm,
    /// The file that the agent reads at the beginning of a session.
    pub notes_file: &'static str,
    /// Who worked on what a save commits.
    pub co_author: &'static str,
    /// Where people use it and no hook of theirs fires, by its documentation: the program is not there.
    pub silent_in: &'static [&'static str],
    /// Where people use it and nobody has tried whether hooks fire.
    pub untried_in: &'static [&'static str],
    /// How it tells a program that it starts at the end of a turn of that turn.
    pub notify: Option<NotifyForm>,
    /// How it is asked which hooks it runs.
    pub trust: Option<TrustQuestion>,
    /// Where it keeps the MCP servers that it starts.
    pub mcp: Option<McpForm>,
}

/// Where a host keeps the MCP servers that it starts, and how one of them is written.
#[derive(Debug)]
pub struct McpForm {
    /// The person's own.
    pub user_file: McpFile,
    /// In a repository, from its root.
    pub project_file: &'static str,
    pub text: McpText,
}

/// Where a person's own file lies.
#[derive(Clone, Copy, Debug)]
pub enum McpFile {
    InFolder(&'static str),
    /// In the home; in the host's folder if a variable says where that is.
    InHome(&'static str),
}

/// What such a file looks like.
#[derive(Clone, Copy, Debug)]
pub enum McpText {
    /// An object of servers by their names; one of them, for the path of the program.
    Json { servers: &'static str, entry: fn(&str) -> Value },
    /// A table of tables.
    Toml { table: &'static str },
}

/// What a host says at its events.
#[derive(Debug)]
pub struct PayloadForm {
    /// Its own names of the events that mean something here.
    pub events: &'static [(&'static str, EventKind)],
    /// Payloads that name no event are of the first of these whose field they have.
    pub unnamed_events: &'static [(&'static str, EventKind)],
    /// Fields that it calls otherwise than most, by the names that most give them.
    pub other_names: &'static [(&'static str, &'static str)],
    /// A stop whose field has another value than this is none: the person interrupted the agent, or it failed.
    pub only_stops: Option<(&'static str, &'static str)>,
    /// The field with its own id of the turn.
    pub turn: Option<&'static str>,
    /// The field with the agent's last words.
    pub last_text: Option<&'static str>,
    /// It tells of a prompt also where there is none.
    pub has_empty_prompts: bool,
    /// It puts the context that hooks gave before the prompt or behind it.
    pub wraps_context: bool,
    /// A nameless sub-agent writes the summary of a compaction.
    pub has_nameless_subagents: bool,
    /// At these beginnings of a session the agent has forgotten what it was told.
    pub forgets_at: &'static [&'static str],
}

/// What a host can be told, and what it does by itself.
#[derive(Debug)]
pub struct Abilities {
    pub holds_subagents: bool,
    pub tells_person_before_compaction: bool,
    /// The person reads a text of their own beside the reason of a hold.
    pub tells_person_beside_hold: bool,
    /// Whether the version that calls itself so takes context at a stop for a hold.
    pub holds_by_context: Option<fn(&str) -> bool>,
    /// Keys that it does not know do no harm, so an account of a save can stand beside a hold.
    pub takes_account_of_save: bool,
    /// It has a status line, which is told how large the context is.
    pub has_status_line: bool,
    /// The transcript shows how commands ended, and is in a format that is read. Otherwise what counts is what changed: a host that
    /// the hooks are registered for is held for that, and one that runs another client's is not.
    pub shows_results: bool,
    /// It writes the last lines of the transcript after it has called us (T21).
    pub writes_late: bool,
    /// It writes down when it asks its hooks at a stop; what the turn did stands before that.
    pub records_stops: bool,
    /// A hold is in the transcript; else only our own count and the client's flag tell of it.
    pub records_holds: bool,
    /// The transcript has the size of the context window.
    pub writes_window: bool,
}

/// How our hooks stand in a host's settings.
#[derive(Debug)]
pub struct RegistrationForm {
    /// By the client's own names.
    pub events: &'static [&'static str],
    pub matcher: Option<&'static str>,
    /// How the client calls the hook in its messages.
    pub name: Option<&'static str>,
    pub call: CallForm,
    /// The list of an event has the hooks themselves, not groups of them.
    pub is_flat: bool,
    /// Numbers that a file of hooks begins with.
    pub head: &'static [(&'static str, u32)],
    /// What else the hook at the stop has: names of JSON values.
    pub at_stop: &'static [(&'static str, &'static str)],
    /// The program in a plugin or extension.
    pub in_package: &'static str,
    /// In the client's own unit. Far beyond our own limit, so that it never has to change.
    pub timeout: u32,
    /// Where the client limits the end of a session itself.
    pub session_end_timeout: Option<u32>,
    /// Only a person who names it wants it: it was never run here.
    pub only_if_named: bool,
    /// What is left for the person to do after `init`, or good to know.
    pub note_for_user: Option<&'static str>,
    pub note_for_project: Option<&'static str>,
    /// Which shell runs a line.
    pub shell: HookShell,
    pub file: RegistrationFile,
}

/// What the file is that hooks are registered in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationFile {
    /// Settings, with other people's hooks beside ours.
    Settings,
    /// A program in the client's own language that is all ours: its text, with the place of our program in it.
    Own(&'static str),
}

/// How a client is told what to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// A program and its arguments, without a shell.
    Arguments,
    /// A line for a shell, with these words at its end.
    Line(&'static str),
}

/// The shell that a client runs the line of a hook with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookShell {
    At(&'static str),
    /// The person's own.
    OfPerson,
}

/// Where a host keeps what matters to us.
#[derive(Debug)]
pub struct HostFiles {
    /// In the home, and in a repository.
    pub folder: &'static str,
    /// Where the person's own folders lie, if not in the home under the same name.
    pub user_folders: Option<UserFolders>,
    /// In a repository, if it is called otherwise there.
    pub folder_in_repository: Option<&'static str>,
    pub folder_variable: Option<FolderVariable>,
    /// The file in it that hooks are registered in.
    pub settings: &'static str,
    /// A file in a repository that only this person has.
    pub local_settings: Option<&'static str>,
    pub managed_settings: Option<&'static str>,
    /// It reads settings with comments.
    pub allows_comments: bool,
    pub allows_byte_order_mark: bool,
    /// Any other key makes it ignore the whole file.
    pub only_keys: Option<&'static [&'static str]>,
    pub switches: &'static [Switch],
    /// Other files in its folder, in the home or in a repository, that have such a switch.
    pub files_with_switches: &'static [&'static str],
    pub package: Option<HostPackage>,
    /// Hooks that a person may have written into another file.
    pub hand_written: Option<HandWrittenHooks>,
    /// The switches of direct execution lie in its folder.
    pub has_execution_switches: bool,
}

impl HostFiles {
    /// The person's own folder, as it is in a home where no variable says otherwise.
    pub fn in_home(&self) -> String {
        self.user_folders
            .map_or_else(|| self.folder.to_owned(), |folders| format!(".config/{}", folders.name))
    }
}

/// Folders by the rules of freedesktop.org: settings in `XDG_CONFIG_HOME`, transcripts in `XDG_DATA_HOME`.
#[derive(Clone, Copy, Debug)]
pub struct UserFolders {
    pub name: &'static str,
}

/// A variable that says where the folder is.
#[derive(Clone, Copy, Debug)]
pub struct FolderVariable {
    pub name: &'static str,
    /// It names the home that the folder lies in.
    pub is_home: bool,
}

/// A key by which a person switches the hooks of a client off.
#[derive(Debug)]
pub struct Switch {
    pub pointer: &'static str,
    pub name: &'static str,
    pub is_off: fn(&Value) -> bool,
}

/// A plugin or extension of ours that brings the hooks along.
#[derive(Debug)]
pub struct HostPackage {
    /// `plugin` or `extension`.
    pub kind: &'static str,
    /// What the client calls the folder of the package in a command line.
    pub variable: &'static str,
    /// The package is the folder that people unpack, not a folder in it.
    pub is_unpacked_folder: bool,
    /// People get a file of hooks beside the package, too.
    pub has_hooks_beside: bool,
    /// Whether the settings switch it on.
    pub is_enabled: fn(settings: &Value) -> bool,
    /// Whether it lies in the client's folder.
    pub is_installed: fn(folder: &Path) -> bool,
    /// Asks the client for the folders that it runs it from; what it prints is read by `listed`.
    pub list: Option<&'static [&'static str]>,
    pub listed: fn(&Value) -> Vec<PathBuf>,
    /// The folders as the client's files tell; the repository, if there is one, may decide.
    pub folders: fn(folder: &Path, repository: Option<&Path>) -> Vec<PathBuf>,
}

/// Variables that a host sets, or obeys.
#[derive(Debug)]
pub struct HostVariables {
    /// In the environment of its tools: the session that calls.
    pub session: Option<&'static str>,
    /// In the environment of its tools, where that does not say which session calls.
    pub calls: Option<&'static str>,
    /// What keeps it from reaching out or updating itself while it is asked something.
    pub quiet: &'static [(&'static str, &'static str)],
}

/// Where a host keeps its transcripts.
#[derive(Debug)]
pub struct TranscriptPlaces {
    /// The transcript of a session, in the host's folder.
    pub of_session: Option<fn(&Path, &str) -> Option<PathBuf>>,
    /// All of them, or as many as are looked through.
    pub all: fn(&Path) -> Vec<PathBuf>,
    /// Those that may be about this folder.
    pub of_folder: fn(&Path, &Path) -> Vec<PathBuf>,
    /// Which folder it is about is only told inside.
    pub is_folder_inside: bool,
    /// What the beginning of a transcript, or its name, tells.
    pub introduction: fn(&Path) -> Introduction,
    /// Whether the file is a sub-agent's, by its name.
    pub is_subagent_file: fn(&Path) -> bool,
    /// The session that writes this file, if the path tells.
    pub session_of_path: fn(&Path) -> Option<&str>,
}

/// A turn that never was, as the host would tell of it.
#[derive(Debug)]
pub struct RehearsalForm {
    /// What every payload has beside session, transcript, folder and event.
    pub payload: fn(&RehearsedTurn<'_>) -> Value,
    /// What a stop has beside that.
    pub stop: fn() -> Value,
    pub records: fn(&RehearsedTurn<'_>) -> Vec<Value>,
}

/// What the client's program is called on `PATH`.
pub fn program_name(agent: Agent) -> &'static str {
    host(agent).program.unwrap_or(agent.name())
}

impl Host {
    /// Its own name of an event, as it is registered.
    pub fn event_name(&self, kind: EventKind) -> Option<&'static str> {
        let named = self.payload.events.iter().filter(|(_, known)| *known == kind);
        named.map(|(name, _)| *name).find(|name| self.registration.events.contains(name))
    }
}

macro_rules! hosts {
    ($($host:ident $name:ident,)*) => {
        $(mod $name;)*

        /// What is to be known of `agent`.
        pub fn host(agent: Agent) -> &'static Host {
            match agent {
                $(Agent::$host => &$name::HOST,)*
            }
        }
    };
}

transcript::each_host!(hosts);

/// The first host of which this is so.
pub fn agent_that(is_it: impl Fn(&Host) -> bool) -> Option<Agent> {
    Agent::ALL.into_iter().find(|agent| is_it(host(*agent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsed_turn::{RehearsedTurn, Tests};

    /// What no default can stand for.
    #[test]
    fn every_row_says_who_it_is() {
        for agent in Agent::ALL {
            let row = host(agent);
            for name in [row.title, row.short_title, row.package_folder, row.co_author, row.notes_file] {
                assert!(!name.is_empty(), "{agent:?}");
            }
            assert!(row.files.folder.starts_with('.'), "{agent:?}");
            for kind in [EventKind::SessionStart, EventKind::PromptSubmitted, EventKind::Stop] {
                assert!(row.event_name(kind).is_some(), "{agent:?} {kind:?}");
            }
            let turn = RehearsedTurn {
                agent,
                tests: Tests::Passed,
                repository: Path::new("/r"),
                transcript: Path::new("/t"),
                now: String::new(),
            };
            assert_eq!((row.rehearsal.records)(&turn).is_empty(), !transcript::is_read(agent), "{agent:?}");
        }
    }
}
