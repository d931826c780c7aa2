//! Who calls a hook. Some hosts run the hooks of other clients' settings and send payloads of their own: they are known by where
//! their transcript lies, by fields that they alone send, or by their variables (L16).

use transcript::Agent;

use crate::host::host;

/// Whoever called the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A host whose payloads, transcripts and decisions are known.
    Host(Agent),
    /// Another one, by the name that people give it. What it says is not understood, so its agent passes.
    Stranger(&'static str),
}

/// How a host is known by what it sends.
#[derive(Clone, Copy, Debug)]
pub struct CallerMarks {
    /// Fields that it alone sends.
    pub fields: &'static [&'static str],
    /// A variable in the environment of its hooks.
    pub variable: Option<&'static str>,
}

/// Hosts that run the hooks in other clients' settings, by the folder of their transcripts.
const STRANGERS: &[(&str, &str, CallerMarks)] = &[
    ("Cursor", ".cursor", CallerMarks { fields: &["cursor_version"], variable: Some("CURSOR_VERSION") }),
    // Its own folder is called as people call theirs: `~/Code`.
    ("VS Code", "workspaceStorage", CallerMarks { fields: &["hookEventName"], variable: None }),
];

impl Caller {
    /// The transcript decides where it lies in a host's own folder; a field or a variable may be somebody else's, too, so the
    /// host that the hook was registered for is believed first.
    pub(crate) fn find(
        registered: Agent,
        transcript: Option<&str>,
        has_field: impl Fn(&str) -> bool,
        is_set: impl Fn(&str) -> bool,
    ) -> Self {
        let lies_in =
            |folder: &str| transcript.is_some_and(|path| path.split(['/', '\\']).any(|part| part == folder));
        let files = &host(registered).files;
        if lies_in(files.folder) || files.user_folders.is_some_and(|folders| lies_in(folders.name)) {
            return Self::Host(registered);
        }
        let others = || Agent::ALL.into_iter().filter(|agent| *agent != registered);
        let hosts = || others().map(|agent| (Self::Host(agent), host(agent).files.folder, host(agent).marks));
        let strangers =
            || STRANGERS.iter().map(|(title, folder, marks)| (Self::Stranger(title), *folder, *marks));
        let mut all: Vec<(Self, &str, CallerMarks)> = hosts().chain(strangers()).collect();
        if let Some((caller, ..)) = all.iter().find(|(_, folder, _)| lies_in(folder)) {
            return *caller;
        }
        let is_own = host(registered).marks;
        all.retain(|(.., marks)| {
            marks.fields.iter().any(|name| has_field(name))
                || marks
                    .variable
                    .is_some_and(|name| is_set(name) && is_own.variable.is_none_or(|own| !is_set(own)))
        });
        all.first().map_or(Self::Host(registered), |(caller, ..)| *caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(transcript: Option<&str>, fields: &[&str], variables: &[&str]) -> Caller {
        let (has_field, is_set) =
            (|name: &str| fields.contains(&name), |name: &str| variables.contains(&name));
        Caller::find(Agent::Claude, transcript, has_field, is_set)
    }

    #[test]
    fn l16_a_host_is_known_by_its_transcript_its_fields_or_its_variables() {
        let claude = Caller::Host(Agent::Claude);
        let (qwen, copilot) = (Caller::Host(Agent::Qwen), Caller::Host(Agent::Copilot));
        let of_claude = Some("/home/dev/.claude/projects/-home-dev-proj/1.jsonl");
        for (transcript, fields, variables, expected) in [
            (of_claude, &[][..], &[][..], claude),
            (None, &[], &[], claude),
            (Some("/tmp/x.jsonl"), &[], &[], claude),
            // Claude Code in a shell of Copilot CLI.
            (of_claude, &[], &["COPILOT_CLI"], claude),
            (Some("/home/dev/.qwen/projects/-p/chats/1.jsonl"), &[], &[], qwen),
            (None, &["crons"], &[], qwen),
            (Some("/home/dev/.copilot/session-state/1/events.jsonl"), &[], &[], copilot),
            (None, &[], &["COPILOT_CLI"], copilot),
            (Some("/home/dev/.factory/sessions/-p/1.jsonl"), &[], &[], Caller::Host(Agent::Droid)),
            (None, &["tool_execution_count"], &[], Caller::Host(Agent::Droid)),
            (None, &["cursor_version"], &[], Caller::Stranger("Cursor")),
            (None, &["hookEventName"], &[], Caller::Stranger("VS Code")),
        ] {
            assert_eq!(
                caller(transcript, fields, variables),
                expected,
                "{transcript:?} {fields:?} {variables:?}"
            );
        }
    }
}
