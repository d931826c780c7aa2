//! A stop where something may have to be saved. The gate's steps come first and what is said of the save after them: one
//! stop, one message, and one hold a turn, by the same count.

use agents::Answer;
use changes::Request;
use gate::policy::{Autosave, AutosaveMode};
use journal::{AutosaveOutcome, Journal, JournalError, NewAutosave, PushState, SessionId, TurnId};
use serde_json::Value;
use stop::{ClientEvent, Delivery, JudgedStop, baseline, trust, turn_of};
use text::OWN_PREFIX;

use crate::begun_saves::{EndedSaves, Listener};
use crate::context::{self, Windows};
use crate::ended_save::{EndedSave, SaveResult};
use crate::facts::{Asked, Facts, Occasion, SHORT_PROMPT};
use crate::reason::Reason;
use crate::save::{self, Save};
use crate::save_order::{SaveOrder, take_ended};
use crate::save_run::{self, SaveReport};
use crate::saving_settings::SavingSettings;
use crate::stop_words::wants_to_stop;
use crate::told_window;
use crate::wish::Wish;

/// A stop that was judged, and what the user wants saved there.
#[derive(Debug)]
pub struct SavingStop {
    pub judged: JudgedStop,
    pub wish: Wish,
    pub saving: SavingSettings,
}

/// What is said beside the gate's own words.
#[derive(Default)]
struct SaveAnswer {
    to_agent: Option<String>,
    to_person: Vec<String>,
    execution: Option<Box<Value>>,
    turn: Option<TurnId>,
}

/// What became of something that was due.
struct Due {
    occasion: Occasion,
    /// Which attempt this is at one crossing of the threshold, counted from 1.
    attempt: u32,
    /// The agent has heard of this crossing.
    is_repeated: bool,
    session: SessionId,
    turn: TurnId,
}

impl SavingStop {
    /// As `JudgedStop::conclude`, where something may have to be saved.
    pub fn conclude(mut self) -> Answer {
        let settings = self.settings();
        let ended = self.ended_saves();
        let mut answer = SaveAnswer::default();
        answer.to_person.extend(ended.to_person.iter().filter_map(EndedSave::to_person));
        answer.to_person.extend(self.ended_pushes());
        if settings.mode != AutosaveMode::Off {
            match self.due(&settings) {
                Ok(Some(due)) => self.act(&settings, &due, &mut answer),
                Ok(None) => self.signal(&settings, ended.to_agent, &mut answer),
                Err(error) => self.judged.event.log("autosave", &format!("nothing saved: {error}")),
            }
        }
        self.answer(answer)
    }

    /// How the user wants it here, trust considered.
    fn settings(&mut self) -> Autosave {
        let JudgedStop { case, journal, .. } = &mut self.judged;
        let trust = || trust::of_file_or_unknown(Some(journal), &case.texts);
        self.wish.settings(&case.policy, &case.texts, trust)
    }

    /// How the saves ended that an earlier stop left to a process of their own, and of which nobody has heard yet.
    fn ended_saves(&mut self) -> EndedSaves {
        let JudgedStop { event, case, journal, turn, .. } = &mut self.judged;
        let Some(session) = &turn.known.session else { return EndedSaves::default() };
        // A turn that was held already is not held again: the agent is told at the stop of the next one.
        let is_held = turn.inputs.history.holds_this_turn > 0;
        let listener = if is_held { Listener::Person } else { Listener::PersonAndAgent };
        take_ended(journal, session.id, listener, &self.saving, case.repository.as_ref(), event.now)
    }

    /// A save that failed in the background is made up for by the agent, as one that fails at the stop is.
    fn signal(&mut self, settings: &Autosave, failed: Option<EndedSave>, answer: &mut SaveAnswer) {
        let Some(failed) = failed else { return };
        let is_looping = self.wish.switches.is_looping;
        let reason = if is_looping { Reason::LoopModeEnforced } else { Reason::ContextThreshold };
        let percent = self.percent(settings).ok().flatten();
        let occasion = Occasion { at: self.judged.event.now, reason, percent, iteration: None };
        let JudgedStop { event, case, journal, turn, .. } = &mut self.judged;
        let turn = journal.write(|writing| {
            let session = writing.see_session(&event.seen(Some(&case.root)), event.now)?.id;
            turn_of(writing, session, &turn.known, event)
        });
        let (Ok(turn), Some((_, facts))) = (turn, self.prepare(settings, occasion)) else { return };
        answer.turn = Some(turn);
        answer.to_agent = failed.to_agent(&occasion, &facts);
        answer.execution = failed.execution(settings.mode, &occasion).map(Box::new);
    }

    /// How the pushes ended of which nobody has heard yet.
    fn ended_pushes(&mut self) -> Vec<String> {
        let Some(session) = &self.judged.turn.known.session else { return Vec::new() };
        let ended = self.judged.journal.write(|writing| writing.take_untold_pushes(session.id));
        ended.unwrap_or_default().iter().map(save_run::push_sentence).collect()
    }

    /// Whether the threshold is crossed at this stop. Only then a session is recorded as being above it.
    fn due(&mut self, settings: &Autosave) -> Result<Option<Due>, JournalError> {
        // Somebody is waited for, who will speak first.
        if self.judged.turn.inputs.stop.waiting.is_some() {
            return Ok(None);
        }
        let Some(percent) = self.percent(settings)? else { return Ok(None) };
        if percent >= u64::from(settings.threshold)
            && self.asked().is_some_and(|prompt| wants_to_stop(&prompt))
        {
            self.judged.event.log("autosave", "nothing saved: the prompt asks to stop");
            return Ok(None);
        }
        let is_looping = self.wish.switches.is_looping;
        let reason = if is_looping { Reason::LoopModeEnforced } else { Reason::ContextThreshold };
        let JudgedStop { event, case, journal, turn, .. } = &mut self.judged;
        journal.write(|writing| {
            let session = writing.see_session(&event.seen(Some(&case.root)), event.now)?.id;
            let threshold = u64::from(settings.threshold);
            let rearm = context::rearms_below(settings.threshold);
            let is_repeated = writing.is_tried_again(session)?;
            let Some(attempt) = writing.crosses(session, percent, threshold, rearm)? else {
                return Ok(None);
            };
            let iteration = Some(writing.iterations(session)? + 1);
            let turn = turn_of(writing, session, &turn.known, event)?;
            let occasion = Occasion { at: event.now, reason, percent: Some(percent), iteration };
            Ok(Some(Due { occasion, attempt, is_repeated, session, turn }))
        })
    }

    fn percent(&mut self, settings: &Autosave) -> Result<Option<u64>, JournalError> {
        let model = self.judged.turn.usage.as_ref().and_then(|usage| usage.model.as_deref());
        let told = match &self.judged.turn.known.session {
            Some(session) => {
                self.judged.journal.read(|reader| told_window::of_session(reader, session.id, model))?
            }
            None => None,
        };
        let windows = Windows { told, configured: settings.window };
        let payload = &self.judged.event.payload;
        Ok(context::percent(payload.agent, payload.usage.as_ref(), self.judged.turn.usage.as_ref(), windows))
    }

    /// The prompt of the turn.
    fn asked(&self) -> Option<String> {
        let recorded = || self.judged.turn.known.turn.as_ref().map(|turn| turn.prompt.clone());
        self.judged.turn.prompt.clone().or_else(|| self.judged.event.payload.prompt.clone()).or_else(recorded)
    }

    fn act(&mut self, settings: &Autosave, due: &Due, answer: &mut SaveAnswer) {
        answer.turn = Some(due.turn);
        if settings.mode == AutosaveMode::Normal {
            let advice = save_run::advice(&due.occasion);
            self.record_advice(due, &advice);
            self.judged.event.log("autosave", &advice);
            answer.to_person.push(format!("{OWN_PREFIX} {advice}"));
            return;
        }
        let Some((save, facts)) = self.prepare(settings, due.occasion) else { return };
        self.log_decision();
        let order = SaveOrder::new(&save, due.session, due.turn, due.attempt);
        let ended = order.start(&mut self.judged.journal, &self.saving, settings.wait);
        if ended.result == SaveResult::Begun {
            self.judged.event.log("autosave", &ended.sentence);
        }
        answer.to_person.extend(ended.to_person());
        // The signal is given once for a crossing: the agent knows.
        let is_known = due.is_repeated && !matches!(ended.result, SaveResult::Saved | SaveResult::Begun);
        answer.to_agent = ended.to_agent(&due.occasion, &facts).filter(|_| !is_known);
        answer.execution = ended.execution(settings.mode, &due.occasion).map(Box::new);
    }

    fn log_decision(&self) {
        self.saving.log_step("Router decided: Auto-execute /checkpoint");
        self.saving.log_step("Attempting direct checkpoint execution...");
    }

    fn record_advice(&mut self, due: &Due, advice: &str) {
        let new = NewAutosave {
            session: Some(due.session),
            turn: Some(due.turn),
            at: due.occasion.at,
            repository: &self.judged.case.root,
            reason: due.occasion.reason.as_str(),
            percent: due.occasion.percent,
            outcome: AutosaveOutcome::Advised,
            detail: advice,
            snapshot: None,
            commit: None,
            branch: None,
            milliseconds: 0,
            push: PushState::None,
            push_detail: "",
        };
        if let Err(error) = self.judged.journal.write(|writing| writing.record_autosave(&new)) {
            self.judged.event.log("autosave", &format!("not recorded: {error}"));
        }
    }

    fn prepare(&mut self, settings: &Autosave, occasion: Occasion) -> Option<(Save, Facts)> {
        let asked = self.asked();
        let JudgedStop { event, case, turn, journal, .. } = &mut self.judged;
        let repository = case.repository.clone()?;
        let before = turn.known.session.as_ref().and_then(|session| {
            journal.read(|reader| reader.last_longer_prompt(session.id, SHORT_PROMPT)).ok().flatten()
        });
        let (settings, saving, agent) = (settings.clone(), self.saving.clone(), event.payload.agent);
        let asked = Asked { prompt: asked.as_deref(), before: before.as_deref(), elsewhere: None };
        let (save, facts) = Save::new(repository, settings, saving, agent, occasion, &turn.inputs, asked);
        let save = Save { session: Some(event.session.clone()), turn_key: turn.known.key.clone(), ..save };
        let save = save.of_turn(turn.known.turn.as_ref());
        Some((save, facts))
    }

    /// The gate's words first, then those of the save.
    fn answer(self, answer: SaveAnswer) -> Answer {
        let SaveAnswer { to_agent, to_person, execution, turn } = answer;
        let event = self.judged.event.clone();
        let is_held = self.judged.turn.inputs.history.holds_this_turn > 0;
        let (decision, mut journal) = match self.judged.is_gated() {
            true => self.judged.record_and_decide(Delivery::Sure),
            false => (Answer::Pass, self.judged.journal),
        };
        let (held, said) = match decision {
            Answer::Hold { to_agent, to_person } => (Some(to_agent), to_person),
            Answer::Notify { to_person } => (None, Some(to_person)),
            _ => (None, None),
        };
        let said: Vec<String> = said.into_iter().chain(to_person).collect();
        let to_person = (!said.is_empty()).then(|| said.join("\n"));
        let mut may_hold = || turn.is_some_and(|turn| !is_held && try_hold(&mut journal, turn, &event));
        let answered = match (held, to_agent.zip(execution)) {
            (Some(held), Some((more, autonomous_execution))) => {
                let more = more.strip_prefix(OWN_PREFIX).unwrap_or(&more).trim_start();
                Answer::Continue { to_agent: format!("{held}\n\n{more}"), to_person, autonomous_execution }
            }
            (Some(to_agent), None) => Answer::Hold { to_agent, to_person },
            (None, Some((to_agent, autonomous_execution))) if may_hold() => {
                event.log("hold", "the agent was told about the save and continues");
                Answer::Continue { to_agent, to_person, autonomous_execution }
            }
            (None, _) => to_person.map_or(Answer::Pass, |to_person| Answer::Notify { to_person }),
        };
        journal.leave();
        answered
    }

    /// Saves apart from a stop, and pushes at once: nobody waits. Only where this session has changed something since
    /// it was saved last: what a person did in the same tree is theirs.
    pub fn save(mut self, reason: Reason) {
        let settings = self.settings();
        if settings.mode != AutosaveMode::Autonomous || !self.has_unsaved_work(&settings) {
            return;
        }
        let percent = self.percent(&settings).ok().flatten();
        let JudgedStop { event, case, journal, .. } = &mut self.judged;
        let recorded = journal.write(|writing| {
            let session = writing.see_session(&event.seen(Some(&case.root)), event.now)?.id;
            let iteration = Some(writing.iterations(session)? + 1);
            Ok((session, iteration, writing.latest_turn(session)?.map(|turn| turn.id)))
        });
        let (session, iteration, turn) = match recorded {
            Ok(recorded) => recorded,
            Err(error) => return self.judged.event.log("pass", &format!("nothing saved: {error}")),
        };
        let occasion = Occasion { at: self.judged.event.now, reason, percent, iteration };
        let Some((save, _)) = self.prepare(&settings, occasion) else { return };
        self.log_decision();
        let report: SaveReport = save.run(&mut self.judged.journal, Some(session), turn);
        report.log(&self.judged.event, &self.saving);
    }

    fn has_unsaved_work(&mut self, autosave: &Autosave) -> bool {
        let Some(repository) = self.judged.case.repository.clone() else { return false };
        let Some(session) = self.judged.turn.known.session.as_ref().map(|session| session.id) else {
            return false;
        };
        let read =
            self.judged.journal.read(|reader| Ok((reader.first_turn(session)?, reader.last_saved(session)?)));
        let Ok((Some(first), last)) = read else { return false };
        let git = self.judged.event.settings.git.clone();
        let Some(baseline) = baseline(&first) else { return false };
        let request = Request::Turn { baseline: Some(&baseline), touched: None };
        let changed = changes::start_in(repository.clone(), &git)
            .and_then(|pending| pending.change_set(request))
            .is_ok_and(|set| !set.files.is_empty() && set.scope == change_set::Scope::TurnBaseline);
        let Some(last) = last.and_then(|last| last.snapshot) else { return changed };
        let agent = self.judged.event.payload.agent;
        changed && !save::is_as_in_snapshot(&repository, &self.saving, agent, autosave, &last)
    }
}

fn try_hold(journal: &mut Journal, turn: TurnId, event: &ClientEvent) -> bool {
    journal.write(|writing| writing.try_hold(turn, 1)).unwrap_or_else(|error| {
        event.log("autosave", &format!("fail open: the hold cannot be counted: {error}"));
        false
    })
}
