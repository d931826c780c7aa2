//! Every key of a policy: its name, what it may be set to, what counts if it is left out, and what it means. Reading, merging,
//! `schemas/policy.schema.json` and `docs/policy.md` come from these rows.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use settings::{
    At, Boolean, Choice, Entry, Filled, Kind, List, Name, Names, Nested, OneOrMore, Reader, Shape,
    TableOfKeys, Text, Time, TimeLimit, Whole, choices, table,
};

use super::kinds::{PathInside, Patterns, Presets, UsersOwn};
use super::paths::Globs;
use super::push_rules::PushRules;

table! {
    /// The whole file.
    #[derive(Debug)]
    pub(crate) struct PolicyFile, layer PolicyLayer {
        /// Presets that this file builds on, in order; what is set here overrides them by name.
        presets: Presets = Vec::new();
        /// Globs of files that need no action. A category beats prose.
        prose: Globs, or "documents, Markdown and the like";
        /// Actions that code in no category needs.
        other_code: Names, or "`tests`, if there is such an action";
        /// How the gate behaves.
        gate: Nested<Gate> = Gate::default();
        /// Where the plan of the work item is.
        plan: Nested<Plan> = Plan::default();
        /// Automatic snapshots: in your own configuration, or once you trust the file.
        snapshot: Nested<SnapshotSettings> = SnapshotSettings::default();
        /// Files that need the same actions.
        categories as "category": Categories = Vec::new();
        /// Actions by their id.
        actions as "action": Actions = Vec::new();
        /// What to say about an unresolved error.
        errors as "error": List<ErrorText> = Vec::new();
        /// Commands that run at the stop, once you trust the file.
        checks as "check": List<Check> = Vec::new();
        /// Fixed sentences of the message.
        messages as "message": Nested<Messages> = Messages::default();
        /// What is saved when the context fills up: in your own configuration, or once you trust the file.
        autosave: Nested<Autosave> = Autosave::default();
        /// External services, and their tokens: only in your own configuration; see [integrations.md](integrations.md).
        integrations: UsersOwn, or "none";
        /// Where runs and their artifacts are kept beyond this machine: only in your own configuration; see [storage.md](storage.md).
        storage: UsersOwn, or "none";
        /// What `checkstone mcp` offers agents: only in your own configuration; see [mcp.md](mcp.md).
        mcp: UsersOwn, or "what only reads";
        /// What is sent to a team's database: only in your own configuration; see [team.md](team.md).
        team: UsersOwn, or "nothing";
    }
}

table! {
    /// How the gate behaves.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Gate, layer GateLayer {
        /// Whether anything is judged at all.
        enabled: Boolean = true;
        /// Turns that are shorter, or whose start is unknown, pass: `30s`, `2m`.
        min_turn: Time = Duration::ZERO;
        /// What counts as changed: this turn's changes, the whole dirty tree, or `git diff --name-only HEAD`.
        scope: Choice<JudgedScope> = JudgedScope::Turn;
        /// What to do if everything required was seen.
        all_clear: Choice<Telling> = Telling::Notify;
        /// What to do if only prose changed.
        docs_only: Choice<Telling> = Telling::Silent;
        /// What to do if git cannot be asked: nothing, or a generic checkpoint.
        no_git: Choice<NoGit> = NoGit::Silent;
        /// What to do at the stop after a hold: pass, or hold again if code is not committed.
        second_stop: Choice<SecondStop> = SecondStop::Pass;
        /// The closing reminder to write down what was learnt.
        capture: Boolean = false;
        /// The step that says to commit last.
        commit: Boolean = false;
        /// Changes in more top-level folders than this are reported.
        blast_radius: Whole<u64> = 3;
        /// Ask again for an action that was asked for in the turn before, and neither done nor touched since.
        ask_again: Boolean = false;
        /// Accept `checkstone: cannot ACTION: REASON`.
        waivers: Boolean = true;
        /// What settles an error: the same command succeeding later, or any later attempt.
        resolved_by: Choice<ResolvedBy> = ResolvedBy::Success;
        /// Actions that any change needs, prose too.
        always: Names = Vec::new();
        /// Only this turn and its client count: what was read in earlier turns, sub-agents that have not answered, what the
        /// agent's last words ask for and the first lines of scripts do not.
        turn_only: Boolean = false;
        /// What to do if the format of the transcript is unknown.
        not_understood: Choice<NotUnderstood> = NotUnderstood::Pass;
        /// What to do if a turn commits work of an earlier turn that is still unproven.
        unproven_commit: Choice<RuleLevel> = RuleLevel::Notify;
        /// What each rule may do if it is alone.
        rules: Nested<Rules> = Rules::default();
    }
}

table! {
    /// What each rule may do if it is alone.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub struct Rules, layer RulesLayer {
        /// Tests, a type check or a build that failed after the last change of code, if nothing settled that. If only `errors`
        /// is set, it counts for these too.
        red: Choice<RuleLevel> = RuleLevel::Hold;
        /// Other errors of the turn that nothing settled.
        errors: Choice<RuleLevel> = RuleLevel::Notify;
        /// Code that was verified by less than its package has: linted, although there are tests.
        weaker: Choice<RuleLevel> = RuleLevel::Notify;
        /// Files edited without being read, and changes all over the place.
        hygiene: Choice<RuleLevel> = RuleLevel::Notify;
        /// Changes that the work item's plan does not mention.
        drift: Choice<RuleLevel> = RuleLevel::Notify;
    }
}

choices! {
    pub enum RuleLevel { Hold = "hold", Notify = "notify", Off = "off" }
}

choices! {
    /// What counts as changed.
    pub enum JudgedScope {
        /// What this turn changed.
        Turn = "turn",
        /// The whole dirty tree.
        Worktree = "worktree",
        /// `git diff --name-only HEAD`: the dirty tree without untracked files.
        Diff = "diff",
    }
}

choices! {
    pub enum Telling { Silent = "silent", Notify = "notify", Hold = "hold" }
}

choices! {
    pub enum NoGit {
        Silent = "silent",
        /// The generic checkpoint.
        Generic = "generic",
    }
}

choices! {
    pub enum SecondStop {
        Pass = "pass",
        /// Hold once more if changes are not committed.
        HoldUncommitted = "hold-uncommitted",
    }
}

choices! {
    pub enum NotUnderstood {
        /// The person is told, once in a session.
        Pass = "pass",
        /// As if nothing had been done: what changed decides.
        Ask = "ask",
    }
}

choices! {
    /// What settles an error that a call ended with.
    pub enum ResolvedBy {
        /// The same thing went well later.
        Success = "success",
        /// Something about it was tried later, whatever came of it.
        Attempt = "attempt",
    }
}

table! {
    /// Where the plan of the work item is.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Plan, layer PlanLayer {
        /// A branch name with `{slug}` in it; empty means no plan.
        slug_from_branch: Text = String::new();
        /// A path with `{slug}` in it.
        path: PathInside = "todos/{slug}/implementation-plan.md".to_owned();
    }
}

table! {
    /// Which snapshots are taken by themselves, how long those are kept, and what every snapshot leaves out.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct SnapshotSettings, layer SnapshotLayer {
        /// One at the start of every turn.
        at_turn_start: Boolean = false;
        /// How many of the newest are kept in each working tree.
        keep: Whole<usize> = 50;
        /// And for how long: `12h`, `7d`.
        keep_for: Time = Duration::from_secs(7 * 24 * 60 * 60);
        /// A larger file, in MB, is left out and reported.
        largest_file_mb: Whole<u64, 1> = 50;
        /// A copy of the repository in the state directory, brought up to date by every snapshot: `rm -rf .git` then loses nothing that a
        /// snapshot has. It takes as much space as the repository.
        mirror: Boolean = false;
        /// Ignored files that the mirror keeps too, by their paths: `.env`.
        mirror_files: Names = Vec::new();
    }
}

table! {
    /// Files that need the same actions.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Category, layer CategoryLayer {
        /// What the files are called in messages; a later file changes the category by this name.
        name: Name;
        /// Globs, relative to the root of the repository; `*` stays inside a folder, `**` does not.
        include: Globs;
        /// Globs of files that are left out.
        exclude: Globs = Vec::new();
        /// Ids of actions.
        require: Names = Vec::new();
        /// Counts only if no other category and no other code changed.
        alone: Boolean = false;
    }
}

table! {
    /// Something that has to be done, and what proves that it was.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Action, layer ActionLayer, named id {
        /// Smaller comes first.
        order: Whole<i64, { i64::MIN }> = 50;
        /// The instruction; `{since}` is the log window of the turn. Empty: the command that verifies the package of the changed
        /// files, in the repository's own words, or `usual`.
        say: Text = String::new();
        /// What is added to the instruction of `after` if both are required.
        say_after: Text, or "none";
        /// The command that is named if the repository has none of its own for what changed.
        usual: Text, or "none";
        /// The observation if no evidence was seen; `{category}` is what changed.
        gap: Text, or "none";
        /// What counts as evidence besides the commands in `evidence`.
        proof: Choice<Proof> = Proof::Evidence;
        /// Commands that prove it, in addition to what `proof` says; with `proof = "evidence"` only they do. Each is a program and words that must occur as whole arguments,
        /// in order. `make restart` matches `make -j4 restart`; a `*` stands for any text within an argument, as in `npm run test:*`.
        evidence: Patterns = Vec::new();
        /// What happens if no evidence was seen.
        level: Choice<RuleLevel> = RuleLevel::Hold;
        /// Whether the evidence must come after the last change to the files, or just in this turn.
        fresh: Choice<Fresh> = Fresh::AfterChange;
        /// The evidence must come after that of this action.
        after: Name, or "none";
    }
}

choices! {
    /// What counts as evidence.
    pub enum Proof {
        /// Nothing but the commands in `evidence`.
        Evidence = "evidence",
        /// Any run that verifies code: tests, a type check, a build, a linter, the program itself.
        Verification = "verification",
        /// Whatever installs dependencies, or works with them.
        Installation = "installation",
    }
}

impl Action {
    /// The instruction, where the repository's own words are not known.
    pub fn instruction(&self) -> String {
        match &self.usual {
            Some(usual) if self.say.is_empty() => format!("Run `{usual}`"),
            _ => self.say.clone(),
        }
    }
}

choices! {
    pub enum Fresh {
        /// After the last change that it covers.
        AfterChange = "after-change",
        /// Anywhere in the turn.
        ThisTurn = "this-turn",
    }
}

table! {
    /// What to say about an unresolved error.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct ErrorText, layer ErrorTextLayer {
        /// One of these texts is in the output; none: any output.
        contains: OneOrMore = Vec::new();
        /// One of these is the command that failed, written like evidence; none: any command.
        ran: Patterns = Vec::new();
        /// The sentence.
        say: Text;
    }
}

table! {
    /// A command to run at the stop.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Check, layer CheckLayer {
        /// Globs of the changed files that it is for.
        when: Filled<Globs>;
        /// The command line, for `sh -c`.
        run: Filled<Text>;
        /// A command that takes longer is stopped.
        timeout: TimeLimit = Duration::from_secs(60);
    }
}

table! {
    /// Fixed sentences of the message.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Messages, layer MessagesLayer {
        /// If everything required was seen.
        all_clear: Text = "All expected validations were observed. Commit if ready.".to_owned();
        /// If only prose changed.
        docs_only: Text = "No code changes detected.".to_owned();
        /// The closing reminder.
        capture: Text = "Capture anything worth keeping (memories, bugs, ideas).".to_owned();
        /// The last step; `{steps}` stands for the steps before: `step 1 is`, `steps 1-3 are`.
        commit: Text = "Commit only after the steps above are complete".to_owned();
        /// The generic checkpoint.
        generic: Text = "Continue or validate your work if needed.".to_owned();
        /// The second hold.
        uncommitted: Text = "You have uncommitted code changes. Commit your work before stopping.".to_owned();
    }
}

table! {
    /// How a full context is answered. It commits and pushes, so a repository's own file has a say in it only once the user
    /// trusts that file.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Autosave, layer AutosaveLayer {
        /// Nothing, a notification, or notes, commit and push.
        mode: Choice<AutosaveMode> = AutosaveMode::Off;
        /// Percent of the window, from 1 to 99.
        threshold: Whole<u8, 1, 99> = 40;
        /// The size of the window in tokens, for models whose window is not known.
        window: Whole<u64, 1>, or "none";
        /// Push the branch where `git push` would: if the remote is known to have it, always, or never. A table sets it by branch
        /// pattern; the longest one that matches counts: `push = { "release/*" = "never" }`. `true` is `always`, `false`
        /// is `never`.
        push: PushRules, or "`\"tracked\"`; `\"always\"` if only `autonomous-mode.active` or `CLAUDE_LOOP_ACTIVE` switches it on";
        /// How long a stop waits for its save. What takes longer continues in the background, and its result is reported at the next
        /// prompt or stop.
        wait: Time = Duration::from_millis(50);
        /// What is committed: the notes and `buildguide.md`, or what the turn changed as well.
        include: Choice<Include> = Include::Notes;
        /// The notes file.
        notes: PathInside, or "the client's own";
        /// The first line of the commit's message.
        subject: Text = "checkpoint: auto-checkpoint".to_owned();
        /// The rest of the message; `{what}`, `{reason}`, `{percent}`, `{agent}`, `{branch}` and `{iteration}` are filled in.
        body: Text = "{what}, since {reason}.".to_owned();
        /// `Name <address>`; empty means nobody.
        co_author: Text, or "the client";
        /// Globs of files in which nothing counts as a secret.
        allow_secrets_in: Globs = Vec::new();
        /// Kinds of secrets, and single ones by the fingerprint that they are reported with, that do not count as secrets.
        allow_secrets: Names = Vec::new();
        /// A commit hook that takes longer is stopped.
        hook_timeout: TimeLimit = Duration::from_secs(60);
    }
}

choices! {
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum AutosaveMode {
        Off = "off",
        /// The person is told.
        Normal = "normal",
        /// Notes, commit and push, without asking.
        Autonomous = "autonomous",
    }
}

choices! {
    /// What is committed.
    pub enum Include {
        /// The notes file and `buildguide.md`.
        Notes = "notes",
        /// And what the turn changed.
        All = "all",
    }
}

/// `[[category]]`, merged by name.
pub(crate) struct Categories;

impl Kind for Categories {
    type Written = Vec<CategoryLayer>;
    type Value = Vec<Category>;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Vec<CategoryLayer>> {
        let mut categories: Vec<CategoryLayer> = Vec::new();
        for (entry, table) in reader.tables(entry) {
            let category = Category::read(table, reader);
            let Some(name) = &category.name else {
                if !table.contains_key("name") {
                    reader.problem(entry.value.span(), format!("`{}` has no `name`", reader.found(entry)));
                }
                continue;
            };
            let mut known = categories.iter().filter_map(|known| known.name.as_ref());
            if let Some(first) = known.find(|known| known.value == name.value) {
                let line = first.place.line;
                let message = format!("`{}` is defined twice; the first is on line {line}", name.value);
                reader.problems.push(name.place.problem(message));
                continue;
            }
            categories.push(category);
        }
        Some(categories)
    }

    fn value(written: Vec<CategoryLayer>) -> Vec<Category> {
        written.into_iter().map(Category::finish).collect()
    }

    fn merge(older: &mut Vec<CategoryLayer>, newer: Vec<CategoryLayer>) {
        merge_named::<Category>(older, newer, |category| category.name.as_ref());
    }

    fn shape() -> Shape {
        Shape::MergedTables { table: Category::reference(), name: "name" }
    }
}

/// `[action.ID]`, merged by id.
pub(crate) struct Actions;

impl Kind for Actions {
    type Written = Vec<ActionLayer>;
    type Value = Vec<Action>;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Vec<ActionLayer>> {
        let actions = reader.table(entry)?.iter().filter_map(|(key, value)| {
            let id = At { value: key.get_ref().to_string(), place: reader.place(key.span()) };
            let table = reader.table(Entry { key, value })?;
            let action = Action::read(table, reader);
            Some(ActionLayer { id: Some(id), ..action })
        });
        Some(actions.collect())
    }

    fn value(written: Vec<ActionLayer>) -> Vec<Action> {
        written.into_iter().map(Action::finish).collect()
    }

    fn merge(older: &mut Vec<ActionLayer>, newer: Vec<ActionLayer>) {
        merge_named::<Action>(older, newer, |action| action.id.as_ref());
    }

    fn shape() -> Shape {
        Shape::NamedTables(Some(Action::reference()))
    }
}

fn merge_named<T: TableOfKeys>(
    older: &mut Vec<T::Layer>,
    newer: Vec<T::Layer>,
    name: impl Fn(&T::Layer) -> Option<&At<String>>,
) {
    for layer in newer {
        let is_same =
            |known: &T::Layer| name(known).map(|name| &name.value) == name(&layer).map(|name| &name.value);
        match older.iter_mut().find(|known| is_same(known)) {
            Some(known) => T::merge(known, layer),
            None => older.push(layer),
        }
    }
}
