//! What runs of one title know of each other: what one of them began, what it made, and what is left of that.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use checkpoint::layout::Layout;
use run::engine::{self, PlanText, Settings};
use run::event::{Event, What};
use run::outlook::{self, Would};
use run::output::ListedRun;
use run::plan::Plan;
use run::record::{Record, StageRecord};
use run::report::Report;
use run::runs;
use run::state::{RunState, StageState};

struct Project {
    root: tempfile::TempDir,
    text: String,
}

impl Project {
    fn new(stages: &str) -> Self {
        let mut project = Self { root: tempfile::tempdir().unwrap(), text: String::new() };
        project.plan(stages);
        project
    }

    fn plan(&mut self, stages: &str) {
        let goal = "\ngoal = \"Do the work of this stage\"\n";
        self.text = format!("title = \"t\"\n{}", stages.replace("\ncommand", &format!("{goal}command")));
    }

    fn layout(&self, run: &str) -> Layout {
        Layout::new(self.root.path(), "t", run).unwrap()
    }

    fn layouts(&self, runs: &[&str]) -> Vec<Layout> {
        runs.iter().map(|run| self.layout(run)).collect()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs_err::read_to_string(self.path(path)).unwrap()
    }

    fn plan_text(&self) -> PlanText {
        let plan = Plan::read("plan.toml", &self.text, self.root.path()).unwrap();
        PlanText { plan, text: self.text.clone(), file: None }
    }

    fn settings(&self, earlier: &[&str]) -> Settings {
        let path = ("PATH".into(), std::env::var_os("PATH").unwrap());
        Settings { earlier_runs: Some(self.layouts(earlier)), environment: vec![path], ..Settings::default() }
    }

    fn run(&self, id: &str, earlier: &[&str]) -> RunState {
        let settings = self.settings(earlier);
        engine::run(self.root.path(), self.plan_text(), id, &settings, &mut |_| {}).unwrap()
    }

    fn resume(&self, id: &str, earlier: &[&str], again: &[&str]) -> (RunState, Vec<Event>) {
        let again = again.iter().map(|id| (*id).to_owned()).collect();
        let settings = Settings { again, ..self.settings(earlier) };
        let mut events = Vec::new();
        let mut hear = |event: &Event| events.push(event.clone());
        let state = engine::resume(&self.layout(id), self.plan_text(), &settings, &mut hear).unwrap();
        (state, events)
    }

    fn stage(&self, run: &str, stage: &str) -> StageRecord {
        Record::read(&self.layout(run).events()).unwrap().stage(stage)
    }

    /// What a new run would do, and why.
    fn outlook(&self, earlier: &[&str]) -> Vec<(Would, String)> {
        let plan = self.plan_text().plan;
        let stages = outlook::of_new_run(&plan, &self.layout("next"), Some(&self.layouts(earlier)), &[]);
        stages.into_iter().map(|stage| (stage.would, stage.why)).collect()
    }
}

/// As if the supervisor had been killed while the first attempt ran.
fn kill_in_first_attempt(layout: &Layout) {
    let text = fs_err::read_to_string(layout.events()).unwrap();
    let end = text.find("\"to\":\"RUNNING\"").unwrap();
    let end = end + text[end..].find('\n').unwrap() + 1;
    fs_err::write(layout.events(), &text[..end]).unwrap();
}

#[test]
fn what_another_run_began_and_must_not_be_repeated_is_not_begun() {
    let once = "[[stage]]\nstageId = \"S01_send_mail\"\ncommand = 'echo sent >> mails; test -e go'\nretryable = false\n";
    let project = Project::new(once);
    assert_eq!(project.run("a1", &[]), RunState::Failed);
    kill_in_first_attempt(&project.layout("a1"));

    let why = "it is not retryable, and run `a1` started it but did not complete it; \
               `checkstone resume a1 --again S01_send_mail` runs it anyway";
    assert_eq!(project.outlook(&["a1"]), [(Would::Refuse, why.to_owned())]);
    assert_eq!(project.run("b1", &["a1"]), RunState::Failed);
    let refused = project.stage("b1", "S01_send_mail");
    assert_eq!((refused.state, refused.attempt), (StageState::Blocked, 0));
    assert_eq!(refused.reason.as_deref(), Some(why));
    // Nor is it if that run is resumed.
    assert_eq!(project.resume("b1", &["a1"], &[]).0, RunState::Failed);
    assert_eq!(project.read("mails"), "sent\n");

    fs_err::write(project.path("go"), "").unwrap();
    assert_eq!(project.resume("a1", &["b1"], &["S01_send_mail"]).0, RunState::Completed);
    assert_eq!(project.read("mails"), "sent\nsent\n");
    // What is done now is done for all of them.
    assert_eq!(project.resume("b1", &["a1"], &[]).0, RunState::Completed);
    assert_eq!(project.run("c1", &["b1", "a1"]), RunState::Completed);
    assert_eq!(project.read("mails"), "sent\nsent\n");
    // For a run with `--fresh` nothing that others did matters.
    let fresh = Settings { earlier_runs: None, ..project.settings(&[]) };
    let state = engine::run(project.root.path(), project.plan_text(), "d1", &fresh, &mut |_| {});
    assert_eq!(state.unwrap(), RunState::Completed);
    assert_eq!(project.read("mails"), "sent\nsent\nsent\n");
}

/// Even if the run was removed since.
#[test]
fn what_was_begun_is_not_forgotten() {
    let once =
        "[[stage]]\nstageId = \"S01_send_mail\"\ncommand = 'echo sent >> mails; false'\nretryable = false\n";
    let project = Project::new(once);
    project.run("a1", &[]);
    let refused = |anyway: &str| {
        let why = "it is not retryable, and run `a1` started it but did not complete it";
        [(Would::Refuse, format!("{why}; `checkstone {anyway} anyway"))]
    };
    assert_eq!(project.outlook(&[]), refused("resume a1 --again S01_send_mail` runs it"));
    fs_err::remove_dir_all(project.layout("a1").run_checkpoints()).unwrap();
    fs_err::remove_dir_all(project.layout("a1").run_directory()).unwrap();
    assert_eq!(project.outlook(&[]), refused("run --fresh` runs everything"));
    assert_eq!(project.run("b1", &[]), RunState::Failed);
    assert_eq!(project.read("mails"), "sent\n");
}

/// Whatever other runs took over meanwhile, and whichever was written to last.
#[test]
fn only_who_began_a_stage_last_says_what_became_of_it() {
    let once = "[[stage]]\nstageId = \"S01_send_mail\"\ncommand = 'cat text >> mails; test ! -e broken'\n\
                retryable = false\ninputs = { text = \"text\" }\n";
    let project = Project::new(once);
    let write = |path: &str, text: &str| fs_err::write(project.path(path), text).unwrap();
    write("text", "one\n");
    assert_eq!(project.run("a1", &[]), RunState::Completed);
    write("text", "two\n");
    write("broken", "");
    assert_eq!(project.run("b1", &["a1"]), RunState::Failed);
    fs_err::remove_file(project.path("broken")).unwrap();
    // The earlier result is taken over, and its run goes on.
    write("text", "one\n");
    assert_eq!(project.run("c1", &["b1", "a1"]), RunState::Completed);
    assert_eq!(project.resume("a1", &["c1", "b1"], &[]).0, RunState::Completed);
    write("text", "two\n");
    assert_eq!(project.outlook(&["a1", "c1", "b1"])[0].0, Would::Refuse);
    assert_eq!(project.run("d1", &["a1", "c1", "b1"]), RunState::Failed);
    assert_eq!(project.read("mails"), "one\ntwo\n");
}

/// Neither of them knows of the other when it begins.
#[test]
fn of_runs_at_the_same_time_one_begins_it() {
    let once = "[[stage]]\nstageId = \"S01_send_mail\"\ncommand = 'echo sent >> mails'\nretryable = false\n";
    let project = Project::new(once);
    std::thread::scope(|scope| {
        for run in ["a1", "b1", "c1", "d1"] {
            let project = &project;
            scope.spawn(move || project.run(run, &[]));
        }
    });
    // Whoever came too early uses what was made.
    for run in ["a1", "b1", "c1", "d1"] {
        assert_eq!(project.resume(run, &["a1", "b1", "c1", "d1"], &[]).0, RunState::Completed);
    }
    assert_eq!(project.read("mails"), "sent\n");
}

/// A run knows what others have made when it begins, and of what must not be repeated also what they made since.
#[test]
fn what_another_run_completes_meanwhile_is_used() {
    let stages = "[[stage]]\nstageId = \"S01_wait_long\"\ncommand = 'true'\n\
                  [[stage]]\nstageId = \"S02_send_mail\"\ncommand = 'echo sent >> mails'\nretryable = false\n";
    let project = Project::new(stages);
    let mut is_first = true;
    let mut other_run = |event: &Event| {
        if let What::StageState { to: StageState::Completed, .. } = &event.what
            && std::mem::take(&mut is_first)
        {
            assert_eq!(project.run("b1", &[]), RunState::Completed);
        }
    };
    let settings = project.settings(&[]);
    let state = engine::run(project.root.path(), project.plan_text(), "a1", &settings, &mut other_run);
    assert_eq!(state.unwrap(), RunState::Completed);
    assert_eq!(project.stage("a1", "S02_send_mail").reason.as_deref(), Some("made by run `b1`"));
    assert_eq!(project.read("mails"), "sent\n");
}

/// What is called like it is another run.
#[test]
fn a_run_with_the_name_of_a_removed_one_is_another() {
    let once =
        "[[stage]]\nstageId = \"S01_send_mail\"\ncommand = 'echo sent >> mails; false'\nretryable = false\n";
    let project = Project::new(once);
    assert_eq!(project.run("nightly", &[]), RunState::Failed);
    fs_err::remove_dir_all(project.layout("nightly").run_checkpoints()).unwrap();
    fs_err::remove_dir_all(project.layout("nightly").run_directory()).unwrap();
    assert_eq!(project.run("nightly", &[]), RunState::Failed);
    assert_eq!(project.stage("nightly", "S01_send_mail").attempt, 0);
    assert_eq!(project.read("mails"), "sent\n");
}

#[test]
fn what_completed_is_not_repeated_because_its_result_is_lost() {
    let once = "[[stage]]\nstageId = \"S01_send_mail\"\ncommand = 'cat text >> mails; cp text $CHECKSTONE_ARTIFACT_DIR/a'\n\
                retryable = false\nstore = \"reference\"\ninputs = { text = \"text\" }\n";
    let project = Project::new(once);
    fs_err::write(project.path("text"), "one\n").unwrap();
    assert_eq!(project.run("a1", &[]), RunState::Completed);
    fs_err::remove_file(project.path("reports/t/a1/S01_send_mail/a")).unwrap();
    let why = "it is not retryable, and run `a1` completed it, but what that made cannot be used again; \
               `checkstone resume a1 --again S01_send_mail` runs it anyway";
    assert_eq!(project.outlook(&["a1"]), [(Would::Refuse, why.to_owned())]);
    assert_eq!(project.run("b1", &["a1"]), RunState::Failed);
    assert_eq!(project.stage("b1", "S01_send_mail").reason.as_deref(), Some(why));
    // Nor because the record that it came from is lost.
    fs_err::write(project.layout("a1").events(), "").unwrap();
    assert_eq!(project.run("c1", &["b1", "a1"]), RunState::Failed);
    assert_eq!(project.read("mails"), "one\n");
    // With another text it is another mail.
    fs_err::write(project.path("text"), "two\n").unwrap();
    assert_eq!(project.run("d1", &["c1", "b1", "a1"]), RunState::Completed);
    assert_eq!(project.read("mails"), "one\ntwo\n");
}

/// The letter of an instance says nothing: another list gives it to another one.
#[test]
fn instances_are_known_by_what_they_are_run_for() {
    let each = |list: &str| {
        format!(
            "[[stage]]\nstageId = \"S01_send_each\"\ncommand = 'echo {{params.x}} >> mails; test {{params.x}} != 3 || test -e go'\n\
             retryable = false\nforEach = {{ x = {list} }}\n"
        )
    };
    let mut project = Project::new(&each("[1, 2, 3]"));
    assert_eq!(project.run("a1", &[]), RunState::Failed);
    project.plan(&each("[1, 2]"));
    project.resume("a1", &[], &[]);
    project.plan(&each("[2, 3, 4]"));
    fs_err::write(project.path("go"), "").unwrap();
    let would =
        |outlook: Vec<(Would, String)>| outlook.into_iter().map(|(would, _)| would).collect::<Vec<_>>();
    assert_eq!(would(project.outlook(&["a1"])), [Would::Reuse, Would::Refuse, Would::Run]);
    assert_eq!(project.run("b1", &["a1"]), RunState::Failed);
    let reason = project.stage("b1", "S01_send_each_b").reason.unwrap();
    // What it is called in the plan as it is now, which is what is resumed.
    assert!(reason.ends_with("; `checkstone resume a1 --again S01_send_each_b` runs it anyway"), "{reason}");
    let mut sent: Vec<String> = project.read("mails").lines().map(str::to_owned).collect();
    sent.sort();
    assert_eq!(sent, ["1", "2", "3", "4"]);
}

#[test]
fn a_note_that_cannot_be_read_keeps_a_stage_from_being_begun() {
    let once = "[[stage]]\nstageId = \"S01_send_mail\"\ncommand = 'echo sent >> mails'\nretryable = false\n";
    let project = Project::new(once);
    assert_eq!(project.run("a1", &[]), RunState::Completed);
    let begun = project.path("reports/t/checkpoints/.begun");
    let stage = fs_err::read_dir(&begun).unwrap().next().unwrap().unwrap().path();
    for text in ["", "{\"run\":\"../../x\",\"stageId\":\"S01_send_mail\"}"] {
        fs_err::write(stage.join("1.json"), text).unwrap();
        let note = project.layout("a1").relative(&stage.join("1.json"));
        let why = format!(
            "it is not retryable, and `{note}`, which says whether it was started, cannot be read; \
             `checkstone run --fresh` runs everything anyway"
        );
        assert_eq!(project.outlook(&[]), [(Would::Refuse, why)]);
        assert_eq!(project.run(&format!("b{}", text.len()), &[]), RunState::Failed);
    }
    assert_eq!(project.resume("b0", &[], &["S01_send_mail"]).0, RunState::Completed);
    assert_eq!(project.read("mails"), "sent\nsent\n");
    // What cannot be the number of a turn is none.
    for name in ["18446744073709551615.json", "4294967295.json", "007.json", "x.json"] {
        fs_err::write(stage.join(name), "").unwrap();
    }
    assert_eq!(project.resume("b0", &[], &["S01_send_mail"]).0, RunState::Completed);
    assert!(stage.join("3.json").exists());
}

#[test]
fn a_stage_that_failed_in_another_run_has_run() {
    let project = Project::new("[[stage]]\nstageId = \"S01_do_work\"\ncommand = 'exit 3'\n");
    let would_run = |why: &str| [(Would::Run, why.to_owned())];
    assert_eq!(project.outlook(&[]), would_run("it has not run yet"));
    project.run("r1", &[]);
    assert_eq!(project.outlook(&["r1"]), would_run("it failed in run `r1`: exit status 3"));
    kill_in_first_attempt(&project.layout("r1"));
    assert_eq!(project.outlook(&["r1"]), would_run("it did not complete in run `r1`"));
}

#[test]
fn an_output_that_was_changed_is_not_called_missing() {
    let project = Project::new(
        "[[stage]]\nstageId = \"S01_do_work\"\ncommand = 'echo a > $CHECKSTONE_ARTIFACT_DIR/a'\nstore = \"reference\"\n",
    );
    assert_eq!(project.run("r1", &[]), RunState::Completed);
    let published = project.path("reports/t/r1/S01_do_work/a");
    fs_err::write(&published, "something else\n").unwrap();
    assert_eq!(project.outlook(&["r1"]), [(Would::Run, "output `a` was changed".to_owned())]);
    fs_err::remove_file(&published).unwrap();
    assert_eq!(project.outlook(&["r1"]), [(Would::Run, "output `a` is missing".to_owned())]);
}

fn tree(list: &str) -> String {
    format!(
        "[[stage]]\nstageId = \"S01_make_tree\"\ncommand = 'cd $CHECKSTONE_ARTIFACT_DIR; mkdir -p d/queue; echo a > d/a'\noutputs = [\"d\"]\n\
         [[stage]]\nstageId = \"S02_list_queue\"\ncommand = '{list} $CHECKSTONE_INPUT_D/queue > $CHECKSTONE_ARTIFACT_DIR/l'\ninputs = [\"S01_make_tree/d\"]\n"
    )
}

#[test]
fn empty_folders_are_part_of_what_a_stage_made() {
    let mut project = Project::new(&tree("ls -la"));
    assert_eq!(project.run("r1", &[]), RunState::Completed);
    // In a run that takes the results over.
    project.plan(&tree("ls -l"));
    assert_eq!(project.run("r2", &["r1"]), RunState::Completed);
    assert_eq!(project.stage("r2", "S01_make_tree").reason.as_deref(), Some("made by run `r1`"));
    // And where they are brought back.
    let queue = project.path("reports/t/r1/S01_make_tree/d/queue");
    let record = Record::read(&project.layout("r1").events()).unwrap();
    assert!(outlook::has_all_outputs(&project.layout("r1"), &record));
    fs_err::remove_dir(&queue).unwrap();
    assert!(!outlook::has_all_outputs(&project.layout("r1"), &record));
    let (state, events) = project.resume("r1", &[], &[]);
    assert_eq!((state, queue.is_dir()), (RunState::Completed, true));
    let restored = events.into_iter().find_map(|event| match event.what {
        What::StageReused { restored, .. } => Some(restored),
        _ => None,
    });
    assert_eq!(restored.unwrap(), ["reports/t/r1/S01_make_tree/d/queue"]);
    fs_err::remove_dir_all(project.path("reports/t/r1/S01_make_tree")).unwrap();
    assert_eq!(project.resume("r1", &[], &[]).0, RunState::Completed);
    assert_eq!((queue.is_dir(), project.read("reports/t/r1/S01_make_tree/d/a")), (true, "a\n".to_owned()));
}

/// Records of older versions do not name them, and are read all the same.
#[test]
fn a_record_without_folders_is_read() {
    let project = Project::new(&tree("ls"));
    assert_eq!(project.run("r1", &[]), RunState::Completed);
    let layout = project.layout("r1");
    let text = fs_err::read_to_string(layout.events()).unwrap();
    let older = text.replace(",\"folders\":[\"d/queue\"]", "");
    assert_ne!(older, text);
    fs_err::write(layout.events(), older).unwrap();
    assert_eq!(project.resume("r1", &[], &[]).0, RunState::Completed);
}

/// A record may come from anywhere.
#[test]
fn no_folder_is_made_outside_of_the_stages_own() {
    let project = Project::new(&tree("ls"));
    assert_eq!(project.run("r1", &[]), RunState::Completed);
    let layout = project.layout("r1");
    let text = fs_err::read_to_string(layout.events()).unwrap();
    fs_err::write(layout.events(), text.replace("[\"d/queue\"]", "[\"../../../../outside\"]")).unwrap();
    project.resume("r1", &[], &[]);
    assert!(!project.path("outside").exists());
}

fn mode(path: &Path) -> u32 {
    fs_err::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_others_may_not_read_stays_so_in_the_store_and_where_it_is_restored() {
    let project = Project::new(
        "[[stage]]\nstageId = \"S01_do_work\"\ncommand = 'cd $CHECKSTONE_ARTIFACT_DIR; umask 077; echo secret > a; umask 022; echo public > b'\n",
    );
    assert_eq!(project.run("r1", &[]), RunState::Completed);
    let published = ["a", "b"].map(|name| project.path("reports/t/r1/S01_do_work").join(name));
    let accepted = project.stage("r1", "S01_do_work").accepted.unwrap();
    let stored = accepted.artifacts.iter().map(|artifact| {
        let folder = project.path("reports/t/checkpoints/.store").join(&artifact.sha256[..2]);
        mode(&folder.join(&artifact.sha256))
    });
    assert_eq!(stored.collect::<Vec<_>>(), [0o400, 0o444]);
    published.iter().for_each(|path| fs_err::remove_file(path).unwrap());
    assert_eq!(project.resume("r1", &[], &[]).0, RunState::Completed);
    assert_eq!(published.each_ref().map(|path| mode(path)), [0o600, 0o644]);
}

/// After the abort nothing is tried again, and the reason must not promise it.
#[test]
fn an_abort_while_a_retry_is_waited_for_says_so() {
    let project = Project::new(
        "[[stage]]\nstageId = \"S01_do_work\"\ncommand = 'exit 1'\nretries = 5\nbackoffSec = 30\n",
    );
    let settings = project.settings(&[]);
    let interrupt = std::sync::Arc::clone(&settings.interrupt);
    let mut hear = |event: &Event| {
        if matches!(event.what, What::StageState { to: StageState::Resumable, .. }) {
            interrupt.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    };
    let state = engine::run(project.root.path(), project.plan_text(), "r1", &settings, &mut hear);
    assert_eq!(state.unwrap(), RunState::Aborted);
    let stage = project.stage("r1", "S01_do_work");
    assert_eq!(stage.state, StageState::Blocked);
    assert_eq!(stage.reason.as_deref(), Some("aborted before it was tried again: exit status 1"));
}

/// Time in which the supervisor stood still does not count, so on a busy machine one run may show less.
#[test]
fn verifying_counts_as_time_of_the_stage() {
    let project =
        Project::new("[[stage]]\nstageId = \"S01_do_work\"\ncommand = 'true'\nverify = 'sleep 1'\n");
    let is_counted = |run: u32| {
        let run = format!("r{run}");
        assert_eq!(project.run(&run, &[]), RunState::Completed);
        project.stage(&run, "S01_do_work").ending.unwrap().elapsed_milliseconds >= 500
    };
    assert!((0..20).any(is_counted));
}

#[test]
fn stages_that_are_no_longer_in_the_plan_are_not_counted() {
    let stage = |id: &str| format!("[[stage]]\nstageId = \"{id}\"\ncommand = 'true'\n");
    let fan_out = "[[stage]]\nstageId = \"S02_do_each\"\ncommand = 'true'\nforEach = { x = [1, 2] }\n";
    let mut project = Project::new(&(stage("S01_do_work") + fan_out));
    let listed = |project: &Project| {
        let found = runs::named(project.root.path(), "r1");
        ListedRun::of(&found[0]).completed_stages
    };
    assert_eq!(project.run("r1", &[]), RunState::Completed);
    assert_eq!(listed(&project), Some(3));
    project.plan(&(stage("S01_do_other") + fan_out));
    assert_eq!(project.resume("r1", &[], &[]).0, RunState::Completed);
    assert_eq!(listed(&project), Some(3));
}

#[test]
fn no_report_is_written_through_a_link() {
    let project = Project::new("[[stage]]\nstageId = \"S01_do_work\"\ncommand = 'true'\n");
    assert_eq!(project.run("r1", &[]), RunState::Completed);
    let outside = tempfile::tempdir().unwrap();
    let (run, moved) = (project.path("reports/t/r1"), outside.path().join("r1"));
    fs_err::rename(&run, &moved).unwrap();
    fs_err::os::unix::fs::symlink(&moved, &run).unwrap();
    let layout = project.layout("r1");
    let report = Report::of_run(&layout, jiff::Timestamp::UNIX_EPOCH).unwrap();
    let refused = report.write(&layout).unwrap_err().to_string();
    assert_eq!(refused, format!("`{}` is a symbolic link", run.display()));
    assert!(!moved.join("report.html").exists());
}
