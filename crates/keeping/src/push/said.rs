//! What git and the remote said, as an answer that a program can act on. Credentials in URLs are taken out of every
//! text that leaves here.

use files::Ended;

use super::PushOutcome;
use crate::commit::last_lines;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RemoteAnswer {
    Done,
    /// The remote has commits that we have not.
    Behind,
    /// It may work later.
    Passing {
        reason: String,
    },
    Final(PushOutcome),
}

/// Somebody would have to answer a question.
const ASKED: &str = "\
    unable to get password|could not read username|could not read password|terminal prompts disabled|\
    authentication failed|authentication required|invalid username or|permission denied (|\
    host key verification failed|returned error: 401|returned error: 403|repository not found|access denied|\
    no such identity";

/// The network, or the server, for now.
const PASSING: &str = "\
    could not resolve host|temporary failure in name resolution|connection refused|connection timed out|\
    connection reset|connection closed by|operation timed out|network is unreachable|no route to host|\
    returned error: 429|returned error: 5|early eof|hung up unexpectedly|unexpected disconnect|rpc failed|\
    failed to connect|couldn't connect|empty reply from server";

pub(super) fn understand(ended: &Ended) -> RemoteAnswer {
    if ended.status.success() {
        return RemoteAnswer::Done;
    }
    let output = String::from_utf8_lossy(&ended.stdout);
    let complaint = String::from_utf8_lossy(&ended.stderr);
    answer(&output, &complaint, &ended.status.to_string())
}

fn answer(output: &str, complaint: &str, status: &str) -> RemoteAnswer {
    // `!<TAB>from:to<TAB>[rejected] (fetch first)`
    if let Some(line) = output.lines().find(|line| line.starts_with("!\t")) {
        let verdict = line.rsplit('\t').next().unwrap_or_default();
        let behind = ["fetch first", "non-fast-forward", "stale info", "needs force"];
        if verdict.starts_with("[rejected]") && behind.iter().any(|word| verdict.contains(word)) {
            return RemoteAnswer::Behind;
        }
        // Another push was faster, between the remote's first word and its last.
        let raced =
            ["failed to update ref", "cannot lock ref", "incorrect old value", "reference already exists"];
        if verdict.starts_with("[remote rejected]") && raced.iter().any(|word| verdict.contains(word)) {
            return RemoteAnswer::Behind;
        }
        let remote: Vec<&str> = complaint.lines().filter_map(|line| line.strip_prefix("remote: ")).collect();
        let said = last_lines(remote.join("\n").as_bytes());
        let verdict = verdict.trim();
        let reason = if said.is_empty() { verdict.to_owned() } else { format!("{verdict}: {said}") };
        return RemoteAnswer::Final(PushOutcome::Rejected { reason: without_credentials(&reason) });
    }
    // Nothing was sent, and the network is not why: the user's own pre-push hook said no.
    if let Some(end) = complaint.rfind("error: failed to push some refs") {
        let said = format!("{output}\n{}", complaint.get(..end).unwrap_or_default());
        let said = last_lines(said.as_bytes());
        let reason = without_credentials(&format!("the hook `pre-push` refused it: {said}"));
        return RemoteAnswer::Final(PushOutcome::Failed { reason });
    }
    if complaint.contains("submodule paths contain changes that can") {
        let paths = complaint.lines().filter_map(|line| line.strip_prefix("  ")).map(str::trim);
        let paths = paths.take_while(|path| !path.is_empty()).map(|path| format!("`{path}`"));
        let paths = last_lines(paths.collect::<Vec<_>>().join(", ").as_bytes());
        let reason = format!("push the submodules first: no remote has the new commits of {paths}");
        return RemoteAnswer::Final(PushOutcome::Failed { reason });
    }
    let lower = complaint.to_lowercase();
    let reason = without_credentials(&reason(complaint, status));
    if ASKED.split('|').any(|words| lower.contains(words)) {
        return RemoteAnswer::Final(PushOutcome::AuthNeeded { reason });
    }
    if PASSING.split('|').any(|words| lower.contains(words)) {
        return RemoteAnswer::Passing { reason };
    }
    RemoteAnswer::Final(PushOutcome::Failed { reason })
}

/// The line that tells most.
fn reason(complaint: &str, status: &str) -> String {
    let told = |start: &str| complaint.lines().find(|line| line.starts_with(start));
    let line = told("fatal:")
        .or_else(|| told("error:"))
        .or_else(|| complaint.lines().rfind(|line| !line.trim().is_empty()));
    last_lines(line.unwrap_or(status).as_bytes())
}

/// The text, with `…` in place of user names and passwords in URLs, and of what follows a `?` in them.
pub(super) fn without_credentials(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        clean.push_str(before);
        let is_end = |letter: char| letter.is_whitespace() || matches!(letter, '\'' | '"' | '`' | '<' | '>');
        let (url, behind) = after.split_at(after.find(is_end).unwrap_or(after.len()));
        // A password may hold a slash or an `@` that nobody escaped: the last `@` is taken, wherever it is.
        let (host, hidden) = match url.rsplit_once('@') {
            Some((_, host)) => (host, true),
            None => (url, false),
        };
        clean.push_str(if hidden { "…@" } else { "" });
        match host.split_once('?') {
            Some((path, _)) => {
                clean.push_str(path);
                clean.push_str("?…");
            }
            None => clean.push_str(host),
        }
        rest = behind;
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_urls_are_never_told() {
        let clean = [
            (
                "fatal: unable to access 'https://user:pa@ss/word@host/x.git/': no",
                "fatal: unable to access 'https://…@host/x.git/': no",
            ),
            (
                "https://token@github.com/a and ssh://git@host:22/b",
                "https://…@github.com/a and ssh://…@host:22/b",
            ),
            ("https://host/x?private_token=abc done", "https://host/x?… done"),
            ("git@host:path stays", "git@host:path stays"),
            ("https://a:b@h", "https://…@h"),
            ("://", "://"),
        ];
        for (text, wanted) in clean {
            assert_eq!(without_credentials(text), wanted);
        }
    }

    /// A6: what was said decides between trying again, telling the user, and putting ours on top.
    #[test]
    fn git_is_understood() {
        let rejected = "To x\n!\tHEAD:refs/heads/main\t[rejected] (fetch first)\nDone\n";
        assert_eq!(answer(rejected, "", ""), RemoteAnswer::Behind);
        let hook = "!\tHEAD:refs/heads/main\t[remote rejected] (pre-receive hook declined)\n";
        assert_eq!(
            answer(hook, "remote: not on Fridays\nTo x\n", ""),
            RemoteAnswer::Final(PushOutcome::Rejected {
                reason: "[remote rejected] (pre-receive hook declined): not on Fridays".to_owned()
            })
        );
        let asked =
            "fatal: could not read Username for 'http://a:b@127.0.0.1:1': terminal prompts disabled\n";
        assert_eq!(
            answer("", asked, ""),
            RemoteAnswer::Final(PushOutcome::AuthNeeded {
                reason:
                    "fatal: could not read Username for 'http://…@127.0.0.1:1': terminal prompts disabled"
                        .to_owned()
            })
        );
        for passing in [
            "ssh: connect to host x port 22: Connection refused\nfatal: Could not read from remote repository.",
            "fatal: unable to access 'https://x/': The requested URL returned error: 503",
            "fatal: unable to access 'https://x/': Could not resolve host: x",
        ] {
            assert!(matches!(answer("", passing, ""), RemoteAnswer::Passing { .. }), "{passing}");
        }
        let reason = "exit status: 3".to_owned();
        assert_eq!(
            answer("", "", &reason),
            RemoteAnswer::Final(PushOutcome::Failed { reason: reason.clone() })
        );
    }
}
