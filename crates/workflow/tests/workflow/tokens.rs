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
const TEXTS: [(&str, &str, usize); 28] = [
    ("arabic", include_str!("texts/arabic.txt"), 96),
    ("base64", include_str!("texts/base64.txt"), 388),
    ("chinese", include_str!("texts/chinese.txt"), 71),
    ("code", include_str!("texts/code.txt"), 1246),
    ("csv", include_str!("texts/csv.txt"), 174),
    ("diff", include_str!("texts/diff.txt"), 219),
    ("emoji", include_str!("texts/emoji.txt"), 80),
    ("english", include_str!("texts/english.txt"), 87),
    ("french", include_str!("texts/french.txt"), 69),
    ("german", include_str!("texts/german.txt"), 71),
    ("greek", include_str!("texts/greek.txt"), 89),
    ("hebrew", include_str!("texts/hebrew.txt"), 87),
    ("hex", include_str!("texts/hex.txt"), 339),
    ("hindi", include_str!("texts/hindi.txt"), 115),
    ("japanese", include_str!("texts/japanese.txt"), 94),
    ("json", include_str!("texts/json.txt"), 478),
    ("korean", include_str!("texts/korean.txt"), 73),
    ("log", include_str!("texts/log.txt"), 384),
    ("markdown", include_str!("texts/markdown.txt"), 159),
    ("minified", include_str!("texts/minified.txt"), 153),
    ("names", include_str!("texts/names.txt"), 106),
    ("polish", include_str!("texts/polish.txt"), 94),
    ("russian", include_str!("texts/russian.txt"), 69),
    ("shell", include_str!("texts/shell.txt"), 131),
    ("thai", include_str!("texts/thai.txt"), 90),
    ("traceback", include_str!("texts/traceback.txt"), 223),
    ("uuids", include_str!("texts/uuids.txt"), 289),
    ("vietnamese", include_str!("texts/vietnamese.txt"), 70),
];

/// P6: a text without spaces is not one token. Too few would be the worse mistake, but too many says nothing either.
#[test]
fn p6_the_estimate_is_near_what_a_tokenizer_counts() {
    let mut ratios = Vec::new();
    println!("| text | estimate | o200k | ratio |\n|---|---|---|---|");
    for (name, text, real) in TEXTS {
        let ratio = estimate(text) as f64 / real as f64;
        println!("| {name} | {} | {real} | {ratio:.2} |", estimate(text));
        assert!(ratio >= 0.9, "{name}: {ratio}");
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let (median, p95) = (ratios[ratios.len() / 2], ratios[ratios.len() * 95 / 100]);
    println!("median {median:.2}, p95 {p95:.2}");
    assert!(median <= 1.15 && p95 <= 1.4, "median {median}, p95 {p95}");
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
