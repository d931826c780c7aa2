//! Made-up secrets in the files, commands and requests that people leave them in: every kind in `kinds.txt`, in every
//! carrier, each carrier in four spellings. What they are measured with must not be asked how they are made, so the
//! formats are the issuers' own and nothing here knows a detector.

use std::fmt::Write as _;

const KINDS: &str = include_str!("secret_samples/kinds.txt");

/// Where a secret stands.
pub const CARRIERS: [&str; 8] =
    ["text", "env", "yaml", "json", "command line", "header", "base64", "split over lines"];

/// Spellings of each carrier.
const SPELLINGS: usize = 4;

/// One secret in one text.
#[derive(Debug)]
pub struct SecretSample {
    pub kind: &'static str,
    pub carrier: &'static str,
    /// A name that says what kind of text it is, and nothing about what is in it.
    pub file_name: String,
    pub text: String,
}

/// All of them; the same for the same seed.
pub fn secret_samples(seed: u64) -> Vec<SecretSample> {
    let mut draw = Draw { state: seed };
    let mut samples = Vec::new();
    for kind in KINDS.lines().filter(|line| !line.starts_with('#')) {
        let [variable, words, format] = kind.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("`{kind}` is no kind of secret")
        };
        for carrier in CARRIERS {
            for spelling in 0..SPELLINGS {
                let value = draw.value(format);
                let secret = Secret { variable, words, value };
                let (extension, text) = secret.carried_by(carrier, spelling, &mut draw);
                let file_name = format!("sample-{:04}.{extension}", samples.len());
                samples.push(SecretSample { kind: words, carrier, file_name, text });
            }
        }
    }
    samples
}

struct Secret {
    variable: &'static str,
    words: &'static str,
    value: String,
}

impl Secret {
    /// The ending of a file's name, and the text.
    fn carried_by(&self, carrier: &str, spelling: usize, draw: &mut Draw) -> (&'static str, String) {
        match carrier {
            "text" => self.text(spelling),
            "env" => ("env", self.environment(spelling)),
            "yaml" => ("yaml", self.yaml(spelling)),
            "json" => ("json", self.json(spelling)),
            "command line" => ("sh", self.command(spelling)),
            "header" => ("http", self.header(spelling)),
            "base64" => self.base64(spelling),
            "split over lines" => self.split(spelling, draw),
            other => panic!("`{other}` carries nothing"),
        }
    }

    fn text(&self, spelling: usize) -> (&'static str, String) {
        let Self { words, value, .. } = self;
        match spelling {
            0 => (
                "txt",
                format!("Notes of Monday\n\nThe {words} for staging is {value}\nAsk Kim about the rest.\n"),
            ),
            1 => ("md", format!("# Deployment\n\n- region: eu-central\n- {words}: `{value}`\n")),
            2 => (
                "log",
                format!("12:00:01 INFO starting\n12:00:02 DEBUG using {words} {value}\n12:00:03 INFO done\n"),
            ),
            _ => ("txt", format!("Your new {words}, it is shown only once:\n\n{value}\n\nKeep it safe.\n")),
        }
    }

    fn environment(&self, spelling: usize) -> String {
        let Self { variable, .. } = self;
        // What has several lines is written with `\n`, in quotes.
        let value = self.value.replace('\n', "\\n");
        let lines = value.len() != self.value.len();
        let set = match spelling {
            0 if !lines => format!("{variable}={value}"),
            0 | 1 => format!("{variable}=\"{value}\""),
            2 => format!("export {variable}='{value}'"),
            _ => format!("{variable}=\"{value}\" # until May"),
        };
        format!("LOG_LEVEL=debug\n{set}\nPORT=8080\n")
    }

    fn yaml(&self, spelling: usize) -> String {
        let Self { variable, value, .. } = self;
        let lower = variable.to_lowercase();
        if value.contains('\n') {
            let name = if spelling.is_multiple_of(2) { &lower } else { *variable };
            return format!("service:\n  port: 8080\n  {name}: |\n    {}\n", value.replace('\n', "\n    "));
        }
        match spelling {
            0 => format!("service:\n  port: 8080\n  {lower}: {value}\n"),
            1 => format!("service:\n  {}: \"{value}\" # until May\n  port: 8080\n", lower.replace('_', "-")),
            2 => format!("containers:\n  - env:\n      - name: {variable}\n        value: '{value}'\n"),
            _ => format!(
                "services:\n  web:\n    environment:\n      - PORT=8080\n      - {variable}={value}\n"
            ),
        }
    }

    fn json(&self, spelling: usize) -> String {
        let variable = self.variable;
        let value = self.value.replace('\n', "\\n");
        match spelling {
            0 => format!("{{\n  \"port\": 8080,\n  \"{variable}\": \"{value}\"\n}}\n"),
            1 => format!("{{\"service\":{{\"{}\":\"{value}\",\"port\":8080}}}}\n", camel(variable)),
            2 => {
                format!("{{\"environment\": [\n  {{\"name\": \"{variable}\", \"value\": \"{value}\"}}\n]}}\n")
            }
            _ => format!("{{\n  \"env\": {{\n    \"{}\": \"{value}\"\n  }}\n}}\n", variable.to_lowercase()),
        }
    }

    fn command(&self, spelling: usize) -> String {
        let Self { variable, value, .. } = self;
        let kebab = variable.to_lowercase().replace('_', "-");
        let quoted = if spelling.is_multiple_of(2) { format!("'{value}'") } else { format!("\"{value}\"") };
        let command = match spelling {
            0 => format!("{variable}={quoted} ./deploy.sh staging"),
            1 => format!("acme-cloud login --{kebab} {quoted} --region eu"),
            2 => format!("kubectl create secret generic web --from-literal={kebab}={quoted}"),
            _ => format!("docker run --rm -e {variable}={quoted} web:latest"),
        };
        format!("$ {command}\nok\n")
    }

    fn header(&self, spelling: usize) -> String {
        let value = self.value.replace('\n', " ");
        let header = match spelling {
            0 => format!("Authorization: Bearer {value}"),
            1 => format!("X-Api-Key: {value}"),
            2 => format!("authorization: token {value}"),
            _ => format!("X-{}: {value}", self.variable.replace('_', "-")),
        };
        format!("GET /v1/items HTTP/1.1\nHost: api.acme.dev\n{header}\nAccept: */*\n\n")
    }

    fn base64(&self, spelling: usize) -> (&'static str, String) {
        let Self { variable, value, .. } = self;
        let lower = variable.to_lowercase();
        match spelling {
            0 => {
                let data = encoded(value);
                ("yaml", format!("kind: Secret\nmetadata:\n  name: web\ndata:\n  {lower}: {data}\n"))
            }
            1 => {
                let data = encoded(&format!("PORT=8080\n{variable}={value}\n"));
                ("sh", format!("$ echo {data} | base64 -d > settings\n"))
            }
            2 => (
                "http",
                format!("GET /v1 HTTP/1.1\nAuthorization: Basic {}\n\n", encoded(&format!("kim:{value}"))),
            ),
            _ => ("json", format!("{{\"{}\": \"{}\"}}\n", camel(variable), encoded(value))),
        }
    }

    fn split(&self, spelling: usize, draw: &mut Draw) -> (&'static str, String) {
        let Self { variable, value, .. } = self;
        let lower = variable.to_lowercase();
        let pieces: Vec<String> = match value.contains('\n') {
            true => value.lines().map(|line| format!("{line}\\n")).collect(),
            false => {
                let third = value.len() / 3;
                let (first, second) = value.split_at(third + draw.below(third));
                vec![first.to_owned(), second.to_owned()]
            }
        };
        match spelling {
            0 => ("sh", format!("export PORT=8080\nexport {variable}={}\n", pieces.join("\\\n"))),
            1 => ("py", format!("PORT = 8080\n{lower} = (\n    \"{}\"\n)\n", pieces.join("\"\n    \""))),
            2 => ("js", format!("const {} =\n  \"{}\";\n", camel(variable), pieces.join("\" +\n  \""))),
            _ => ("yaml", format!("service:\n  {lower}: \"{}\"\n", pieces.join("\\\n    "))),
        }
    }
}

/// `API_KEY` as `apiKey`.
fn camel(variable: &str) -> String {
    let lower = variable.to_lowercase();
    let mut words = lower.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WORDS: [&str; 12] = [
    "harbor", "willow", "granite", "meadow", "copper", "lantern", "orchard", "falcon", "cedar", "marble",
    "river", "saffron",
];

/// The characters that go by this name in `kinds.txt`.
fn alphabet(name: &str) -> &'static str {
    match name {
        "base32" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "lower32" => "abcdefghijklmnopqrstuvwxyz234567",
        "base62" => BASE62,
        "base64" => BASE64,
        "base64url" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        "letter" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "upper36" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "lower36" => "abcdefghijklmnopqrstuvwxyz0123456789",
        "upper16" => "0123456789ABCDEF",
        "hex" => "0123456789abcdef",
        "digit" => "0123456789",
        "password" => "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!%*-_+.?",
        other => panic!("`{other}` is no alphabet"),
    }
}

/// A small generator (SplitMix64), so that a seed means the same values everywhere.
struct Draw {
    state: u64,
}

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        (0..length).map(|_| char::from(letters[self.below(letters.len())])).collect()
    }

    /// A value of this format.
    fn value(&mut self, format: &str) -> String {
        let mut value = String::new();
        for (number, part) in format.split(['{', '}']).enumerate() {
            let word = WORDS[self.below(WORDS.len())];
            match part.split_once('*') {
                _ if number.is_multiple_of(2) => value.push_str(part),
                Some(("pem", label)) => value.push_str(&self.key_block(label)),
                Some((name, length)) => value.push_str(&self.text(alphabet(name), length.parse().unwrap())),
                None if part == "checksum" => {
                    let random = value.split_once('_').unwrap().1;
                    value.push_str(&checksum(random));
                }
                None if part == "word" => value.push_str(word),
                None => write!(value, "{}{}", word[..1].to_uppercase(), &word[1..]).unwrap(),
            }
        }
        value
    }

    /// Twelve lines of a key, as its format begins.
    fn key_block(&mut self, label: &str) -> String {
        let begin = match label {
            "RSA PRIVATE KEY" => ["MIIEpAIB", "AAKCAQEA"].concat(),
            "OPENSSH PRIVATE KEY" => encoded("openssh-key-v1\0\0\0\0\u{4}none\0\0\0\u{4}non"),
            _ => "\nlQVYBG".to_owned(),
        };
        let first = self.text(BASE64, 64 - begin.trim_start().len());
        let mut block = format!("-----BEGIN {label}-----\n{begin}{first}");
        for _ in 1..12 {
            write!(block, "\n{}", self.text(BASE64, 64)).unwrap();
        }
        write!(block, "\n{}=\n-----END {label}-----", self.text(BASE64, 43)).unwrap();
        block
    }
}

/// The CRC-32 of a token's random part in six characters, which GitHub and npm append.
fn checksum(random: &str) -> String {
    let mut sum = random.bytes().fold(u32::MAX, |sum, byte| {
        let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        (0..8).fold(sum ^ u32::from(byte), step)
    });
    sum = !sum;
    let mut letters = Vec::new();
    for _ in 0..6 {
        letters.push(char::from(BASE62.as_bytes()[(sum % 62) as usize]));
        sum /= 62;
    }
    letters.iter().rev().collect()
}

/// In base64.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = char::from(BASE64.as_bytes()[bits >> (18 - 6 * place) & 63]);
            encoded.push(if place <= three.len() { letter } else { '=' });
        }
    }
    encoded
}
