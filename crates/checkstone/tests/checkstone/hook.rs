//! The hook as a client runs it: the agent can always stop, and the decisions are right.

mod callers;
mod checks;
mod counting;
mod faults;
mod held_party;
mod late_results;
mod ledger;
mod pane;
mod policies;
mod repositories;
pub(crate) mod session;
mod shared_files;
mod switches;
mod tmux;
mod traces;
mod turns;
mod unannounced_turns;
pub(crate) mod world;

use sandbox::RunToEnd as _;

use crate::program::checkstone;

#[test]
fn any_payload_and_any_arguments_pass_in_silence() {
    let huge = vec![b'{'; 8 << 20];
    for arguments in [&["hook", "claude"][..], &["hook", "gemini"], &["hook", "codex", "--future"], &["hook"]]
    {
        for input in [&b""[..], b"{}", b"not json", b"{\"hook_event_name\":\"Unheard\"}", b"\xff\xfe", &huge]
        {
            let answer = checkstone(arguments).answer_to(input);
            assert_eq!(answer.to_string(), "exit code: 0\n--- stdout\n--- stderr\n", "{arguments:?}");
        }
    }
}
