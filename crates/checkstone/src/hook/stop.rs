//! The agent wants to stop: the gate judges, and where the user wants that, something may have to be saved.

use agents::Answer;
use autosave::{SavingStop, Wish};
use stop::{ClientEvent, Delivery, JudgedStop, Purpose, Stop, UnjudgedStop, Workplace};

use super::{prompt, told};
use crate::saving_environment;

/// The decision for the client that waits for it.
pub(crate) fn decide(event: ClientEvent, workplace: Workplace) -> Answer {
    let (stop, wish) = judge(event, workplace);
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
            // The next turn of a client that tells of no prompt begins here, unless this one goes on.
            let next = judged.turn.known.is_unannounced.then(|| judged.event.clone());
            let note = match &next {
                Some(_) => told::at_prompt(&mut judged.journal, &judged.event, Some(&judged.case.root)),
                None => told::at_stop(&mut judged.journal, &judged.event),
            };
            let answer = match wish {
                Some(wish) => saving(*judged, wish).conclude(),
                None => judged.conclude(Delivery::Sure),
            };
            if let Some(next) = next.filter(|_| !answer.is_hold()) {
                let workplace = Workplace::find(&next.cwd, next.settings.user_file.as_deref());
                prompt::expect(next, workplace);
            }
            answer.with_note(note)
        }
    }
}

/// Saves what the session did, where no stop tells it: before a compaction, and at the end of the session.
pub(crate) fn save_without_stop(event: ClientEvent, reason: autosave::Reason) {
    let workplace = Workplace::find(&event.cwd, event.settings.user_file.as_deref());
    if let (Stop::Judged(judged), Some(wish)) = judge(event, workplace) {
        saving(*judged, wish).save(reason);
    }
}

fn saving(judged: JudgedStop, wish: Wish) -> SavingStop {
    let saving = saving_environment::settings(judged.event.settings.state.clone());
    SavingStop { judged, wish, saving }
}

fn judge(event: ClientEvent, workplace: Workplace) -> (Stop, Option<Wish>) {
    let wish = Wish::of(&workplace, &event.cwd, &saving_environment::switches());
    let purpose = if wish.is_some() { Purpose::VerdictAndSave } else { Purpose::Verdict };
    (stop::judge(event, workplace, purpose), wish)
}
