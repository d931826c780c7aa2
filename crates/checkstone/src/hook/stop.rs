//! The agent wants to stop: the gate judges, and where the user wants that, something may have to be saved.

use agents::Answer;
use autosave::{SavingStop, Wish};
use stop::{ClientEvent, Delivery, JudgedStop, Purpose, Stop, UnjudgedStop, Workplace};

use super::told;
use crate::saving_environment;

/// The decision for the client that waits for it.
pub(crate) fn decide(event: ClientEvent) -> Answer {
    let (stop, wish) = judge(event);
    match (stop, wish) {
        (Stop::Settled { answer, unjudged: None, .. }, _) => answer,
        (Stop::Settled { answer, unjudged: Some(unjudged), .. }, _) => {
            let UnjudgedStop { event, mut journal } = *unjudged;
            let note = told::at_stop(&mut journal, &event);
            journal.leave();
            answer.with_note(note)
        }
        (Stop::Judged(mut judged), wish) => {
            judged.note_shared_files();
            let note = told::at_stop(&mut judged.journal, &judged.event);
            let answer = match wish {
                Some(wish) => saving(*judged, wish).conclude(),
                None => judged.conclude(Delivery::Sure),
            };
            answer.with_note(note)
        }
    }
}

/// Saves what the session did, where no stop tells it: before a compaction, and at the end of the session.
pub(crate) fn save_without_stop(event: ClientEvent, reason: autosave::Reason) {
    if let (Stop::Judged(judged), Some(wish)) = judge(event) {
        saving(*judged, wish).save(reason);
    }
}

fn saving(judged: JudgedStop, wish: Wish) -> SavingStop {
    let saving = saving_environment::settings(judged.event.settings.state.clone());
    SavingStop { judged, wish, saving }
}

fn judge(event: ClientEvent) -> (Stop, Option<Wish>) {
    let workplace = Workplace::find(&event.cwd, event.settings.user_file.as_deref());
    let wish = Wish::of(&workplace, &event.cwd, &saving_environment::switches());
    let purpose = if wish.is_some() { Purpose::VerdictAndSave } else { Purpose::Verdict };
    (stop::judge(event, workplace, purpose), wish)
}
