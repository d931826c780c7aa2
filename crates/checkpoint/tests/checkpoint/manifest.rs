//! The format that other tools read and write.

use std::process::{Command, Stdio};

use checkpoint::manifest::{Manifest, ManifestError, Reason, Sealed, Status, TrustLevel, digest_of};
use serde_json::{Value, json};

/// As a tool of this format wrote it.
fn vector() -> Value {
    json!({
        "checkpointId": "ckpt-001",
        "researchSessionID": "ses_test123",
        "reportTitle": "valid-test",
        "runId": "run-001",
        "stageId": "S01_load_data",
        "status": "saved",
        "createdAt": "2026-01-01T10:00:00Z",
        "executionCount": 5,
        "notebook": {"path": "notebooks/valid-test.ipynb", "checkpointCellId": "cell-ckpt-001"},
        "pythonEnv": {
            "pythonPath": "/usr/bin/python3",
            "packages": ["pandas==2.0.0", "numpy==1.24.0"],
            "platform": "linux",
        },
        "artifacts": [],
        "rehydration": {
            "mode": "artifacts_only",
            "rehydrationCellSource": ["# Rehydration code", "print('Rehydrating...')"],
        },
    })
}

const DIGEST: &str = "41f1cbe52f4afbf25f8cabd8597a6f92680906a63754b5bc27c9644d3fa599b4";

/// The text with a hash that fits, as another tool makes it.
fn sealed(value: &Value) -> String {
    let body = serde_json::to_string_pretty(value).unwrap();
    let digest = checkpoint::hash::of_bytes(body.as_bytes());
    let mut value = value.clone();
    value["manifestSha256"] = json!(digest);
    serde_json::to_string_pretty(&value).unwrap()
}

fn changed(key: &str, new: Value) -> String {
    let mut value = vector();
    if new.is_null() {
        value.as_object_mut().unwrap().shift_remove(key);
    } else {
        value[key] = new;
    }
    sealed(&value)
}

fn parse(text: &str) -> Result<Sealed, ManifestError> {
    Manifest::parse(text.as_bytes())
}

#[test]
fn the_known_vector_has_the_known_hash_in_both_directions() {
    let body = serde_json::to_string_pretty(&vector()).unwrap();
    assert_eq!((body.len(), checkpoint::hash::of_bytes(body.as_bytes()).as_str()), (663, DIGEST));
    let theirs = sealed(&vector());
    let read = parse(&theirs).unwrap();
    assert_eq!(read.manifest_sha256, DIGEST);
    let written = read.manifest.seal().unwrap();
    assert_eq!((written.text, written.manifest_sha256.as_str()), (theirs, DIGEST));
}

#[test]
fn a_line_break_at_the_end_and_the_hash_in_another_place_do_not_matter() {
    assert!(parse(&format!("{}\n", sealed(&vector()))).is_ok());
    let body = serde_json::to_string_pretty(&vector()).unwrap();
    let first = body.replacen('{', &format!("{{\n  \"manifestSha256\": \"{DIGEST}\","), 1);
    assert_eq!(digest_of(&first).as_deref(), Some(DIGEST));
    assert!(parse(&first).is_ok());
}

/// A manifest with everything in it.
fn full() -> Value {
    let mut value = vector();
    value["trustLevel"] = json!("imported");
    value["artifacts"] = json!([
        {"relativePath": "reports/valid-test/run-001/S01_load_data/é \"q\".csv", "sha256": DIGEST, "sizeBytes": 0},
        {"relativePath": "b", "sha256": DIGEST, "sizeBytes": 9_007_199_254_740_991_u64, "colour": "red"},
    ]);
    value["pythonEnv"]["randomSeeds"] = json!({"python": 42, "numpy": 7});
    value["somebodyElses"] = json!({"b": [1.5, null, {}], "a": []});
    value
}

/// Every byte, every bit of it, and every other value for some.
#[test]
fn every_single_byte_that_is_changed_is_noticed() {
    let text = parse(&sealed(&full())).unwrap().manifest.seal().unwrap().text.into_bytes();
    assert!(Manifest::parse(&text).is_ok());
    for place in 0..text.len() {
        let mut flipped = text.clone();
        for bit in 0..8 {
            flipped[place] = text[place] ^ (1 << bit);
            assert!(Manifest::parse(&flipped).is_err(), "bit {bit} of byte {place}");
        }
        for other in [b' ', b'\n', b'"', b'}', b'0', 0] {
            flipped[place] = other;
            assert_eq!(Manifest::parse(&flipped).is_ok(), other == text[place], "byte {place} as {other}");
        }
    }
    // One byte more or less is noticed too, but for the line break that editors add.
    for place in 0..text.len() {
        let mut shorter = text.clone();
        shorter.remove(place);
        assert!(Manifest::parse(&shorter).is_err(), "without byte {place}");
        assert!(Manifest::parse(&text[..place]).is_err(), "cut at {place}");
    }
}

#[test]
fn keys_that_nobody_here_knows_stay() {
    let again = parse(&sealed(&full())).unwrap().manifest.seal().unwrap();
    let value: Value = serde_json::from_str(&again.text).unwrap();
    assert_eq!(value["somebodyElses"], full()["somebodyElses"]);
    assert_eq!(value["artifacts"][1]["colour"], "red");
    assert_eq!(value["pythonEnv"]["randomSeeds"], json!({"python": 42, "numpy": 7}));
    assert_eq!(value.as_object().unwrap().keys().next_back().unwrap(), "manifestSha256");
}

#[test]
fn reasons_are_read_in_both_spellings_and_written_in_one() {
    for (status, word, reason) in [
        ("interrupted", "watchdog_timeout", Reason::Timeout),
        ("interrupted", "timeout", Reason::Timeout),
        ("emergency", "manual_abort", Reason::Abort),
        ("emergency", "abort", Reason::Abort),
        ("interrupted", "error", Reason::Error),
    ] {
        let mut value = vector();
        value["status"] = json!(status);
        value["reason"] = json!(word);
        let manifest = parse(&sealed(&value)).unwrap().manifest;
        assert_eq!(manifest.reason, Some(reason));
        let written: Value = serde_json::from_str(&manifest.seal().unwrap().text).unwrap();
        assert_eq!(written["reason"], reason.name());
    }
    assert!(parse(&changed("status", json!("interrupted"))).is_err(), "a reason is needed");
    assert!(parse(&changed("reason", json!("boredom"))).is_err());
}

#[test]
fn trust_is_told_and_its_absence_means_this_project() {
    assert_eq!(parse(&sealed(&vector())).unwrap().manifest.trust(), TrustLevel::Local);
    let imported = parse(&changed("trustLevel", json!("imported"))).unwrap().manifest;
    assert!(imported.trust().warning().is_some());
    assert!(parse(&changed("trustLevel", json!("sure"))).is_err());
}

#[test]
fn wrong_fields_are_refused_though_the_hash_fits() {
    for (key, value) in [
        ("checkpointId", json!("../../etc")),
        ("checkpointId", json!("")),
        ("runId", json!(".store")),
        ("reportTitle", json!("a/b")),
        ("stageId", json!(7)),
        ("stageId", json!("..")),
        ("status", json!("done")),
        ("createdAt", json!("yesterday")),
        ("createdAt", json!("2026-01-01T10:00:00+02:00")),
        ("executionCount", json!(-1)),
        ("executionCount", json!(1.5)),
        ("notebook", json!({"path": "x"})),
        ("artifacts", json!([{"relativePath": "a", "sha256": "abc", "sizeBytes": 1}])),
        ("artifacts", json!([{"relativePath": "a", "sha256": DIGEST.to_uppercase(), "sizeBytes": 1}])),
        ("artifacts", json!([{"relativePath": "", "sha256": DIGEST, "sizeBytes": 1}])),
        ("artifacts", json!([{"relativePath": "a", "sha256": DIGEST, "sizeBytes": -1}])),
        ("artifacts", json!([{"relativePath": "a", "sha256": DIGEST, "sizeBytes": 1, "permissions": "rw"}])),
        (
            "artifacts",
            json!([{"relativePath": "a", "sha256": DIGEST, "sizeBytes": 1, "permissions": "4755"}]),
        ),
        (
            "artifacts",
            json!([
                {"relativePath": "a", "sha256": DIGEST, "sizeBytes": 1},
                {"relativePath": "a", "sha256": DIGEST, "sizeBytes": 1},
            ]),
        ),
        ("rehydration", json!({"mode": "magic", "rehydrationCellSource": []})),
        ("artifacts", Value::Null),
        ("createdAt", Value::Null),
    ] {
        assert!(parse(&changed(key, value.clone())).is_err(), "{key}: {value}");
    }
}

#[test]
fn permissions_are_octal_and_say_nothing_of_writing() {
    let artifact = json!([{"relativePath": "a", "sha256": DIGEST, "sizeBytes": 1, "permissions": "0746"}]);
    let manifest = parse(&changed("artifacts", artifact)).unwrap().manifest;
    assert_eq!(serde_json::to_value(&manifest.artifacts).unwrap()[0]["permissions"], "0544");
}

#[test]
fn a_key_that_is_there_twice_is_refused() {
    let text = sealed(&vector());
    let mut errors = Vec::new();
    for (key, line) in [("status", "\"status\": \"saved\","), ("extra", "\"extra\": 1,\n  \"extra\": 2,")] {
        let body = text.replacen("{\n", &format!("{{\n  {line}\n"), 1);
        let digest = digest_of(&body).unwrap();
        let old = parse(&text).unwrap().manifest_sha256;
        let error = parse(&body.replace(&old, &digest)).unwrap_err().to_string();
        errors.push(format!("{key}: {error}"));
    }
    insta::assert_snapshot!(errors.join("\n"), @"
    status: it is not the JSON of a manifest: the key `status` appears twice at line 8 column 10
    extra: it is not the JSON of a manifest: the key `extra` appears twice at line 3 column 9
    ");
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = format!("{{\"x\": {}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
    assert!(matches!(parse(&deep), Err(ManifestError::Json(_))));
    let huge = vec![b' '; usize::try_from(checkpoint::manifest::LARGEST).unwrap() + 1];
    assert!(matches!(Manifest::parse(&huge), Err(ManifestError::TooLarge)));
}

#[test]
fn the_next_stage_is_the_same_after_an_interruption() {
    let mut manifest = parse(&sealed(&vector())).unwrap().manifest;
    for (stage, next) in [
        ("S01_load_data", Some("S02_")),
        ("S09_x_y", Some("S10_")),
        ("S099_x", Some("S100_")),
        ("S1_x", None),
        ("load", None),
    ] {
        manifest.stage_id = stage.to_owned();
        assert_eq!(manifest.next_stage_id().as_deref(), next);
    }
    manifest.status = Status::Interrupted;
    assert_eq!(manifest.next_stage_id().as_deref(), Some("load"));
}

/// The programs of this format are JavaScript: what we write has the hash that they compute.
#[test]
fn javascript_computes_the_same_hash() {
    let Some(node) =
        ["/usr/bin/node", "/usr/local/bin/node"].into_iter().find(|path| std::path::Path::new(path).exists())
    else {
        return;
    };
    let mut value = full();
    value["somebodyElses"] =
        json!({"text": "\u{1}\t\u{7f}\u{2028}😀\\\"/", "n": [0, -1, 1.5, 1e-7, true, null], "e": {}});
    let text = parse(&sealed(&value)).unwrap().manifest.seal().unwrap().text;
    let script = "const t = require('fs').readFileSync(0, 'utf8'); const m = JSON.parse(t); const d = m.manifestSha256; \
                  delete m.manifestSha256; const h = require('crypto').createHash('sha256'); \
                  process.exit(h.update(JSON.stringify(m, null, 2)).digest('hex') === d ? 0 : 1)";
    let mut child = Command::new(node).args(["-e", script]).stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    /// Whatever is put wherever, in place of however much.
    #[test]
    fn no_splice_goes_unnoticed(start in 0_usize..2000, length in 0_usize..40, new: Vec<u8>) {
        let text = parse(&sealed(&full())).unwrap().manifest.seal().unwrap().text.into_bytes();
        let start = start % text.len();
        let end = (start + length).min(text.len());
        let spliced = [&text[..start], &new, &text[end..]].concat();
        let same = spliced == text || spliced == [&text[..], b"\n"].concat();
        proptest::prop_assert_eq!(Manifest::parse(&spliced).is_ok(), same);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, text: String) {
        proptest::prop_assert!(Manifest::parse(&bytes).is_err());
        let mut value = full();
        value["artifacts"][0]["relativePath"] = json!(text);
        value["somebodyElses"] = json!({text.clone(): text});
        if let Ok(read) = parse(&sealed(&value)) {
            let again = read.manifest.seal().unwrap();
            proptest::prop_assert_eq!(parse(&again.text).unwrap(), again);
        }
    }
}
