use workflow::tokens::{MAX_SUMMARY_TOKENS, count, estimate, validate};

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

/// Texts of many kinds, and what `o200k` makes of them.
const TEXTS: [(&str, &str, usize); 9] = [
    ("english", include_str!("texts/english.txt"), 87),
    ("german", include_str!("texts/german.txt"), 71),
    ("russian", include_str!("texts/russian.txt"), 69),
    ("japanese", include_str!("texts/japanese.txt"), 94),
    ("chinese", include_str!("texts/chinese.txt"), 71),
    ("korean", include_str!("texts/korean.txt"), 73),
    ("code", include_str!("texts/code.txt"), 1246),
    ("json", include_str!("texts/json.txt"), 478),
    ("names", include_str!("texts/names.txt"), 106),
];

/// P6: a text without spaces is not one token.
#[test]
fn p6_the_estimate_is_near_what_a_tokenizer_counts() {
    for (name, text, real) in TEXTS {
        let ratio = estimate(text) as f64 / real as f64;
        println!("{name}: {ratio:.2} times");
        assert!((0.9..1.5).contains(&ratio), "{name}: {ratio}");
    }
    assert_eq!(count("要約は五百語までです"), 1);
    assert_eq!(estimate("要約は五百語までです"), 8);
    assert_eq!(estimate(""), 0);
}

/// A longer text is never estimated as fewer tokens by more than the seam can save.
#[test]
fn the_estimate_grows_with_the_text() {
    for (name, text, _) in TEXTS {
        let mut last = 0;
        for (end, _) in text.char_indices() {
            let now = estimate(&text[..end]);
            assert!(now >= last, "{name} at {end}");
            last = now;
        }
    }
}

/// The counts above are the tokenizer's own.
#[cfg(feature = "tokenizer")]
#[test]
fn the_tokenizer_counts_what_is_written_here() {
    for (name, text, real) in TEXTS {
        assert_eq!(workflow::tokens::o200k(text), Some(real), "{name}");
    }
}
