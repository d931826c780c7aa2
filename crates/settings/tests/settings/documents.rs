//! The text of some keys of a document, and what is said of one that is broken.

use settings::Document;

fn without(key: &str, text: &str) -> String {
    Document::parse("x.toml", text).unwrap().text_of(|name, _| name != key)
}

#[test]
fn a_key_is_left_out_in_every_spelling() {
    for (text, left) in [
        ("a = 1\nx.y = \"s\"\nb = 2\n", "a = 1\n\nb = 2\n"),
        ("a = 1\nx = [\n {u = \"s\"}, # s\n]\nb = 2", "a = 1\n\n\n\nb = 2"),
        ("a = 1 # s\n[x] # s\n# s\ny = '''s\ns'''\n[b]\nc = 1\n", "a = 1\n\n\n\n\n[b]\nc = 1\n"),
        ("[\"x\".\"y\"]\ns = 1\n  [ b . c ]\nd=1", "\n\n  [ b . c ]\nd=1"),
        ("[b]\n[[ 'x' . y ]]\ns = 1\n[[x.y]]\ns = 1\n[b.c]\n", "[b]\n\n\n\n\n[b.c]\n"),
        ("\"\\u0078\" = { y = \"s\" }\n[[b]]\nx = 1\n[[b]]\n", "\n[[b]]\nx = 1\n[[b]]\n"),
        (
            "x.y = 1\nx.z = 2\nb.c.d = 1\nb.c.e = [[1], [{x = 1}]]\n",
            "\n\nb.c.d = 1\nb.c.e = [[1], [{x = 1}]]\n",
        ),
        ("[b]\nx = 1\nc.\"x\".d = 1\n[b.e]\n[x]\n[x.b]\nb = 1", "[b]\nx = 1\nc.\"x\".d = 1\n[b.e]\n\n\n"),
        ("a = 1\r\nx = 1\r\nb = \"\"\"\r\n#\r\n\"\"\"\r\n", "a = 1\n\nb = \"\"\"\r\n#\r\n\"\"\"\n"),
        ("\u{feff}x = 1\na = 1", "\na = 1"),
        ("xx = 1\n[b.x]\nc = 1", "xx = 1\n[b.x]\nc = 1"),
    ] {
        assert_eq!(without("x", text), left, "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_without_the_text() {
    let text = "a = 1\ntoken = very_secret\nsecret = \"very_secret\n[x\n";
    let problems = Document::parse("x.toml", text).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "x.toml:2:9: string values must be quoted, expected literal string\n\
         x.toml:3:22: invalid basic string, expected `\"`\n\
         x.toml:4:3: unclosed table, expected `]`"
    );
}
