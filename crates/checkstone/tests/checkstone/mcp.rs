//! `checkstone mcp` as clients use it: by lines on its stdin and stdout, and by the protocol's own SDK.

mod bad_input;
mod client;
mod peer;
mod tools;

use crate::workplace::Workplace;

/// Every tool, in the order in which they are listed.
const TOOLS: [&str; 22] = [
    "check",
    "explain",
    "status",
    "timeline",
    "unproven",
    "snapshot_create",
    "snapshot_list",
    "snapshot_diff",
    "snapshot_restore",
    "workflow_start",
    "workflow_phase",
    "workflow_resume_point",
    "workflow_gate",
    "handoff_new",
    "handoff_check",
    "checkpoint_save",
    "checkpoint_list",
    "checkpoint_validate",
    "checkpoint_resume",
    "run_start",
    "run_status",
    "run_abort",
];

const POLICY: &str = "presets = [\"rust\"]\n";

/// In which the user switched on what writes.
fn writable(policy: &str) -> Workplace {
    let workplace = Workplace::new(Some(policy));
    crate::at_turn_start::configure(&workplace, "[mcp]\nwrite = true\n");
    workplace
}
