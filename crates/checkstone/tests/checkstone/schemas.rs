//! The JSON schemas of what commands print with `--json`. They are made from the types, kept in `schemas/`
//! so that others can rely on them, and checked so that a change of a type cannot go unnoticed. The reference of the
//! policy, `docs/policy.md`, is made from its schema in the same step.

mod policy_reference;

use std::path::{Path, PathBuf};

use checkpoint::output::{
    EmergencyOutput, ListOutput, PruneOutput, ResumeOutput, SaveOutput, ValidateOutput,
};

use settings::{Shape, TableReference};

/// The files are to be written instead of compared: `cargo xtask schemas`.
fn is_written() -> bool {
    std::env::var_os("CHECKSTONE_WRITES_SCHEMAS").is_some()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Path and content of every file that is made from the types.
fn files() -> Vec<(PathBuf, String)> {
    let mut files: Vec<(PathBuf, String)> =
        all().into_iter().map(|(name, text)| (PathBuf::from("schemas").join(name), text)).collect();
    files.push((PathBuf::from("docs/policy.md"), policy_reference::page(&gate::policy::reference())));
    files
}

/// Every key of the policy, and what only the user's own configuration may have beside it.
fn reference() -> TableReference {
    let mut reference = gate::policy::reference();
    for key in &mut reference.keys {
        match key.name {
            "integrations" => key.shape = Shape::Table(workflow::integrations::user_settings::reference()),
            "storage" => key.shape = Shape::Table(run::storage_settings::reference()),
            "team" => key.shape = Shape::Table(checkstone::team_settings_reference()),
            "mcp" => key.shape = Shape::Table(checkstone::mcp_settings_reference()),
            _ => {}
        }
    }
    reference
}

/// File name and content of every schema.
fn all() -> Vec<(&'static str, String)> {
    let mut all = vec![
        rendered("checkpoint-emergency.schema.json", &schemars::schema_for!(EmergencyOutput)),
        rendered("checkpoint-list.schema.json", &schemars::schema_for!(ListOutput)),
        rendered("checkpoint-prune.schema.json", &schemars::schema_for!(PruneOutput)),
        rendered("checkpoint-resume.schema.json", &schemars::schema_for!(ResumeOutput)),
        rendered("checkpoint-save.schema.json", &schemars::schema_for!(SaveOutput)),
        rendered("checkpoint-validate.schema.json", &schemars::schema_for!(ValidateOutput)),
        rendered(
            "workflow-branch.schema.json",
            &schemars::schema_for!(workflow::integrations::branch::IssueBranch),
        ),
        rendered("handoff-check.schema.json", &schemars::schema_for!(workflow::handoff::Report)),
        rendered("handoff-request.schema.json", &schemars::schema_for!(workflow::handoff::Request)),
        rendered("handoff-response.schema.json", &schemars::schema_for!(workflow::handoff::Response)),
        rendered("markers.schema.json", &schemars::schema_for!(run::output::MarkersOutput)),
        rendered("abort.schema.json", &schemars::schema_for!(run::output::AbortOutput<'_>)),
        rendered("run-detached.schema.json", &schemars::schema_for!(run::output::DetachedRunOutput<'_>)),
        rendered("run-comparison.schema.json", &schemars::schema_for!(run::report::Comparison)),
        rendered("report.schema.json", &schemars::schema_for!(run::output::ReportOutput)),
        rendered("run-outlook.schema.json", &schemars::schema_for!(run::output::OutlookOutput)),
        rendered("run-list.schema.json", &schemars::schema_for!(run::output::RunListOutput)),
        rendered("run-prune.schema.json", &schemars::schema_for!(run::output::RunPruneOutput)),
        rendered("run-event.schema.json", &schemars::schema_for!(run::event::Event)),
        rendered("policy.schema.json", &policy_reference::schema(&reference())),
        rendered("replay.schema.json", &schemars::schema_for!(stop::replay::Report)),
        rendered("timeline.schema.json", &schemars::schema_for!(transcript::Reading)),
        rendered("tokens.schema.json", &schemars::schema_for!(workflow::output::TokensOutput)),
        rendered("workflow.schema.json", &schemars::schema_for!(workflow::output::WorkflowOutput)),
        rendered("workflow-archive.schema.json", &schemars::schema_for!(workflow::output::ArchiveOutput)),
        rendered("workflow-diff.schema.json", &schemars::schema_for!(workflow::output::DiffOutput)),
        rendered("workflow-file.schema.json", &schemars::schema_for!(workflow::WorkflowFile)),
        rendered("workflow-gate.schema.json", &schemars::schema_for!(workflow::output::GateOutput)),
        rendered("workflow-list.schema.json", &schemars::schema_for!(workflow::output::ListOutput)),
        rendered("workflow-resume-point.schema.json", &schemars::schema_for!(workflow::ResumePoint)),
    ];
    for (name, schema) in checkstone::json_schemas() {
        all.push(rendered(name, &schema));
    }
    all
}

fn rendered(name: &'static str, schema: &impl serde::Serialize) -> (&'static str, String) {
    (name, serde_json::to_string_pretty(schema).unwrap() + "\n")
}

/// What `policy show` prints is the policy as a file would have it, and no type has that shape.
const BY_HAND: &str = "policy-show.schema.json";

#[test]
fn schemas_and_the_reference_of_the_policy_are_what_the_types_say() {
    let files = files();
    for entry in fs_err::read_dir(root().join("schemas")).unwrap() {
        let name = entry.unwrap().file_name();
        let is_made = files.iter().any(|(path, _)| path.file_name() == Some(&name));
        assert!(is_made || name == BY_HAND, "`schemas/{}` is made from no type", name.display());
    }
    for (path, text) in files {
        let kept = fs_err::read_to_string(root().join(&path)).unwrap_or_default();
        if is_written() {
            fs_err::write(root().join(path), text).unwrap();
        } else {
            assert!(
                kept == text,
                "`{}` is not what the types say; run `cargo xtask schemas`",
                path.display()
            );
        }
    }
}
