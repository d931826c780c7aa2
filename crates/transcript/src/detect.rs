//! Which format a transcript has, from its content.

use crate::agent::Agent;
use crate::format::{self, DocumentFormat, possible_writers};
use crate::source::Source;
use crate::window::ReverseLines;

/// How the bytes are laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    /// One record a line.
    Lines,
    /// A single document.
    Document(&'static DocumentFormat),
}

/// Lines looked at from the end. One would do, were it not torn or of a kind that several clients write.
const LINES: usize = 20;

/// A client that is so many lines ahead of the others has written the file.
const SURE_LEAD: usize = 3;

/// Few lines are longer.
const WINDOW: u64 = 16 * 1024;

/// Enough of a document to tell it from lines.
const DOCUMENT_HEAD: u64 = 4 * 1024;

/// Whose transcript it is, and how it is laid out; `named` where the caller knows the client.
pub(crate) fn layout(source: &Source<'_>, named: Option<Agent>) -> Option<(Agent, Layout)> {
    if let Source::Database { lines, .. } = source {
        return Some((lines.agent, Layout::Lines));
    }
    let of_document = |agent: Agent| Some((agent, format::of(agent).document.as_ref()?));
    let documents = named.as_ref().map_or(&Agent::ALL[..], std::slice::from_ref).iter().copied();
    let is_written = |(_, format): &(Agent, &DocumentFormat)| is_document(source, format);
    if let Some((agent, format)) = documents.filter_map(of_document).find(is_written) {
        return Some((agent, Layout::Document(format)));
    }
    if let Some(agent) = named {
        return Some((agent, Layout::Lines));
    }
    writer(source).map(|agent| (agent, Layout::Lines))
}

/// Who wrote the lines of a transcript, where they tell.
pub(crate) fn writer(source: &Source<'_>) -> Option<Agent> {
    if let Source::Database { lines, .. } = source {
        return Some(lines.agent);
    }
    let mut votes = [0_usize; Agent::ALL.len()];
    let mut count = |line: &[u8]| {
        let writers = std::str::from_utf8(line).map(possible_writers).unwrap_or_default();
        for (vote, agent) in votes.iter_mut().zip(Agent::ALL) {
            *vote += usize::from(writers.contains(&agent));
        }
        votes
    };
    // Some introduce themselves there, and write nothing of their own later.
    let mut votes = count(head(source, WINDOW).split(|byte| *byte == b'\n').next().unwrap_or_default());
    let mut lines = ReverseLines::new(source, WINDOW, 64 * WINDOW);
    for left in (0..LINES).rev() {
        let Ok(Some(line)) = lines.next_line() else { break };
        votes = count(line.bytes);
        let mut ranking = votes;
        ranking.sort_unstable();
        let [.., second, first] = ranking;
        // Or nobody can catch up with the first any more.
        if first >= second + SURE_LEAD || first > second + left {
            break;
        }
    }
    let (most, agent) = votes.into_iter().zip(Agent::ALL).max_by_key(|(votes, _)| *votes)?;
    (most > 0 && votes.iter().filter(|votes| **votes == most).count() == 1).then_some(agent)
}

/// A document begins with a brace on a line of its own, or is one line with messages in it; its head has the sign of its client.
fn is_document(source: &Source<'_>, format: &DocumentFormat) -> bool {
    let head = head(source, DOCUMENT_HEAD);
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let is_one_line = || rest.trim().is_empty() && first.contains(r#""messages":["#);
    text.contains(format.sign) && (first.trim_end() == "{" || (first.starts_with('{') && is_one_line()))
}

/// The first bytes, or none where they cannot be read.
fn head(source: &Source<'_>, length: u64) -> Vec<u8> {
    let mut head = Vec::new();
    match source.append_at(&mut head, length.min(source.len()) as usize, 0) {
        Ok(()) => head,
        Err(_) => Vec::new(),
    }
}
