//! The agent wants to stop: the gate judges, and where the user wants that, something may have to be saved.

use agents::Answer;
use stop::{ClientEvent, Delivery, Purpose, Stop, Workplace};

use super::saving_stop::SavingStop;
use crate::autosaving::Wish;

/// The decision for the client that waits for it.
pub(crate) fn decide(event: ClientEvent) -> Answer {
    let (stop, wish) = judge(event);
    match (stop, wish) {
        (Stop::Settled { answer, .. }, _) => answer,
        (Stop::Judged(judged), Some(wish)) => SavingStop { judged: *judged, wish }.conclude(),
        (Stop::Judged(judged), None) => judged.conclude(Delivery::Sure),
    }
}

/// Saves what the session did, where no stop tells it: before a compaction, and at the end of the session.
pub(crate) fn save_without_stop(event: ClientEvent, reason: autosave::Reason) {
    if let (Stop::Judged(judged), Some(wish)) = judge(event) {
        SavingStop { judged: *judged, wish }.save(reason);
    }
}

fn judge(event: ClientEvent) -> (Stop, Option<Wish>) {
    let workplace = Workplace::find(&event.cwd, event.settings.user_file.as_deref());
    let wish = Wish::of(&workplace, &event.cwd);
    let purpose = if wish.is_some() { Purpose::VerdictAndSave } else { Purpose::Verdict };
    (stop::judge(event, workplace, purpose), wish)
}
