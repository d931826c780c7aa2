//! Whether a push that took too long was waiting for the user's own pre-push hook: git's own account of what it started and
//! what has ended. A hook and a remote that does not answer look the same from outside.

use std::io::Read as _;
use std::path::PathBuf;

use changes::Repository;
use serde::Deserialize;
use tempfile::TempDir;

use crate::abandoned;

const PREFIX: &str = "checkstone-push-";

/// The hook comes at the beginning; what git calls inside it is noted too. Of a longer one nobody knows the end.
const LONGEST: u64 = 1 << 20;

/// The file that git writes its account of one push to. It lies in a folder of its own, since what a hook has left running may
/// call git long after the push: with the folder gone, that git has nothing to open and makes nothing.
pub(super) struct HookTrace {
    folder: TempDir,
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
    /// `None` if there is no room for it; then it is not known what a push was waiting for.
    pub(super) fn new(repository: &Repository) -> Option<Self> {
        abandoned::folder_in(&repository.git_dir, PREFIX).ok().map(|folder| Self { folder })
    }

    pub(super) fn variable(&self) -> (&'static str, PathBuf) {
        ("GIT_TRACE2_EVENT", self.file())
    }

    /// Whether the pre-push hook was started and has not ended.
    pub(super) fn is_in_hook(&self) -> bool {
        let mut text = Vec::new();
        let file = fs_err::File::open(self.file());
        let read = file.and_then(|file| file.take(LONGEST + 1).read_to_end(&mut text));
        read.is_ok_and(|length| length as u64 <= LONGEST) && is_in_hook(&text)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("events")
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

    #[test]
    fn of_a_trace_that_is_too_long_nothing_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        let repository = Repository { root: root.clone(), git_dir: root.clone(), common_dir: root.clone() };
        let trace = HookTrace::new(&repository).unwrap();
        assert!(!trace.is_in_hook());
        let start = r#"{"event":"child_start","sid":"a","child_id":1,"hook_name":"pre-push"}"#;
        fs_err::write(trace.file(), start).unwrap();
        assert!(trace.is_in_hook());
        fs_err::write(trace.file(), format!("{start}\n{}", "\n".repeat(1 << 20))).unwrap();
        assert!(!trace.is_in_hook());
        drop(trace);
        assert_eq!(root.read_dir().unwrap().count(), 0);
    }
}
