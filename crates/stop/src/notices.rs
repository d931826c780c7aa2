//! What reduces checking, or needs a person's eye, is noted in the journal and in the log, and the person hears of it at the next event at which
//! their client can tell them.

use std::path::Path;

use journal::{Author, Journal, NewNotice};
use text::OWN_PREFIX;

use crate::client_event::ClientEvent;
use crate::policy_files::{FILE_NAME, PolicyTexts};
use crate::trust;

/// Something that the person should know, seen at an event.
#[derive(Clone, Copy, Debug)]
pub struct Reduction<'a> {
    pub author: Author,
    pub repository: Option<&'a Path>,
    /// The same thing is noted once.
    pub key: &'a str,
    /// The person need not be told.
    pub is_told: bool,
    /// One sentence.
    pub text: &'a str,
}

impl Reduction<'_> {
    /// Notes it; the log has it if it is new.
    pub fn note(&self, journal: &mut Journal, event: &ClientEvent) {
        self.note_as("switch", journal, event);
    }

    /// The same under another word of the log.
    pub(crate) fn note_as(&self, word: &str, journal: &mut Journal, event: &ClientEvent) {
        if event.is_dry_run {
            return;
        }
        let notice = NewNotice {
            at: event.now,
            author: self.author,
            agent: Some(event.agent()),
            client_id: Some(&event.session),
            repository: self.repository,
            key: Some(self.key),
            is_told: self.is_told,
            text: self.text,
        };
        match journal.write(|writing| writing.add_notice(&notice)) {
            Ok(true) => event.log(word, self.text),
            Ok(false) => {}
            Err(error) => event.log(word, &format!("{} (not recorded: {error})", self.text)),
        }
    }
}

/// Notes a broken policy beside others that are not; `place` says where.
pub(crate) fn note_broken(
    journal: &mut Journal,
    event: &ClientEvent,
    root: Option<&Path>,
    place: &str,
    problems: &str,
) {
    Reduction {
        author: Author::Unknown,
        repository: root,
        key: &format!("broken:{}:{}", root.unwrap_or(Path::new("")).display(), trust::hash(problems)),
        is_told: false,
        text: &format!("The policy{place} is broken, so nothing is checked there:\n{problems}"),
    }
    .note(journal, event);
}

/// Notes that git refuses a repository of another owner, so that nothing is looked at there.
pub(crate) fn note_distrusted(journal: &mut Journal, event: &ClientEvent, root: Option<&Path>, reason: &str) {
    Reduction {
        author: Author::Unknown,
        repository: root,
        key: &format!("distrusted:{}", root.unwrap_or(Path::new("")).display()),
        is_told: false,
        text: &format!("Nothing is checked here: {reason}."),
    }
    .note(journal, event);
}

/// Notes that checks of a repository's file did not run because the file, as it is now, is not trusted.
pub(crate) fn note_untrusted_checks(
    journal: &mut Journal,
    event: &ClientEvent,
    texts: &PolicyTexts,
    count: usize,
) {
    let (Some(path), Some(own)) = (&texts.own_file, trust::own_text(texts)) else { return };
    let (those, are) = if count == 1 { ("a check", "was") } else { ("checks", "were") };
    Reduction {
        author: Author::Unknown,
        repository: path.parent(),
        key: &format!("untrusted-checks:{}:{}", path.display(), trust::hash(&own.text)),
        is_told: false,
        text: &format!(
            "`{FILE_NAME}` defines {those} for the stop that {are} not run: you have not trusted the file as it is now. \
             `checkstone trust` shows what it would run."
        ),
    }
    .note_as("checks", journal, event);
}

/// What the person of this session has not heard of yet. Where the journal cannot be used, the log has it; what a client has no way
/// to tell waits for one that has.
pub fn take_untold(journal: &mut Journal, event: &ClientEvent) -> Option<String> {
    let (agent, session) = (event.agent(), event.session.as_str());
    let can_be_told = !event.is_dry_run && agents::host(event.payload.agent).answer.notify.is_some();
    if !can_be_told || !journal.read(|reader| reader.has_untold_notices(agent, session)).unwrap_or(false) {
        return None;
    }
    let notices = journal.write(|writing| writing.take_untold_notices(agent, session)).unwrap_or_default();
    let lines: Vec<String> = notices.iter().map(|notice| format!("{OWN_PREFIX} {}", notice.text)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
