//! Markers: the grammar by tables, writing and reading again, and streams that are cut anywhere.

use proptest::prelude::*;
use supervise::marker::{Counts, LONGEST_LINE, Marker, Reader, category, kinds};

/// The type, the subtype, the attributes and the text of a line.
type Expected<'a> = (&'a str, Option<&'a str>, &'a [(&'a str, &'a str)], &'a str);

fn check(line: &str, expected: Option<Expected<'_>>) {
    let expected = expected.map(|(kind, subtype, attributes, text)| Marker {
        kind: kind.to_owned(),
        subtype: subtype.map(str::to_owned),
        attributes: attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        text: text.to_owned(),
    });
    assert_eq!(Marker::parse(line), expected, "{line}");
}

#[test]
fn the_plain_grammar() {
    check("[OBJECTIVE] Find out", Some(("OBJECTIVE", None, &[], "Find out")));
    check("  \t[METRIC:accuracy] 0.95 \r\n", Some(("METRIC", Some("accuracy"), &[], "0.95")));
    check("[STAGE:begin:id=S01_load_data]", Some(("STAGE", Some("begin"), &[("id", "S01_load_data")], "")));
    let end = &[("id", "S01_load_data"), ("status", "success"), ("duration", "45s")];
    check(
        "[STAGE:end:id=S01_load_data:status=success:duration=45s] done",
        Some(("STAGE", Some("end"), end, "done")),
    );
    let saved = &[("id", "ckpt-001"), ("stage", "S02_eda"), ("manifest", "reports/x/checkpoint.json")];
    check(
        "[CHECKPOINT:saved:id=ckpt-001:stage=S02_eda:manifest=reports/x/checkpoint.json]",
        Some(("CHECKPOINT", Some("saved"), saved, "")),
    );
    check("[REHYDRATED:from=ckpt-001]", Some(("REHYDRATED", None, &[("from", "ckpt-001")], "")));
    check("[NEXT-STEP] go on", Some(("NEXT_STEP", None, &[], "go on")));
    check("[STAT:name=a=b]", Some(("STAT", None, &[("name", "a=b")], "")));
    check("[STAT:ci:lower:upper=2]", Some(("STAT", Some("ci"), &[("lower", ""), ("upper", "2")], "")));
    check("[STAT:a=1:b=2:a=3]", Some(("STAT", None, &[("a", "3"), ("b", "2")], "")));
    check("[CITATION:doi:10.1000/x=1] A paper", Some(("CITATION", Some("doi:10.1000/x=1"), &[], "A paper")));
    check("[MY_OWN2:x] kept", Some(("MY_OWN2", Some("x"), &[], "kept")));
    check("[INFO]] text", Some(("INFO", None, &[], "] text")));
}

#[test]
fn what_is_no_marker() {
    for line in [
        "[STAGE:]",
        "[CITATION:]",
        "[stage:begin]",
        "[2STAGE]",
        "[STAGE",
        "[STAGE:begin",
        "x [STAGE]",
        "[]",
        "",
        "[ STAGE]",
    ] {
        check(line, None);
    }
    check("[STAGE begin]", None);
    check("[ÄRGER]", None);
}

/// R12: `:` and `]` in values, by quoting.
#[test]
fn r12_a_quoted_value_holds_what_the_plain_grammar_cannot() {
    let quoted = r#"[STAGE:progress:pct=50:msg="loading: part [1]"] text"#;
    let expected: Expected<'_> =
        ("STAGE", Some("progress"), &[("pct", "50"), ("msg", "loading: part [1]")], "text");
    check(quoted, Some(expected));
    check(
        r#"[X:path="C:\\data \"new\"":n=1]"#,
        Some(("X", None, &[("path", r#"C:\data "new""#), ("n", "1")], "")),
    );
    check(r#"[X:"a:b":k=v]"#, Some(("X", Some("a:b"), &[("k", "v")], "")));
}

/// R12: the plain grammar keeps its meaning.
#[test]
fn r12_quotes_without_need_are_ordinary_characters() {
    check(r#"[X:name="foo"]"#, Some(("X", None, &[("name", r#""foo""#)], "")));
    check(r#"[X:size=5":k=v]"#, Some(("X", None, &[("size", "5\""), ("k", "v")], "")));
    check(r#"[X:k="a:b]"#, Some(("X", Some("b"), &[("k", "\"a")], "")));
    check(r#"[X:k="] he said "no""#, Some(("X", None, &[("k", "\"")], r#"he said "no""#)));
    check(r#"[X:k="] foo":bar"#, Some(("X", None, &[("k", "\"")], r#"foo":bar"#)));
}

#[test]
fn every_type_has_its_category() {
    assert_eq!(kinds().count(), 40);
    assert_eq!(category("OBJECTIVE"), Some("research process"));
    assert_eq!(category("MEMORY"), Some("data"));
    assert_eq!(category("CORR"), Some("calculations"));
    assert_eq!(category("FIGURE"), Some("artifacts"));
    assert_eq!(category("PATTERN"), Some("insights"));
    assert_eq!(category("REHYDRATED"), Some("workflow"));
    assert_eq!(category("SO-WHAT"), Some("scientific"));
    assert_eq!(category("STAGES"), None);
}

#[test]
fn unknown_types_are_kept_and_counted() {
    let mut counts = Counts::default();
    for line in ["[NEWS] a", "[STAGE:begin]", "[NEWS] b", "[OTHER]"] {
        counts.count(&Marker::parse(line).unwrap());
    }
    assert_eq!(counts.unknown().collect::<Vec<_>>(), [("NEWS", 2), ("OTHER", 1)]);
    assert_eq!(counts.0["STAGE"], 1);
}

fn read_in_pieces(bytes: &[u8], mut cuts: impl FnMut() -> usize) -> Vec<Marker> {
    let mut markers = Vec::new();
    let mut reader = Reader::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(cuts().clamp(1, rest.len()));
        reader.read(piece, &mut |marker| markers.push(marker));
        rest = after;
    }
    reader.finish(&mut |marker| markers.push(marker));
    markers
}

#[test]
fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
    let text = format!("[INFO] {}\n[STAGE:begin]\n", "x".repeat(LONGEST_LINE));
    for size in [1, 1000, usize::MAX] {
        let kinds: Vec<_> =
            read_in_pieces(text.as_bytes(), || size).into_iter().map(|marker| marker.kind).collect();
        assert_eq!(kinds, ["STAGE"]);
    }
}

#[test]
fn bytes_that_are_no_text_do_not_hide_markers() {
    let markers = read_in_pieces(b"\xff\xfe[INFO]\n\x00\n \xff\n[INFO] \xff ok\n[DATA]", || usize::MAX);
    assert_eq!(markers.len(), 2);
    assert_eq!(markers[0].text, "\u{fffd} ok");
}

fn any_marker() -> impl Strategy<Value = Marker> {
    let kind = "[A-Z][A-Z0-9_]{0,8}".prop_filter("unsplit", |kind| kind != "CITATION");
    let value = r#"[ -~äö\n\r]{0,12}"#;
    let subtype = proptest::option::of(r#"[ -~ä\n]{1,12}"#);
    let attributes = proptest::collection::btree_map("[a-zA-Z_.]{1,6}", value, 0..4);
    (kind, subtype, attributes, "[ -~ä]{0,20}").prop_map(|(kind, subtype, attributes, text)| Marker {
        kind,
        subtype,
        attributes: attributes.into_iter().collect(),
        text: text.trim().to_owned(),
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(marker in any_marker()) {
        let line = marker.to_string();
        prop_assert_eq!(line.lines().count(), 1);
        prop_assert_eq!(Marker::parse(&line), Some(marker), "{}", line);
    }

    #[test]
    fn a_stream_is_read_alike_wherever_it_is_cut(
        lines in proptest::collection::vec(r#"[ \t]{0,3}\[?[A-Z\[ :=\]"a]{0,12}\r?"#, 0..20),
        sizes in proptest::collection::vec(1_usize..9, 1..20),
    ) {
        let text = lines.join("\n");
        let by_line: Vec<Marker> = text.lines().filter_map(Marker::parse).collect();
        let mut sizes = sizes.into_iter().cycle();
        prop_assert_eq!(&read_in_pieces(text.as_bytes(), || sizes.next().unwrap()), &by_line);
        prop_assert_eq!(&read_in_pieces(text.as_bytes(), || usize::MAX), &by_line);
    }
}
