//! How much memory a tree uses. What its processes share with each other is counted once, where the system tells.

use std::time::Duration;

use super::processes::{self, Process};

/// A tree that has a limit is looked at so often.
pub(super) const EVERY: Duration = Duration::from_millis(200);

/// Whether the tree below `root` uses more than this many bytes.
pub(super) fn is_above(limit: u64, root: i32, rows: &mut Vec<Process>) -> bool {
    let Ok(proc) = processes::open() else { return false };
    rows.reserve(processes::MOST);
    processes::read_all(&proc, rows);
    let in_all: u64 = processes::tree(rows, root).map(|process| resident(process.pid)).sum();
    // What is shared was counted for each of them. Asking for the exact figure takes longer, and is rarely needed.
    in_all > limit && processes::tree(rows, root).map(|process| exact(process.pid)).sum::<u64>() > limit
}

/// What a process has in memory, shared pages included.
fn resident(pid: i32) -> u64 {
    figure(&format!("/proc/{pid}/status"), "VmRSS:").unwrap_or(0)
}

/// Shared pages in equal parts with those it shares them with; not everyone's may be asked for.
fn exact(pid: i32) -> u64 {
    figure(&format!("/proc/{pid}/smaps_rollup"), "Pss:").unwrap_or_else(|| resident(pid))
}

/// A line of kilobytes, in bytes.
fn figure(path: &str, key: &str) -> Option<u64> {
    let text = fs_err::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
