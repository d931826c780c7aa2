//! Where somebody is or was: homes, temporary folders of one user, the query of an address, and who works on which
//! machine. Texts that leave the machine do not say it.

use std::sync::OnceLock;

use regex::Regex;

/// What stands before a path that begins here; a compiler's `-I` is written together with it.
macro_rules! before_path {
    () => {
        r"(://[\w.+-]*|%3A|^|[^\w.~-]|(?:^|\s)-[A-Za-z]|\.\.)"
    };
}

/// A name in a path. In one with spaces, only what a slash follows is known to belong to it.
macro_rules! name {
    () => {
        r#"(?:(?:\\\ |%20|[^\\/\s"'`:;,()<>%])+)(?:(?:\ [^\\/\s"'`:;,()<>%]+){1,2}([\\/]))?"#
    };
}

/// Patterns, and what stands there instead.
const PLACES: [(&str, &str); 9] = [
    // What follows the path of an address may be a signature, a code or a state.
    (r#"(?i)\b([a-z][a-z0-9+.-]*://)(?:[^\s/?#@"'`<>]*@)?([^\s?#"'`<>]*)(?:[?#][^\s"'`<>]*)?"#, "$1$2"),
    (r#"([^\s"'`<>?])\?[\w.%\[\]-]+=[^\s"'`<>]*"#, "$1"),
    // `carol@laptop:~/app$ `, `[carol@laptop app]$ `, `carol@laptop app % `, `laptop:app carol$ `
    (r"(?m)\b[A-Za-z_][\w.-]*@[\w.-]+((?:[:\ ][^%$\#>\n]{0,80})?[\])]?\ ?[%$\#>➜❯](?:\s|$))", "(withheld)$1"),
    (r"(?m)^(\s*)[A-Za-z][\w.-]*:\S+\ [\w.-]+(\$(?:\s|$))", "$1(withheld)$2"),
    // An address of a person. `git@` is everybody's.
    (r"(^|[^\w.@/:+-])(?:[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,})\b", "$1(withheld)"),
    // A home: a component that is called so, and the name behind it; the administrator's; another user's by its sign.
    (
        concat!(
            r"(?ix)",
            before_path!(),
            r#"(?:
                (?:[a-z](?::|%3A))?(?:/Volumes/[^/\n"'`]+)?(?:(?:[\\/]+|%2F|%5C)[^\\/\s"'`:;,()<>%]*)*?
                (?:[\\/]+|%2F|%5C)(?:home|users|documents\ and\ settings)(?:[\\/]+|%2F|%5C)(?:\.{1,2}(?:[\\/]+|%2F|%5C))*"#,
            name!(),
            r#"
                | (?:/private)?(?:/var)?/root\b
                | (?:[a-z]-)?-(?:[a-z0-9]+-)*(?:home|users|root)-[^/\s"'`]*
            )"#
        ),
        "$1~$2",
    ),
    (r"(^|[^\w.~/-])~[A-Za-z_][\w.-]*([\\/])", "$1~$2"),
    (r#"(^|[^\w.~/-])~(?:[\\/]+\.\.)+[\\/]+[^\\/\s"'`:;,()<>]+"#, "$1~"),
    // A temporary folder of one user, or of one program that is run by one.
    (
        concat!(
            before_path!(),
            r#"(?:(?:/private)?/var/folders/[^/\s"'`]+/[^/\s"'`]+(?:/[TCX0]\b)?|/run/user/\d+|(?:/private)?(?:/var)?/tmp/[^/\s"'`:;,()<>]+(/))"#
        ),
        "$1…$2",
    ),
];

/// The text with paths from the root of the repository, or from `~`, and without what says whose they are.
pub(crate) fn without_private_places(text: &str, root: &str, home: Option<&str>) -> String {
    static PATTERNS: OnceLock<Vec<(Regex, &str)>> = OnceLock::new();
    let compiled = || PLACES.iter().filter_map(|(pattern, shown)| Some((Regex::new(pattern).ok()?, *shown)));
    let patterns = PATTERNS.get_or_init(|| compiled().collect());
    let mut told = without_folder(text, root, REPOSITORY);
    if let Some(home) = home {
        told = without_folder(&told, home, "~");
        // Claude Code names folders after the path of the project, with dashes.
        told = without_folder(&told, &home.replace('/', "-"), "~");
    }
    for (pattern, shown) in patterns {
        told = pattern.replace_all(&told, *shown).into_owned();
    }
    told
}

/// Stands for the root, in sentences: a dot would end them.
const REPOSITORY: &str = "the repository";

/// Paths in the folder begin with `shown`; with nothing if that is where one is anyway.
fn without_folder(text: &str, folder: &str, shown: &str) -> String {
    let folder = folder.trim_end_matches('/');
    if folder.len() < 2 {
        return text.to_owned();
    }
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(folder) {
        let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let is_longer = behind.starts_with(is_of_name) || before.ends_with(is_of_name);
        told.push_str(before);
        rest = behind;
        match behind.strip_prefix('/') {
            _ if is_longer => told.push_str(folder),
            Some(inside) if shown == REPOSITORY && !inside.starts_with("..") => {
                let ends = |letter: char| letter.is_whitespace() || "\"'`()<>,;:".contains(letter);
                let name = inside.split(ends).next().unwrap_or_default();
                told.push_str(if name.trim_end_matches('.').is_empty() { shown } else { "" });
                rest = inside;
            }
            _ => told.push_str(shown),
        }
    }
    told + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        let broken = PLACES.iter().filter_map(|(pattern, _)| Regex::new(pattern).err());
        assert_eq!(broken.collect::<Vec<_>>(), []);
    }

    fn assert_told(all: &[(&str, &str)]) {
        for (text, shown) in all {
            let told = without_private_places(text, "/home/kim/work/app", Some("/data/kim"));
            assert_eq!(told, *shown, "{text}");
        }
    }

    #[test]
    fn a_home_is_not_named() {
        assert_told(&[
            ("see /home/kim/work/app/src/a.rs", "see src/a.rs"),
            ("in /home/kim/work/app. Then", "in the repository. Then"),
            (
                "in '/home/kim/work/app/', see /home/kim/work/app/.",
                "in 'the repository', see the repository.",
            ),
            ("/home/kim/work/app/.env /home/kim/work/app/..", ".env the repository/.."),
            ("cat /home/kim/.ssh/config", "cat ~/.ssh/config"),
            ("/Users/kim/notes.md and \"/root/x\"", "~/notes.md and \"~/x\""),
            ("file:///home/kim/a C:\\Users\\kim\\b", "file://~/a ~\\b"),
            ("~/.claude/projects/-home-kim-work-app/a.jsonl", "~/.claude/projects/~/a.jsonl"),
            ("~/.claude/projects/-mnt-c-Users-kim-app/a.jsonl", "~/.claude/projects/~/a.jsonl"),
            ("/data/kim/a /data/kim, /data/kimono", "~/a ~, /data/kimono"),
            ("/mnt/c/Users/kim/a /c/Users/kim/a", "~/a ~/a"),
            (r"\\wsl$\Ubuntu\home\kim\a", r"~\a"),
            ("/Volumes/D/Users/kim/a '/Volumes/My Disk/Users/kim/a'", "~/a '~/a'"),
            ("/export/home/kim/a /usr/home/kim", "~/a ~"),
            ("/HOME/kim/a c:/users/kim/a", "~/a ~/a"),
            ("path=%2Fhome%2Fkim%2Fa C%3A%5CUsers%5Ckim%5Ca", "path=~%2Fa ~%5Ca"),
            ("\"/Users/Kim Lee/a b\" /Users/Kim\\ Lee/a", "\"~/a b\" ~/a"),
            ("cd ~kim/a && ls ~lee/ ~/../lee/b", "cd ~/a && ls ~/ ~/b"),
            ("file%3A%2F%2F%2FUsers%2Fkim%2Fa /home/./lee/a", "file%3A~%2Fa ~/a"),
            (r"C:\Documents and Settings\kim\a", r"~\a"),
            ("gcc -I/home/kim/include ../../home/kim/a", "gcc -I~/include ..~/a"),
            (
                "/rooted src/home/page.html app/users/views.py",
                "/rooted src/home/page.html app/users/views.py",
            ),
            ("/var/folders/zz/zyxvpx_n0000gn/T/a.log", "…/a.log"),
            ("/tmp/pytest-of-kim/a /run/user/1000/b /tmp/out.log", "…/a …/b /tmp/out.log"),
        ]);
    }

    #[test]
    fn an_address_has_no_query_and_nobody_in_it() {
        assert_told(&[
            ("open https://a.dev/cb?code=abc&state=xyz#top now", "open https://a.dev/cb now"),
            ("(https://kim@a.dev/x#access_token=abc)", "(https://a.dev/x"),
            (
                "GET /cb?code=abc HTTP/1.1, localhost:80/cb?oauth_query=a%3Db",
                "GET /cb HTTP/1.1, localhost:80/cb",
            ),
            ("Why? Is a ? b : c right?", "Why? Is a ? b : c right?"),
            ("see README.md#use", "see README.md#use"),
        ]);
    }

    #[test]
    fn nobody_is_named_by_a_prompt_of_a_shell() {
        assert_told(&[
            ("carol@Carols-MacBook proj % npm test", "(withheld) proj % npm test"),
            ("a\ncarol@box:~/proj$ ls", "a\n(withheld):~/proj$ ls"),
            ("[carol@box proj]$ ls", "[(withheld) proj]$ ls"),
            ("root@3f2a:/# ls", "(withheld):/# ls"),
            ("Carols-MacBook:proj carol$ ls", "(withheld)$ ls"),
            ("ask carol@acme.dev", "ask (withheld)"),
            ("react@18.2.0, actions/checkout@v4, vue@next", "react@18.2.0, actions/checkout@v4, vue@next"),
        ]);
    }
}
