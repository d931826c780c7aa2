//! What is said about a broken policy: file, line, column, the text, the nearest name; all at once.

use gate::policy::{Policy, Source};
use proptest::prelude::*;

fn problems(text: &str) -> String {
    match Policy::load(&[Source { name: "checkstone.toml", text }]) {
        Ok(_) => String::new(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn each_mistake_has_its_place_and_its_words() {
    for (text, expected) in [
        ("presest = []", "checkstone.toml:1:1: unknown key `presest`; did you mean `presets`?"),
        (
            "\n[gate]\nmin_trun = \"3s\"",
            "checkstone.toml:3:1: unknown key `min_trun`; did you mean `min_turn`?",
        ),
        (
            "[gate.rules]\nerors = \"hold\"",
            "checkstone.toml:2:1: unknown key `erors`; did you mean `errors`?",
        ),
        ("webhook = 1", "checkstone.toml:1:1: unknown key `webhook`"),
        ("[gate]\nenabled = \"yes\"", "checkstone.toml:2:11: `yes` is not true or false"),
        ("[gate]\nblast_radius = -1", "checkstone.toml:2:16: `-1` is not a whole number from 0 up"),
        ("[autosave]\nwindow = 0", "checkstone.toml:2:10: `0` is not a whole number from 1 up"),
        ("[autosave]\nhook_timeout = \"0s\"", "checkstone.toml:2:16: `0s` is not a time above zero"),
        ("[gate]\nblast_radius = 3.5", "checkstone.toml:2:16: `3.5` is not a whole number from 0 up"),
        ("[gate]\nmin_turn = 30", "checkstone.toml:2:12: `30` is not a duration; write `\"30s\"`"),
        (
            "[gate]\nmin_turn = true",
            "checkstone.toml:2:12: `true` is not a duration; write it like `\"30s\"`",
        ),
        (
            "[gate]\nmin_turn = \"30\"",
            "checkstone.toml:2:12: `30` is not a duration; write it like `30s`, `2m`, `1m30s`",
        ),
        (
            "[gate]\nscope = \"trun\"",
            "checkstone.toml:2:9: `trun` is not one of turn, worktree, diff; did you mean `turn`?",
        ),
        ("[gate.rules]\ndrift = \"block\"", "checkstone.toml:2:9: `block` is not one of hold, notify, off"),
        ("gate = 3", "checkstone.toml:1:8: `3` is not a table"),
        ("prose = \"docs\"", "checkstone.toml:1:9: `docs` is not an array of strings"),
        ("prose = [\"a\", 3]", "checkstone.toml:1:15: `3` is not a string"),
        (
            "prose = [\"docs/**\", \"a/[\"]",
            "checkstone.toml:1:21: bad glob `a/[`: unclosed character class; missing ']'",
        ),
        (
            "prose = [\"{a\"]",
            "checkstone.toml:1:10: bad glob `{a`: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
        ),
        (
            "prose = [\"/etc/*\"]",
            "checkstone.toml:1:10: bad glob `/etc/*`: it must be relative to the root of the repository; write `etc/*`",
        ),
        ("prose = [\"../x\"]", "checkstone.toml:1:10: bad glob `../x`: it must not leave the repository"),
        ("prose = [\"\"]", "checkstone.toml:1:10: bad glob ``: it is empty"),
        ("presets = [\"rsut\"]", "checkstone.toml:1:12: unknown preset `rsut`; did you mean `rust`?"),
        ("presets = [\"cobol\"]", "checkstone.toml:1:12: unknown preset `cobol`"),
        ("presets = \"rust\"", "checkstone.toml:1:11: `rust` is not an array of strings"),
        (
            "[[category]]\nname = \"a\"\ninclude = [\"a\"]\nrequire = [\"tset\"]\n[action.test]\nsay = \"x\"\nevidence = []",
            "checkstone.toml:4:12: unknown action `tset`; did you mean `test`?",
        ),
        ("[gate]\nalways = [\"logs\"]", "checkstone.toml:2:11: unknown action `logs`"),
        ("other_code = [\"tests\"]", "checkstone.toml:1:15: unknown action `tests`"),
        (
            "[action.a]\nsay = \"x\"\nevidence = []\nafter = \"b\"",
            "checkstone.toml:4:9: unknown action `b`; did you mean `a`?",
        ),
        (
            "[action.a]\nsay = \"x\"",
            "checkstone.toml:1:9: `a` has no `evidence`; if any run that verifies code is enough, set `proof = \"verification\"` instead",
        ),
        ("[action.a]\nevidence = [\"x\"]", "checkstone.toml:1:9: `a` has neither `say` nor `usual`"),
        (
            "presets = [\"rust\"]\n[action.rust-test]\nusual = \"make\"",
            "checkstone.toml:2:9: `rust-test` has no `evidence`; if any run that verifies code is enough, set \
             `proof = \"verification\"` instead; did you mean `rust-tests`?",
        ),
        (
            "presets = [\"rust\"]\n[action.rust-test]\nlevel = \"off\"",
            "checkstone.toml:2:9: unknown action `rust-test`; did you mean `rust-tests`?",
        ),
        ("[gate]\nalways = [\"a\"]\n[action.a]\nlevel = \"off\"", ""),
        ("presets = [\"rust\"]\n[action.rust-tests]\nlevel = \"off\"", ""),
        (
            "presets = [\"rust\"]\n[gate.rules]\nrust-tests = \"off\"",
            "checkstone.toml:3:1: unknown key `rust-tests`; it is an action: set its `level` in `[action.rust-tests]`",
        ),
        ("[gate]\nred = \"off\"", "checkstone.toml:2:1: unknown key `red`; it belongs in `[gate.rules]`"),
        ("min_turn = \"3s\"", "checkstone.toml:1:1: unknown key `min_turn`; it belongs in `[gate]`"),
        (
            "[[category]]\nname = \"a\"\ninclude = [\"a\"]\nevidence = [\"make\"]",
            "checkstone.toml:4:1: unknown key `evidence`; it belongs in `[action.ID]`",
        ),
        (
            "[gate]\npresets = []",
            "checkstone.toml:2:1: unknown key `presets`; it belongs at the top of the file",
        ),
        (
            "[gate]\ninclude = \"all\"",
            "checkstone.toml:2:1: unknown key `include`; it belongs in `[[category]]` or in `[autosave]`",
        ),
        (
            "[action.a]\nsay = \"x\"\nevidence = [\"make a && make b\"]",
            "checkstone.toml:3:13: bad evidence pattern: `make a && make b` is not one simple command",
        ),
        (
            "[action.a]\nsay = \"x\"\nevidence = [\"\"]",
            "checkstone.toml:3:13: bad evidence pattern: the pattern is empty",
        ),
        ("[[category]]\ninclude = [\"a\"]", "checkstone.toml:1:1: `[[category]]` has no `name`"),
        ("[[category]]\nname = \"a\"", "checkstone.toml:2:8: `a` has no `include`"),
        (
            "[[category]]\nname = \"a\"\ninclude = []\n[[category]]\nname = \"a\"\ninclude = []",
            "checkstone.toml:5:8: `a` is defined twice; the first is on line 2",
        ),
        ("[category]\nname = \"a\"", "checkstone.toml:1:1: `[category]` is not an array of tables"),
        ("[[error]]\ncontains = \"x\"", "checkstone.toml:1:1: `[[error]]` has no `say`"),
        ("[[check]]\nrun = \"x\"", "checkstone.toml:1:1: `[[check]]` has no `when`"),
        (
            "[[check]]\nwhen = []\nrun = \" \"\ntimeout = \"0s\"",
            "checkstone.toml:2:8: `when` is empty\n\
             checkstone.toml:3:7: `run` is empty\n\
             checkstone.toml:4:11: `0s` is not a time above zero",
        ),
        (
            "[[error]]\nsay = \"x\"\ncontains = 3",
            "checkstone.toml:3:12: `3` is not a string or an array of strings",
        ),
        (
            "[action.z]\nsay = \"x\"\nevidence = [\"make z\"]\nafter = \"z\"",
            "checkstone.toml:4:9: the actions form a cycle by `after`: z → z",
        ),
        (
            "[action.w]\nsay = \"w\"\nevidence = [\"w\"]\nafter = \"x\"\n[action.x]\nsay = \"x\"\nevidence = [\"x\"]\nafter = \"y\"\n\
             [action.y]\nsay = \"y\"\nevidence = [\"y\"]\nafter = \"x\"",
            "checkstone.toml:8:9: the actions form a cycle by `after`: x → y → x",
        ),
        (
            "[action.x]\nsay = \"x\"\nevidence = [\"x\"]\nafter = \"y\"\n[action.y]\nsay = \"y\"\nevidence = [\"y\"]\nafter = \"z\"\n\
             [action.z]\nsay = \"z\"\nevidence = [\"z\"]\n[action.w]\nsay = \"w\"\nevidence = [\"w\"]\nafter = \"y\"",
            "",
        ),
        (
            "[[check]]\nwhen = [\"a\"]\nrun = \"x\"\ntimeout = \"soon\"",
            "checkstone.toml:4:11: `soon` is not a duration; write it like `30s`, `2m`, `1m30s`",
        ),
        (
            "[plan]\npath = \"../{slug}.md\"",
            "checkstone.toml:2:8: bad path `../{slug}.md`: it must be relative to the root of the repository and stay inside it",
        ),
        (
            "[integrations.linear]\ntoken = \"x\"",
            "checkstone.toml:1:2: `integrations` works only in your own `config.toml`",
        ),
        (
            "[integrtions.linear]\ntoken = \"x\"",
            "checkstone.toml:1:2: unknown key `integrtions`; did you mean `integrations`?",
        ),
        ("\"ünï\" = 1", "checkstone.toml:1:1: unknown key `ünï`"),
        ("# ü\n[gate] # ü\n\"ü\" = 1", "checkstone.toml:3:1: unknown key `ü`"),
    ] {
        assert_eq!(problems(text), expected, "{text}");
    }
}

#[test]
fn all_mistakes_are_told_at_once_in_order() {
    let text = "presets = [\"rsut\"]\nfoo = 1\n[gate]\nmin_turn = 3\nscope = \"x\"\n[[category]]\nname = \"a\"\ninclude = [\"[\"]\nrequire = [\"nope\"]\n";
    let said = problems(text);
    let places: Vec<&str> = said.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        places,
        [
            "checkstone.toml:1:12:",
            "checkstone.toml:2:1:",
            "checkstone.toml:4:12:",
            "checkstone.toml:5:9:",
            "checkstone.toml:8:12:",
            "checkstone.toml:9:12:"
        ]
    );
}

#[test]
fn syntax_errors_have_a_place_too() {
    for text in ["[gate", "a = ", "a = 1\na = 2", "x = \"unterminated", "= 1", "[a]\n[a]"] {
        let said = problems(text);
        assert!(said.starts_with("checkstone.toml:"), "{text}: {said}");
    }
    assert_eq!(problems("\u{feff}prose = []"), "", "a byte order mark is no mistake");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,80}") {
        let _ = problems(&text);
    }

    #[test]
    fn no_pieces_of_a_policy_make_it_panic(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "[gate]\n", "[gate.rules]\n", "[[category]]\n", "[action.x]\n", "[[error]]\n", "[[check]]\n", "[plan]\n", "name = ",
        "include = ", "presets = ", "require = ", "evidence = ", "min_turn = ", "\"a\"\n", "[\"a\", \"**\"]\n", "[]\n",
        "3\n", "true\n", "\"{a\"\n", "{ a = 1 }\n", "\n", "=", "\"", "[\"rust\"]\n", "say = ", "ü", "prose = ", "'''",
    ]), 0..25)) {
        let _ = problems(&pieces.concat());
    }
}
