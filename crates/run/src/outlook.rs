//! What a run would do, and why, without doing it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkpoint::FileHashes;
use checkpoint::layout::Layout;
use serde::Serialize;

use crate::earlier_runs::{EarlierRuns, EarlierStage};
use crate::engine::Beginning;
use crate::event::{Accepted, AcceptedArtifact};
use crate::fingerprint::{self, Preceding};
use crate::plan::{Kind, Plan, SessionTurn, Stage};
use crate::project_code::ProjectCode;
use crate::record::{Record, StageRecord};
use crate::session_order::SessionOrder;
use crate::stage_now::{Known, is_in_place};
use crate::stage_parts;
use crate::state::{NOT_RETRYABLE, StageState};
use crate::turns::{PresentFingerprint, Turns};

/// What would become of a stage.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StageOutlook {
    pub stage_id: String,
    /// Of an instance of a fan-out: `lr = 0.1, seed = 1`.
    pub parameters: String,
    pub would: Would,
    /// Why it would run, or which run made what is used again.
    pub why: String,
}

text::named! {
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Would {
        Run = "run",
        /// It runs only if a stage before it makes something else than before.
        Maybe = "maybe",
        /// It must not be repeated, and what it made cannot be used.
        Refuse = "refuse",
        Reuse = "reuse",
        /// A condition keeps it from running.
        LeaveOut = "leave-out",
    }
}

/// Where what a stage made is found.
struct Decided {
    outlook: StageOutlook,
    /// The run that made it, if it is used again.
    made: Option<EarlierStage>,
    /// What those go by that name it in `dependencies`; none if it may or may not run.
    known_by: Option<String>,
}

/// A new run; `runs` are earlier ones of the same title, the newest first. Without them nothing that others did matters. Nothing of those
/// that are `foreign` is used again.
pub fn of_new_run(
    plan: &Plan,
    layout: &Layout,
    runs: Option<&[Layout]>,
    foreign: &[Layout],
) -> Vec<StageOutlook> {
    let earlier = EarlierRuns::read(runs.unwrap_or_default());
    let turns = runs.map(|_| Turns::of(layout, Beginning::New));
    let foreign = EarlierRuns::read(foreign);
    new_run_of_known(plan, layout, &earlier, &foreign, turns.as_ref())
}

fn new_run_of_known(
    plan: &Plan,
    layout: &Layout,
    earlier: &EarlierRuns,
    foreign: &EarlierRuns,
    turns: Option<&Turns>,
) -> Vec<StageOutlook> {
    let whole = new_run(plan, layout, earlier, foreign, SessionUse::Whole, turns);
    if whole.is_session_made() {
        return whole.outlook();
    }
    let is_run = |stage: &StageOutlook| stage.would == Would::Run;
    let own: HashMap<String, String> =
        whole.outlook().into_iter().filter(is_run).map(|stage| (stage.stage_id, stage.why)).collect();
    let mut outlook = new_run(plan, layout, earlier, foreign, SessionUse::New, turns).outlook();
    // A reason of its own says more than that of the session.
    for stage in outlook.iter_mut().filter(|stage| stage.would == Would::Run) {
        if let Some(why) = own.get(&stage.stage_id) {
            stage.why.clone_from(why);
        }
    }
    outlook
}

/// Whether earlier runs made all that the Python stages of a new one would make: if one of them has to run, then all of those
/// before it, since what they left in the session is not there.
pub(crate) fn is_session_made(plan: &Plan, layout: &Layout, earlier: &EarlierRuns) -> bool {
    plan.session_turns().is_empty()
        || new_run(plan, layout, earlier, &EarlierRuns::default(), SessionUse::Whole, None).is_session_made()
}

/// What Python stages of earlier runs are good for.
#[derive(Clone, Copy, PartialEq)]
enum SessionUse {
    /// All of the session is used again.
    Whole,
    New,
}

fn new_run(
    plan: &Plan,
    layout: &Layout,
    earlier: &EarlierRuns,
    foreign: &EarlierRuns,
    session: SessionUse,
    turns: Option<&Turns>,
) -> DecidedPlan {
    decide_all(plan, layout, &|known, stage, before| {
        let made = made_by_earlier_run(earlier, foreign, session, known, stage, before);
        made.map_err(|unmade| refused(turns, known, stage, before).unwrap_or(unmade))
    })
}

fn made_by_earlier_run(
    earlier: &EarlierRuns,
    foreign: &EarlierRuns,
    session: SessionUse,
    known: &Known<'_>,
    stage: &Stage,
    before: &Before,
) -> Decision {
    let never_made = || {
        earlier.reason_unmade(stage).unwrap_or_else(|| match foreign.of_stage(stage) {
            Some((made, _)) => format!("run `{}` made it, but was not started here", made.run.run()),
            None => NEVER_RUN.to_owned(),
        })
    };
    let Some((nearest, candidates)) = earlier.of_stage(stage) else {
        return Err(Unmade::new(Would::Run, never_made()));
    };
    if stage.kind == Kind::Python && session == SessionUse::New {
        return Err(Unmade::new(Would::Run, "a new run begins with an empty Python session"));
    }
    before.runs_first.as_deref().map_or(Ok(()), |first| Err(waits_for(first)))?;
    let now = known.look(stage, &nearest.accepted, &before.preceding).ok_or_else(unreadable)?;
    let same = candidates.iter().find(|made| made.accepted.fingerprint == now.fingerprint);
    let Some(same) = same else {
        let why = match nearest.parameters == stage.parameters_in_words() {
            true => known.changes(stage, &now, &nearest.accepted, &before.preceding),
            false => never_made(),
        };
        return Err(Unmade::new(Would::Run, why));
    };
    match lost_output(&same.run, &same.id, &same.accepted) {
        Some(lost) => Err(Unmade::new(Would::Run, lost)),
        None => Ok((same.clone(), format!("made by run `{}`", same.run.run()))),
    }
}

/// What must not be repeated, if other runs matter.
fn refused(turns: Option<&Turns>, known: &Known<'_>, stage: &Stage, before: &Before) -> Option<Unmade> {
    let turns = turns.filter(|_| !stage.is_retryable)?;
    let last = turns.last(stage);
    let present = match &before.runs_first {
        // What it comes after may make something else.
        Some(_) => PresentFingerprint::MayDiffer,
        None => match known.look(stage, &Accepted::default(), &before.preceding) {
            Some(now) => PresentFingerprint::Is(now.fingerprint),
            None => PresentFingerprint::Unknown,
        },
    };
    Some(Unmade::new(Would::Refuse, turns.reason_not_to_begin(&last, stage, &present)?))
}

/// A run that goes on; stages in `again` are run whatever became of them. `others` are the other runs of the title, the newest
/// first: what they have done of a stage that must not be repeated is not done here.
pub fn of_resume(
    plan: &Plan,
    layout: &Layout,
    record: &Record,
    again: &[String],
    others: &[Layout],
) -> Vec<StageOutlook> {
    let (others, turns) = (EarlierRuns::read(others), Turns::of(layout, Beginning::Resumed));
    decide_all(plan, layout, &|known, stage, before| {
        let here = record.stage(&stage.id);
        let completed = here.accepted.clone().filter(|_| here.state == StageState::Completed);
        let is_wanted = again.contains(&stage.id) || again.contains(&stage.template);
        if here.attempt == 0 && !stage.is_retryable && !is_wanted {
            let made = match stage.kind {
                Kind::Command => made_by_earlier_run(
                    &others,
                    &EarlierRuns::default(),
                    SessionUse::New,
                    known,
                    stage,
                    before,
                ),
                Kind::Python => Err(never_run()),
            };
            return made.map_err(|unmade| refused(Some(&turns), known, stage, before).unwrap_or(unmade));
        }
        let may_run = stage.is_retryable || here.attempt == 0 || is_wanted;
        let accepted = completed.ok_or_else(|| unfinished(&here, may_run))?;
        let parameters = stage.parameters_in_words();
        let (run, id, accepted_here) = (layout.clone(), stage.id.clone(), accepted.clone());
        let made = EarlierStage { run, id, parameters, accepted: accepted_here };
        if is_wanted {
            return Err(Unmade::new(Would::Run, "it was requested again"));
        }
        before.runs_first.as_deref().map_or(Ok(()), |first| Err(waits_for(first)))?;
        let now = known.look(stage, &accepted, &before.preceding).ok_or_else(unreadable)?;
        if now.fingerprint != accepted.fingerprint {
            let is_other = record.parameters_of(&stage.id).unwrap_or_default() != stage.parameters_in_words();
            let changes = match is_other && may_run {
                true => NEVER_RUN.to_owned(),
                false => known.changes(stage, &now, &accepted, &before.preceding),
            };
            return match may_run {
                true => Err(Unmade::new(Would::Run, changes)),
                false if stage_parts::is_for_other_parameters(&accepted, stage) => Err(Unmade::new(
                    Would::Refuse,
                    "it is not retryable, and was run for other parameters; `--again` runs it anyway",
                )),
                false => Ok((made, format!("kept, although {changes}: it is not retryable"))),
            };
        }
        match lost_output(layout, &stage.id, &accepted) {
            Some(lost) if may_run => Err(Unmade::new(Would::Run, lost)),
            _ => Ok((made, "unchanged".to_owned())),
        }
    })
    .outlook()
}

/// The plan with all stages that can be known, and what would become of each.
struct DecidedPlan {
    plan: Plan,
    /// In the order of the stages.
    decided: Vec<Option<Decided>>,
}

impl DecidedPlan {
    fn is_session_made(&self) -> bool {
        let mut turns = self.plan.session_turns().into_iter();
        turns.all(|turn| match turn {
            SessionTurn::Stage(index) => {
                let decided = self.decided.get(index).and_then(Option::as_ref);
                decided.is_some_and(|decided| decided.made.is_some())
            }
            SessionTurn::Waiting(_) => false,
        })
    }

    fn outlook(self) -> Vec<StageOutlook> {
        let waiting = self.plan.waiting().into_iter().map(|waiting| StageOutlook {
            stage_id: waiting.id,
            parameters: String::new(),
            would: Would::Maybe,
            why: format!("it is known only after {}", text::listed(waiting.waits_for)),
        });
        let left_out = self.plan.left_out.iter().map(|id| StageOutlook {
            stage_id: id.clone(),
            parameters: String::new(),
            would: Would::LeaveOut,
            why: "its `when` does not hold, or what it reads is left out".to_owned(),
        });
        let decided = self.decided.into_iter().flatten().map(|decided| decided.outlook);
        decided.chain(waiting).chain(left_out).collect()
    }
}

/// What is known of the stages before one.
struct Before {
    /// One that makes an input, or that a Python session begins with, and that is not used again.
    runs_first: Option<String>,
    preceding: Preceding,
}

/// A stage that is not used again.
struct Unmade {
    would: Would,
    why: String,
}

impl Unmade {
    fn new(would: Would, why: impl Into<String>) -> Self {
        Self { would, why: why.into() }
    }
}

type Decision = Result<(EarlierStage, String), Unmade>;

const NEVER_RUN: &str = "it has not run yet";

fn never_run() -> Unmade {
    Unmade::new(Would::Run, NEVER_RUN)
}

fn waits_for(first: &str) -> Unmade {
    Unmade::new(Would::Maybe, format!("`{first}` runs first"))
}

fn unreadable() -> Unmade {
    Unmade::new(Would::Run, "an input cannot be read")
}

fn unfinished(here: &StageRecord, may_run: bool) -> Unmade {
    let reason = here.reason.as_deref();
    match here.state {
        _ if !may_run => Unmade::new(
            Would::Refuse,
            format!("{NOT_RETRYABLE}, and was started before; `--again` runs it anyway"),
        ),
        StageState::Pending if here.attempt == 0 => never_run(),
        StageState::Failed => Unmade::new(Would::Run, format!("it failed: {}", reason.unwrap_or("unknown"))),
        _ => Unmade::new(
            Would::Run,
            format!("it did not complete{}", reason.map(|why| format!(": {why}")).unwrap_or_default()),
        ),
    }
}

/// The outputs of a stage that are not in their places as they were.
fn moved<'a>(
    layout: &'a Layout,
    id: &str,
    accepted: &'a Accepted,
) -> impl Iterator<Item = (PathBuf, &'a AcceptedArtifact)> {
    let hashes = FileHashes::existing(layout);
    let folder = layout.published(id).unwrap_or_default();
    let paths = accepted.artifacts.iter().map(move |artifact| (folder.join(&artifact.path), artifact));
    paths.filter(move |(path, artifact)| !is_in_place(layout, &hashes, path, artifact))
}

/// Whether all that the run made is where it was published, as it was.
pub fn has_all_outputs(layout: &Layout, record: &Record) -> bool {
    let mut accepted = record.stages.iter().filter_map(|(id, stage)| Some((id, stage.accepted.as_ref()?)));
    accepted.all(|(id, accepted)| {
        let folder = layout.published(id).unwrap_or_default();
        moved(layout, id, accepted).next().is_none()
            && accepted.folders.iter().all(|inner| folder.join(inner).is_dir())
    })
}

/// What is wrong with an output that is neither in its place as it was nor in a checkpoint.
fn lost_output(layout: &Layout, id: &str, accepted: &Accepted) -> Option<String> {
    let is_lost = |path: &Path, artifact: &AcceptedArtifact| {
        !checkpoint::can_restore(layout, &artifact.to_restore(layout.relative(path)))
    };
    let mut lost = moved(layout, id, accepted).filter(|(path, artifact)| is_lost(path, artifact));
    lost.next().map(|(path, artifact)| {
        let wrong = if path.symlink_metadata().is_ok() { "was changed" } else { "is missing" };
        format!("output `{}` {wrong}", artifact.path)
    })
}

/// Stages are looked at after those before them. A fan-out over something that is used again is known.
fn decide_all(
    plan: &Plan,
    layout: &Layout,
    decide: &dyn Fn(&Known<'_>, &Stage, &Before) -> Decision,
) -> DecidedPlan {
    let mut plan = plan.clone();
    let mut decided: Vec<Option<Decided>> = Vec::new();
    let hashes = Arc::new(FileHashes::existing(layout));
    let code = ProjectCode::new(layout.root(), Arc::clone(&hashes));
    let project = ProjectFiles { layout, hashes: &hashes, code: &code };
    // What comes behind something unknown in the Python session is looked at last.
    let (mut is_changing, mut is_last) = (true, false);
    while is_changing || !is_last {
        is_last = !is_changing;
        is_changing = false;
        decided.resize_with(plan.stages.len(), || None);
        let order = SessionOrder::of(&plan);
        for index in 0..plan.stages.len() {
            let Some(stage) = plan.stages.get(index) else { continue };
            let is_decided = |on: &usize| decided.get(*on).is_some_and(Option::is_some);
            let mut in_session = order.before(index).take_while(|_| stage.kind == Kind::Python);
            let is_open = !is_decided(&index) && stage.dependencies.iter().all(is_decided);
            let is_known = is_last || order.unknown_before(index).is_none();
            if !is_open || !is_known || !in_session.all(|on| is_decided(&on)) {
                continue;
            }
            let decision = decide_one(&plan, &project, &decided, (index, stage), &order, decide);
            let grown = decision
                .made
                .as_ref()
                .and_then(|made| plan.grown(index, &made.run.published(&made.id).ok()?).ok().flatten());
            if let Some(here) = decided.get_mut(index) {
                *here = Some(decision);
            }
            is_changing = true;
            if let Some(grown) = grown {
                plan = grown;
                break;
            }
        }
    }
    DecidedPlan { plan, decided }
}

/// The project that a plan is looked at in.
struct ProjectFiles<'a> {
    layout: &'a Layout,
    hashes: &'a FileHashes,
    code: &'a ProjectCode,
}

fn decide_one(
    plan: &Plan,
    project: &ProjectFiles<'_>,
    decided: &[Option<Decided>],
    (index, stage): (usize, &Stage),
    order: &SessionOrder,
    decide: &dyn Fn(&Known<'_>, &Stage, &Before) -> Decision,
) -> Decided {
    let accepted = |place: usize| {
        let made = decided.get(place).and_then(Option::as_ref)?.made.as_ref()?;
        Some(&made.accepted)
    };
    let before = stage.inputs.iter().flat_map(|input| input.source.stages());
    let mut before: Vec<usize> = before.copied().collect();
    let mut session = None;
    if stage.kind == Kind::Python {
        let in_session: Vec<usize> = order.before(index).collect();
        session = in_session.first().and_then(|on| accepted(*on));
        before.extend(in_session);
    }
    let known_by = |place: usize| decided.get(place).and_then(Option::as_ref)?.known_by.as_deref();
    let unmade = before.into_iter().find(|on| accepted(*on).is_none());
    let named = || fingerprint::named_dependencies(plan, stage).map(|(_, on)| on);
    let first = unmade.or_else(|| named().find(|on| known_by(*on).is_none()));
    let first = first.and_then(|on| plan.stages.get(on));
    let unknown = order.unknown_before(index).map(str::to_owned);
    let session = session.map(|made| made.known_by().to_owned());
    let before = Before {
        runs_first: first.map(|stage| stage.id.clone()).or(unknown),
        preceding: Preceding::of(plan, stage, session, known_by),
    };
    let ProjectFiles { layout, hashes, code } = *project;
    let known = Known { plan, layout, hashes, code, accepted: &accepted };
    let decision = decide(&known, stage, &before);
    let outlook = |would, why| StageOutlook {
        stage_id: stage.id.clone(),
        parameters: stage.parameters_in_words(),
        would,
        why,
    };
    match decision {
        Ok((made, why)) => Decided {
            outlook: outlook(Would::Reuse, why),
            known_by: Some(made.accepted.known_by().to_owned()),
            made: Some(made),
        },
        Err(Unmade { would, why }) => Decided {
            // Another attempt is known by something that no earlier one was known by.
            known_by: (would == Would::Run)
                .then(|| format!("an attempt of {} that is still to come", stage.id)),
            outlook: outlook(would, why),
            made: None,
        },
    }
}
