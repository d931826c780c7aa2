//! Required actions (R4): what changed demands certain actions; each is looked for in the timeline, and suppressed
//! where it was seen.

use std::collections::{BTreeMap, BTreeSet};

use programs::repository::{Package, Repository, Way};
use programs::shell::{Attribution, Intents};
use programs::{Deed, is_test_file};
use transcript::Outcome;

use super::printed::Printed;
use super::verification::{self, PackageCode, Showed, VerifyingRun};
use super::{Expectation, Seen, evidence, own_code};
use crate::changed::{Changed, OTHER_CODE};
use crate::ledger_extract::ProvenFile;
use crate::policy::{Action, Class, Policy, Proof, RuleLevel};
use crate::ran::{Moment, Ran};
use crate::strength::Strength;
use crate::verdict::{ContentProof, Evidence, FileStanding, Observation, Rule};
use crate::work::{Work, shown};

/// An action that what changed demands; what would satisfy it is one of its commands, run well and late enough.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Demand<'a> {
    pub(crate) action: &'a Action,
    /// The categories that demand it, by name.
    categories: Vec<&'a str>,
    /// The changed files that it covers.
    pub(crate) covers: BTreeSet<String>,
    /// What to run, in the repository's own words, package by package.
    steps: Vec<String>,
    /// Packages that were verified by less than they have.
    pub(crate) weaker: Vec<Observation>,
    /// Files whose present content was proven before.
    pub(crate) proven: Vec<String>,
    /// How the contents of the other files stand now.
    pub(crate) standings: Vec<FileStanding>,
}

/// Every action that is demanded, in the policy's order, and what was seen of it.
pub(crate) fn expectations<'a>(
    policy: &'a Policy,
    changed: &[Changed],
    work: &Work<'_>,
) -> Vec<Expectation<Demand<'a>>> {
    let mut found: Vec<(Expectation<Demand<'a>>, After)> = Vec::new();
    let demanded = demands(policy, changed);
    let usual: Vec<String> = demanded.iter().filter_map(|demand| usual_program(demand.action)).collect();
    for mut demand in demanded {
        let after = match &demand.action.after {
            None => After::Anything,
            Some(id) => match found.iter().find(|(earlier, _)| &earlier.subject.action.id == id) {
                Some((_, after)) => *after,
                // The other action is not demanded: its evidence, if any, is still what must come first.
                None => policy
                    .action(id)
                    .and_then(|other| latest_run(other, work))
                    .map_or(After::Never, After::Moment),
            },
        };
        let looking = Looking { usual: &usual, changed, work, after };
        if let Some(earlier) = demand.leave_proven(policy, &looking) {
            found.push((Expectation { subject: demand, seen: Seen::Evidence(earlier) }, After::Anything));
            continue;
        }
        let seen = match (demand.action.proof, work.repository()) {
            (Proof::Verification, Some(repository)) => looking.by_package(&mut demand, repository),
            (Proof::Installation, Some(repository)) => {
                for path in &demand.covers {
                    let way = repository.package_of(path).and_then(|package| package.installation(path));
                    let step = way.map(Way::step).filter(|step| !demand.steps.contains(step));
                    demand.steps.extend(step);
                }
                Some(looking.look_for(demand.action, &demand.covers, None))
            }
            _ => {
                let (seen, moment) = looking.look_for(demand.action, &demand.covers, None);
                demand.stand(demand.covers.clone(), &seen, None);
                Some((seen, moment))
            }
        };
        if let Some((seen, moment)) = seen {
            let after = moment.map_or(After::Never, After::Moment);
            found.push((Expectation { subject: demand, seen }, after));
        }
    }
    found.into_iter().map(|(expectation, _)| expectation).collect()
}

/// The observation that goes with a required action.
pub(crate) fn observation(expectation: &Expectation<Demand<'_>>) -> Option<Observation> {
    let Demand { action, .. } = &expectation.subject;
    let gap = action.gap.as_ref().map(|gap| gap.replace("{category}", &expectation.subject.title()));
    let text = match (gap, &expectation.seen) {
        (_, Seen::Evidence(_)) => return None,
        (Some(gap), _) if gap.is_empty() => return None,
        (Some(gap), Seen::Nothing) => gap,
        (Some(gap), Seen::Ambiguous { like, why }) => format!("{gap} (`{}`: {why})", like.command),
        (None, Seen::Ambiguous { like, why }) => {
            format!("`{}` does not count for `{}`: {why}", like.command, action.id)
        }
        // Without words of its own the step itself says enough.
        (None, Seen::Nothing) => return None,
    };
    let line = match &expectation.seen {
        Seen::Ambiguous { like, .. } => like.line,
        _ => None,
    };
    Some(Observation::new(Rule::MissingAction, text, line))
}

/// A script of the repository that looks like a test run, ran after the last change, and did not count as one.
pub(crate) fn unrecognised(expectation: &Expectation<Demand<'_>>, work: &Work<'_>) -> Option<Observation> {
    let Demand { action, covers, .. } = &expectation.subject;
    let last_edit = work.last_edit(covers);
    let is_known = |ran: &Ran<'_>| {
        let mut runs = work.verifying_runs().iter();
        runs.any(|run| run.ran.at.call == ran.at.call && run.strength > Strength::Ran)
    };
    let ran = work
        .commands()
        .filter(|ran| ran.call.outcome == Outcome::Ok && last_edit.is_none_or(|edit| edit < ran.at))
        .filter(|ran| looks_like_tests(ran) && !evidence::names(action, ran) && !is_known(ran))
        .last()?;
    let text = format!(
        "Not recognised as a test run: `{}` — add it to `evidence` of `{}` in `checkstone.toml`",
        ran.command.path.as_deref().unwrap_or_default(),
        action.id
    );
    Some(Observation::new(Rule::MissingAction, text, ran.call.line))
}

/// Whether a script says by its name, or by what it printed, that it verifies something.
fn looks_like_tests(ran: &Ran<'_>) -> bool {
    let words = |text: &str, wanted: &[&str]| {
        let mut words = text.split(|character: char| !character.is_alphanumeric());
        words.any(|word| wanted.contains(&word.to_lowercase().as_str()))
    };
    let Some(path) = ran.command.path.as_deref().filter(|path| !path.starts_with('/')) else { return false };
    let name = path.rsplit('/').next().unwrap_or(path);
    // What stands in the output may be from another command.
    let is_alone = ran.recorded.intents.as_ref().is_some_and(|intents| intents.commands().len() == 1);
    words(name, &["test", "tests", "check", "checks", "verify", "ci"])
        || (is_alone && words(ran.call.snippet.as_deref().unwrap_or_default(), &["passed", "tests"]))
}

/// What the person is told of an action that the agent is not asked for.
pub(crate) fn report(expectation: &Expectation<Demand<'_>>) -> Observation {
    let text = format!("{} changed — {}", expectation.subject.title(), expectation.subject.instruction());
    Observation::new(Rule::MissingAction, text, None)
}

impl Demand<'_> {
    /// Takes out the files whose present content was proven before; if that is all of them, what proved the last one. A run of
    /// this turn that says more of them is noted, and nothing is asked for if there is none.
    fn leave_proven(&mut self, policy: &Policy, looking: &Looking<'_, '_>) -> Option<Evidence> {
        if policy.gate.turn_only || !self.action.is_about_content() {
            return None;
        }
        let mut last = None;
        for path in std::mem::take(&mut self.covers) {
            let Some(earlier) = looking.work.earlier_proof(&path, &self.action.id) else {
                self.covers.insert(path);
                continue;
            };
            let strongest = looking.strongest(&path);
            let before = Evidence { command: earlier.command.clone(), line: None };
            let (evidence, weak) = match looking.stronger_proof(self.action, &path, earlier) {
                Some((evidence, strength)) => {
                    let most = strongest.and_then(|way| Strength::of(way.deed));
                    let weak = Some(strength).filter(|strength| Some(*strength) < most);
                    self.stand(BTreeSet::from([path]), &Seen::Evidence(evidence.clone()), weak);
                    (evidence, weak)
                }
                None => {
                    self.proven.push(path);
                    (before, earlier.weak)
                }
            };
            let told = weak.zip(strongest).map(|(done, way)| weaker_verification(done, &way.step()));
            self.weaker.extend(told.filter(|told| !self.weaker.contains(told)));
            last = Some(evidence);
        }
        last.filter(|_| self.covers.is_empty())
    }

    /// What was seen decides how the contents of the files stand. What is only reported is not asked of anybody. What has to be
    /// done again for the same content is not proven by having been done before.
    fn stand(&mut self, files: BTreeSet<String>, seen: &Seen, weak: Option<Strength>) {
        let proof = match seen {
            Seen::Evidence(evidence) => ContentProof::Proven(evidence.clone()),
            _ if self.action.level != RuleLevel::Hold => return,
            _ if self.action.is_about_content() => ContentProof::Unproven,
            _ => ContentProof::TakenBack,
        };
        if self.action.is_in_ledger() {
            let action = &self.action.id;
            let stand = |path| FileStanding { path, action: action.clone(), proof: proof.clone(), weak };
            self.standings.extend(files.into_iter().map(stand));
        }
    }

    /// What to do in each package; empty if the action itself says it all.
    pub(crate) fn instructions(&self) -> Vec<String> {
        let steps = self.steps.iter().filter(|_| self.action.say.is_empty());
        steps.map(|step| format!("Run {step}")).collect()
    }

    /// What the agent is told to do.
    pub(crate) fn instruction(&self) -> String {
        match self.action.say.is_empty() && !self.steps.is_empty() {
            true => format!("Run {}", self.steps.join(", and ")),
            false => self.action.instruction(),
        }
    }

    /// What changed, as the beginning of a sentence.
    fn title(&self) -> String {
        let mut named: Vec<&str> =
            self.categories.iter().copied().filter(|category| *category != OTHER_CODE).collect();
        if named.is_empty() {
            named.clone_from(&self.categories);
        }
        let text = named.join(" and ");
        let mut characters = text.chars();
        match characters.next() {
            Some(first) => first.to_uppercase().chain(characters).collect(),
            None => "The work".to_owned(),
        }
    }
}

/// What the evidence of an action has to come after.
#[derive(Clone, Copy)]
enum After {
    Anything,
    Moment(Moment),
    /// Something that did not take place.
    Never,
}

pub(crate) fn demands<'a>(policy: &'a Policy, changed: &[Changed]) -> Vec<Demand<'a>> {
    let mut demanded: Vec<Demand<'a>> = Vec::new();
    let mut demand = |id: &str, category: Option<&'a str>, file: &Changed| {
        let is_asked = |action: &&Action| {
            action.level != RuleLevel::Off && (file.needs_proof || action.proof == Proof::Evidence)
        };
        let Some(action) = policy.action(id).filter(is_asked) else { return };
        let path = &file.path;
        let place = match demanded.iter().position(|demand| demand.action.id == action.id) {
            Some(place) => place,
            None => {
                demanded.push(Demand {
                    action,
                    categories: Vec::new(),
                    covers: BTreeSet::new(),
                    steps: Vec::new(),
                    weaker: Vec::new(),
                    proven: Vec::new(),
                    standings: Vec::new(),
                });
                demanded.len() - 1
            }
        };
        let Some(demand) = demanded.get_mut(place) else { return };
        if let Some(category) = category.filter(|category| !demand.categories.contains(category)) {
            demand.categories.push(category);
        }
        if !demand.covers.contains(path) {
            demand.covers.insert(path.to_owned());
        }
    };
    for file in changed {
        match &file.class {
            Class::Categories(indices) => {
                for category in indices.iter().filter_map(|index| policy.categories.get(*index)) {
                    for id in &category.require {
                        demand(id, Some(&category.name), file);
                    }
                }
            }
            Class::OtherCode => {
                for id in &policy.other_code {
                    demand(id, Some(OTHER_CODE), file);
                }
            }
            Class::Prose | Class::OtherFile => {}
        }
        for id in &policy.gate.always {
            demand(id, None, file);
        }
    }
    // The policy's actions are in their order of execution.
    demanded.sort_by_key(|demand| policy.actions.iter().position(|action| action.id == demand.action.id));
    demanded
}

/// What evidence is looked for in.
struct Looking<'l, 'w> {
    /// Programs with which the files of the demanded actions are usually verified.
    usual: &'l [String],
    changed: &'l [Changed],
    work: &'l Work<'w>,
    after: After,
}

impl Looking<'_, '_> {
    /// The latest evidence that covers the changes; else why the latest thing like it is none.
    fn look_for(
        &self,
        action: &Action,
        covers: &BTreeSet<String>,
        code: Option<&PackageCode<'_>>,
    ) -> (Seen, Option<Moment>) {
        let mut latest_like = None;
        for candidate in self.candidates(action, covers, code).into_iter().rev() {
            let ran = &candidate.ran;
            match self.objection(action, covers, &candidate) {
                None => return (Seen::Evidence(candidate.evidence()), Some(ran.at)),
                Some(why) => {
                    let like = Evidence { command: shown(ran.call), line: ran.call.line };
                    latest_like.get_or_insert(Seen::Ambiguous { like, why });
                }
            }
        }
        (latest_like.unwrap_or(Seen::Nothing), None)
    }

    /// What the action asks for, as far as it can be about these files.
    fn candidates(
        &self,
        action: &Action,
        covers: &BTreeSet<String>,
        code: Option<&PackageCode<'_>>,
    ) -> Vec<Candidate<'_>> {
        let mut found = candidates(action, self.usual, covers, code, self.work);
        found.retain(|candidate| {
            let verifies = action.proof == Proof::Verification && candidate.strength.is_some();
            !verifies || own_code::is_about(candidate.ran.command, covers)
        });
        found
    }

    /// Why a candidate proves nothing of these files.
    fn objection(
        &self,
        action: &Action,
        covers: &BTreeSet<String>,
        candidate: &Candidate<'_>,
    ) -> Option<String> {
        let Candidate { ran, objection, strength } = candidate;
        let order = || match self.after {
            After::Anything => None,
            After::Moment(moment) if ran.at > moment => None,
            _ => action.after.as_ref().map(|id| format!("it did not run after `{id}`")),
        };
        let staleness = || evidence::staleness(action, covers, self.changed, ran, *strength, self.work);
        objection.clone().or_else(order).or_else(staleness)
    }

    /// The path of a changed file as its language shows in it.
    fn code_path<'p>(&'p self, path: &'p str) -> &'p str {
        self.changed.iter().find(|file| file.path == path).map_or(path, |file| &file.code_path)
    }

    /// Each package that changed is verified by runs in it, language by language; `None` if none of them has anything to be
    /// verified with.
    fn by_package(&self, demand: &mut Demand<'_>, repository: &Repository) -> Option<(Seen, Option<Moment>)> {
        let mut parts: BTreeMap<PackageCode<'_>, (&Package, BTreeSet<String>)> = BTreeMap::new();
        let mut whole: Option<(Seen, Option<Moment>)> = None;
        for path in demand.covers.clone() {
            let Some(package) = repository.package_of(&path) else { continue };
            let code = PackageCode::of(package, &path);
            if demand.action.evidence.is_empty() && package.strongest(&code.languages).is_none() {
                continue;
            }
            if let Some((evidence, at)) = self.execution(demand.action, &path) {
                let seen = Seen::Evidence(evidence);
                demand.stand(BTreeSet::from([path]), &seen, None);
                whole = Some((seen, Some(at)));
            } else {
                parts.entry(code).or_insert((package, BTreeSet::new())).1.insert(path);
            }
        }
        let parts = parts.into_iter().flat_map(|(code, (package, covers))| {
            let together = self.judged_together(demand.action, covers, &code);
            together.into_iter().map(move |covers| (code.clone(), package, covers))
        });
        let (mut weaker, mut told) = (Vec::new(), BTreeSet::new());
        for (code, package, covers) in parts.collect::<Vec<_>>() {
            let (seen, moment) = self.look_for(demand.action, &covers, Some(&code));
            let is_only_tests = || covers.iter().all(|path| is_test_file(self.code_path(path)));
            // Whether new tests may stay red is not for us to say.
            if !matches!(seen, Seen::Evidence(_))
                && is_only_tests()
                && self.was_tried(demand.action, &covers, &code)
            {
                continue;
            }
            let strongest = package.strongest(&code.languages);
            let less = strongest
                .filter(|_| matches!(seen, Seen::Evidence(_)))
                .and_then(|way| self.weaker(demand.action, way, &code, &covers));
            demand.stand(covers.clone(), &seen, less.as_ref().map(|(done, _)| *done));
            match seen {
                Seen::Evidence(_) => weaker.extend(less),
                _ => {
                    let way =
                        strongest.filter(|way| covers.iter().any(|path| way.is_for(self.code_path(path))));
                    let step = way.map(Way::step).filter(|step| !demand.steps.contains(step));
                    demand.steps.extend(step);
                }
            }
            whole = Some(match whole {
                None => (seen, moment),
                // What is missing in one package is missing.
                Some((earlier, at)) if !matches!(earlier, Seen::Evidence(_)) => (earlier, at),
                Some(_) => (seen, moment),
            });
        }
        // The least is told, once for each step that is not asked for anyway.
        weaker.sort();
        for (done, step) in weaker {
            let observation = weaker_verification(done, &step);
            if !demand.steps.contains(&step) && told.insert(step) && !demand.weaker.contains(&observation) {
                demand.weaker.push(observation);
            }
        }
        whole
    }

    /// The files of a part that stand or fall together: all of them, unless checks of single files prove some of them.
    fn judged_together(
        &self,
        action: &Action,
        covers: BTreeSet<String>,
        code: &PackageCode<'_>,
    ) -> Vec<BTreeSet<String>> {
        let runs = self.work.verifying_runs().iter();
        let narrow: Vec<&VerifyingRun<'_>> = runs
            .filter(|run| looks_at_a_part(run) && run.is_about(code) && run.objection().is_none())
            .collect();
        let is_proven = || matches!(self.look_for(action, &covers, Some(code)).0, Seen::Evidence(_));
        if narrow.is_empty() || covers.len() < 2 || is_proven() {
            return vec![covers];
        }
        let is_checked = |path: &String| {
            let one = BTreeSet::from([path.clone()]);
            let mut looked = narrow.iter().filter(|run| run.misses(&one).is_none());
            looked.any(|run| self.is_fresh(action, &one, run))
        };
        let (checked, rest): (BTreeSet<String>, BTreeSet<String>) = covers.into_iter().partition(is_checked);
        let alone = checked.into_iter().map(|path| BTreeSet::from([path]));
        alone.chain(Some(rest).filter(|rest| !rest.is_empty())).collect()
    }

    fn is_fresh(&self, action: &Action, covers: &BTreeSet<String>, run: &VerifyingRun<'_>) -> bool {
        evidence::staleness(action, covers, self.changed, &run.ran, Some(run.strength), self.work).is_none()
    }

    /// A script that was executed after it was changed has been tried, whatever the programs in it are about.
    fn execution(&self, action: &Action, path: &str) -> Option<(Evidence, Moment)> {
        let covers = BTreeSet::from([path.to_owned()]);
        let is_fresh = |ran: &Ran<'_>| {
            let staleness =
                evidence::staleness(action, &covers, self.changed, ran, Some(Strength::Ran), self.work);
            staleness.is_none()
        };
        let ran = self
            .work
            .commands()
            .filter(|ran| self.work.is_executed_by(ran.command, path))
            .filter(|ran| verification::went_well(ran) && is_fresh(ran))
            .last()?;
        Some((Evidence { command: shown(ran.call), line: ran.call.line }, ran.at))
    }

    /// Whether tests ran since they were changed, however that ended.
    fn was_tried(&self, action: &Action, covers: &BTreeSet<String>, code: &PackageCode<'_>) -> bool {
        let is_trial = |run: &&VerifyingRun<'_>| {
            run.strength == Strength::Tested
                && run.is_about(code)
                && !run.ran.call.user_stopped
                && match &run.showed {
                    Showed::Red => Printed::of(run.ran.recorded).tests_failed(),
                    Showed::Nothing(_) => run.ran.call.outcome == Outcome::Unknown,
                    Showed::Green | Showed::WithoutTheChange => false,
                }
        };
        self.work.verifying_runs().iter().filter(is_trial).any(|run| self.is_fresh(action, covers, run))
    }

    /// How the package of a file verifies it best.
    fn strongest(&self, path: &str) -> Option<&Way> {
        let package = self.work.repository()?.package_of(path)?;
        package.strongest(&PackageCode::of(package, self.code_path(path)).languages)
    }

    /// What proves more of a file than what proved its present content before.
    fn stronger_proof(
        &self,
        action: &Action,
        path: &str,
        earlier: &ProvenFile,
    ) -> Option<(Evidence, Strength)> {
        let weak = earlier.weak?;
        let package = self.work.repository()?.package_of(path)?;
        let code = PackageCode::of(package, self.code_path(path));
        let covers = BTreeSet::from([path.to_owned()]);
        let candidates = self.candidates(action, &covers, Some(&code)).into_iter();
        let stronger = candidates.filter(|candidate| candidate.strength > Some(weak));
        let counts = |candidate: &Candidate<'_>| self.objection(action, &covers, candidate).is_none();
        let best = stronger.filter(counts).max_by_key(|candidate| candidate.strength)?;
        Some((best.evidence(), best.strength?))
    }

    /// By how much less than it has a package was verified, and what would verify more.
    fn weaker(
        &self,
        action: &Action,
        strongest: &Way,
        code: &PackageCode<'_>,
        covers: &BTreeSet<String>,
    ) -> Option<(Strength, String)> {
        let runs = self.work.verifying_runs().iter();
        let (narrow, wide): (Vec<_>, Vec<_>) = runs
            .filter(|run| run.is_about(code) && run.objection().is_none())
            .partition(|run| looks_at_a_part(run));
        let of_all =
            wide.into_iter().filter(|run| self.is_fresh(action, covers, run)).map(|run| run.strength).max();
        let of_file = |path: &String| {
            let one = BTreeSet::from([path.clone()]);
            let looked =
                narrow.iter().filter(|run| run.misses(&one).is_none() && self.is_fresh(action, &one, run));
            looked.map(|run| run.strength).max().max(of_all)
        };
        let done = covers.iter().map(of_file).min().flatten();
        let done = done.filter(|done| Some(*done) < Strength::of(strongest.deed))?;
        Some((done, strongest.step()))
    }
}

/// Whether a run looked at some files or folders of its packages alone.
fn looks_at_a_part(run: &VerifyingRun<'_>) -> bool {
    run.looks_at_files() || run.covers.is_below()
}

fn weaker_verification(done: Strength, step: &str) -> Observation {
    let text = format!("The changes were only {} — {step} would verify more", done.in_words());
    Observation::new(Rule::WeakerVerification, text, None)
}

/// Something that an action asks for.
struct Candidate<'a> {
    ran: Ran<'a>,
    /// Why it proves nothing, whenever it ran.
    objection: Option<String>,
    /// Of a run that verifies.
    strength: Option<Strength>,
}

impl Candidate<'_> {
    fn evidence(&self) -> Evidence {
        let command = self.ran.call.command.clone().unwrap_or_default();
        Evidence { command, line: self.ran.call.line }
    }
}

/// What the action asks for, in order, each with why it proves nothing whenever it ran.
fn candidates<'a>(
    action: &Action,
    usual: &[String],
    covers: &BTreeSet<String>,
    code: Option<&PackageCode<'_>>,
    work: &Work<'a>,
) -> Vec<Candidate<'a>> {
    let verifying = || {
        let is_meant = move |run: &&VerifyingRun<'_>| match code {
            Some(code) => run.is_about(code),
            None => is_meant(action, usual, &run.ran),
        };
        work.verifying_runs().iter().filter(is_meant).map(|run| Candidate {
            ran: run.ran,
            objection: run
                .objection()
                .or_else(|| own_code::objection(run, work))
                .or_else(|| Some(format!("it did not check `{}`", run.misses(covers)?))),
            strength: Some(run.strength),
        })
    };
    let named = work.commands().filter(|ran| evidence::names(action, ran));
    let mut found: Vec<_> =
        named.map(|ran| Candidate { ran, objection: evidence::objection(&ran), strength: None }).collect();
    if action.proof == Proof::Installation {
        let installing = work.commands().filter(|ran| ran.command.does(Deed::Installs));
        found.extend(installing.map(|ran| Candidate { ran, objection: not_installed(&ran), strength: None }));
    }
    if action.proof != Proof::Evidence {
        found.extend(verifying());
    }
    found.sort_by_key(|candidate| candidate.ran.at);
    found
}

/// An installation whose status is hidden went well unless the whole says otherwise.
fn not_installed(ran: &Ran<'_>) -> Option<String> {
    match (ran.call.outcome, ran.command.attribution) {
        (Outcome::Ok, Attribution::Masked(_)) if !ran.call.user_stopped => None,
        _ => evidence::objection(ran),
    }
}

/// The program with which the files of an action are usually tested.
fn usual_program(action: &Action) -> Option<String> {
    let intents = Intents::read(action.usual.as_deref()?);
    let tests = intents.commands().first().filter(|command| command.does(Deed::Tests));
    tests.map(|command| command.program.clone())
}

/// Where several languages changed, the usual program of one proves nothing about the other.
fn is_meant(action: &Action, usual: &[String], ran: &Ran<'_>) -> bool {
    let program = &ran.command.program;
    !usual.contains(program) || usual_program(action).as_ref() == Some(program)
}

fn latest_run(action: &Action, work: &Work<'_>) -> Option<Moment> {
    work.commands()
        .filter(|ran| evidence::names(action, ran) && evidence::objection(ran).is_none())
        .map(|ran| ran.at)
        .max()
}
