//! `checkstone doctor` with real processes: every state that it tells of is made for real. The clients themselves take
//! part in the tests of the packages.

mod fix;

use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use agents::{Program, Registration};
use sandbox::{
    Answer, RunToEnd as _, ago, contents, finish, redacted, wait_for, wait_for_file, without_durations,
};
use serde_json::{Value, json};
use transcript::Agent;

use crate::program;
use crate::workplace::{SESSION, Workplace, valid};

const RUST: &str = "presets = [\"rust\"]\n";
const SCHEMA: &str = "doctor.schema.json";

/// A workplace whose `PATH` has git and shells, and no client.
struct Patient {
    workplace: Workplace,
}

impl Patient {
    fn new(policy: &str) -> Self {
        let patient = Self { workplace: Workplace::new(Some(policy)) };
        std::fs::create_dir(patient.path("bin")).unwrap();
        for name in ["git", "sh", "bash", "sleep", "unshare", "mount"] {
            let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).answer();
            let found = found.stdout;
            if !found.trim().is_empty() {
                symlink(found.trim(), patient.path("bin").join(name)).unwrap();
            }
        }
        patient
    }

    /// With the hook registered in every client by `init`.
    fn registered(policy: &str) -> Self {
        let patient = Self::new(policy);
        let agents = Agent::ALL.into_iter().flat_map(|agent| ["--agent", agent.name()]);
        let arguments: Vec<&str> = ["init", "--yes"].into_iter().chain(agents).collect();
        let output = patient.workplace.run(&arguments);
        assert!(output.succeeded(), "{output:?}");
        patient
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workplace.path(name)
    }

    fn register(&self, agent: Agent, program: &str) {
        self.settings(agent, &Registration::new(agent, Program::At(program)).file());
    }

    fn settings(&self, agent: Agent, text: &str) {
        let files = &agents::host(agent).files;
        self.write(&format!("home/{}/{}", files.in_home(), files.settings), text);
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        sandbox::make_executable(&path);
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.workplace.checkstone(&[&["doctor"], arguments].concat());
        command.env("PATH", self.path("bin")).env("TMPDIR", self.path("tmp")).env("SHELL", "/bin/sh");
        command
    }

    fn run(&self, change: impl FnOnce(&mut Command)) -> Examination {
        let mut command = self.command(&["--json"]);
        change(&mut command);
        let output = command.answer();
        assert_eq!(output.stderr, "");
        valid(&output.stdout, SCHEMA);
        Examination::of(&output)
    }

    fn examine(&self) -> Examination {
        self.run(|_| {})
    }
}

struct Examination {
    code: Option<i32>,
    value: Value,
}

impl Examination {
    fn of(output: &Answer) -> Self {
        Self { code: output.code, value: serde_json::from_str(&output.stdout).unwrap() }
    }

    /// `good: …`, `problem: … → what to do`, of each finding of this kind.
    fn of_kind(&self, about: &str, check: &str) -> Vec<String> {
        let findings = self.value["findings"].as_array().unwrap().iter();
        let asked = findings.filter(|finding| finding["about"] == about && finding["check"] == check);
        asked
            .map(|finding| {
                let advice = finding["advice"].as_str().map(|advice| format!(" → {advice}"));
                format!(
                    "{}: {}{}",
                    finding["state"].as_str().unwrap(),
                    finding["text"].as_str().unwrap(),
                    advice.unwrap_or_default()
                )
            })
            .collect()
    }

    #[track_caller]
    fn one(&self, about: &str, check: &str) -> String {
        let mut found = self.of_kind(about, check);
        assert_eq!(found.len(), 1, "{about} {check}: {:#}", self.value);
        found.remove(0)
    }
}

/// All may be well here, and still nothing is held: that is said, and what people do not have takes one line.
#[test]
fn without_any_client_that_is_said() {
    let patient = Patient::new(RUST);
    let told = without_git_version(&redacted(patient.command(&[]).answer().to_string()));
    insta::assert_snapshot!("no_client", told.replace(&titles(), "[clients]"));
}

fn without_git_version(text: &str) -> String {
    let is_git = |line: &str| line.contains("✓ git");
    let lines = text.lines().map(|line| if is_git(line) { "  ✓ git        [version]" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// The clients that `init` finds by itself, as people call them.
fn titles() -> String {
    let found = Agent::ALL.into_iter().filter(|agent| !agents::host(*agent).registration.only_if_named);
    found.map(agents::registration::settings::client).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_hook_fires_in_every_client_it_is_registered_in() {
    let patient = Patient::registered(RUST);
    let examined = patient.examine();
    assert_eq!((examined.code, &examined.value["sound"]), (Some(0), &json!(true)), "{:#}", examined.value);
    for agent in Agent::ALL {
        let fires = examined.one(agent.name(), "fires");
        let expected = match agents::host(agent).can.shows_results {
            true => "good: held a turn without tests, passed one with tests (",
            false => "good: held a turn that changed code (",
        };
        assert!(fires.starts_with(expected), "{fires}");
        let registered = examined.one(agent.name(), "registered");
        assert!(registered.ends_with("` for every repository, by `checkstone init`"), "{registered}");
        let installed = examined.one(agent.name(), "installed");
        assert_eq!(installed, format!("note: `{}` is not on `PATH`", agents::program_name(agent)));
    }
    assert_eq!(examined.one("repository", "policy"), "good: `checkstone.toml`, preset rust");
}

#[test]
fn people_read_one_line_each() {
    let patient = Patient::registered(RUST);
    patient.settings(Agent::Gemini, "{}");
    // With a person's problem, without one, and with a question of its own; the others have nothing that is new.
    let output = patient.command(&["--agent", "claude", "--agent", "gemini", "--agent", "codex"]).answer();
    insta::assert_snapshot!("doctor", without_git_version(&without_durations(output.to_string())));
}

/// A person may have a client without wanting the hook in it.
#[test]
fn a_client_that_is_not_registered_is_a_problem_only_where_it_was_asked_for() {
    let patient = Patient::new(RUST);
    assert_eq!(patient.examine().code, Some(0), "no client, nothing registered");
    patient.script("bin/gemini", "echo 0.61.0");
    let advice = "`checkstone init --agent gemini` registers it";
    let alone = patient.examine();
    assert_eq!(alone.code, Some(1));
    assert_eq!(
        alone.one("gemini", "registered"),
        format!("problem: no, so nothing is held there → {advice}")
    );
    assert!(alone.one("gemini", "installed").starts_with("good: 0.61.0, `"));
    patient.register(Agent::Claude, env!("CARGO_BIN_EXE_checkstone"));
    let beside = patient.examine();
    assert_eq!((beside.code, beside.one("gemini", "registered")), (Some(0), format!("note: no → {advice}")));
    let asked = patient.run(|command| {
        command.args(["--agent", "gemini"]);
    });
    assert_eq!(asked.code, Some(1));
    assert!(asked.of_kind("claude", "installed").is_empty());
}

#[test]
fn a_client_that_does_not_say_its_version_is_told_in_time() {
    let patient = Patient::new(RUST);
    patient.script("bin/claude", "exit 3");
    let examined = patient.examine();
    let installed = examined.one("claude", "installed");
    insta::assert_snapshot!(without_durations(&installed), @"problem: `[folder]/bin/claude --version` ended with exit code 3 → run `claude --version` to see why");
}

#[test]
fn a_missing_program_is_named() {
    let patient = Patient::registered(RUST);
    for agent in Agent::ALL {
        patient.register(agent, "/nowhere/checkstone");
    }
    let examined = patient.examine();
    assert_eq!(examined.code, Some(1));
    let advice = " → check that this command line works, or register it again with `checkstone init`";
    assert_eq!(
        examined.one("claude", "fires"),
        format!("problem: there is no program `/nowhere/checkstone`{advice}")
    );
    // Gemini's line ends with success, whatever happens.
    let gemini = examined.one("gemini", "fires");
    insta::assert_snapshot!(without_durations(&gemini), @"problem: a turn without tests was not held: the answer was silence (bash: line 1: /nowhere/checkstone: No such file or directory) → check that this command line works, or register it again with `checkstone init`");
    let codex = examined.one("codex", "fires");
    assert!(
        codex.starts_with("problem: `/nowhere/checkstone hook codex` ended with exit code 127 ("),
        "{codex}"
    );
}

#[test]
fn a_program_that_answers_wrongly_is_found_out() {
    let patient = Patient::new(RUST);
    for (script, told) in [
        ("echo hello", "a prompt was answered with `hello`"),
        (
            "read line; case $line in *Stop*) echo '{\"decision\":\"block\",\"reason\":\"no\"}';; esac",
            "a turn without tests was not held: the answer was `{\"decision\"",
        ),
        (
            "read line; case $line in *Stop*) echo '{\"decision\":\"block\",\"reason\":\"[checkstone] no\"}';; esac",
            "a turn with passing tests was not let through: the answer was `{\"decision\"",
        ),
    ] {
        std::fs::create_dir_all(patient.path("odd")).unwrap();
        let program = patient.script("odd/checkstone", script);
        patient.register(Agent::Claude, program.to_str().unwrap());
        let fires = patient.examine().one("claude", "fires");
        assert!(fires.starts_with(&format!("problem: {told}")), "{fires}");
    }
}

#[test]
fn without_git_nothing_can_be_held() {
    let patient = Patient::registered(RUST);
    std::fs::remove_file(patient.path("bin/git")).unwrap();
    let examined = patient.examine();
    assert_eq!(examined.code, Some(1));
    assert_eq!(
        examined.one("machine", "git"),
        "problem: there is no `git` on `PATH`, so nothing can be held → install git"
    );
    let fires = examined.one("claude", "fires");
    insta::assert_snapshot!(without_durations(&fires), @"problem: a turn without tests was not held: the answer was silence (cannot ask git: there is no program `git`) → check that this command line works, or register it again with `checkstone init`");
}

#[test]
fn an_old_git_is_told() {
    let patient = Patient::registered(RUST);
    let git = std::fs::read_link(patient.path("bin/git")).unwrap();
    let script = format!(
        "case \" $* \" in *' version '*) echo git version 2.20.1;; *) exec {} \"$@\";; esac",
        git.display()
    );
    patient.script("bin/git", &script);
    let told = patient.examine().one("machine", "git");
    assert!(told.starts_with("problem: git 2.20 is older than 2.31"), "{told}");
}

#[test]
fn a_state_directory_that_cannot_be_written_is_told() {
    let patient = Patient::new(RUST);
    std::fs::write(patient.path("state"), "a file").unwrap();
    let examined = patient.examine();
    assert_eq!(examined.code, Some(1));
    let told = examined.one("machine", "state");
    insta::assert_snapshot!(without_durations(&told), @"problem: `[folder]/state` cannot be written, so nothing is held: it cannot be created in `[folder]/state` → make it writable for you, or name another folder with `CHECKSTONE_STATE_DIR`");
    std::fs::remove_file(patient.path("state")).unwrap();
    // Root may write everything, and still no folder can be made there.
    #[cfg(target_os = "linux")]
    {
        let nowhere = patient.run(|doctor| _ = doctor.env("CHECKSTONE_STATE_DIR", "/proc/nowhere"));
        insta::assert_snapshot!(nowhere.one("machine", "state"), @"problem: `/proc/nowhere` cannot be written, so nothing is held: it cannot be created in `/proc` → make it writable for you, or name another folder with `CHECKSTONE_STATE_DIR`");
    }
    std::fs::create_dir(patient.path("state")).unwrap();
    let Some(told) = state_mounted(&patient, "ro", ":") else { return };
    insta::assert_snapshot!(redacted(told), @"problem: `[folder]/state` cannot be written, so nothing is held: read-only filesystem or storage medium → make it writable for you, or name another folder with `CHECKSTONE_STATE_DIR`");
}

/// A file can still be made there, and nothing written into it.
#[test]
fn a_full_disk_is_told() {
    let patient = Patient::new(RUST);
    std::fs::create_dir(patient.path("state")).unwrap();
    let fill = "head -c 2000000 /dev/zero >\"$CHECKSTONE_STATE_DIR/zeros\" 2>/dev/null";
    let Some(told) = state_mounted(&patient, "size=1m", fill) else { return };
    insta::assert_snapshot!(redacted(told), @"problem: `[folder]/state` has no room for 256.0 KiB, so nothing can be recorded or held: no storage space → free some space, or name another folder with `CHECKSTONE_STATE_DIR`");
}

/// What `doctor` says of a state directory that a file system is mounted on, where a test may mount something. What is done `first`
/// is done only there.
fn state_mounted(patient: &Patient, options: &str, first: &str) -> Option<String> {
    let command = patient.command(&["--json"]);
    let mut mounted = Command::new("unshare");
    let script = format!(
        "PATH=$PATH:/usr/bin:/bin; mount -t tmpfs -o {options} none \"$CHECKSTONE_STATE_DIR\" || exit 77; {first}; exec \"$0\" \"$@\""
    );
    mounted.args(["--mount", "--map-root-user", "sh", "-c", &script]).arg(command.get_program());
    mounted.args(command.get_args()).env_clear().current_dir(patient.workplace.repo());
    mounted.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = mounted.answer();
    (!output.stdout.is_empty()).then(|| Examination::of(&output).one("machine", "state"))
}

#[test]
fn a_damaged_journal_is_told_and_left_alone() {
    let patient = Patient::registered(RUST);
    patient.write("state/journal.db", &"no database at all, whatever is said".repeat(50));
    let examined = patient.examine();
    assert_eq!(examined.code, Some(1));
    let told = examined.one("machine", "journal");
    insta::assert_snapshot!(without_durations(&told), @"problem: `[folder]/state/journal.db` is damaged: file is not a database → agents are not held until then: move all of `[folder]/state/journal.db*` away, and the next hook starts a new journal");
    assert!(std::fs::read_to_string(patient.path("state/journal.db")).unwrap().starts_with("no database"));
}

#[test]
fn a_broken_policy_is_told() {
    let examined = Patient::registered("presetz = 1\n").examine();
    assert_eq!(examined.code, Some(1));
    let told = examined.one("repository", "policy");
    assert!(told.starts_with("problem: broken, so every stop passes: checkstone.toml:1:1"), "{told}");
}

/// A mirror may be the last copy of a project: it is named with its size, and what removes it.
#[test]
fn mirrors_of_projects_that_are_gone_are_told() {
    let patient = Patient::registered("");
    patient.write("state/mirrors/0123456789abcdef/objects/pack/pack-1.pack", &"x".repeat(2_000_000));
    patient.write("state/mirrors/0123456789abcdef/project", "/nowhere/project");
    patient.write("state/mirrors/fedcba9876543210/project", patient.path("repo").to_str().unwrap());
    let found: Vec<String> =
        patient.examine().of_kind("machine", "leftovers").into_iter().map(redacted).collect();
    assert_eq!(
        found,
        [
            "note: there is still a copy of `/nowhere/project`, which is gone or not mounted: 1.9 MiB → if you no longer need it, \
             `rm -rf [folder]/state/mirrors/[hash]`; to restore it, create that folder and run `checkstone snapshot restore \
             --from-mirror` in it"
        ]
    );
}

/// Locks and parts of packs that killed processes left are named with what removes them; young ones may be somebody's.
#[test]
fn leftovers_of_killed_processes_are_told() {
    let patient = Patient::registered("");
    let left = |name: &str, hours: u64| {
        patient.write(&format!("repo/.git/{name}"), "left");
        let file =
            std::fs::File::options().append(true).open(patient.path(&format!("repo/.git/{name}"))).unwrap();
        file.set_modified(ago(Duration::from_secs(hours * 3600))).unwrap();
    };
    left("HEAD.lock", 3);
    left("refs/heads/topic.lock", 3);
    left("index.lock", 0);
    left("objects/pack/tmp_pack_AbCdEf", 30);
    left("objects/pack/tmp_pack_young1", 1);
    // A submodule is a repository of its own.
    for file in ["HEAD", "objects/here", "refs/here"] {
        patient.write(&format!("repo/.git/modules/inner/{file}"), "");
    }
    patient.write("repo/inner/.git", "gitdir: ../.git/modules/inner\n");
    patient.write("repo/.gitmodules", "[submodule \"inner\"]\n\tpath = inner\n");
    // By a name that no git of another test has open at this instant.
    left("modules/inner/shallow.lock", 3);
    left("../.notes.md.AbCdEf123456.tmp", 1);
    left("../.young.md.AbCdEf123456.tmp", 0);
    left("../notes.tmp", 1);
    let found: Vec<String> =
        patient.examine().of_kind("repository", "leftovers").into_iter().map(redacted).collect();
    assert_eq!(
        found,
        [
            "problem: `[folder]/repo/.git/HEAD.lock` was left 3 h 0 min ago by a git that is gone, and git refuses to work there → \
             `rm -f [folder]/repo/.git/HEAD.lock`",
            "problem: `[folder]/repo/.git/refs/heads/topic.lock` was left 3 h 0 min ago by a git that is gone, and git refuses to \
             work there → `rm -f [folder]/repo/.git/refs/heads/topic.lock`",
            "problem: `[folder]/repo/.git/modules/inner/shallow.lock` was left 3 h 0 min ago by a git that is gone, and git refuses to \
             work there → `rm -f [folder]/repo/.git/modules/inner/shallow.lock`",
            "note: 1 temporary file of killed git processes, 4 B → `checkstone snapshot prune` removes those of snapshots, and `git gc` the others when they are two weeks old",
            "note: `[folder]/repo/.notes.md.AbCdEf123456.tmp` was left by a restore or save that was interrupted → \
             `rm -f [folder]/repo/.notes.md.AbCdEf123456.tmp`",
        ]
    );
}

#[test]
fn every_switch_is_told() {
    let patient = Patient::registered("[gate]\nenabled = false\n");
    let examined = patient.examine();
    assert_eq!(
        (examined.code, examined.one("repository", "switch")),
        (Some(0), "note: `enabled = false` in the policy: no stop is judged here".to_owned())
    );
    let off = patient.run(|command| {
        command.env("CHECKSTONE", "off");
    });
    assert_eq!(off.code, Some(1));
    assert!(off.one("machine", "switch").ends_with(" → unset `CHECKSTONE`"));
    assert!(off.one("claude", "fires").starts_with("good"), "the switch of this shell is not the client's");
    let patient = Patient::registered(RUST);
    patient.workplace.run(&["session", "--agent", "claude", "--id", SESSION, "--new", "--off"]);
    let session = patient.run(|command| {
        command.env("CLAUDE_CODE_SESSION_ID", SESSION);
    });
    assert!(session.one("repository", "switch").starts_with("note: this session is switched off"));
    let with = |agent: Agent, name: &str, value: Value| {
        let file = Registration::new(agent, Program::At(env!("CARGO_BIN_EXE_checkstone"))).file();
        let mut settings: Value = serde_json::from_str(&file).unwrap();
        settings[name] = value;
        patient.settings(agent, &settings.to_string());
        let examined = patient.examine();
        assert_eq!(examined.code, Some(1));
        examined.one(agent.name(), "switch")
    };
    let told = with(Agent::Claude, "disableAllHooks", json!(true));
    insta::assert_snapshot!(without_durations(&told), @"problem: `disableAllHooks` in `~/.claude/settings.json`, so no hook runs → remove it from the file");
    let told = with(Agent::Gemini, "hooksConfig", json!({"enabled": false}));
    insta::assert_snapshot!(without_durations(&told), @"problem: `hooksConfig.enabled` in `~/.gemini/settings.json`, so no hook runs → remove it from the file");
    let told = with(Agent::Gemini, "hooksConfig", json!({"disabled": ["checkstone"]}));
    insta::assert_snapshot!(without_durations(&told), @"problem: `hooksConfig.disabled` in `~/.gemini/settings.json`, so no hook runs → remove it from the file");
}

#[test]
fn settings_that_no_client_can_read_are_told() {
    let patient = Patient::new(RUST);
    patient.settings(Agent::Claude, "{ \"hooks\": ");
    let examined = patient.examine();
    assert_eq!(examined.code, Some(1));
    let told = examined.one("claude", "registered");
    insta::assert_snapshot!(without_durations(&told), @"problem: `~/.claude/settings.json`: it is not valid JSON: EOF while parsing a value at line 1 column 11 → fix the file; the client cannot read it either");
}

/// Only we refuse it: the client takes the last of two.
#[test]
fn settings_that_only_we_do_not_understand_are_told() {
    let patient = Patient::new(RUST);
    patient.settings(Agent::Claude, "{\"hooks\": {}, \"hooks\": {}}");
    insta::assert_snapshot!(patient.examine().one("claude", "registered"), @"problem: `~/.claude/settings.json`: `hooks` appears in it twice → fix that, so that `doctor` can check the file");
    let settings = patient.path("home/.claude/settings.json");
    std::fs::File::create(settings).unwrap().set_len(17 * 1024 * 1024).unwrap();
    insta::assert_snapshot!(patient.examine().one("claude", "registered"), @"problem: `~/.claude/settings.json` is larger than 16 MiB → fix that, so that `doctor` can check the file");
}

#[test]
fn a_registration_by_hand_is_tried_as_the_client_runs_it() {
    let patient = Patient::new(RUST);
    let line = format!("PATH=$PATH:/x '{}' hook claude", env!("CARGO_BIN_EXE_checkstone"));
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}});
    patient.settings(Agent::Claude, &hooks.to_string());
    let examined = patient.examine();
    assert_eq!(examined.code, Some(0));
    assert_eq!(
        examined.one("claude", "registered"),
        "note: `~/.claude/settings.json` for every repository, by hand, without `SessionStart`, `UserPromptSubmit`, \
         `PreCompact`, `SessionEnd` → `checkstone init` adds what is missing"
    );
    assert!(examined.one("claude", "fires").starts_with("good"), "{:#}", examined.value);
    let hooks = hooks.to_string().replace("\"Stop\"", "\"SessionStart\"");
    patient.settings(Agent::Claude, &hooks);
    let told = patient.examine().one("claude", "registered");
    insta::assert_snapshot!(without_durations(&told), @"problem: `~/.claude/settings.json` for every repository, by hand, but not for `Stop`, so nothing is held → `checkstone init` adds it");
}

/// H9: two hooks run, and one of them acts.
#[test]
fn being_registered_twice_is_told() {
    let patient = Patient::registered(RUST);
    let file = Registration::new(Agent::Claude, Program::At(env!("CARGO_BIN_EXE_checkstone"))).file();
    patient.workplace.write(".claude/settings.json", &file);
    let examined = patient.examine();
    assert_eq!(examined.code, Some(0));
    let told = examined.of_kind("claude", "registered");
    assert_eq!(told.len(), 3);
    insta::assert_snapshot!(without_durations(&told[1]), @"good: `[folder]/repo/.claude/settings.json` for this repository, by hand");
    assert!(told[2].starts_with("note: more than once"), "{told:?}");
    assert_eq!(examined.of_kind("claude", "fires").len(), 2);
}

#[test]
fn a_plugin_and_an_extension_are_found() {
    let patient = Patient::new(RUST);
    let program = env!("CARGO_BIN_EXE_checkstone");
    for (agent, folder) in [
        (Agent::Claude, "home/.claude/plugins/cache/checkstone/checkstone/0.1.0"),
        (Agent::Gemini, "home/.gemini/extensions/checkstone"),
    ] {
        patient.write(
            &format!("{folder}/hooks/hooks.json"),
            &Registration::new(agent, Program::InPackage).file(),
        );
        std::fs::create_dir(patient.path(folder).join("bin")).unwrap();
        symlink(program, patient.path(folder).join("bin/checkstone")).unwrap();
    }
    patient.settings(Agent::Claude, r#"{"enabledPlugins": {"checkstone@checkstone": true}}"#);
    let installed = patient.path("home/.claude/plugins/cache/checkstone/checkstone/0.1.0");
    patient.write(
        "home/.claude/plugins/installed_plugins.json",
        &json!({"version": 2, "plugins": {"checkstone@checkstone": [{"scope": "user", "installPath": installed}]}})
            .to_string(),
    );
    let examined = patient.examine();
    assert_eq!(examined.code, Some(0), "{:#}", examined.value);
    assert!(examined.one("claude", "registered").ends_with("/0.1.0/hooks/hooks.json` by the plugin"));
    assert!(examined.one("gemini", "registered").ends_with("/checkstone/hooks/hooks.json` by the extension"));
    for agent in ["claude", "gemini"] {
        assert!(examined.one(agent, "fires").starts_with("good"), "{:#}", examined.value);
    }
    let off = json!({"checkstone": {"overrides": [format!("!{}/*", patient.path("repo").display())]}});
    patient.write("home/.gemini/extensions/extension-enablement.json", &off.to_string());
    patient.settings(Agent::Claude, r#"{"enabledPlugins": {"checkstone@checkstone": false}}"#);
    let examined = patient.examine();
    assert!(examined.of_kind("claude", "registered").is_empty());
    assert!(examined.of_kind("gemini", "registered").is_empty());
}

#[test]
fn the_newest_transcript_of_each_client_is_read() {
    let patient = Patient::registered(RUST);
    let sample = |name: &str| std::fs::read_to_string(program::samples().join(name)).unwrap();
    patient.write("home/.claude/projects/-x/a.jsonl", &sample("claude/2.1.325-main.jsonl"));
    patient.write("home/.gemini/tmp/x/chats/session-a.jsonl", &sample("gemini/0.61.0-main.jsonl"));
    patient.write("home/.codex/sessions/2026/11/15/rollout-a.jsonl", &sample("codex/0.166.0-main.jsonl"));
    let examined = patient.examine();
    let told = ["claude", "gemini", "codex"].map(|agent| examined.one(agent, "transcript"));
    insta::assert_snapshot!(redacted(told.join("
")), @"
    good: 10 of 10 records understood in `~/.claude/projects/-x/a.jsonl`
    good: 9 of 9 records understood in `~/.gemini/tmp/x/chats/session-a.jsonl`
    good: 12 of 12 records understood in `~/.codex/sessions/2026/11/15/rollout-a.jsonl`
    ");
    patient.write("home/.codex/sessions/2026/11/16/rollout-b.jsonl", &"{\"new\":\"format\"}\n".repeat(40));
    let told = patient.examine().one("codex", "transcript");
    assert!(
        told.starts_with("problem: only 0 of 40 records understood in `~/.codex/sessions/2026/11/16/"),
        "{told}"
    );
    patient.settings(Agent::Codex, "{}");
    let told = patient.examine().one("codex", "transcript");
    assert!(told.starts_with("note: only 0 of 40 records understood"), "nobody reads it there: {told}");
}

/// People who keep their dotfiles in git.
#[test]
fn a_home_that_is_a_repository_is_not_registered_twice() {
    let patient = Patient::registered(RUST);
    patient.write("home/checkstone.toml", RUST);
    let git = Command::new("git").args(["init", "--quiet"]).arg(patient.path("home")).answer();
    assert!(git.succeeded());
    let home = patient.path("home");
    let examined = patient.run(|command| {
        command.current_dir(&home);
    });
    assert_eq!(examined.code, Some(0), "{:#}", examined.value);
    for agent in Agent::ALL {
        examined.one(agent.name(), "registered");
    }
}

#[test]
fn nothing_of_the_user_is_touched() {
    let patient = Patient::registered(RUST);
    patient.workplace.held_turn(&[]);
    let folders = ["home", "repo", "tmp"];
    let before = folders.map(|folder| contents(&patient.path(folder)));
    let journal = std::fs::read(patient.path("state/journal.db")).unwrap();
    assert_eq!(patient.examine().code, Some(0));
    assert_eq!(folders.map(|folder| contents(&patient.path(folder))), before);
    assert_eq!(std::fs::read(patient.path("state/journal.db")).unwrap(), journal);
}

#[test]
fn ctrl_c_clears_everything_away() {
    let patient = Patient::new(RUST);
    std::fs::create_dir(patient.path("odd")).unwrap();
    let pid_file = patient.path("pid");
    let script = format!(
        "sleep 600 & echo $! > '{0}.new'; mv '{0}.new' '{0}' 2>/dev/null || /bin/mv '{0}.new' '{0}'; wait",
        pid_file.display()
    );
    let program = patient.script("odd/checkstone", &script);
    patient.register(Agent::Claude, program.to_str().unwrap());
    let mut command = patient.command(&[]);
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for_file(&pid_file);
    assert_eq!(std::fs::read_dir(patient.path("tmp")).unwrap().count(), 1, "the scratch folder");
    let group = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
    assert_eq!(finish(child).to_string(), "exit code: 130\n--- stdout\n--- stderr\n");
    assert_eq!(std::fs::read_dir(patient.path("tmp")).unwrap().count(), 0);
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    let stat = Path::new("/proc").join(pid.trim()).join("stat");
    wait_for("the end of what the hook started", || {
        std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    });
}

#[test]
fn wrong_usage_has_its_own_exit_code() {
    let patient = Patient::new(RUST);
    assert_eq!(patient.command(&["--agent", "emacs"]).answer().code, Some(2));
    assert_eq!(patient.command(&["--repo", "/nowhere"]).answer().code, Some(3));
}
