//! Manifests as the format's first tool wants them: its schema, restated here as facts, accepts whatever we write.

use serde_json::{Value, json};

use super::{Project, plan, stage};

/// Every manifest of `r1` fits; how many there are.
#[track_caller]
pub(super) fn accepted_by_origin(project: &Project) -> usize {
    let text = json!({"type": "string", "minLength": 1});
    let hash = json!({"type": "string", "pattern": "^[a-fA-F0-9]{64}$"});
    let count = json!({"type": "integer", "minimum": 0});
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let object = |properties: Value, optional: &[&str]| {
        let names = properties.as_object().unwrap().keys();
        let required: Vec<&String> = names.filter(|name| !optional.contains(&name.as_str())).collect();
        json!({"type": "object", "required": required, "properties": properties})
    };
    let artifact = object(json!({"relativePath": text, "sha256": hash, "sizeBytes": count}), &[]);
    let python = json!({"pythonPath": text, "packages": texts, "platform": text,
        "randomSeeds": {"type": "object", "additionalProperties": {"type": "number"}}});
    let schema = object(
        json!({
            "checkpointId": text, "researchSessionID": text, "reportTitle": text, "runId": text,
            "stageId": {"type": "string", "pattern": "^S[0-9]{2}_[a-z]+_[a-z_]+$"},
            "createdAt": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"},
            "executionCount": count,
            "status": {"enum": ["saved", "interrupted", "emergency"]},
            "reason": {"enum": ["timeout", "abort", "error"]},
            "trustLevel": {"enum": ["local", "imported", "untrusted"]},
            "notebook": object(json!({"path": text, "checkpointCellId": text}), &[]),
            "pythonEnv": object(python, &["randomSeeds"]),
            "artifacts": {"type": "array", "items": artifact},
            "rehydration": object(json!({"mode": {"enum": ["artifacts_only", "with_vars"]}, "rehydrationCellSource": texts}), &[]),
            "manifestSha256": hash,
        }),
        &["reason", "trustLevel"],
    );
    let validator = jsonschema::validator_for(&schema).unwrap();
    let listed = project.checkpoints();
    for checkpoint in &listed {
        let id = checkpoint["checkpointId"].as_str().unwrap();
        let manifest: Value = serde_json::from_str(
            &project.read(&format!("reports/study/checkpoints/r1/{id}/checkpoint.json")),
        )
        .unwrap();
        let wrong: Vec<String> = validator.iter_errors(&manifest).map(|error| error.to_string()).collect();
        assert_eq!(wrong, [""; 0], "{manifest:#}");
        // Its tool knows no store: every artifact has to lie where the manifest says.
        for artifact in manifest["artifacts"].as_array().unwrap() {
            let content = std::fs::read(project.path(artifact["relativePath"].as_str().unwrap())).unwrap();
            assert_eq!(artifact["sizeBytes"], content.len());
            assert_eq!(artifact["sha256"], checkpoint::hash::of_bytes(&content).as_str());
        }
    }
    listed.len()
}

/// Of a run of commands: after stages, at a stage's word, in an emergency; and by hand.
#[test]
fn the_first_tool_of_the_format_accepts_the_checkpoints_of_commands() {
    let project = Project::new(&plan(&[
        stage(
            "S01_work_long",
            "command = 'echo 1 > $CHECKSTONE_ARTIFACT_DIR/half; cp $CHECKSTONE_ARTIFACT_DIR/half $CHECKSTONE_ARTIFACT_DIR/same; echo \"[CHECKPOINT:saved:id=half]\"; until ls reports/study/checkpoints/r1/ckpt-*; do sleep 0.01; done; echo 2 > $CHECKSTONE_ARTIFACT_DIR/half'",
        ),
        stage("S02_fail_once", "command = 'test -e go'\ndependencies = [\"S01_work_long\"]"),
    ]));
    assert_eq!(project.run().code, Some(1));
    assert_eq!(accepted_by_origin(&project), 3);
    // What a stage had saved on its way stays valid when the stage is published.
    for checkpoint in project.checkpoints() {
        let id = checkpoint["checkpointId"].as_str().unwrap();
        let valid = project.output(&["checkpoint", "validate", id, "--title", "study", "--run", "r1"]);
        assert_eq!(valid.code, Some(0), "{valid:?}");
    }
    let next = || {
        let arguments = ["checkpoint", "resume", "--title", "study", "--json"];
        project.workplace.json(&arguments, "checkpoint-resume.schema.json")["nextStageId"].clone()
    };
    assert_eq!(next(), "S02_fail_once");
    project.workplace.write("go", "");
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(next(), Value::Null, "a completed run has no next stage");
    let counts: Vec<u64> = project
        .checkpoints()
        .iter()
        .map(|checkpoint| {
            let id = checkpoint["checkpointId"].as_str().unwrap();
            let path = format!("reports/study/checkpoints/r1/{id}/checkpoint.json");
            let manifest: Value = serde_json::from_str(&project.read(&path)).unwrap();
            manifest["executionCount"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(counts, [4, 1, 1, 1], "also over a resume, the newest first");
    for by_hand in [&["save", "plan.toml"][..], &["emergency", "--reason", "timeout"]] {
        let names = ["--title", "study", "--run", "r1", "--stage", "S03_save_hand"];
        let saved = project.output(&[&["checkpoint"], by_hand, &names].concat());
        assert_eq!(saved.code, Some(0), "{saved:?}");
    }
    assert_eq!(accepted_by_origin(&project), 6);
}

/// Instances of a fan-out have ids that fit, however many there are.
#[test]
fn the_first_tool_of_the_format_accepts_the_checkpoints_of_a_fan_out() {
    let seeds: Vec<String> = (1..=30).map(|seed| seed.to_string()).collect();
    let fan_out = format!(
        "forEach = {{ seed = [{}] }}\ncommand = 'echo {{params.seed}} > $CHECKSTONE_ARTIFACT_DIR/seed.txt'\noutputs = {{ seed = \"seed.txt\" }}",
        seeds.join(", ")
    );
    let project = Project::new(&plan(&[
        stage("S01_draw_seeds", &fan_out),
        stage(
            "S99_gather_all",
            "command = 'xargs cat < $CHECKSTONE_INPUT_SEEDS > $CHECKSTONE_ARTIFACT_DIR/all.txt'\ninputs = { seeds = \"S01_draw_seeds/*/seed.txt\" }",
        ),
    ]));
    let done = project.run();
    assert_eq!(done.code, Some(0), "{done:?}");
    // Beside the newest five, none.
    assert_eq!(accepted_by_origin(&project), 5);
}
