//! The part of the user's own configuration that is a policy.

use gate::policy::{Policy, Source, UserFile};
use proptest::prelude::*;

fn read(text: &str) -> (String, bool) {
    let file = UserFile::read("config.toml", text).unwrap();
    (file.policy, file.detects_presets)
}

#[test]
fn services_outside_are_no_policy() {
    let text = "presets = [\"rust\"]\nintegrations.linear.token = \"a\"\n[integrations.vercel]\ntoken = \"b\"\n\
                [gate]\nenabled = true\n[[ integrations . webhook ]]\nurl = \"c\"\n[integrations_of_mine]\nx = 1\n";
    assert_eq!(
        read(text).0,
        "presets = [\"rust\"]\n\n\n\n[gate]\nenabled = true\n\n\n[integrations_of_mine]\nx = 1\n"
    );
}

#[test]
fn detection_is_asked_for_in_the_users_own_words() {
    for text in [
        "presets = \"auto\"",
        "presets = \"auto\" # whatever there is",
        "\"presets\" = 'auto'",
        "'presets'=\"\"\"auto\"\"\"",
        "\"pre\\u0073ets\" = \"aut\\u006f\"",
    ] {
        assert_eq!(
            read(&format!("{text}\n[gate]\nx = 1\n")),
            ("\n[gate]\nx = 1\n".to_owned(), true),
            "{text}"
        );
    }
    for text in ["presets = [\"rust\"]\n", "presets = [\"auto\"]\n", "[gate]\npresets = \"auto\"\n"] {
        assert_eq!(read(text), (text.to_owned(), false), "{text}");
    }
}

#[test]
fn a_broken_file_is_named_with_its_line_and_not_quoted() {
    for text in
        ["\n[integrations.linear]\ntoken = very_secret\n", "\n[integrations.linear]\ntoken = \"very_secret\n"]
    {
        let said = UserFile::read("config.toml", text).unwrap_err().to_string();
        assert!(said.starts_with("config.toml:3:"), "{said}");
        assert_eq!(said.find("secret"), None, "{said}");
    }
}

fn loaded(text: &str) -> serde_json::Value {
    match Policy::load(&[Source { name: "config.toml", text }]) {
        Ok(policy) => serde_json::to_value(&policy).unwrap(),
        Err(problems) => panic!("{problems}\n{text}"),
    }
}

const SERVICES: &[&str] = &[
    "integrations.linear.token = \"SECRET\"\n",
    "integrations.'vercel'.token = \"\"\"\nSECRET\"\"\"\n",
    "\"integr\\u0061tions\".webhook = [\n  {url = \"SECRET\", secret = \"SECRET\"}, # SECRET\n]\n",
];
const SERVICE_TABLES: &[&str] = &[
    "[integrations.x] # SECRET\n# SECRET\ntoken = \"SECRET\"\n",
    "  [ 'integrations' . \"y\" ]\n  token.a.b = [\"SECRET\",\n  \"]\"]\n",
    "[[integrations.z]]\nurl = { a = { b = \"SECRET\" } }\n[[integrations.z]]\n[integrations.z.w]\nc = 'SECRET'\n",
];
const POLICY: &[&str] = &[
    "prose = [\n  \"integrations\", # a folder\n]\n",
    "plan.path = '[integrations]'\n",
    "other_code = []\n",
];
const POLICY_TABLES: &[&str] = &[
    "[gate]\ncapture = true\n",
    "[message]\ngeneric = \"\"\"\n[integrations.a]\ntoken = 1\"\"\"\n",
    "[[category]]\nname = \"integrations\"\ninclude = [\"a\"]\n",
];

proptest! {
    /// The policy is what it is without the services, whatever they are written like and wherever they stand.
    #[test]
    fn services_change_nothing_of_the_policy(
        keys in Just([SERVICES, POLICY].concat()).prop_shuffle(),
        tables in Just([SERVICE_TABLES, POLICY_TABLES].concat()).prop_shuffle(),
        keys_taken in 0..=6_usize,
        tables_taken in 0..=6_usize,
    ) {
        let all: Vec<&str> = keys.iter().take(keys_taken).chain(tables.iter().take(tables_taken)).copied().collect();
        let is_policy = |text: &&&str| [POLICY, POLICY_TABLES].concat().contains(*text);
        let alone: String = all.iter().filter(is_policy).copied().collect();
        let text = all.concat();
        let file = UserFile::read("config.toml", &text).unwrap();
        prop_assert_eq!(file.policy.find("SECRET"), None, "{}", file.policy);
        prop_assert_eq!(file.policy.lines().count(), text.lines().count());
        prop_assert_eq!(loaded(&file.policy), loaded(&alone));
    }
}
