//! How much memory a tree uses. What its processes share with each other is counted once, where the system tells.

use std::time::Duration;

use machine::{Process, ProcessTable};

/// A tree that has a limit is looked at so often.
pub(super) const EVERY: Duration = Duration::from_millis(200);

/// Whether the tree below `root` uses more than this many bytes.
pub(super) fn is_above(limit: u64, root: i32, rows: &mut Vec<Process>) -> bool {
    let Ok(table) = ProcessTable::open() else { return false };
    rows.reserve(machine::MOST);
    table.read_all(rows);
    let sum = |of: fn(i32) -> u64| machine::tree(rows, root).map(|process| of(process.pid)).sum::<u64>();
    // What is shared was counted for each of them. Asking for the exact figure takes longer, and is rarely needed.
    sum(ProcessTable::resident) > limit && sum(ProcessTable::proportional) > limit
}
