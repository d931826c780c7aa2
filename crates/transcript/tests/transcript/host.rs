//! What each host writes into its transcripts, a file each, and what the tests need of all of them.

use proptest::prelude::BoxedStrategy;
use serde_json::Value;
use transcript::Agent;

/// Few ids, so that they meet again; texts with everything that JSON escapes.
const ID: &str = "[a-c]";
const TEXT: &str = "[a-z ü\"\\\\\n]{0,12}";

/// What a command printed, and its exit code.
#[derive(Clone, Copy)]
pub(crate) struct CommandEnd<'a> {
    pub(crate) output: &'a str,
    pub(crate) exit_code: i32,
}

macro_rules! hosts {
    ($($host:ident $name:ident,)*) => {
        $(pub(crate) mod $name;)*

        /// The lines of one prompt, which has this number in its session.
        pub(crate) fn prompt_lines(agent: Agent, id: usize, text: &str) -> Vec<Value> {
            match agent {
                $(Agent::$host => $name::prompt_lines(id, text),)*
            }
        }

        /// A prompt with a picture, in base64.
        pub(crate) fn picture_lines(agent: Agent, text: &str, picture: &str) -> Vec<Value> {
            match agent {
                $(Agent::$host => $name::picture_lines(text, picture),)*
            }
        }

        /// A command that the agent ran, and how it ended, if the host writes that down.
        pub(crate) fn command_lines(agent: Agent, id: &str, command: &str, end: CommandEnd<'_>) -> Vec<Value> {
            match agent {
                $(Agent::$host => $name::command_lines(id, command, end),)*
            }
        }

        /// What the agent said.
        pub(crate) fn said_line(agent: Agent, text: &str) -> Value {
            match agent {
                $(Agent::$host => $name::said(text),)*
            }
        }

        pub(crate) fn any_record(agent: Agent) -> BoxedStrategy<Value> {
            match agent {
                $(Agent::$host => $name::any_record(),)*
            }
        }
    };
}

transcript::each_host!(hosts);

/// The hosts whose transcripts are read.
pub(crate) fn read_hosts() -> Vec<Agent> {
    Agent::ALL.into_iter().filter(|agent| transcript::is_read(*agent)).collect()
}
