use sandbox::RunToEnd as _;
use serde_json::Value;

use crate::program;
use crate::workplace::{Workplace, valid};

const SCHEMA: &str = "tokens.schema.json";

fn counted(workplace: &Workplace, text: &str, arguments: &[&str]) -> (Option<i32>, Value) {
    workplace.write("text.txt", text);
    let arguments = [&["tokens", "text.txt", "--json"], arguments].concat();
    let output = workplace.run(&arguments);
    assert_eq!(output.stderr, "");
    (output.code, valid(&output.stdout, SCHEMA))
}

/// P6
#[test]
fn p6_words_decide_and_the_estimate_knows_japanese() {
    let workplace = Workplace::new(None);
    let (code, value) = counted(&workplace, &"word ".repeat(500), &[]);
    assert_eq!((code, &value["tokens"], &value["valid"]), (Some(0), &500.into(), &true.into()));
    let (code, value) = counted(&workplace, &"word ".repeat(501), &[]);
    assert_eq!((code, &value["valid"]), (Some(1), &false.into()));
    assert_eq!(value["error"], "Context summary exceeds 500 token limit (actual: 501 tokens)");
    let (code, value) = counted(&workplace, &"要約は五百語まで".repeat(200), &[]);
    assert_eq!((code, &value["tokens"], &value["long"]), (Some(0), &1.into(), &true.into()));
    assert!(value["estimate"].as_u64().unwrap() > 1000);
    let (code, value) = counted(&workplace, "one two three", &["--limit", "2", "--warn-above", "1"]);
    assert_eq!((code, &value["limit"], &value["long"]), (Some(1), &2.into(), &true.into()));
}

/// What the tokenizer counts in the texts below.
fn o200k(text: &[u8]) -> usize {
    [0, 7, 3]
        .into_iter()
        .nth(usize::from(!text.is_empty()) + usize::from(text.first() == Some(&0xff)))
        .unwrap()
}

#[test]
fn a_text_comes_from_stdin_too_and_may_be_anything() {
    let told = |text: &[u8]| program::checkstone(&["tokens"]).answer_to(text).to_string();
    // With a tokenizer there is one line more.
    let told = |text: &[u8]| told(text).replace(&format!("{} tokens with o200k\n", o200k(text)), "");
    insta::assert_snapshot!("tokens_stdin", told("hello world, これは日本語".as_bytes()));
    insta::assert_snapshot!("tokens_binary", told(b"\xff\xfe \x00"));
    insta::assert_snapshot!("tokens_nothing", told(b""));
    insta::assert_snapshot!("tokens_no_file", program::run(&["tokens", "no-such-file"]).to_string());
}
