//! What one stop says of all the repositories that it judged: at most one hold, and one message.

use text::OWN_PREFIX;

use crate::hold_message::HoldMessage;
use crate::reason::Reason;
use crate::verdict::{Decision, Verdict};

/// The verdicts of one stop as one.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedVerdict {
    pub decision: Decision,
    /// Why, in a few words, for the log.
    pub reason: String,
    /// For the agent, if it is held.
    pub to_agent: Option<String>,
    /// For the person, beside a hold too.
    pub to_person: Option<String>,
}

impl JoinedVerdict {
    /// Each with the folder of its repository, if the agent does not work in that.
    pub fn of(verdicts: &[(Option<&str>, &Verdict)]) -> Self {
        let all = || verdicts.iter().map(|(_, verdict)| *verdict);
        let said = |decision: Decision| all().filter(move |verdict| verdict.decision == decision);
        let strongest =
            [Decision::Hold, Decision::Notify].into_iter().find(|one| said(*one).next().is_some());
        // Nothing is called clear beside something that is not.
        let is_clear = |verdict: &&Verdict| verdict.reason == Reason::AllClear;
        let is_all_clear =
            all().filter(|verdict| verdict.decision != Decision::Pass).all(|one| is_clear(&one));
        let most = if is_all_clear { 1 } else { verdicts.len() };
        let notices = said(Decision::Notify).filter(|verdict| is_all_clear || !is_clear(verdict));
        let reasons = verdicts.iter().map(|(folder, verdict)| match folder {
            Some(folder) => format!("in `{folder}`: {}", verdict.reason),
            None => verdict.reason.to_string(),
        });
        Self {
            decision: strongest.unwrap_or(Decision::Pass),
            reason: reasons.collect::<Vec<_>>().join("; "),
            to_agent: to_agent(&said(Decision::Hold).collect::<Vec<_>>()),
            to_person: one_text(notices.take(most).filter_map(|verdict| verdict.message.as_deref())),
        }
    }
}

fn to_agent(holding: &[&Verdict]) -> Option<String> {
    if let [only] = holding {
        return only.message.clone();
    }
    let in_parts: Vec<&HoldMessage> = holding.iter().filter_map(|verdict| verdict.hold.as_ref()).collect();
    let joined = (!in_parts.is_empty()).then(|| HoldMessage::joined(&in_parts));
    let sentences = holding.iter().filter(|verdict| verdict.hold.is_none());
    let sentences = sentences.filter_map(|verdict| verdict.message.as_deref());
    one_text(joined.as_deref().into_iter().chain(sentences))
}

/// Each text once, and our name in front of the first alone.
fn one_text<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut lines: Vec<&str> = Vec::new();
    for text in texts {
        let text = match lines.is_empty() {
            true => text,
            false => text.strip_prefix(OWN_PREFIX).map_or(text, str::trim_start),
        };
        if !lines.contains(&text) {
            lines.push(text);
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}
