//! Reports of runs whose events are known: what the tables, the chart and the Markdown say of them.

use std::path::Path;

use checkpoint::layout::Layout;
use jiff::{SignedDuration, Timestamp};
use run::event::{Accepted, AcceptedArtifact, Ending, HowEnded, What};
use run::record::Recorder;
use run::report::{Comparison, Outcome, Report};
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

    fn complete(&mut self, milliseconds: i64, id: &str, attempt: u32, artifacts: Vec<AcceptedArtifact>) {
        let what = What::StageState {
            stage_id: id.to_owned(),
            attempt,
            from: StageState::Running,
            to: StageState::Completed,
            reason: None,
            token: None,
            ending: Some(ending(HowEnded::Exited, 1_500)),
            accepted: Some(Accepted {
                session: None,
                fingerprint: "f".to_owned(),
                parts: Default::default(),
                inputs: Vec::new(),
                artifacts,
                folders: Vec::new(),
            }),
            refused: false,
        };
        self.say(milliseconds, what);
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
                        permissions: None,
                    }],
                    folders: Vec::new(),
                }),
            ),
            _ => (None, None),
        };
        let reason = (to == StageState::Interrupted).then(|| "<script>alert(1)</script>".to_owned());
        let what = What::StageState {
            stage_id: id.to_owned(),
            attempt,
            from,
            to,
            reason,
            token: None,
            ending,
            accepted,
            refused: false,
        };
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
        changed_meanwhile: false,
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

/// The smallest PNG.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// One stage that fails and completes at its second attempt. What it says and leaves is out to break the report.
fn hostile(root: &Path) -> Layout {
    let layout = Layout::new(root, "churn", "run-1").unwrap();
    let mut teller = Teller::begin(&layout);
    let id = "S01_load_data";
    let say = |teller: &mut Teller, attempt: u32, marker: &str| {
        let marker = marker.to_owned();
        teller.say(1, What::Marker { stage_id: id.to_owned(), attempt, marker });
    };
    teller.stage(1, id, 1, StageState::Running);
    say(&mut teller, 1, "[OBJECTIVE] Is it <i>true</i>?");
    say(&mut teller, 1, "[METRIC:accuracy] 0.1");
    say(&mut teller, 1, "[FINDING] too early");
    teller.stage(1, id, 1, StageState::Failed);
    teller.stage(1, id, 1, StageState::Resumable);
    teller.stage(1, id, 2, StageState::Running);
    say(&mut teller, 2, "[METRIC:accuracy] 0.5");
    say(&mut teller, 2, "[METRIC:accuracy] 0.9<script>alert(1)</script>");
    say(&mut teller, 2, "[FINDING] ![x](https://example.invalid/y) | `z`");
    let png = text::from_base64(PNG).unwrap();
    let files: [(&str, &[u8]); 8] = [
        (
            "metrics.json",
            br#"{"loss": 0.12345678901, "name": "<img src=x onerror=alert(1)>", "curve": {"auc": 1}}"#,
        ),
        ("table.csv", b"name,value\n\"</table><script>alert(1)</script>\",1\n|,2\n"),
        ("large.csv", b"row\n1\n"),
        ("plot.png", &png),
        ("half.png", png.get(..40).unwrap()),
        ("none.png", b"no picture"),
        ("a b)[.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"),
        ("checkstone-variables/x.pickle", b"internal"),
    ];
    let published = layout.published(id).unwrap();
    for (path, content) in files {
        std::fs::create_dir_all(published.join(path).parent().unwrap()).unwrap();
        std::fs::write(published.join(path), content).unwrap();
    }
    let large = std::fs::OpenOptions::new().append(true).open(published.join("large.csv")).unwrap();
    std::io::Write::write_all(&mut &large, "2\n".repeat(50_000).as_bytes()).unwrap();
    large.set_len(1 << 30).unwrap();
    let artifacts = files.map(|(path, _)| AcceptedArtifact {
        path: path.to_owned(),
        sha256: "41f1cbe52f4afbf25f8cabd8597a6f92680906a63754b5bc27c9644d3fa599b4".to_owned(),
        size_bytes: std::fs::metadata(published.join(path)).unwrap().len(),
        identity: String::new(),
        permissions: None,
    });
    teller.complete(1, id, 2, artifacts.to_vec());
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
        "- Resumed: once. Stages that were already done and not run again: 1.",
        "| S01_load_data | rows | 1000 &lt;!-- GYOSHU:REPORT:METRICS:END --&gt; |",
        "- [`run-1/S01_load_data/a <b>|c'.csv`](run-1/S01_load_data/a%20%3Cb%3E%7Cc%60.csv) (2.0 KiB)",
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
    assert!(page.contains("more before this"), "that the output is longer is said");
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

/// Metrics of the accepted attempt come first and others say whose they are; tables and pictures are there as far as they
/// are sound; internal files are not; and no text of a stage becomes Markdown of its own.
#[test]
fn results_are_in_the_markdown_and_stay_text() {
    let root = tempfile::tempdir().unwrap();
    let text = report(&hostile(root.path())).markdown(None);
    let large = "| 2 |\n".repeat(9);
    insta::assert_snapshot!(text.replace(&large, "[9 rows]\n"), @r###"
    # churn

    <!-- GYOSHU:REPORT:EXEC_SUMMARY:BEGIN -->
    ## Executive Summary

    **Research Goal**: Is it &lt;i&gt;true&lt;/i&gt;?

    **Status**: IN_PROGRESS, 1 of 2 stages completed (run `run-1`, 2026-11-15T12:00:00Z)

    **Started**: 2026-11-15T09:30:00Z, 11 ms elapsed

    <!-- GYOSHU:REPORT:EXEC_SUMMARY:END -->

    <!-- GYOSHU:REPORT:METRICS:BEGIN -->
    ## Performance Metrics

    | Stage | Metric | Value | Attempt |
    |---|---|---|---|
    | S01_load_data | accuracy | 0.9&lt;script&gt;alert(1)&lt;/script&gt; | accepted |
    | S01_load_data | loss | 0.123457 | accepted |
    | S01_load_data | name | &lt;img src=x onerror=alert(1)&gt; | accepted |
    | S01_load_data | curve.auc | 1 | accepted |
    | S01_load_data | accuracy | 0.1 | attempt 1, failed |

    <!-- GYOSHU:REPORT:METRICS:END -->

    <!-- GYOSHU:REPORT:FINDINGS:BEGIN -->
    ## Key Findings

    - !\[x\](https://example.invalid/y) \| \`z\`
    - too early (attempt 1, failed)

    <!-- GYOSHU:REPORT:FINDINGS:END -->

    <!-- GYOSHU:REPORT:TABLES:BEGIN -->
    ## Tables

    [`run-1/S01_load_data/table.csv`](run-1/S01_load_data/table.csv)

    | name | value |
    |---|---|
    | &lt;/table&gt;&lt;script&gt;alert(1)&lt;/script&gt; | 1 |
    | \| | 2 |

    [`run-1/S01_load_data/large.csv`](run-1/S01_load_data/large.csv): the first 10 rows

    | row |
    |---|
    | 1 |
    [9 rows]

    <!-- GYOSHU:REPORT:TABLES:END -->

    <!-- GYOSHU:REPORT:ARTIFACTS:BEGIN -->
    ## Output Files

    - [`run-1/S01_load_data/metrics.json`](run-1/S01_load_data/metrics.json) (84 B)
    - [`run-1/S01_load_data/table.csv`](run-1/S01_load_data/table.csv) (53 B)
    - [`run-1/S01_load_data/large.csv`](run-1/S01_load_data/large.csv) (1.0 GiB)
    - [`run-1/S01_load_data/plot.png`](run-1/S01_load_data/plot.png) (70 B)
    - [`run-1/S01_load_data/half.png`](run-1/S01_load_data/half.png) (40 B)
    - [`run-1/S01_load_data/none.png`](run-1/S01_load_data/none.png) (10 B)
    - [`run-1/S01_load_data/a b)[.svg`](run-1/S01_load_data/a%20b%29%5B.svg) (71 B)

    ![S01_load_data/plot.png](run-1/S01_load_data/plot.png)

    ![S01_load_data/a b)\[.svg](run-1/S01_load_data/a%20b%29%5B.svg)

    <!-- GYOSHU:REPORT:ARTIFACTS:END -->

    <!-- GYOSHU:REPORT:EXECUTION_HISTORY:BEGIN -->
    ## Execution History

    | Stage | Status | Duration |
    |-------|--------|----------|
    | S01_load_data | ⚠️ failed | 4 ms |
    | S01_load_data | ✅ completed | 1.5 s |
    | S02_train_model | PENDING | - |

    - S01_load_data attempt 1 failed

    <!-- GYOSHU:REPORT:EXECUTION_HISTORY:END -->
    "###);
}

#[test]
fn results_are_in_the_page_and_stay_text() {
    let root = tempfile::tempdir().unwrap();
    let page = report(&hostile(root.path())).html();
    let (_, results) = page.split_once("</dl>\n").unwrap();
    let (results, _) = results.split_once("<h2>Stages</h2>").unwrap();
    let large = "<tr><td class=\"number\">2</td></tr>\n".repeat(9);
    insta::assert_snapshot!(results.replace(&large, "[9 rows]\n"), @r##"
    <h2>Metrics</h2>
    <div class="sheet"><div class="scroll"><table class="sheet"><thead><tr><th>Stage</th><th>Metric</th><th>Value</th><th>Attempt</th></tr></thead><tbody>
    <tr><td>S01_load_data</td><td>accuracy</td><td>0.9&lt;script&gt;alert(1)&lt;/script&gt;</td><td>accepted</td></tr>
    <tr><td>S01_load_data</td><td>loss</td><td class="number">0.123457</td><td>accepted</td></tr>
    <tr><td>S01_load_data</td><td>name</td><td>&lt;img src=x onerror=alert(1)&gt;</td><td>accepted</td></tr>
    <tr><td>S01_load_data</td><td>curve.auc</td><td class="number">1</td><td>accepted</td></tr>
    <tr><td>S01_load_data</td><td>accuracy</td><td class="number">0.1</td><td>attempt 1, failed</td></tr>
    </tbody></table></div></div>
    <h2>Key Findings</h2>
    <ul>
    <li>![x](https://example.invalid/y) | `z`</li>
    <li>too early <span class="faint">(attempt 1, failed)</span></li>
    </ul>
    <h2>Pictures</h2>
    <figure><img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==" alt="S01_load_data/plot.png"><figcaption><a href="S01_load_data/plot.png"><code>S01_load_data/plot.png</code></a></figcaption></figure>
    <figure><img src="data:image/svg+xml;base64,PHN2ZyB4bWxucz0naHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmcnPjxzY3JpcHQ+YWxlcnQoMSk8L3NjcmlwdD48L3N2Zz4=" alt="S01_load_data/a b)[.svg"><figcaption><a href="S01_load_data/a%20b%29%5B.svg"><code>S01_load_data/a b)[.svg</code></a></figcaption></figure>
    <p class="faint">Not shown, since they are broken, too large or too many: 2.</p>
    <h2>Tables</h2>
    <details open><summary><a href="S01_load_data/table.csv"><code>S01_load_data/table.csv</code></a></summary><div class="scroll"><table class="sheet"><thead><tr><th>name</th><th class="number">value</th></tr></thead><tbody>
    <tr><td>&lt;/table&gt;&lt;script&gt;alert(1)&lt;/script&gt;</td><td class="number">1</td></tr>
    <tr><td>|</td><td class="number">2</td></tr>
    </tbody></table></div></details>
    <details open><summary><a href="S01_load_data/large.csv"><code>S01_load_data/large.csv</code></a> · the first 10 rows</summary><div class="scroll"><table class="sheet"><thead><tr><th class="number">row</th></tr></thead><tbody>
    <tr><td class="number">1</td></tr>
    [9 rows]
    </tbody></table></div></details>
    "##);
}

/// What a Python stage showed is in no file: the report writes it beside its page, so that the Markdown can show it.
#[test]
fn what_was_shown_is_written_beside_the_page() {
    let root = tempfile::tempdir().unwrap();
    let layout = hostile(root.path());
    let folder = layout.attempt("S01_load_data", 2).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    let table = r#"{"type":"execute_result","content":{"data":{"text/html":"<table><script>alert(1)</script>","text/plain":"   a\n0  1"}}}"#;
    let picture = format!(r#"{{"type":"display_data","content":{{"data":{{"image/png":"{PNG}\n"}}}}}}"#);
    std::fs::write(folder.join("displays.jsonl"), format!("{picture}\n{table}\n")).unwrap();
    let report = report(&layout);
    let written = report.write(&layout).unwrap();
    let shown = layout.run_directory().join(".figures/S01_load_data-1.png");
    assert_eq!(std::fs::read(shown).unwrap(), text::from_base64(PNG).unwrap());
    let text = std::fs::read_to_string(&written.markdown).unwrap();
    for line in ["![.figures/S01_load_data-1.png](run-1/.figures/S01_load_data-1.png)", "    0  1"] {
        assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
    }
}

#[test]
fn two_runs_are_compared_and_what_differs_comes_first() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let layout = hostile(other.path());
    let metrics = layout.published("S01_load_data").unwrap().join("metrics.json");
    std::fs::write(metrics, r#"{"loss": 0.25, "name": "<img src=x onerror=alert(1)>"}"#).unwrap();
    let comparison = Comparison::of(&report(&hostile(one.path())), &report(&layout));
    let values = |values: &[run::report::ComparedValue]| -> Vec<String> {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let line = |value: &run::report::ComparedValue| {
            format!("{} {} → {} {:?}", value.name, text(&value.a), text(&value.b), value.change)
        };
        values.iter().map(line).collect()
    };
    insta::assert_debug_snapshot!(values(&comparison.metrics), @r##"
    [
        "loss 0.12345678901 → 0.25 Some(0.12654321099)",
        "curve.auc 1 → - None",
        "accuracy 0.9<script>alert(1)</script> → 0.9<script>alert(1)</script> None",
        "name <img src=x onerror=alert(1)> → <img src=x onerror=alert(1)> None",
    ]
    "##);
    insta::assert_debug_snapshot!(values(&comparison.durations), @r##"
    [
        "duration 1.500 → 1.500 Some(0.0)",
    ]
    "##);
}
