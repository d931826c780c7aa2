//! What each host writes into its transcripts, a file each, and what the tests need of all of them.

use proptest::prelude::BoxedStrategy;
use serde_json::Value;
use transcript::Agent;

/// Few ids, so that they meet again; texts with everything that JSON escapes.
const ID: &str = "[a-c]";
const TEXT: &str = "[a-z ü\"\\\\\n]{0,12}";

macro_rules! hosts {
    ($($host:ident $name:ident,)*) => {
        $(pub(crate) mod $name;)*

        /// The lines of one prompt, which has this number in its session.
        pub(crate) fn prompt_lines(agent: Agent, id: usize, text: &str) -> Vec<Value> {
            match agent {
                $(Agent::$host => $name::prompt_lines(id, text),)*
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
