use workflow::tokens::{MAX_SUMMARY_TOKENS, count, validate};

fn words(number: usize) -> String {
    vec!["word"; number].join(" ")
}

/// `countTokens`
#[test]
fn count_is_words_between_white_space() {
    assert_eq!(count("hello world"), 2);
    assert_eq!(count("  multiple   spaces  "), 2);
    assert_eq!(count(""), 0);
    assert_eq!(count(" \t\r\n"), 0);
    assert_eq!(count("a\u{a0}b\u{3000}c\u{2028}d\u{feff}e"), 5);
    assert_eq!(count("a\u{85}b"), 1, "JavaScript does not take it for white space");
}

/// `validateContextSummary`, P6
#[test]
fn p6_five_hundred_words_pass_and_one_more_does_not() {
    let fine = validate(&words(500), MAX_SUMMARY_TOKENS);
    assert_eq!((fine.valid, fine.token_count, fine.limit, fine.error), (true, 500, 500, None));
    let long = validate(&words(501), MAX_SUMMARY_TOKENS);
    assert_eq!((long.valid, long.token_count), (false, 501));
    assert_eq!(long.error.unwrap(), "Context summary exceeds 500 token limit (actual: 501 tokens)");
    let own = validate(&words(11), 10);
    assert_eq!(own.error.unwrap(), "Context summary exceeds 10 token limit (actual: 11 tokens)");
}
