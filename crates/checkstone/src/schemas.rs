//! The JSON schemas of what commands print, made from the types that they print. What the library crates print is made
//! from theirs in the same way; `cargo xtask schemas` writes both.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use stop::attestation::Statement;

use crate::commands::attest::AttestOutput;
use crate::commands::autosave::AutosaveOutput;
use crate::commands::check::CheckVerdicts;
use crate::commands::ci::CiOutput;
use crate::commands::doctor::DoctorOutput;
use crate::commands::explain::{ExplainList, ExplainOutput};
use crate::commands::init::InitOutput;
use crate::commands::inject::InjectOutput;
use crate::commands::log::LogStatsOutput;
use crate::commands::policy::PolicyCheck;
use crate::commands::prove::ProveOutput;
use crate::commands::session::{SessionList, SessionOutput};
use crate::commands::snapshot::{SnapshotDiff, SnapshotList, SnapshotOutput, SnapshotRestore};
use crate::commands::status::StatusOutput;
use crate::commands::team::TeamStatusOutput;
use crate::commands::trust::TrustList;
use crate::commands::uninstall::UninstallOutput;
use crate::commands::verify::VerifyOutput;
use crate::commands::version::VersionOutput;

/// The name of each file in `schemas/`, and its content.
pub fn json_schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("attest.schema.json", printed::<AttestOutput<'_>>()),
        ("attestation.schema.json", printed::<Statement>()),
        ("autosave.schema.json", printed::<AutosaveOutput<'_>>()),
        ("check.schema.json", printed::<CheckVerdicts<'_>>()),
        ("ci.schema.json", printed::<CiOutput<'_>>()),
        ("doctor.schema.json", printed::<DoctorOutput<'_>>()),
        ("explain.schema.json", printed::<ExplainOutput<'_>>()),
        ("explain-list.schema.json", printed::<ExplainList<'_>>()),
        ("init.schema.json", printed::<InitOutput<'_>>()),
        ("inject.schema.json", printed::<InjectOutput<'_>>()),
        ("log-stats.schema.json", printed::<LogStatsOutput>()),
        ("policy-check.schema.json", printed::<PolicyCheck<'_>>()),
        ("prove.schema.json", printed::<ProveOutput<'_>>()),
        ("session.schema.json", printed::<SessionOutput<'_>>()),
        ("session-list.schema.json", printed::<SessionList>()),
        ("snapshot-create.schema.json", printed::<SnapshotOutput<'_>>()),
        ("snapshot-diff.schema.json", printed::<SnapshotDiff<'_>>()),
        ("snapshot-list.schema.json", printed::<SnapshotList<'_>>()),
        ("snapshot-restore.schema.json", printed::<SnapshotRestore<'_>>()),
        ("status.schema.json", printed::<StatusOutput<'_>>()),
        ("team-status.schema.json", printed::<TeamStatusOutput>()),
        ("trust-list.schema.json", printed::<TrustList>()),
        ("uninstall.schema.json", printed::<UninstallOutput<'_>>()),
        ("verify.schema.json", printed::<VerifyOutput>()),
        ("version.schema.json", printed::<VersionOutput>()),
    ]
}

/// As it is written: what may be null is there all the same.
fn printed<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
