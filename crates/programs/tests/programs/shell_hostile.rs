//! Agreement with `bash`, and input that is meant to hurt.

use std::io::Write;
use std::process::{Command, Stdio};

use programs::shell::{Intents, NotUnderstood};
use proptest::prelude::*;
use sandbox::finishes;

fn samples(json: &str) -> Vec<(String, String)> {
    serde_json::from_str(json).unwrap()
}

/// What `bash -n` says: whether the text is shell syntax.
fn bash_accepts(command: &str) -> bool {
    let mut bash = Command::new("bash")
        .args(["-O", "extglob", "-n"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash runs");
    bash.stdin.take().unwrap().write_all(command.as_bytes()).unwrap();
    bash.wait().unwrap().success()
}

#[test]
fn real_commands_are_understood_where_bash_understands_them() {
    let samples = samples(include_str!("fixtures/commands.json"));
    assert_eq!(samples.len(), 77);
    for (name, command) in samples {
        let understood = matches!(Intents::read(&command), Intents::Understood(_));
        assert_eq!(understood, bash_accepts(&command), "{name}: {:?}", Intents::read(&command));
    }
}

#[test]
fn hostile_commands_are_answered_at_once() {
    for (name, command) in samples(include_str!("fixtures/hostile.json")) {
        finishes(&name, move || programs::shell::fuzz(&command));
    }
}

/// The work is bounded by the caps, not by luck: each shape grows until it is refused, and is answered on a
/// thread of 2 MB, where an unbounded recursion would end the process.
#[test]
fn every_shape_is_refused_before_it_hurts() {
    type Shape = (&'static str, fn(usize) -> String);
    let shapes: &[Shape] = &[
        ("substitutions", |n| "$(".repeat(n) + "echo x" + &")".repeat(n)),
        ("substitutions side by side", |n| "a $(b) ".repeat(n)),
        ("process substitutions", |n| "a <(b) ".repeat(n)),
        ("backticks", |n| "a `b` ".repeat(n)),
        ("and", |n| "a".to_owned() + &"&&a".repeat(n)),
        ("or", |n| "a".to_owned() + &"||a".repeat(n)),
        ("semicolons", |n| "a".to_owned() + &";a".repeat(n)),
        ("background", |n| "a".to_owned() + &"&a".repeat(n)),
        ("alternating", |n| "a".to_owned() + &"&a;a".repeat(n)),
        ("lines", |n| "a\n".repeat(n)),
        ("lines in braces", |n| "{ a".to_owned() + &"\na".repeat(n) + "\n}"),
        ("pipes", |n| "a".to_owned() + &"|a".repeat(n)),
        ("negations", |n| "! ".repeat(n) + "a"),
        ("times", |n| "time ".repeat(n) + "a"),
        ("subshells", |n| "( ".repeat(n) + "a" + &" )".repeat(n)),
        ("braces", |n| "{ ".repeat(n) + "a" + &"; }".repeat(n)),
        ("ifs", |n| "if a; then ".repeat(n) + "b" + &"; fi".repeat(n)),
        ("elifs", |n| "if a; then b; ".to_owned() + &"elif a; then b; ".repeat(n) + "fi"),
        ("loops", |n| "while a; do ".repeat(n) + "b" + &"; done".repeat(n)),
        ("functions", |n| "f() { ".repeat(n) + "b" + &"; }".repeat(n)),
        ("functions that call each other", |n| {
            (0..n).map(|i| format!("f{i}() {{ f{}; f{}; }}\n", i + 1, i + 1)).collect::<String>() + "f0"
        }),
        ("a function that calls itself", |n| "f() { f; }; ".to_owned() + &"f; ".repeat(n) + "f"),
        ("parameters", |n| "${a:-".repeat(n) + &"}".repeat(n)),
        ("quoted parameters", |n| "\"${a:-".repeat(n) + &"}\"".repeat(n)),
        ("arithmetic parentheses", |n| "$((".to_owned() + &"(".repeat(n) + "1" + &")".repeat(n) + "))"),
        ("arithmetic signs", |n| "((".to_owned() + &"-".repeat(n) + "1))"),
        ("arithmetic sums", |n| "((1".to_owned() + &"+1".repeat(n) + "))"),
        ("arithmetic choices", |n| "((1".to_owned() + &"?1:1".repeat(n) + "))"),
        ("tests", |n| "[[ a".to_owned() + &" && a".repeat(n) + " ]]"),
        ("negated tests", |n| "[[ ".to_owned() + &"! ".repeat(n) + "a ]]"),
        ("tests in parentheses", |n| "[[ ".to_owned() + &"( ".repeat(n) + "a" + &" )".repeat(n) + " ]]"),
        ("old arithmetic", |n| "a ".to_owned() + &"$[".repeat(n) + &"]".repeat(n)),
        ("brace expansions", |n| "{a,".repeat(n) + &"}".repeat(n)),
        ("extended globs", |n| "@(".repeat(n) + &")".repeat(n)),
        ("here-documents", |n| "cat".to_owned() + &" <<E".repeat(n) + "\n" + &"E\n".repeat(n)),
        ("here-documents without end", |n| "cat".to_owned() + &" <<E".repeat(n) + "\n"),
        ("nested scripts", |n| {
            (0..n.min(12))
                .fold("a".to_owned(), |inner, _| format!("bash -c '{}'", inner.replace('\'', r"'\''")))
        }),
        ("wrappers", |n| "sudo ".repeat(n) + "a"),
        ("xargs", |n| "xargs ".repeat(n) + "a"),
        ("words", |n| "a ".repeat(n)),
        ("quotes", |n| "a".to_owned() + &"'b'\"c\"".repeat(n)),
        ("redirections", |n| "a".to_owned() + &" >b".repeat(n)),
        ("redirections to many files", |n| {
            "a".to_owned() + &(0..n).map(|i| format!(" >b{i}")).collect::<String>()
        }),
        ("strict lines", |n| "set -e\n".to_owned() + &"a\n".repeat(n)),
        ("cases", |n| "case x in ".to_owned() + &"a) b;; ".repeat(n) + "esac"),
        ("assignments", |n| "a=1 ".repeat(n) + "b"),
        ("arrays", |n| "a=(".to_owned() + &"b ".repeat(n) + ")"),
        ("directories", |n| "cd x;".repeat(n)),
    ];
    for (name, shape) in shapes {
        for count in [1, 15, 60, 500, 1400, 2900, 20_000] {
            finishes(&format!("{count} {name}"), move || programs::shell::fuzz(&shape(count)));
        }
    }
}

#[test]
fn the_caps_say_what_was_too_much() {
    for (command, reason) in [
        ("$(".repeat(17) + &")".repeat(17), NotUnderstood::TooManySubstitutions),
        ("`a` ".repeat(9), NotUnderstood::TooManyBackticks),
        ("a;".repeat(3001), NotUnderstood::TooManyOperators),
        ("a".repeat(300_000), NotUnderstood::TooLong),
        (format!("echo '{}'", "a".repeat(5_000_000)), NotUnderstood::TooLong),
        ("${a}".repeat(501), NotUnderstood::TooManyExpansions),
        ("( ".repeat(100) + "a" + &")".repeat(100), NotUnderstood::TooDeep),
    ] {
        assert_eq!(Intents::read(&command), Intents::NotUnderstood(reason));
    }
    assert!(matches!(Intents::read(&("$(".repeat(16) + "a" + &")".repeat(16))), Intents::Understood(_)));
}

/// What is just allowed is read, and one more is refused for its own reason.
#[test]
fn the_caps_are_where_they_are_said_to_be() {
    type Shape = fn(usize) -> String;
    let brackets = |count: usize| "( ".repeat(count) + "a" + &")".repeat(count);
    let sum = |count: usize| format!("((a{}))", "+1".repeat(count));
    let shapes: [(Shape, usize, NotUnderstood); 7] = [
        (|count| format!("echo {}", "<(a) ".repeat(count)), 16, NotUnderstood::TooManySubstitutions),
        (|count| "`a` ".repeat(count), 8, NotUnderstood::TooManyBackticks),
        (|count| "a;".repeat(count), 3000, NotUnderstood::TooManyOperators),
        (|count| format!("a {}", "${a}".repeat(count)), 500, NotUnderstood::TooManyExpansions),
        (|count| "if a; then b; fi;".repeat(count), 150, NotUnderstood::TooDeep),
        (|count| "a\n".repeat(count), 3000, NotUnderstood::TooManyOperators),
        (|count| "a".repeat(count), 256 * 1024, NotUnderstood::TooLong),
    ];
    for (shape, most, reason) in shapes {
        let text = shape(most);
        assert!(
            matches!(Intents::read(&text), Intents::Understood(_)),
            "{reason:?}: {:?}",
            Intents::read(&text)
        );
        assert_eq!(Intents::read(&shape(most + 1)), Intents::NotUnderstood(reason));
    }
    assert_eq!(Intents::read(&brackets(151)), Intents::NotUnderstood(NotUnderstood::TooDeep));
    let too_deep =
        |count: &usize| Intents::read(&brackets(*count)) == Intents::NotUnderstood(NotUnderstood::TooDeep);
    assert_eq!((1..100).find(too_deep), Some(60));
    assert_eq!(Intents::read(&sum(697)), Intents::NotUnderstood(NotUnderstood::TooManyExpansions));
    // Beside arithmetic, words and quotes are none of it.
    for text in
        [sum(696), format!("((a)); echo {}", "b ".repeat(800)), format!("((a)); echo {}", "'b' ".repeat(400))]
    {
        assert!(matches!(Intents::read(&text), Intents::Understood(_)), "{text}");
    }
}

/// A body of a here-document is text, however long and wild.
#[test]
fn bodies_do_not_count_against_the_caps() {
    for quote in ["'EOF'", "EOF", "\"EOF\"", "\\EOF"] {
        let body = "line with 'quotes\" and $(a) `b` ((c && d;\n".repeat(5_000);
        let command = format!("cat > big.txt <<{quote}\n{body}EOF\npytest");
        let intents = Intents::read(&command);
        let programs: Vec<_> = intents.commands().iter().map(|command| command.program.as_str()).collect();
        assert_eq!(programs, ["cat", "pytest"], "{quote}");
        let intents = Intents::read(&format!("(cat > big.txt <<{quote}\n{body}EOF\n)\npytest"));
        let programs: Vec<_> = intents.commands().iter().map(|command| command.program.as_str()).collect();
        assert_eq!(programs, ["cat", "pytest"], "{quote}");
        let inside = format!("git commit -m \"$(cat <<{quote}\n{body}EOF\n)\" && pytest");
        assert_eq!(Intents::read(&inside).commands().last().unwrap().program, "pytest", "{quote}");
    }
}

/// Neither are quoted strings, wherever they stand.
#[test]
fn strings_do_not_count_against_the_caps() {
    let wild = "$(a) `b` ((c && d; ".repeat(100);
    for before in [
        "",
        "a#b ",
        "$x ",
        "${x#y} ",
        "$((1+(2))) ",
        "\"$x\" ",
        "\\' ",
        "\\\" ",
        "`a` ",
        "$'\\'' ",
        "${x:-'}'} ",
    ] {
        let command = format!("echo {before}'{wild}' && pytest");
        let intents = Intents::read(&command);
        let programs: Vec<_> = intents.commands().iter().map(|command| command.program.as_str()).collect();
        let expected: &[&str] = if before == "`a` " { &["a", "echo", "pytest"] } else { &["echo", "pytest"] };
        assert_eq!(programs, expected, "{before}");
        let echo = &intents.commands()[expected.len() - 2];
        assert_eq!(echo.arguments.last().and_then(|word| word.known()), Some(wild.as_str()), "{before}");
    }
    let plain = "a;".repeat(4000);
    let quoted = format!("echo \"{plain}\" \"\\\"{plain}\" && pytest");
    let texts: Vec<_> = Intents::read(&quoted).commands()[0].known_arguments().map(str::len).collect();
    assert_eq!(texts, [plain.len(), plain.len() + 1]);
}

/// What looks like a here-document and is none.
#[test]
fn no_command_is_taken_for_a_body() {
    for command in [
        "echo '<<EOF'\npytest\nEOF\n",
        "echo \"<<EOF\"\npytest\nEOF\n",
        "# <<EOF\npytest\nEOF\n",
        "echo $((1<<2))\npytest\n2\n",
        "((x = 1 << 2))\npytest\n2\n",
        "((x = (1 << 2)))\npytest\n2\n",
        "echo $(((1<<2)+1))\npytest\n2\n",
        "echo $((1+(2)<<3))\npytest\n3\n",
        "cat <<<EOF\npytest\nEOF\n",
        "echo \\<<EOF\npytest\nEOF\n",
        "echo ${x#<<EOF}\npytest\nEOF}\n",
        "echo $'\\'<<EOF'\npytest\nEOF\n",
    ] {
        let intents = Intents::read(command);
        assert!(
            intents.commands().iter().any(|command| command.program == "pytest"),
            "{command}: {intents:?}"
        );
    }
}

/// Characters that stand for taken text are no such marks where the command itself has them.
#[test]
fn marks_in_the_command_itself_are_text() {
    let argument = "\u{2}0'a string that is long enough\u{1}0'\u{2}0\u{1}\n";
    let command =
        format!("pytest '{}' 'another string that is long enough'", argument.replace('\'', r"'\''"));
    let intents = Intents::read(&command);
    let read: Vec<_> = intents.commands()[0].arguments.iter().map(|word| word.known()).collect();
    assert_eq!(read, [Some(argument), Some("another string that is long enough")]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}") {
        programs::shell::fuzz(&text);
    }

    #[test]
    fn no_pieces_of_shell_make_it_panic(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "a", "pytest", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{ ", "; }", "$(", "`", "'", "\"", "\\", "$x",
        "${", "}", "<<EOF\n", "\nEOF\n", ">", ">>", "<", "2>&1", "if ", "; then ", "; fi", "for i in ", "; do ",
        "; done", "while ", "case x in ", ") ", ";;", " esac", "! ", "time ", "[[ ", " ]]", "((", "))", "set -e", "f() ",
        "bash -c ", "xargs ", "find . -exec ", " \\;", "sudo ", "timeout 5 ", "env ", "exit $?", "cd ", "#", "é", "=",
        "python -m ", "-", "--", "*", "~", "<(", "$'", "eval ", "coproc ",
    ]), 0..30)) {
        programs::shell::fuzz(&pieces.concat());
    }

    /// Quoting an argument and reading the command back gives the argument.
    #[test]
    fn quoted_arguments_come_back(argument in "[^\u{0}\r]{0,40}") {
        let command = format!("pytest '{}'", argument.replace('\'', r"'\''"));
        let intents = Intents::read(&command);
        if let [only] = intents.commands() {
            prop_assert_eq!(only.arguments[0].known(), Some(argument.as_str()));
        } else {
            prop_assert!(argument.matches('`').count() > 16 || argument.contains("$("), "{:?}", intents);
        }
    }
}
