//! What was held, compared with what should have been.

use std::collections::BTreeMap;
use std::fmt;

use super::label::{Label, Wanted};
use super::replayed::{Hold, Replayed, Turns};

/// How many turns should be held, arguably, or should not.
#[derive(Debug, Default)]
struct Tally {
    right: u64,
    borderline: u64,
    wrong: u64,
}

#[derive(Debug, Default)]
pub(super) struct Comparison {
    turns: Turns,
    labelled: Tally,
    held: Tally,
    missed: u64,
    by_cause: BTreeMap<String, Tally>,
    by_repository: BTreeMap<String, (Tally, u64)>,
    disagreements: Vec<String>,
}

impl Tally {
    fn add(&mut self, wanted: Wanted) {
        match wanted {
            Wanted::Hold => self.right += 1,
            Wanted::Borderline => self.borderline += 1,
            Wanted::Pass => self.wrong += 1,
        }
    }
}

impl Comparison {
    pub(super) fn add(&mut self, repository: &str, labels: &[Label], replayed: &Replayed) {
        let Turns { total, hold, notify, not_judged } = &replayed.turns;
        self.turns.total += total;
        self.turns.hold += hold;
        self.turns.notify += notify;
        self.turns.not_judged += not_judged;
        for label in labels {
            let is_this = |hold: &&Hold| label.is_of(&hold.transcript) && label.names(hold.line);
            let held = replayed.holds.iter().find(is_this);
            self.compare(repository, label, held);
        }
    }

    fn compare(&mut self, repository: &str, label: &Label, held: Option<&Hold>) {
        self.labelled.add(label.label);
        let of_repository = self.by_repository.entry(repository.to_owned()).or_default();
        let place = format!("{repository} {}:{}", label.session, label.line);
        match held {
            Some(hold) => {
                self.held.add(label.label);
                of_repository.0.add(label.label);
                self.by_cause.entry(hold.cause()).or_default().add(label.label);
                if label.label != Wanted::Hold {
                    let texts = hold.verdict.observations.iter().map(|observation| observation.text.as_str());
                    let texts: Vec<&str> = texts.collect();
                    let kind = if label.label == Wanted::Pass { "wrong" } else { "borderline" };
                    self.disagreements.push(format!(
                        "{kind} hold: {place}  {}  {}",
                        hold.verdict.reason,
                        texts.join(" | ")
                    ));
                }
            }
            None if label.label == Wanted::Hold => {
                self.missed += 1;
                of_repository.1 += 1;
                self.disagreements.push(format!("missed: {place}"));
            }
            None => {}
        }
    }
}

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".to_owned(),
        _ => format!("{:.0} %", part as f64 * 100.0 / whole as f64),
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Turns { total, hold, notify, not_judged } = &self.turns;
        writeln!(formatter, "{total} turns: {hold} held, {notify} told, {not_judged} not judged")?;
        let Tally { right: holds, wrong: passes, borderline } = self.labelled;
        writeln!(formatter, "labels: {holds} hold, {passes} pass, {borderline} borderline\n")?;
        let Tally { right, wrong, .. } = self.held;
        writeln!(formatter, "precision {} ({right} of {})", percent(right, right + wrong), right + wrong)?;
        writeln!(
            formatter,
            "recall    {} ({right} of {})",
            percent(right, right + self.missed),
            right + self.missed
        )?;
        writeln!(formatter, "\n| cause | right | borderline | wrong |\n|---|--:|--:|--:|")?;
        for (cause, Tally { right, borderline, wrong }) in &self.by_cause {
            writeln!(formatter, "| {cause} | {right} | {borderline} | {wrong} |")?;
        }
        writeln!(formatter, "\n| repository | right | borderline | wrong | missed |\n|---|--:|--:|--:|--:|")?;
        for (repository, (Tally { right, borderline, wrong }, missed)) in &self.by_repository {
            writeln!(formatter, "| {repository} | {right} | {borderline} | {wrong} | {missed} |")?;
        }
        writeln!(formatter)?;
        for disagreement in &self.disagreements {
            writeln!(formatter, "{disagreement}")?;
        }
        Ok(())
    }
}
