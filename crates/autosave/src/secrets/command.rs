//! A command as others may read it: each value that is or may be a secret is blanked, and the rest stays, since a run that
//! nobody recognises says nothing. A value ends where the shell ends its word.

use super::value_place::value_place;
use super::{WITHHELD, seen, without_values};

/// Stands for a value while others are looked for. It begins as a reference to a variable does, which is no value.
const BLANK: &str = "$\u{1a}";

/// The command without the values. What is in pieces, or in another form, is for the caller to look for in the result.
pub(crate) fn command_without_values(command: &str) -> String {
    // What was blanked before stays as it is.
    let mut text = command.replace('\u{1a}', " ").replace(WITHHELD, BLANK);
    while let Some((at, length)) = known_shape(&text) {
        let least = end_of_token(&text, at + length);
        blank(&mut text, at, least);
    }
    let mut done = 0;
    while let Some(at) = first_value(&text, done) {
        blank(&mut text, at, at);
        done = at + BLANK.len();
    }
    // A place that is seen only from the beginning of its line, before one that is blank already; and values on lines of their own.
    without_values(&text).replace(BLANK, WITHHELD)
}

/// Where something stands that is a secret by its own shape, or by its name and its looks, and how long it is.
fn known_shape(text: &str) -> Option<(usize, usize)> {
    let found = seen(text.as_bytes(), false).into_iter();
    let is_new = |secret: &[u8]| !secret.starts_with(BLANK.as_bytes()) && !secret.is_empty();
    let found = found.filter(|(_, at, secret)| is_new(secret) && text.is_char_boundary(*at));
    found.map(|(_, at, secret)| (at, secret.len())).min()
}

/// The first place of a value behind `done`, on any line. A text in quotes is on one line, whatever is in it.
fn first_value(text: &str, done: usize) -> Option<usize> {
    let mut lines = text.as_bytes().to_vec();
    for Letter { place, letter, within, .. } in letters(text) {
        if letter == '\n' && within != Within::Nothing {
            lines.splice(place..=place, [b' ']);
        }
    }
    let lines = String::from_utf8(lines).ok()?;
    let mut start = 0;
    for line in lines.split_inclusive('\n') {
        let end = start + line.len();
        if end > done {
            let found = value_place(line.trim_end_matches('\n')).map(|at| start + at);
            // What is named before a blank one is not looked at again.
            let is_new = |at: &usize| {
                *at >= done && *at < end && !text.get(*at..).unwrap_or_default().starts_with(BLANK)
            };
            if let Some(found) = found.filter(is_new) {
                return Some(found);
            }
        }
        start = end;
    }
    None
}

/// As far as letters go of which tokens are made.
fn end_of_token(text: &str, end: usize) -> usize {
    let rest = text.as_bytes().get(end..).unwrap_or_default();
    let is_of_token = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-+/=.~".contains(byte);
    let end = end + rest.iter().take_while(is_of_token).count();
    (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Blanks the rest of the shell's word from `at` on, and whatever is before `least`.
fn blank(text: &mut String, at: usize, least: usize) {
    let (end, open) = end_of_word(text, at);
    let closing = open.filter(|_| end >= least).map(String::from).unwrap_or_default();
    text.replace_range(at..end.max(least), &format!("{BLANK}{closing}"));
}

/// Where the shell ends the word that has the byte `at` in it: at a space or an operator outside of quotes; in a comment, at
/// the end of the line. Quotes that end the word stay. Where it goes on behind them, all of it is meant, and the mark is returned
/// that is open at `at` then.
fn end_of_word(text: &str, at: usize) -> (usize, Option<char>) {
    let letters = letters(text);
    let behind = letters.get(letters.partition_point(|letter| letter.place < at)..).unwrap_or_default();
    let place_of = |is: &dyn Fn(&Letter) -> bool| {
        behind.iter().find(|letter| is(letter)).map_or(text.len(), |letter| letter.place)
    };
    let ends_word = |one: &Letter| {
        one.within == Within::Nothing && (one.letter.is_whitespace() || ";|&()<>".contains(one.letter))
    };
    match behind.first() {
        Some(Letter { within: Within::Comment, .. }) => {
            (place_of(&|letter| letter.within != Within::Comment), None)
        }
        Some(Letter { quote: Some(open), .. }) => {
            let closing = place_of(&|letter| letter.within == Within::Nothing);
            match place_of(&ends_word) {
                end if end <= closing + open.len_utf8() => (closing, None),
                end => (end, Some(*open)),
            }
        }
        _ => (place_of(&ends_word), None),
    }
}

/// What a letter stands in. A quotation mark itself is a letter of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Nothing,
    Quotes,
    Comment,
    /// Behind a backslash.
    Escape,
}

struct Letter {
    place: usize,
    letter: char,
    within: Within,
    /// The mark that is open before it.
    quote: Option<char>,
}

/// The letters of a command, as a shell reads them.
fn letters(text: &str) -> Vec<Letter> {
    let mut quote: Option<char> = None;
    let (mut is_escaped, mut is_comment, mut before) = (false, false, ' ');
    let mut read = |(place, letter): (usize, char)| {
        is_comment &= letter != '\n';
        let open = quote;
        let within = match quote {
            _ if is_comment => Within::Comment,
            _ if is_escaped => {
                is_escaped = false;
                Within::Escape
            }
            Some(open) if open == letter => {
                quote = None;
                Within::Nothing
            }
            Some(open) => {
                is_escaped = open == '"' && letter == '\\';
                Within::Quotes
            }
            None => {
                is_escaped = letter == '\\';
                is_comment = letter == '#' && before.is_whitespace();
                quote = Some(letter).filter(|letter| matches!(letter, '\'' | '"'));
                Within::Nothing
            }
        };
        before = letter;
        Letter { place, letter, within, quote: open }
    };
    text.char_indices().map(&mut read).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_value_is_blanked() {
        for (command, shown) in [
            (
                "env API_TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789 pytest -q",
                "env API_TOKEN=(withheld) pytest -q",
            ),
            (
                "API_KEY='a b' DB_PASSWORD=x\\ y make test",
                "API_KEY='(withheld)' DB_PASSWORD=(withheld) make test",
            ),
            ("npm test -- --token abc --grep cart", "npm test -- --token (withheld) --grep cart"),
            (
                "curl -H \"Authorization: Bearer abc12345 x\" h && pytest",
                "curl -H \"Authorization: Bearer (withheld)\" h && pytest",
            ),
            ("mysql -uroot -pswordfish < a.sql; pytest", "mysql -uroot (withheld) < a.sql; pytest"),
            (
                "DATABASE_URL=postgres://kim:swordfish@db/x pytest",
                "DATABASE_URL=postgres://(withheld) pytest",
            ),
            ("TOKEN=$TOKEN pytest -q", "TOKEN=$TOKEN pytest -q"),
            ("pytest -q --tb=short", "pytest -q --tb=short"),
            ("sh -c 'PASSWORD=a b; pytest'", "sh -c 'PASSWORD=(withheld)'"),
            ("pytest # the password is sword fish", "pytest # the password is (withheld)"),
            ("PASSWORD=\"a\nb c\" pytest", "PASSWORD=\"(withheld)\" pytest"),
            ("env API_TOKEN=(withheld) pytest -q", "env API_TOKEN=(withheld) pytest -q"),
        ] {
            let once = command_without_values(command);
            assert_eq!(once, shown, "{command}");
            assert_eq!(command_without_values(&once), shown, "again: {command}");
        }
    }

    /// The shell joins pieces in quotes and pieces without to one word, and all of it is the value.
    #[test]
    fn the_whole_word_is_blanked() {
        // In two pieces, since it would be a finding of every scanner.
        let odd = ["RV5If", "LBcbf"].concat();
        for (value, shown) in [
            (r#"'abc'"'"'defgh'"#, "'(withheld)'"),
            (r"'abc'\''defgh'", "'(withheld)'"),
            ("'abc'defgh", "'(withheld)'"),
            (r#""ab c"'d ef'"#, r#""(withheld)""#),
            (r#"abc"d ef"gh"#, "(withheld)"),
            (r#""\$abc"defgh"#, r#""(withheld)""#),
            (r#""\$abc""#, r#""(withheld)""#),
            (&format!("{odd},swordfish"), "(withheld)"),
            (&format!("{odd}:swordfish!%x"), "(withheld)"),
            (&format!("'{odd}'\"'\"'swordfish'"), "'(withheld)'"),
            (&format!("{odd}'sword fish'"), "(withheld)"),
        ] {
            for (before, after) in [("", " make test"), ("env X=1 ", "; make test"), ("make test && ", "")] {
                let once = command_without_values(&format!("{before}PASSWORD={value}{after}"));
                assert_eq!(once, format!("{before}PASSWORD={shown}{after}"), "{value}");
                assert_eq!(command_without_values(&once), once, "again: {value}");
            }
        }
    }

    /// Letters that change their length when they are made small, before the name and behind it.
    #[test]
    fn a_value_is_found_behind_letters_of_any_length() {
        for (command, shown) in [
            ("echo İ пароль: x Ⱥ", "echo İ пароль(withheld)"),
            ("echo ȺȺ ŞİFRE: abc Ⱥ", "echo ȺȺ ŞİFRE(withheld)"),
        ] {
            assert_eq!(command_without_values(command), shown);
        }
    }

    /// Pieces of commands, names that mean a secret, and letters of every length, small and large.
    fn a_piece() -> impl Strategy<Value = String> {
        const PIECES: [&str; 31] = [
            "PASSWORD=",
            "--token ",
            "пароль: ",
            "ŞİFRE: ",
            "ΚΩΔΙΚΌΣ ",
            "mật khẩu ",
            "密码是",
            "Bearer ",
            "-u a:",
            "://a:b@",
            "login as ",
            " is the password",
            "'",
            "\"",
            "\\",
            "\n",
            " ",
            ",",
            ";",
            "#",
            "$(",
            "(withheld)",
            "\u{1a}",
            "İ",
            "Ⱥ",
            "ẞ",
            "\u{307}",
            "ﬃ",
            "→ ",
            "：",
            "x1Y2z3W4v5",
        ];
        prop_oneof![4 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned), 1 => "\\PC{0,4}"]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever it is.
        #[test]
        fn any_command_can_be_shown(pieces in prop::collection::vec(a_piece(), 0..12)) {
            let command = pieces.concat();
            let shown = command_without_values(&command);
            prop_assert!(!shown.contains('\u{1a}'), "{command:?}: {shown:?}");
            without_values(&command);
        }
    }
}
