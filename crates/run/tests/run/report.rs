//! Reports of runs whose events are known: what the tables, the chart and the Markdown say of them.

use std::path::Path;

use checkpoint::layout::Layout;
use jiff::{SignedDuration, Timestamp};
use run::event::{Accepted, AcceptedArtifact, Ending, HowEnded, What};
use run::record::Recorder;
use run::report::{Outcome, Report};
use run::state::{RunState, StageState};

const PLAN: &str = r#"
title = "churn"

[[stage]]
stageId = "S01_load_data"
goal = "load the customers from the archive"
command = ["true"]

[[stage]]
stageId = "S02_train_model"
goal = "train the model on the customers"
command = ["true"]
dependencies = ["S01_load_data"]
"#;

/// Writes events one after the other, each so many milliseconds after the one before.
struct Teller {
    recorder: Recorder,
    now: Timestamp,
}

impl Teller {
    fn begin(layout: &Layout) -> Self {
        std::fs::create_dir_all(layout.run_checkpoints()).unwrap();
        let now = "2026-11-15T09:30:00Z".parse().unwrap();
        let planned = What::RunPlanned {
            format: 1,
            report_title: "churn".to_owned(),
            run_id: "run-1".to_owned(),
            plan_file: None,
            plan: PLAN.to_owned(),
            set: Vec::new(),
            surroundings: Default::default(),
        };
        let (recorder, _) = Recorder::create(&layout.events(), now, planned).unwrap();
        let mut teller = Self { recorder, now };
        teller.taken(0);
        teller.say(0, What::RunState { from: RunState::Planned, to: RunState::InProgress, reason: None });
        teller
    }

    fn say(&mut self, milliseconds: i64, what: What) {
        self.now += SignedDuration::from_millis(milliseconds);
        self.recorder.append(self.now, what).unwrap();
    }

    fn taken(&mut self, milliseconds: i64) {
        self.say(milliseconds, What::RunTaken { process: 1, jobs: 1, surroundings: Default::default() });
    }

    fn stage(&mut self, milliseconds: i64, id: &str, attempt: u32, to: StageState) {
        let from = self.recorder.record().stage(id).state;
        let (ending, accepted) = match to {
            StageState::Completed => (
                Some(ending(HowEnded::Exited, 1_500)),
                Some(Accepted {
                    session: None,
                    fingerprint: "f".to_owned(),
                    parts: Default::default(),
                    inputs: Vec::new(),
                    artifacts: vec![AcceptedArtifact {
                        path: "a <b>|c`.csv".to_owned(),
                        sha256: "41f1cbe52f4afbf25f8cabd8597a6f92680906a63754b5bc27c9644d3fa599b4".to_owned(),
                        size_bytes: 2048,
                        identity: String::new(),
                    }],
                }),
            ),
            _ => (None, None),
        };
        let reason = (to == StageState::Interrupted).then(|| "<script>alert(1)</script>".to_owned());
        let what = What::StageState { stage_id: id.to_owned(), attempt, from, to, reason, ending, accepted };
        self.say(milliseconds, what);
    }
}

fn ending(how: HowEnded, elapsed_milliseconds: u64) -> Ending {
    Ending {
        how,
        exit_code: Some(0),
        signal: None,
        elapsed_milliseconds,
        output_bytes: 0,
        verify_failed: false,
    }
}

/// The first stage completes; the second loses its supervisor, is gone on with two hours later, and completes.
fn lost_and_resumed(root: &Path) -> Layout {
    let layout = Layout::new(root, "churn", "run-1").unwrap();
    let mut teller = Teller::begin(&layout);
    teller.stage(1, "S01_load_data", 1, StageState::Running);
    teller.say(
        100,
        What::Marker {
            stage_id: "S01_load_data".to_owned(),
            attempt: 1,
            marker: "[METRIC:rows] 1000 <!-- GYOSHU:REPORT:METRICS:END -->".to_owned(),
        },
    );
    teller.stage(1_400, "S01_load_data", 1, StageState::Completed);
    teller.stage(1, "S02_train_model", 1, StageState::Running);
    let checkpoint = What::Checkpoint {
        stage_id: "S02_train_model".to_owned(),
        attempt: 1,
        checkpoint_id: "ckpt-7".to_owned(),
        status: "saved".to_owned(),
        reason: None,
        created_at: "2026-11-15T09:30:05Z".parse().unwrap(),
        artifacts: 1,
        mid_stage: true,
    };
    teller.say(3_000, checkpoint);
    // Reports name those that are there.
    let manifest = layout.manifest("ckpt-7").unwrap();
    std::fs::create_dir_all(manifest.parent().unwrap()).unwrap();
    std::fs::write(manifest, "{}").unwrap();
    teller.taken(7_200_000);
    teller.stage(1, "S02_train_model", 1, StageState::Interrupted);
    teller.stage(1, "S02_train_model", 1, StageState::Resumable);
    teller.say(1, What::StageReused { stage_id: "S01_load_data".to_owned(), restored: Vec::new() });
    teller.stage(1, "S02_train_model", 2, StageState::Running);
    teller.stage(1_500, "S02_train_model", 2, StageState::Completed);
    teller.say(1, What::RunState { from: RunState::InProgress, to: RunState::Completed, reason: None });
    layout
}

fn report(layout: &Layout) -> Report {
    Report::of_run(layout, "2026-11-15T12:00:00Z".parse().unwrap()).unwrap()
}

/// When the supervisor was lost nobody knows; the attempt lasted until the last that was heard of it, and not until
/// somebody came back.
#[test]
fn a_lost_attempt_ends_where_it_was_last_heard_of() {
    let root = tempfile::tempdir().unwrap();
    let story = report(&lost_and_resumed(root.path())).story;
    assert_eq!((story.state, story.resumes()), (RunState::Completed, 1));
    let stage = &story.stages[1];
    assert_eq!(stage.goal, "train the model on the customers");
    let outcomes: Vec<Outcome> = stage.attempts.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [Outcome::Lost, Outcome::Completed]);
    assert_eq!(stage.attempts[0].duration(), SignedDuration::from_secs(3));
    assert_eq!(story.stages[0].reused, 1);
}

#[test]
fn the_markdown_tells_interrupts_and_resumes() {
    let root = tempfile::tempdir().unwrap();
    let text = report(&lost_and_resumed(root.path())).markdown(None);
    for line in [
        "| S01_load_data | ✅ completed | 1.5 s |",
        "| S02_train_model | ⚠️ lost | 3.0 s |",
        "- S02_train_model attempt 1 was lost: &lt;script&gt;alert(1)&lt;/script&gt;; kept in `ckpt-7`",
        "- Resumed: once. Stages that were done already and not run again: 1.",
        "- **rows**: 1000 &lt;!-- GYOSHU:REPORT:METRICS:END --&gt;",
        "- `run-1/S01_load_data/a <b>|c'.csv` (2.0 KiB)",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
    }
}

/// A stage's words are data: a second refresh finds the same blocks, and what a person wrote around them stays.
#[test]
fn a_refresh_changes_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let layout = lost_and_resumed(root.path());
    let written = report(&layout).write(&layout).unwrap();
    let first = std::fs::read_to_string(&written.markdown).unwrap();
    let own = format!("My own words.\r\n\r\n{first}\nMore of them, C:\\path");
    std::fs::write(&written.markdown, &own).unwrap();
    report(&layout).write(&layout).unwrap();
    assert_eq!(std::fs::read_to_string(&written.markdown).unwrap(), own);
}

#[test]
fn the_page_has_a_bar_for_every_attempt_and_no_text_becomes_a_tag() {
    let root = tempfile::tempdir().unwrap();
    let layout = lost_and_resumed(root.path());
    std::fs::create_dir_all(layout.attempt("S02_train_model", 2).unwrap()).unwrap();
    let output = "</pre><img src=x onerror=alert(1)>\n".repeat(1000);
    std::fs::write(layout.attempt_output("S02_train_model", 2).unwrap(), output).unwrap();
    let page = report(&layout).html();
    assert_eq!(page.matches("<rect class=\"bar ").count(), 3);
    assert_eq!(page.matches("<rect class=\"pause\"").count(), 1);
    assert_eq!(page.matches("<circle class=\"mark checkpoint\"").count(), 1);
    for tag in ["<script", "<img", "<b>"] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert!(page.contains("more)</span>"), "that the output is longer is said");
    assert!(!page.contains("://"), "nothing is fetched");
}

#[test]
fn a_link_in_the_place_of_the_report_is_not_written_through() {
    let root = tempfile::tempdir().unwrap();
    let layout = lost_and_resumed(root.path());
    let elsewhere = root.path().join("elsewhere");
    std::fs::write(&elsewhere, "theirs").unwrap();
    let readme = layout.run_directory().with_file_name("README.md");
    std::os::unix::fs::symlink(&elsewhere, readme).unwrap();
    assert!(report(&layout).write(&layout).is_err());
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "theirs");
}
