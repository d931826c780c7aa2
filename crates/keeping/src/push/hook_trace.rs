//! Whether a push that took too long was waiting for the user's own pre-push hook: git's own account of what it started and
//! what has ended. A hook and a remote that does not answer look the same from outside.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use changes::Repository;
use serde::Deserialize;

/// The hook comes at the beginning; what git calls inside it is noted too.
const LONGEST: usize = 1 << 20;

/// The file that git writes its account to. It has no name, since the address of the remote is in it, so that nothing of it stays
/// if we are killed: git opens it as a file of ours.
pub(super) struct HookTrace {
    file: File,
    path: PathBuf,
}

/// One line of it.
#[derive(Deserialize)]
struct TraceEvent {
    event: String,
    /// Of the process, below those of its parents.
    sid: String,
    child_id: Option<u64>,
    hook_name: Option<String>,
}

impl HookTrace {
    /// `None` if there is no room for it, or if this system does not let git open it; then it is not known what a push was
    /// waiting for.
    pub(super) fn new(repository: &Repository) -> Option<Self> {
        let file = tempfile::tempfile_in(&repository.git_dir).ok()?;
        let path = machine::path_of_open_file(&file)?;
        Some(Self { file, path })
    }

    pub(super) fn variable(&self) -> (&'static str, &PathBuf) {
        ("GIT_TRACE2_EVENT", &self.path)
    }

    /// Whether the pre-push hook was started and has not ended.
    pub(super) fn is_in_hook(&self) -> bool {
        let mut text = vec![0; LONGEST];
        let read = self.file.read_at(&mut text, 0).unwrap_or_default();
        is_in_hook(text.get(..read).unwrap_or_default())
    }
}

fn is_in_hook(text: &[u8]) -> bool {
    let lines = text.split(|byte| *byte == b'\n');
    let events: Vec<TraceEvent> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    // The hook may call git itself.
    let own = || events.iter().filter(|event| events.first().is_some_and(|first| first.sid == event.sid));
    let started =
        own().find(|event| event.event == "child_start" && event.hook_name.as_deref() == Some("pre-push"));
    started.is_some_and(|started| {
        !own().any(|event| event.event == "child_exit" && event.child_id == started.child_id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_running_from_its_start_to_its_end() {
        let start = r#"{"event":"version","sid":"a"}
{"event":"child_start","sid":"a","child_id":1,"child_class":"hook","hook_name":"pre-push","argv":[]}
{"event":"child_exit","sid":"a/b","child_id":1}
not json
"#;
        assert!(is_in_hook(start.as_bytes()));
        let ended = format!("{start}{{\"event\":\"child_exit\",\"sid\":\"a\",\"child_id\":1}}\n");
        assert!(!is_in_hook(ended.as_bytes()));
        assert!(!is_in_hook(b""));
    }
}
