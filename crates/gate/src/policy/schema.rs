//! The JSON schema of the policy file, for editors and for the check that what we publish is what we read.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};

/// What a repository requires of an agent before it may stop.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct PolicyFile {
    /// Presets that this file builds on, in order; what stands here overrides them by name. Default: `[]`.
    presets: Option<Vec<PresetName>>,
    /// Globs of files that need no action. A category beats prose. Default: documents, Markdown and the like.
    prose: Option<Vec<String>>,
    /// Actions that code in no category needs. Default: `tests`, where there is such an action.
    other_code: Option<Vec<String>>,
    /// How the gate behaves.
    gate: Option<GateTable>,
    /// Where the plan of the work item is.
    plan: Option<PlanTable>,
    /// Snapshots that are taken by themselves: in your own configuration, or once you trust the file.
    snapshot: Option<SnapshotTable>,
    /// Files that need the same actions.
    category: Option<Vec<CategoryTable>>,
    /// Actions by their id.
    action: Option<BTreeMap<String, ActionTable>>,
    /// What to say about an unresolved error.
    error: Option<Vec<ErrorTable>>,
    /// Commands that run at the stop, once you trust the file.
    check: Option<Vec<CheckTable>>,
    /// Fixed sentences of the message.
    message: Option<MessageTable>,
    /// What is saved when the context fills up: in your own configuration, or once you trust the file.
    autosave: Option<AutosaveTable>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum PresetName {
    Docs,
    Go,
    Make,
    Node,
    Python,
    Rust,
    Teleclaude,
}

/// How the gate behaves.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct GateTable {
    /// Whether anything is judged at all. Default: `true`.
    enabled: Option<bool>,
    /// Turns that are shorter, or whose beginning is not known, pass: `30s`, `2m`. Default: `"0s"`.
    min_turn: Option<String>,
    /// What counts as changed: this turn's changes, the whole dirty tree, or `git diff --name-only HEAD`.
    /// Default: `"turn"`.
    scope: Option<ScopeName>,
    /// What to do where everything required was seen. Default: `"notify"`.
    all_clear: Option<TellingName>,
    /// What to do where only prose changed. Default: `"silent"`.
    docs_only: Option<TellingName>,
    /// What to do where git cannot be asked: nothing, or a generic checkpoint. Default: `"silent"`.
    no_git: Option<NoGitName>,
    /// What to do at the stop after a hold: let go, or hold once more where code is not committed. Default:
    /// `"pass"`.
    second_stop: Option<SecondStopName>,
    /// The closing reminder to write down what was learnt. Default: `false`.
    capture: Option<bool>,
    /// The step that says to commit last. Default: `false`.
    commit: Option<bool>,
    /// Changes in more top-level folders than this are remarked on. Default: `3`.
    blast_radius: Option<u64>,
    /// Ask again for an action that was asked for in the turn before, and neither done nor touched since.
    /// Default: `false`.
    ask_again: Option<bool>,
    /// Accept `checkstone: cannot ACTION: REASON`. Default: `true`.
    waivers: Option<bool>,
    /// What settles an error: the same going well later, or any later attempt. Default: `"success"`.
    resolved_by: Option<ResolvedByName>,
    /// Actions that any change needs, prose too. Default: `[]`.
    always: Option<Vec<String>>,
    /// What each rule may do where it is alone.
    rules: Option<RulesTable>,
}

/// What each rule may do where it is alone.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct RulesTable {
    /// Errors of the turn that nothing settled. Default: `"hold"`.
    errors: Option<LevelName>,
    /// Files edited without being read, and changes all over the place. Default: `"notify"`.
    hygiene: Option<LevelName>,
    /// Changes that the work item's plan does not mention. Default: `"notify"`.
    drift: Option<LevelName>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum LevelName {
    Hold,
    Notify,
    Off,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum ScopeName {
    Turn,
    Worktree,
    Diff,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum TellingName {
    Silent,
    Notify,
    Hold,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum NoGitName {
    Silent,
    Generic,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum SecondStopName {
    Pass,
    HoldUncommitted,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum ResolvedByName {
    Success,
    Attempt,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum FreshName {
    AfterChange,
    ThisTurn,
}

/// Where the plan of the work item is.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct PlanTable {
    /// A branch name with `{slug}` in it; empty is no plan. Default: `""`.
    slug_from_branch: Option<String>,
    /// A path with `{slug}` in it. Default: `"todos/{slug}/implementation-plan.md"`.
    path: Option<String>,
}

/// Snapshots that are taken by themselves, once the user trusts the file.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct SnapshotTable {
    /// One at the start of every turn. Default: `false`.
    at_turn_start: Option<bool>,
    /// The newest so many of each working tree are kept. Default: `50`.
    keep: Option<u64>,
    /// And those only so long: `12h`, `7d`. Default: `"7d"`.
    keep_for: Option<String>,
}

/// Files that need the same actions.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct CategoryTable {
    /// What the files are called in messages; a later file changes the category by this name.
    name: String,
    /// Globs, relative to the root of the repository; `*` stays inside a folder. Default: `[]`.
    include: Option<Vec<String>>,
    /// Globs of files that are not meant. Default: `[]`.
    exclude: Option<Vec<String>>,
    /// Ids of actions. Default: `[]`.
    require: Option<Vec<String>>,
    /// Counts only where no other category and no other code changed. Default: `false`.
    alone: Option<bool>,
}

/// Something that has to be done, and what proves that it was.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct ActionTable {
    /// Smaller comes first. Default: `50`.
    order: Option<i64>,
    /// The instruction; `{since}` is the log window of the turn.
    say: Option<String>,
    /// What is added to the instruction of `after` where both are required.
    say_after: Option<String>,
    /// The observation where no evidence was seen; `{category}` is what changed.
    gap: Option<String>,
    /// A program and words that must occur as whole arguments, in order: `make restart`.
    evidence: Option<Vec<String>>,
    /// Whether the evidence has to come after the last change of the files, or only in this turn. Default:
    /// `"after-change"`.
    fresh: Option<FreshName>,
    /// The evidence must come after that of this action.
    after: Option<String>,
}

/// What to say about an unresolved error.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct ErrorTable {
    /// One of these texts is in the output. Default: `[]`.
    contains: Option<OneOrMore>,
    /// One of these was what failed. Default: `[]`.
    ran: Option<Vec<String>>,
    /// The sentence.
    say: String,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// A command to run at the stop.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct CheckTable {
    /// Globs of the changed files that it is for.
    when: Vec<String>,
    /// The command line, for `sh -c`.
    run: String,
    /// A command that takes longer is ended. Default: `"60s"`.
    timeout: Option<String>,
}

/// Fixed sentences of the message.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct MessageTable {
    /// Where everything required was seen. Default: `"All expected validations were observed. Commit if
    /// ready."`.
    all_clear: Option<String>,
    /// Where only prose changed. Default: `"No code changes detected."`.
    docs_only: Option<String>,
    /// The closing reminder. Default: `"Capture anything worth keeping (memories, bugs, ideas)."`.
    capture: Option<String>,
    /// The last step; `{steps}` stands for the steps before: `step 1 is`, `steps 1-3 are`. Default: `"Commit
    /// only after the steps above are complete"`.
    commit: Option<String>,
    /// The generic checkpoint. Default: `"Continue or validate your work if needed."`.
    generic: Option<String>,
    /// The second hold. Default: `"You have uncommitted code changes. Commit your work before stopping."`.
    uncommitted: Option<String>,
}

/// How a full context is answered.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct AutosaveTable {
    /// Nothing, telling the person, or notes, commit and push. Default: `"off"`.
    mode: Option<AutosaveModeName>,
    /// Percent of the window, from 1 to 99. Default: `40`.
    threshold: Option<u8>,
    /// The size of the window in tokens, for models that nobody else knows.
    window: Option<u64>,
    /// Push to `origin`, where there is one. Default: `true`.
    push: Option<bool>,
    /// What is committed: the notes and `buildguide.md`, or what the turn changed as well. Default: `"notes"`.
    include: Option<IncludeName>,
    /// The notes file. Default: the client's own.
    notes: Option<String>,
    /// The first line of the commit's message. Default: `"checkpoint: auto-checkpoint"`.
    subject: Option<String>,
    /// What stands below it; `{reason}`, `{percent}`, `{agent}`, `{branch}` and `{iteration}` are filled in.
    /// Default: `"Saved by itself: {reason}."`.
    body: Option<String>,
    /// `Name <address>`; empty is nobody. Default: the client.
    co_author: Option<String>,
    /// Globs of files in which a text that looks like a secret is none. Default: `[]`.
    allow_secrets_in: Option<Vec<String>>,
    /// Kinds of secrets, and single ones by the fingerprint that they are told with, that are none. Default:
    /// `[]`.
    allow_secrets: Option<Vec<String>>,
    /// A commit hook that takes longer is ended. Default: `"60s"`.
    hook_timeout: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum AutosaveModeName {
    Off,
    Normal,
    Autonomous,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum IncludeName {
    Notes,
    All,
}

/// The schema of `checkstone.toml`.
pub fn json_schema() -> Schema {
    schemars::schema_for!(PolicyFile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{PRESETS, Policy, Source, file};

    fn names(schema: &serde_json::Value) -> Vec<&str> {
        let mut names: Vec<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn the_schema_knows_the_keys_that_are_read() {
        let schema = json_schema().to_value();
        let tables = [
            (&schema, file::TOP),
            (&schema["$defs"]["GateTable"], file::GATE),
            (&schema["$defs"]["RulesTable"], file::RULES),
            (&schema["$defs"]["PlanTable"], file::PLAN),
            (&schema["$defs"]["SnapshotTable"], file::SNAPSHOT),
            (&schema["$defs"]["CategoryTable"], file::CATEGORY),
            (&schema["$defs"]["ActionTable"], file::ACTION),
            (&schema["$defs"]["ErrorTable"], file::ERROR),
            (&schema["$defs"]["CheckTable"], file::CHECK),
            (&schema["$defs"]["MessageTable"], file::MESSAGE),
            (&schema["$defs"]["AutosaveTable"], file::AUTOSAVE),
        ];
        for (table, keys) in tables {
            let mut keys = keys.to_vec();
            keys.sort_unstable();
            assert_eq!(names(table), keys);
        }
        let choices = [
            ("LevelName", file::RULE_LEVELS.iter().map(|(name, _)| *name).collect::<Vec<_>>()),
            ("ScopeName", file::SCOPES.iter().map(|(name, _)| *name).collect()),
            ("TellingName", file::TELLINGS.iter().map(|(name, _)| *name).collect()),
            ("NoGitName", file::NO_GITS.iter().map(|(name, _)| *name).collect()),
            ("SecondStopName", file::SECOND_STOPS.iter().map(|(name, _)| *name).collect()),
            ("FreshName", file::FRESHNESS.iter().map(|(name, _)| *name).collect()),
            ("AutosaveModeName", file::AUTOSAVE_MODES.iter().map(|(name, _)| *name).collect()),
            ("IncludeName", file::INCLUDES.iter().map(|(name, _)| *name).collect()),
            ("PresetName", PRESETS.iter().map(|(name, _)| *name).collect()),
        ];
        for (name, expected) in choices {
            let listed = &schema["$defs"][name];
            let found: Vec<&str> = match listed["enum"].as_array() {
                Some(values) => values.iter().filter_map(|value| value.as_str()).collect(),
                None => listed["oneOf"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(|one| one["const"].as_str())
                    .collect(),
            };
            assert_eq!(found, expected, "{name}");
        }
    }

    /// What the reference calls a default is what counts where the key is left out.
    #[test]
    fn the_defaults_that_are_told_are_those_that_count() {
        let schema = json_schema().to_value();
        let tables = [
            ("gate", "GateTable"),
            ("gate.rules", "RulesTable"),
            ("plan", "PlanTable"),
            ("snapshot", "SnapshotTable"),
            ("message", "MessageTable"),
            ("autosave", "AutosaveTable"),
        ];
        let mut text = String::new();
        let mut told = 0;
        for (table, name) in tables {
            text.push_str(&format!("[{table}]\n"));
            for (key, property) in schema["$defs"][name]["properties"].as_object().unwrap() {
                let about = property["description"].as_str().unwrap_or_else(|| panic!("{table}.{key}"));
                if let Some((_, value)) = about.replace('\n', " ").rsplit_once("Default: `") {
                    text.push_str(&format!("{key} = {}\n", value.trim_end_matches("`.")));
                    told += 1;
                }
            }
        }
        assert_eq!(told, 37, "{text}");
        let load = |text| Policy::load(&[Source { name: "checkstone.toml", text }]).unwrap();
        let (with, without) = (load(&text), load(""));
        assert_eq!(serde_json::to_value(&with).unwrap(), serde_json::to_value(&without).unwrap());
    }
}
