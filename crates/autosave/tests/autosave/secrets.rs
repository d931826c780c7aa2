//! What is taken for a secret, and what is not. The samples are put together here, so that no file of this repository
//! holds anything that a scanner could take for one.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use autosave::secrets::{self, Allow, Finding, GitleaksError};
use change_set::BytePath;
use files::ChildError;
use keeping::{Added, AddedFile};

const HEX: &str = "0123456789abcdef";
const LETTERS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BECH32: &str = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";

/// Random-looking text, always the same.
fn random(alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = length as u64 * 7919 + 12345;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        letters[(state >> 33) as usize % letters.len()]
    };
    (0..length).map(|_| next()).collect()
}

fn hex(length: usize) -> String {
    random(HEX, length)
}

fn letters(length: usize) -> String {
    random(LETTERS, length)
}

fn added(path: &str, content: &[u8]) -> Added {
    let lines = (1..=content.split(|byte| *byte == b'\n').count()).collect();
    let file =
        AddedFile { path: BytePath::from(path), commit: String::new(), content: content.to_vec(), lines };
    Added { files: vec![file], unread: Vec::new() }
}

fn found(content: &str) -> Vec<Finding> {
    secrets::scan(&added("file.txt", content.as_bytes()), &Allow::default())
}

fn kinds(content: &str) -> Vec<String> {
    found(content).into_iter().map(|finding| finding.kind).collect()
}

/// GitHub's own published example of a token with its checksum.
fn github() -> String {
    ["ghp", "_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17"].concat()
}

fn key_block(kind: &str) -> String {
    let body: String = (0..4).map(|line| format!("{}\n", letters(64 - line))).collect();
    format!("-----BEGIN {kind}PRIVATE KEY-----\n{body}-----END {kind}PRIVATE KEY-----\n")
}

/// With the alphabet that is for addresses.
fn base64(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits: String = text.bytes().map(|byte| format!("{byte:08b}")).collect();
    let parts: Vec<char> = bits.chars().collect();
    let digit = |part: &[char]| {
        let part: String = part.iter().collect();
        DIGITS[usize::from_str_radix(&format!("{part:0<6}"), 2).unwrap()] as char
    };
    parts.chunks(6).map(digit).collect()
}

fn web_token(header: &str) -> String {
    format!("{}.{}.{}", base64(header), base64("{\"sub\":\"1\",\"name\":\"x\"}"), letters(43))
}

/// One of each kind.
fn samples() -> Vec<(&'static str, String)> {
    let token = |prefix: &str, rest: String| format!("x = \"{prefix}{rest}\"\n");
    vec![
        ("aws-access-key", token("AKIA", random(UPPER, 16))),
        ("aws-secret-key", format!("aws_secret_access_key = {}\n", random(&format!("{LETTERS}+/"), 40))),
        ("github-token", format!("{}\n", github())),
        ("github-fine-grained-token", token("github_pat_", format!("{}_{}", letters(22), letters(59)))),
        ("gitlab-token", token("glpat-", letters(20))),
        ("slack-token", token("xoxb-", format!("831904416275-{}", letters(24)))),
        (
            "slack-webhook",
            format!(
                "https://hooks.slack.com/services/T{}/B{}/{}\n",
                random(UPPER, 10),
                random(UPPER, 10),
                letters(24)
            ),
        ),
        ("stripe-key", token("sk_live_", letters(24))),
        ("google-api-key", token("AIza", letters(35))),
        ("google-oauth-secret", token("GOCSPX-", letters(28))),
        ("google-oauth-token", token("ya29.", letters(80))),
        ("openai-key", token("sk-proj-", format!("{}T3BlbkFJ{}", letters(40), letters(41)))),
        ("anthropic-key", token("sk-ant-api03-", letters(95))),
        ("openrouter-key", token("sk-or-v1-", hex(64))),
        ("groq-key", token("gsk_", letters(52))),
        ("xai-key", token("xai-", letters(80))),
        ("perplexity-key", token("pplx-", letters(48))),
        ("replicate-token", token("r8_", letters(37))),
        ("huggingface-token", token("hf_", letters(34))),
        ("npm-token", format!("{}\n", github().replace("ghp", "npm"))),
        ("npm-auth", format!("//registry.npmjs.org/:_authToken={}\n", letters(36))),
        ("pypi-token", token("pypi-AgEIcHlwaS5vcmc", letters(70))),
        ("rubygems-key", token("rubygems_", hex(48))),
        ("crates-io-token", token("cio", letters(32))),
        ("nuget-key", token("oy2", random("abcdefghijklmnopqrstuvwxyz0123456789", 43))),
        ("docker-token", token("dckr_pat_", letters(27))),
        ("digitalocean-token", token("dop_v1_", hex(64))),
        ("databricks-token", token("dapi", hex(32))),
        ("sendgrid-key", token("SG.", format!("{}.{}", letters(22), letters(43)))),
        ("twilio-key", format!("twilio: SK{}\n", hex(32))),
        ("mailgun-key", format!("mailgun key-{}\n", hex(32))),
        ("mailchimp-key", token(&hex(32), "-us12".to_owned())),
        ("shopify-token", token("shpat_", hex(32))),
        ("telegram-token", token("123456789:AA", letters(33))),
        ("discord-webhook", format!("https://discord.com/api/webhooks/918273645546372819/{}\n", letters(68))),
        ("discord-token", format!("discord = \"M{}.{}.{}\"\n", letters(24), letters(6), letters(38))),
        ("linear-key", token("lin_api_", letters(40))),
        ("notion-token", token("ntn_", format!("{}{}", random("0123456789", 11), letters(35)))),
        ("figma-token", token("figd_", letters(40))),
        ("postman-key", token("PMAK-", format!("{}-{}", hex(24), hex(34)))),
        ("sentry-token", token("sntrys_", letters(80))),
        ("grafana-token", token("glsa_", format!("{}_{}", letters(32), hex(8)))),
        ("newrelic-key", token("NRAK-", random(UPPER, 27))),
        ("pulumi-token", token("pul-", hex(40))),
        ("supabase-token", token("sbp_", hex(40))),
        ("planetscale-token", token("pscale_tkn_", letters(43))),
        ("doppler-token", token("dp.pt.", letters(43))),
        ("vault-token", token("hvs.", letters(90))),
        ("terraform-token", token(&letters(14), format!(".atlasv1.{}", letters(64)))),
        ("atlassian-token", token("ATATT3", letters(180))),
        ("heroku-key", token("HRKU-", letters(40))),
        ("square-token", token("sq0csp-", letters(43))),
        ("facebook-token", token("EAAC", letters(120))),
        ("airtable-token", token("pat", format!("{}.{}", letters(14), hex(64)))),
        ("age-key", token("AGE-SECRET-KEY-1", random(BECH32, 58))),
        ("azure-storage-key", format!("AccountKey={}==;\n", letters(86))),
        ("azure-client-secret", token("abc", format!("18Q~{}", letters(34)))),
        ("web-token", token("", web_token("{\"alg\":\"HS256\",\"typ\":\"JWT\"}"))),
        ("private-key", key_block("RSA ")),
        ("url-token", format!("git clone https://{}@github.com/a/b.git\n", hex(40))),
        ("sql-password", format!("CREATE USER app IDENTIFIED BY '{}';\n", letters(14))),
        ("database-password", format!("postgres://app:{}@db.internal.net:5432/x\n", letters(14))),
        ("command-password", format!("mysql -h db -uapp -p{} shop\n", letters(14))),
        ("assigned-secret", format!("const apiPassword = '{}';\n", letters(24))),
        ("assigned-variable", format!("export SERVICE_SECRET={}\n", letters(30))),
    ]
}

/// A12: each known shape is found, with its place and kind, among other lines.
#[test]
fn a12_every_kind_is_found() {
    let samples = samples();
    for (kind, sample) in &samples {
        let content = format!("first line\n\n{sample}last line\n");
        let findings = found(&content);
        assert_eq!(findings.len(), 1, "{kind}: {findings:?}");
        assert_eq!((findings[0].kind.as_str(), findings[0].line), (*kind, 3));
    }
    // Files are secrets by their names.
    let sampled: BTreeSet<&str> = samples.iter().map(|(kind, _)| *kind).chain(["secret-file"]).collect();
    assert_eq!(sampled, secrets::kinds().collect());
}

/// A12: whatever is told about a finding, the secret is not in it.
#[test]
fn a12_a_finding_never_holds_the_secret() {
    for (kind, sample) in samples() {
        let told = format!("{:?} {}", found(&sample), serde_json::to_string(&found(&sample)).unwrap());
        let words = sample.split(|letter: char| !letter.is_ascii_alphanumeric());
        let longest = words.max_by_key(|word| word.len()).unwrap();
        assert!(!told.contains(longest), "{kind}");
    }
    let shown = format!("{:?}", added("x", github().as_bytes()));
    insta::assert_snapshot!(shown, @r#"Added { files: [AddedFile { path: "x", commit: "", lines: [1], .. }], unread: [] }"#);
}

/// A checksum that does not fit is an example that somebody made up.
#[test]
fn a_wrong_checksum_is_no_token() {
    let wrong = github().replace("0mLq17", "0mLq18");
    assert_eq!(kinds(&wrong), [""; 0]);
}

#[test]
fn key_blocks_are_found_in_every_form() {
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "] {
        assert_eq!(kinds(&key_block(kind)), ["private-key"], "{kind}");
    }
    let in_json = format!("{{\"private_key\": \"{}\"}}\n", key_block("").replace('\n', "\\n"));
    assert_eq!(kinds(&in_json), ["private-key"]);
    let windows = key_block("RSA ").replace('\n', "\r\n");
    assert_eq!(kinds(&windows), ["private-key"]);
    let indented = key_block("").replace('\n', "\n    ");
    assert_eq!(kinds(&format!("key: |\n    {indented}")), ["private-key"]);
    let talk = "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----\nlooks like the above\n";
    assert_eq!(kinds(talk), [""; 0]);
}

/// S3: whatever letters are in a key, it is one.
#[test]
fn s3_a_key_may_have_words_in_it() {
    for word in ["your", "xxxx", "EXAMPLE", "dummy", "test"] {
        let body = format!("{}{word}{}\n{}\n", letters(30), letters(29), letters(64));
        let key = format!("-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n");
        assert_eq!(kinds(&key), ["private-key"], "{word}");
    }
}

/// S2: a name is enough, in any syntax, with a comment behind the value, in base64 and in pieces.
#[test]
fn s2_a_value_is_known_by_its_place() {
    let value = letters(28);
    let token = format!("glpat-{}", letters(20));
    let half = value.len() / 2;
    let (first, second) = value.split_at(half);
    for text in [
        format!("API_KEY={value}"),
        format!("PASSWORD={value}   # until May"),
        format!("DB_PW={value}"),
        format!("TOKEN: {value}"),
        format!("password: '{value}' # until May"),
        format!("<password>{value}</password>"),
        format!("spring.datasource.password={value}"),
        format!("Server=db;User ID=sa;Password={value};Encrypt=True"),
        format!("jdbc:mysql://db/x?user=app&password={value}"),
        format!("static TOKEN: &str = \"{value}\";"),
        format!("password: str = \"{value}\""),
        format!("os.environ['API_TOKEN'] = '{value}'"),
        format!("setenv(\"API_TOKEN\", \"{value}\")"),
        format!("{{\\\"apiToken\\\": \\\"{value}\\\"}}"),
        format!("- name: API_TOKEN\n  value: {value}"),
        format!("X-Api-Key: {value}"),
        format!("curl -H 'Authorization: Bearer {value}' https://api.acme.dev"),
        format!("curl -u kim:{value} https://api.acme.dev"),
        format!("login --token {value}"),
        format!("The database password of staging is {value}"),
        format!("api_token = \"{first}\" \\\n    \"{second}\""),
        format!("export API_TOKEN={first}\\\n{second}"),
        format!("const apiToken =\n  \"{first}\" +\n  \"{second}\";"),
        base64(&format!("deploy with {token} only")),
        base64(&format!("DB_PASSWORD={value}\nPORT=1\n")),
        format!("DB_PASSWORD={}", ["Harbor", "Willow", "482!"].concat()),
    ] {
        assert_eq!(kinds(&text).len(), 1, "{text}: {:?}", kinds(&text));
    }
}

/// Text of letters from a small generator, as a person's password manager makes them; the samples differ by their number.
fn generated(alphabet: &str, length: usize, number: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ length as u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        letters[(state >> 33) as usize % letters.len()]
    };
    let _ = (0..20).map(|_| next()).last();
    (0..length).map(|_| next()).collect()
}

/// A password that a name marks need not look like a token: short ones, without marks, of one size of letters. How many of
/// 200 are found.
#[test]
fn a_name_makes_less_random_values_secrets() {
    const SMALL: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
    const ONLY_LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut counts = Vec::new();
    for (what, alphabet, length) in [
        ("letters and digits", LETTERS, 8),
        ("letters and digits", LETTERS, 10),
        ("letters and digits", LETTERS, 12),
        ("letters and digits", LETTERS, 16),
        ("letters", ONLY_LETTERS, 16),
        ("letters", ONLY_LETTERS, 32),
        ("small letters and digits", SMALL, 10),
        ("small letters and digits", SMALL, 12),
        ("small letters and digits", SMALL, 16),
    ] {
        let is_found = |number: &u64| {
            let value = generated(alphabet, length, *number);
            !kinds(&format!("password = \"{value}\"\n")).is_empty()
        };
        let found = (0..200).filter(is_found).count();
        counts.push(format!(
            "{length} {what}: {}",
            if found >= 190 { "95 % or more".to_owned() } else { found.to_string() }
        ));
    }
    insta::assert_snapshot!(counts.join("\n"), @"
    8 letters and digits: 134
    10 letters and digits: 177
    12 letters and digits: 95 % or more
    16 letters and digits: 95 % or more
    16 letters: 95 % or more
    32 letters: 95 % or more
    10 small letters and digits: 173
    12 small letters and digits: 95 % or more
    16 small letters and digits: 95 % or more
    ");
}

/// Every way of the outsider's to mark a password: by a name, a flag, a statement, a block, a file's name, a pasted line.
#[test]
fn whatever_marks_a_value_makes_it_a_secret() {
    let short = ["Zq8vT2m", "Lx0RbPw"].concat();
    let uuid = ["3f2a1b4c-5d6e-", "4f70-8a9b-0c1d2e3f4a5b"].concat();
    let marks = ["D7u6yB5", "4$!HkJl"].concat();
    let key = format!("AKIA{}", random(UPPER, 16));
    for text in [
        format!("DB_PASSWORD = \"{}\"", ["Xk9v", "P2mQ"].concat()),
        format!("password = \"{}\"", ["RV5If", "LBcbf"].concat()),
        format!("POSTGRES_PASSWORD: {}", ["Y7sUMuC", "zuzee6u"].concat()),
        format!("password: {}", ["gyrDOxkxwn", "QrSRPeMOkI"].concat()),
        format!("storePassword={}", ["52FTZso", "5mMF355"].concat()),
        format!("HEROKU_API_KEY={uuid}"),
        format!("git clone https://{}@github.com/a/b.git", hex(40)),
        format!("docker login -u me -p {short}"),
        format!("redis-cli -h cache -a {short} ping"),
        format!("ldapsearch -D cn=admin -w {short}"),
        format!("CREATE USER app IDENTIFIED BY '{short}';"),
        format!("variable \"db_password\" {{\n  type    = string\n  default = \"{short}\"\n}}"),
        format!("variable \"db_password\" {{ default = \"{short}\" }}"),
        format!("\"db_password\": {{\"type\": \"string\", \"default\": \"{short}\"}}"),
        format!("curl -u admin:'{marks}' https://a.dev"),
        format!("curl -u 'admin:{marks}' https://a.dev"),
        format!("key = \"{}\" + \"{}\"", &key[..4], &key[4..]),
    ] {
        assert_eq!(kinds(&text).len(), 1, "{text}: {:?}", kinds(&text));
    }
}

/// Names of variables, words, expressions, sequences and examples are none, whatever name they are assigned to.
#[test]
fn a_name_makes_no_secret_of_what_is_none() {
    for text in [
        "password = getpass_v2",
        "passwd = cfg_pwd_key",
        "password: \"sommer2024\"",
        "password: abcd1234",
        "password = \"a1b2c3d4e5f6\"",
        "password = \"qwertz123456\"",
        "pwd = tmpdir2path",
        "pass = \"LoopUnroll2\"",
        "token = \"x86_64-unknown-linux\"",
        "token: TokenKind2",
        "secret_name = \"Xk9v\"",
        "password = settings.db.password1",
        "mkdir -p build/release2/x86_64",
        "docker run -u 1000 -p 8080:80 image",
        "login -p 8443:443",
        "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/2",
        "variable \"db_password\" { default = \"changeme\" }",
        "x.split(\".\"); y = \"a\" + \"b\"",
        "[\"../etc/passwd\", \"0a1e66112dfb_\"]",
        "(`spring.datasource.password`, `PGPASSWORD`)",
    ] {
        assert_eq!(kinds(text), [""; 0], "{text}");
    }
}

/// S2: by their names, and not if they are there to be read.
#[test]
fn s2_some_files_are_secrets() {
    let is_found = |path: &str, content: &str| {
        let found = secrets::scan(&added(path, content.as_bytes()), &Allow::default());
        found.iter().any(|finding| finding.kind == "secret-file")
    };
    let all = [
        (".env", "PORT=1\n"),
        ("web/.env.production", "PORT=1\n"),
        (".env-prod", "PORT=1\n"),
        (".env_local", "PORT=1\n"),
        (".envrc", "export PORT=1\n"),
        (".netrc", "machine a login b password c\n"),
        (".pgpass", "db:5432:*:app:pw\n"),
        ("keys/id_ed25519", "x\n"),
        ("tls/server.pem", "x\n"),
        (".aws/credentials", "[default]\n"),
        (".kube/config", "users:\n"),
        ("firebase.json", "{\"type\": \"service_account\", \"private_key\": \"x\"}\n"),
        ("config/master.key", &format!("{}\n", hex(32))),
        ("secrets/db_password", &letters(14)),
        ("secrets/db_password_file", &letters(14)),
        ("token.txt", "see the wiki\n"),
        (".env.example", "PORT=1\n"),
        (".env.template", "PORT=1\n"),
        (".env-example", "PORT=1\n"),
        (".envrc", "use flake\n"),
        (".environment", "PORT=1\n"),
        (".env", "# nothing\n\n"),
        ("id_ed25519.pub", "ssh-ed25519 AAAA\n"),
        ("tls/ca.pem", "-----BEGIN CERTIFICATE-----\n"),
        ("docs/credentials.md", "x\n"),
        (".git/config", "x\n"),
    ];
    let found: Vec<&str> =
        all.iter().filter(|(path, content)| is_found(path, content)).map(|(path, _)| *path).collect();
    assert_eq!(found.join(" "), all[..14].iter().map(|(path, _)| *path).collect::<Vec<_>>().join(" "));
}

/// A sample of the table that `cargo xtask secrets` prints, of which no carrier may be worse.
#[test]
fn the_table_of_kinds_and_carriers() {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut missed = Vec::new();
    for sample in sandbox::secret_samples(4).iter().step_by(3) {
        let found = secrets::scan(&added(&sample.file_name, sample.text.as_bytes()), &Allow::default());
        let (of_carrier, all) = counts.entry(sample.carrier).or_default();
        *of_carrier += usize::from(!found.is_empty());
        *all += 1;
        if found.is_empty() {
            missed.push(format!("{} in {}", sample.kind, sample.carrier));
        }
    }
    for (carrier, (found, all)) in &counts {
        println!("{carrier}: {found} of {all}");
        assert!(found * 100 >= all * 95, "{carrier}: {found} of {all}; {missed:?}");
    }
    assert_eq!(counts.len(), sandbox::CARRIERS.len());
}

/// Words, examples, hashes, ids, images and lock files are none.
#[test]
fn what_is_no_secret_is_not_found() {
    let sha = hex(64);
    let base64 = letters(400);
    let innocent = [
        "password = \"password\"".to_owned(),
        "password: \"correct-horse-battery-staple\"".to_owned(),
        "const TOKEN_KIND = 'StringLiteralToken2';".to_owned(),
        "token = \"your-token-goes-here-1234\"".to_owned(),
        "api_key: \"${{ secrets.API_KEY_2 }}\"".to_owned(),
        "password = os.environ['DB_PASSWORD_V2']".to_owned(),
        "SECRET_KEY=<insert 32 random characters>".to_owned(),
        "secret: \"/run/secrets/db_password_file1\"".to_owned(),
        "token_url = \"https://example.com/oauth2/token\"".to_owned(),
        "postgres://postgres:postgres@localhost:5432/db".to_owned(),
        "mysql://user:password@db/x".to_owned(),
        "redis://:changeme@cache.example.com".to_owned(),
        "https://user:pass@example.com/path".to_owned(),
        format!("\"integrity\": \"sha512-{}==\"", letters(86)),
        format!("checksum = \"{sha}\""),
        format!("token_sha256 = \"{sha}\""),
        format!("commit {}", hex(40)),
        format!("access_token_id = \"{}-{}-4{}-8{}-{}\"", hex(8), hex(4), hex(3), hex(3), hex(12)),
        format!("<img src=\"data:image/png;base64,{base64}\">"),
        format!("url(data:font/woff2;base64,{base64})"),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        [
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.",
            "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
        ]
        .concat(),
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".to_owned(),
        "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx".to_owned(),
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
        "let password_hash = \"$2b$12$abcdefghijklmnopqrstuv\";".to_owned(),
    ];
    for line in innocent {
        assert_eq!(kinds(&line), [""; 0], "{line}");
    }
}

/// Every tracked file of this repository, as if all of it were new: code, recordings, lock file, pictures.
#[test]
fn this_repository_has_no_secret() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(&root).output().unwrap();
    let names: Vec<String> = String::from_utf8(listed.stdout)
        .unwrap()
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    assert!(names.len() > 300 || !listed.status.success());
    let found = names.iter().flat_map(|name| {
        let content = fs_err::read(root.join(name)).unwrap_or_default();
        secrets::scan(&added(name, &content), &Allow::default())
    });
    assert_eq!(found.collect::<Vec<_>>(), []);
}

/// Only what is new counts.
#[test]
fn old_lines_are_not_looked_at() {
    let content = format!("{}\n{}\n", github(), github());
    let mut added = added("x", content.as_bytes());
    added.files[0].lines = vec![2];
    let findings = secrets::scan(&added, &Allow::default());
    assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
}

/// Programs and archives are looked through too, for tokens of a shape of their own; UTF-16 as text.
#[test]
fn files_that_are_no_text_are_looked_through() {
    let mut binary = vec![0, 1, 2, 255, 0];
    binary.extend_from_slice(github().as_bytes());
    binary.extend_from_slice(&[0; 10]);
    let named = format!("password = '{}'", letters(24));
    binary.extend_from_slice(named.as_bytes());
    let findings = secrets::scan(&added("program", &binary), &Allow::default());
    assert_eq!(findings.into_iter().map(|finding| finding.kind).collect::<Vec<_>>(), ["github-token"]);
    let wide: Vec<u8> =
        format!("\u{feff}first\r\n{named}\r\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let findings = secrets::scan(&added("wide.txt", &wide), &Allow::default());
    assert_eq!(
        findings.iter().map(|finding| (finding.kind.as_str(), finding.line)).collect::<Vec<_>>(),
        [("assigned-secret", 2)]
    );
    // One long line, as minified code is.
    let long = format!("{}{}{}", "a=1;".repeat(500_000), github(), ";b=2".repeat(1000));
    assert_eq!(kinds(&long), ["github-token"]);
}

/// Wherever on a long line it lies, and however many words like its own come before.
#[test]
fn a_secret_is_found_anywhere_on_a_long_line() {
    for offset in (0..9000).step_by(7) {
        let line = format!("{}{} {}", "ghp_ ".repeat(offset / 5), github(), "y".repeat(100));
        assert_eq!(kinds(&line), ["github-token"], "{offset}");
    }
}

/// Megabytes of nothing but words that secrets begin with are looked through in a time that grows with them, and not
/// with their square; a wrong one would take minutes.
#[test]
fn hostile_files_are_looked_through() {
    for piece in
        ["password", "https://a:b", "eyJeyJ.", "-----BEGIN PRIVATE KEY-----", "secret='", "AKIA", "sk-ant-\n"]
    {
        let content = piece.repeat(2_000_000 / piece.len());
        assert_eq!(kinds(&content), [""; 0], "{piece}");
    }
}

#[test]
fn a_comment_allows_a_line() {
    for comment in ["checkstone:allow-secret", "gitleaks:allow"] {
        assert_eq!(kinds(&format!("x = \"{}\" # {comment}\n", github())), [""; 0]);
        assert_eq!(kinds(&format!("# {comment}\nx = \"{}\"\n", github())), ["github-token"]);
    }
}

#[test]
fn the_allow_list_allows_paths_kinds_and_single_findings() {
    let content = format!("{}\nconst apiPassword = '{}';\n", github(), letters(24));
    let added = added("tests/data/keys.txt", content.as_bytes());
    let all = secrets::scan(&added, &Allow::default());
    let left = |paths: &[&str], kinds: &[&str], fingerprints: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let allow = Allow::new(&owned(paths), &owned(kinds), &owned(fingerprints)).unwrap();
        secrets::scan(&added, &allow).len()
    };
    assert_eq!(all.len(), 2);
    assert_eq!(left(&["tests/**"], &[], &[]), 0);
    assert_eq!(left(&["tests/*"], &[], &[]), 2);
    assert_eq!(left(&[], &["github-token"], &[]), 1);
    assert_eq!(left(&[], &[], &[&all[0].fingerprint]), 1);
    insta::assert_snapshot!(all[0].fingerprint, @"github-token:tests/data/keys.txt:976b57");
    assert!(Allow::new(&["a[".to_owned()], &[], &[]).is_err());
}

/// An installed gitleaks is asked as well. Its report is what its documentation says; the program itself, where there is
/// one, is asked in the next test.
#[test]
fn the_report_of_gitleaks_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let program = |script: &str| {
        let path = folder.path().join(format!("gitleaks-{}", script.len()));
        let command = format!("cat >'{}' <<'END'\n#!/bin/sh\n{script}\nEND\n", path.display());
        assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
        fs_err::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    };
    let content = b"one\ntwo\nthree # gitleaks:allow\n";
    let mut added = added("../odd name.py", content);
    added.files[0].lines = vec![2, 3];
    let ask = |script: &str, limit: u64| {
        let limit = Duration::from_millis(limit);
        secrets::by_gitleaks(program(script).as_os_str(), &added, &Allow::default(), folder.path(), limit)
    };
    let report = "for last; do :; done\n[ \"$1\" = detect ] && cat >\"$last\" <<'REPORT'\n[{\"RuleID\":\"r\",\"File\":\"/x/0.py\",\"StartLine\":1,\"Secret\":\"REDACTED\"},{\"RuleID\":\"r\",\"File\":\"/x/0.py\",\"StartLine\":2},{\"RuleID\":\"r\",\"File\":\"/x/0.py\",\"StartLine\":3}]\nREPORT";
    let findings = ask(report, 60_000).unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(
        (findings[0].line, findings[0].kind.as_str(), findings[0].path.clone()),
        (2, "r", BytePath::from("../odd name.py"))
    );
    assert_eq!(ask("for last; do :; done; echo null >\"$last\"", 60_000).unwrap(), []);
    assert!(matches!(ask("exit 2", 60_000), Err(GitleaksError::Failed { .. })));
    assert!(matches!(
        ask("for last; do :; done; echo '{' >\"$last\"", 60_000),
        Err(GitleaksError::Report { .. })
    ));
    assert!(matches!(
        ask("sleep 600", 200),
        Err(GitleaksError::Ended { source: ChildError::TimedOut { .. }, .. })
    ));
    let missing = secrets::by_gitleaks(
        "gitleaks-is-not-here".as_ref(),
        &added,
        &Allow::default(),
        folder.path(),
        Duration::from_secs(1),
    );
    assert!(matches!(missing, Err(GitleaksError::Run { .. })));
    let left: Vec<_> =
        folder.path().read_dir().unwrap().flatten().filter(|entry| entry.path().is_dir()).collect();
    assert!(left.is_empty(), "what was given to gitleaks is still there");
}

#[test]
fn a_real_gitleaks_finds_the_same() {
    if Command::new("gitleaks").arg("version").output().is_err() {
        println!("skipped: there is no gitleaks on this machine");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let added = added("x.txt", format!("one\nx = \"{}\"\n", github()).as_bytes());
    let findings = secrets::by_gitleaks(
        "gitleaks".as_ref(),
        &added,
        &Allow::default(),
        folder.path(),
        Duration::from_secs(60),
    );
    assert_eq!(findings.unwrap()[0].line, 2);
}
