//! Which handlers in a client's settings call us, in whatever form a person or an earlier version wrote them.

use serde_json::Value;
use transcript::Agent;

use super::{Program, handler};

/// A handler that calls `checkstone hook` for its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCall {
    /// The program as it is written: a path, a bare name, or something that only a shell can resolve.
    pub program: String,
    /// Exactly as `init` writes it, so that it can be written anew with another path.
    pub is_as_written: bool,
}

impl OwnCall {
    /// `None` if the handler is somebody else's.
    pub fn of_handler(agent: Agent, handler: &Value) -> Option<Self> {
        let command = handler.get("command")?.as_str()?;
        let words = match handler.get("args").and_then(Value::as_array) {
            // Without a shell; but the program may be one itself.
            Some(args) => {
                let words = std::iter::once(command).chain(args.iter().filter_map(Value::as_str));
                words.map(str::to_owned).collect()
            }
            None => words(command),
        };
        let program = program_among(agent, &words, 0)?;
        let is_as_written = is_as_written(agent, &program, handler);
        Some(Self { program, is_as_written })
    }
}

fn is_as_written(agent: Agent, program: &str, written: &Value) -> bool {
    // The command is the same at every event.
    let ours = handler(agent, Program::At(program), "");
    let args = ours.args.map(|args| Value::from(args.to_vec()));
    written.get("command") == Some(&Value::from(ours.command)) && written.get("args") == args.as_ref()
}

/// A shell in a shell in a shell is looked into no further than this.
const DEEPEST: usize = 4;

/// The word before `hook AGENT` where it is called `checkstone`; also in a word that is a whole line: `bash -c '…'`.
fn program_among(agent: Agent, all: &[String], depth: usize) -> Option<String> {
    let direct = all.windows(3).find_map(|three| match three {
        [program, hook, name] if hook == "hook" && name == agent.name() && is_our_name(program) => {
            Some(program.clone())
        }
        _ => None,
    });
    let mut lines = all.iter().filter(|word| depth < DEEPEST && word.contains(char::is_whitespace));
    direct.or_else(|| lines.find_map(|line| program_among(agent, &words(line), depth + 1)))
}

/// The program of a line that is nothing but `checkstone COMMAND`.
pub(super) fn program_of_line(line: &str, command: &str) -> Option<String> {
    match words(line).as_slice() {
        [program, word] if word == command && is_our_name(program) => Some(program.clone()),
        _ => None,
    }
}

pub(super) fn is_our_name(program: &str) -> bool {
    program.rsplit('/').next().is_some_and(|name| name == "checkstone")
}

/// The words of a line as a shell would split them, quotes taken away; operators end words and are words themselves.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                let word = word.get_or_insert_default();
                word.extend(characters.by_ref().take_while(|character| *character != '\''));
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(character) = characters.next() {
                    match character {
                        '"' => break,
                        '\\' => word.extend(characters.next()),
                        _ => word.push(character),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(characters.next()),
            _ if character.is_whitespace() => words.extend(word.take()),
            ';' | '&' | '|' | '(' | ')' | '<' | '>' => {
                words.extend(word.take());
                words.push(character.to_string());
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn program(agent: Agent, handler: Value) -> Option<String> {
        OwnCall::of_handler(agent, &handler).map(|call| call.program)
    }

    #[test]
    fn our_hook_is_recognised_in_any_form() {
        for line in [
            "checkstone hook claude",
            "/a/checkstone hook claude",
            "exec /a/checkstone hook claude || true",
            "'/a b/checkstone' hook claude",
            "\"/a b\"/checkstone hook claude;true",
            "$HOME/bin/checkstone hook claude 2>/dev/null",
            "FOO=1 ~/bin/checkstone hook claude",
            "cd /x&&checkstone hook claude&",
            "bash -lc 'checkstone hook claude'",
            "sh -c \"timeout 9 /a/checkstone hook 'claude'\"",
        ] {
            assert!(program(Agent::Claude, json!({"command": line})).is_some(), "{line}");
        }
        let by_env = json!({"command": "/usr/bin/env", "args": ["checkstone", "hook", "claude"]});
        assert_eq!(program(Agent::Claude, by_env).as_deref(), Some("checkstone"));
        let by_shell = json!({"command": "bash", "args": ["-c", "/a/checkstone hook claude"]});
        assert_eq!(program(Agent::Claude, by_shell).as_deref(), Some("/a/checkstone"));
    }

    #[test]
    fn other_peoples_hooks_are_not_ours() {
        for line in [
            "",
            "echo done",
            "checkstone hook gemini",
            "checkstone statusline",
            "/a/notcheckstone hook claude",
            "/a/checkstone/run hook claude",
            "echo checkstone hook-claude",
        ] {
            assert_eq!(program(Agent::Claude, json!({"command": line})), None, "{line}");
        }
        for handler in
            [json!(null), json!([]), json!({}), json!({"command": 1}), json!("checkstone hook claude")]
        {
            assert_eq!(program(Agent::Claude, handler), None);
        }
    }

    #[test]
    fn what_init_wrote_is_known_from_what_a_person_wrote() {
        for agent in Agent::ALL {
            let ours = handler(agent, Program::At("/it's a/checkstone"), "Stop");
            let ours = serde_json::to_value(ours).unwrap();
            let call = OwnCall::of_handler(agent, &ours).unwrap();
            assert_eq!(call, OwnCall { program: "/it's a/checkstone".to_owned(), is_as_written: true });
        }
        let by_hand = json!({"command": "exec /a/checkstone hook codex"});
        assert!(!OwnCall::of_handler(Agent::Codex, &by_hand).unwrap().is_as_written);
    }
}
