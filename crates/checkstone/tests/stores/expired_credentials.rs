//! A run whose credentials for the bucket expire under it.

use std::process::Stdio;

use bucket::{BucketAccess, ContentBucket};
use sandbox::{finish, wait_for, wait_for_file};

use crate::project::Project;
use crate::runs::reason;
use crate::servers::{bucket_access, bucket_variables, shared, variable};
use crate::temporary_credentials::assume_short_role;

const PLAN: &str = r#"
title = "study"

[[stage]]
stageId = "S01_make_table"
goal = "Something to keep"
command = 'seq 1 2000 > $CHECKSTONE_ARTIFACT_DIR/table.txt'

[[stage]]
stageId = "S02_sort_table"
goal = "Something that takes longer than the credentials last"
command = 'touch began; until test -e go; do sleep 0.05; done; echo done > $CHECKSTONE_ARTIFACT_DIR/sorted.txt'
dependencies = ["S01_make_table"]
"#;

#[test]
fn credentials_that_expire_during_a_run_are_told_of_and_it_goes_on_with_new_ones() {
    let Some(_servers) = shared() else { return };
    let mut project =
        Project::new("CHECKSTONE_STORE", &variable("CHECKSTONE_STORE").unwrap()).with_plan(PLAN);
    let temporary = assume_short_role(&bucket_variables());
    temporary.iter().for_each(|(name, value)| project.set(name, value));
    let mut engine = project.checkstone(&["run", "--id", "r1"]);
    let engine = engine.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The checkpoint of the first stage is in the bucket then.
    wait_for_file(&project.path("began"));
    let mut access: BucketAccess = bucket_access();
    access.options.retain(|(name, _)| !temporary.iter().any(|(known, _)| known == name));
    access.options.extend(temporary.clone());
    let bucket = ContentBucket::open(&access, &["expired"]).unwrap();
    wait_for("the end of the credentials", || bucket.objects("").is_err());
    fs_err::write(project.path("go"), "").unwrap();
    let failed = finish(engine);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert_eq!(
        reason(&project),
        "its checkpoint cannot be saved: cannot keep artifacts in `s3://checkstone/runs`: `s3://checkstone/runs` does not \
         accept the session token of the credentials, which has probably expired: renew the credentials, then resume the run"
    );
    assert!(temporary.iter().all(|(_, secret)| !project.has_word(secret)));
    project.set("AWS_SESSION_TOKEN", "");
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        project.set(name, &variable(name).unwrap());
    }
    let resumed = project.run(&["resume", "r1"]);
    assert_eq!((resumed.code, project.starts()), (Some(0), 3), "the first stage once: {resumed:?}");
}
