//! The table of languages: how each writes comments and strings, and what its line breaks mean. A language is one row.

/// How a language is written, as far as telling code from comments needs it.
#[derive(Debug)]
pub(crate) struct Language {
    /// Endings of file names, without the dot.
    pub(crate) endings: &'static [&'static str],
    /// Whole file names, for files without an ending.
    pub(crate) names: &'static [&'static str],
    pub(crate) line_comments: &'static [&'static str],
    /// Only at the beginning of a line or behind white space: elsewhere the same sign means something else.
    pub(crate) comments_stand_apart: bool,
    pub(crate) block_comments: &'static [(&'static str, &'static str)],
    pub(crate) block_comments_nest: bool,
    /// Longer opening signs first.
    pub(crate) quotes: &'static [Quote],
    pub(crate) layout: Layout,
    /// A string that is a statement of its own is documentation.
    pub(crate) has_docstrings: bool,
    /// `/` may begin a regular expression.
    pub(crate) has_regular_expressions: bool,
    /// White space tells words apart that mean something else when they touch.
    pub(crate) spaces_matter: bool,
    /// Beginnings of comments that a compiler or a shell obeys.
    pub(crate) directives: &'static [&'static str],
    /// What follows these cannot be lexed here: heredocs, raw strings with delimiters.
    pub(crate) doubtful: &'static [&'static str],
}

impl Language {
    /// What comments, strings and all else that is no plain word or sign begin with, one bit for each ASCII character.
    pub(crate) fn beginnings(&self) -> u128 {
        let blocks = self.block_comments.iter().map(|(open, _)| *open);
        let quotes = self.quotes.iter().map(|quote| quote.open);
        let others = [self.line_comments, self.directives, self.doubtful].into_iter().flatten().copied();
        let firsts = blocks.chain(quotes).chain(others).filter_map(|sign| sign.bytes().next());
        firsts.fold(0, |set, first| set | 1_u128.checked_shl(u32::from(first)).unwrap_or(0))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Quote {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
    pub(crate) has_escapes: bool,
    pub(crate) spans_lines: bool,
}

/// What white space means outside of strings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layout {
    /// Nothing.
    Free,
    /// Line breaks end statements.
    Lines,
    /// Line breaks end statements, and the depth of a line says what it belongs to.
    Indented,
}

const fn within_line(sign: &'static str) -> Quote {
    Quote { open: sign, close: sign, has_escapes: true, spans_lines: false }
}

const fn over_lines(sign: &'static str) -> Quote {
    Quote { open: sign, close: sign, has_escapes: true, spans_lines: true }
}

const fn raw(open: &'static str, close: &'static str) -> Quote {
    Quote { open, close, has_escapes: false, spans_lines: true }
}

const DOUBLE: Quote = within_line("\"");
const SINGLE: Quote = within_line("'");
const C_BLOCK: &[(&str, &str)] = &[("/*", "*/")];

/// A language like C; the rows say how theirs differs.
const C_LIKE: Language = Language {
    endings: &[],
    names: &[],
    line_comments: &["//"],
    comments_stand_apart: false,
    block_comments: C_BLOCK,
    block_comments_nest: false,
    quotes: &[DOUBLE, SINGLE],
    layout: Layout::Free,
    has_docstrings: false,
    has_regular_expressions: false,
    spaces_matter: false,
    directives: &[],
    doubtful: &[],
};

/// A language with `#` for comments and nothing else.
const HASH: Language = Language {
    line_comments: &["#"],
    block_comments: &[],
    layout: Layout::Lines,
    directives: &["#!"],
    ..C_LIKE
};

pub(crate) const LANGUAGES: &[Language] = &[
    Language {
        endings: &["rs"],
        block_comments_nest: true,
        // A quote alone may begin a lifetime; what it could hide in a character is listed.
        quotes: &[
            raw("r##\"", "\"##"),
            raw("r#\"", "\"#"),
            raw("r\"", "\""),
            raw("'\"", "'"),
            raw("'\\'", "'"),
            over_lines("\""),
        ],
        doubtful: &["r###"],
        ..C_LIKE
    },
    Language {
        endings: &[
            "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "ino", "m", "mm", "cu", "glsl", "vert", "frag",
            "wgsl",
        ],
        layout: Layout::Lines,
        doubtful: &["R\""],
        ..C_LIKE
    },
    Language { endings: &["java"], quotes: &[over_lines("\"\"\""), DOUBLE, SINGLE], ..C_LIKE },
    Language {
        endings: &["cs"],
        layout: Layout::Lines,
        quotes: &[
            raw("\"\"\"", "\"\"\""),
            raw("@\"", "\""),
            raw("@$\"", "\""),
            raw("$@\"", "\""),
            DOUBLE,
            SINGLE,
        ],
        ..C_LIKE
    },
    Language {
        endings: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "json5", "jsonc"],
        quotes: &[DOUBLE, SINGLE, over_lines("`")],
        layout: Layout::Lines,
        has_regular_expressions: true,
        directives: &["// @ts-"],
        ..C_LIKE
    },
    Language {
        endings: &["go"],
        quotes: &[raw("`", "`"), DOUBLE, SINGLE],
        layout: Layout::Lines,
        directives: &["//go:", "// +build"],
        ..C_LIKE
    },
    Language {
        endings: &["kt", "kts", "groovy", "gradle"],
        quotes: &[over_lines("\"\"\""), over_lines("'''"), DOUBLE, SINGLE],
        layout: Layout::Lines,
        block_comments_nest: true,
        ..C_LIKE
    },
    Language {
        endings: &["scala", "sc"],
        quotes: &[raw("\"\"\"", "\"\"\""), raw("'\"", "'"), DOUBLE],
        layout: Layout::Lines,
        block_comments_nest: true,
        ..C_LIKE
    },
    Language {
        endings: &["swift"],
        quotes: &[over_lines("\"\"\""), DOUBLE],
        layout: Layout::Lines,
        block_comments_nest: true,
        doubtful: &["#\"", "#/"],
        ..C_LIKE
    },
    Language {
        endings: &["dart"],
        quotes: &[over_lines("\"\"\""), over_lines("'''"), DOUBLE, SINGLE],
        block_comments_nest: true,
        ..C_LIKE
    },
    Language {
        endings: &["php"],
        line_comments: &["//", "#"],
        quotes: &[over_lines("\""), over_lines("'")],
        doubtful: &["<<<", "#["],
        ..C_LIKE
    },
    Language { endings: &["proto", "sol", "thrift"], ..C_LIKE },
    Language { endings: &["zig"], layout: Layout::Lines, block_comments: &[], doubtful: &["\\\\"], ..C_LIKE },
    Language { endings: &["d", "v", "sv"], layout: Layout::Lines, doubtful: &["/+", "`"], ..C_LIKE },
    Language { endings: &["css"], line_comments: &[], spaces_matter: true, ..C_LIKE },
    Language { endings: &["scss", "less"], comments_stand_apart: true, spaces_matter: true, ..C_LIKE },
    Language {
        endings: &["py", "pyi", "pyw"],
        directives: &["#!", "# type:"],
        quotes: &[over_lines("\"\"\""), over_lines("'''"), DOUBLE, SINGLE],
        layout: Layout::Indented,
        has_docstrings: true,
        ..HASH
    },
    Language {
        endings: &["rb", "rake", "gemspec", "ru"],
        spaces_matter: true,
        names: &["Gemfile", "Rakefile", "Podfile", "Brewfile"],
        block_comments: &[("\n=begin", "\n=end")],
        quotes: &[over_lines("\""), over_lines("'"), over_lines("`")],
        has_regular_expressions: true,
        doubtful: &["<<~", "<<-", "<<\"", "<<'", "%w", "%q", "%Q", "%r", "%i", "__END__"],
        ..HASH
    },
    Language {
        endings: &["sh", "bash", "zsh", "ksh", "bats", "fish"],
        spaces_matter: true,
        comments_stand_apart: true,
        quotes: &[over_lines("\""), raw("'", "'")],
        doubtful: &["<<", "$'"],
        ..HASH
    },
    Language {
        endings: &["pl", "pm"],
        comments_stand_apart: true,
        quotes: &[over_lines("\""), over_lines("'")],
        has_regular_expressions: true,
        doubtful: &["<<", "=~", "\n=", "qw", "q{", "qq"],
        ..HASH
    },
    Language { endings: &["r"], quotes: &[over_lines("\""), over_lines("'")], ..HASH },
    Language {
        endings: &["jl"],
        block_comments: &[("#=", "=#")],
        block_comments_nest: true,
        quotes: &[over_lines("\"\"\""), over_lines("\"")],
        doubtful: &["r\""],
        ..HASH
    },
    Language {
        endings: &["ex", "exs"],
        quotes: &[over_lines("\"\"\""), over_lines("'''"), over_lines("\""), SINGLE],
        doubtful: &["~", "?\""],
        ..HASH
    },
    Language {
        endings: &["nim"],
        quotes: &[raw("\"\"\"", "\"\"\""), DOUBLE],
        block_comments: &[("#[", "]#")],
        block_comments_nest: true,
        layout: Layout::Indented,
        ..HASH
    },
    Language {
        endings: &["nix"],
        block_comments: C_BLOCK,
        quotes: &[raw("''", "''"), over_lines("\"")],
        layout: Layout::Free,
        ..HASH
    },
    Language {
        endings: &["tf", "tfvars", "hcl"],
        line_comments: &["#", "//"],
        block_comments: C_BLOCK,
        quotes: &[DOUBLE],
        doubtful: &["<<"],
        ..HASH
    },
    Language { endings: &["graphql", "gql"], quotes: &[over_lines("\"\"\""), DOUBLE], ..HASH },
    Language {
        endings: &["ps1", "psm1", "psd1"],
        comments_stand_apart: true,
        block_comments: &[("<#", "#>")],
        quotes: &[raw("\"", "\""), raw("'", "'")],
        doubtful: &["@\"", "@'", "`"],
        ..HASH
    },
    Language {
        endings: &["toml"],
        quotes: &[over_lines("\"\"\""), raw("'''", "'''"), DOUBLE, raw("'", "'")],
        ..HASH
    },
    Language {
        endings: &["yml", "yaml"],
        spaces_matter: true,
        comments_stand_apart: true,
        quotes: &[over_lines("\""), raw("'", "'")],
        layout: Layout::Indented,
        doubtful: &["|", ">"],
        ..HASH
    },
    Language {
        endings: &["mk"],
        names: &["Makefile", "GNUmakefile", "makefile"],
        layout: Layout::Indented,
        quotes: &[],
        comments_stand_apart: true,
        doubtful: &["\\\n"],
        ..HASH
    },
    Language {
        endings: &["dockerfile", "cmake"],
        names: &["Dockerfile", "Containerfile", "CMakeLists.txt", "justfile", "Justfile"],
        comments_stand_apart: true,
        quotes: &[DOUBLE, SINGLE],
        doubtful: &["<<", "[["],
        ..HASH
    },
    Language {
        endings: &["lua"],
        line_comments: &["--"],
        block_comments: &[("--[[", "]]")],
        quotes: &[raw("[[", "]]"), DOUBLE, SINGLE],
        doubtful: &["[="],
        ..HASH
    },
    Language {
        endings: &["sql"],
        line_comments: &["--"],
        block_comments: C_BLOCK,
        quotes: &[raw("'", "'"), raw("\"", "\"")],
        layout: Layout::Free,
        doubtful: &["$$"],
        ..HASH
    },
    Language {
        endings: &["hs", "elm", "purs"],
        line_comments: &["--"],
        block_comments: &[("{-", "-}")],
        block_comments_nest: true,
        quotes: &[raw("'\"", "'"), raw("\"\"\"", "\"\"\""), DOUBLE],
        layout: Layout::Indented,
        doubtful: &["-->", "|--"],
        ..HASH
    },
    Language {
        endings: &["ml", "mli"],
        line_comments: &[],
        block_comments: &[("(*", "*)")],
        block_comments_nest: true,
        quotes: &[raw("'\"", "'"), over_lines("\"")],
        layout: Layout::Free,
        doubtful: &["{|"],
        ..HASH
    },
    Language {
        endings: &["fs", "fsi", "fsx"],
        line_comments: &["//"],
        block_comments: &[("(*", "*)")],
        block_comments_nest: true,
        quotes: &[raw("\"\"\"", "\"\"\""), raw("'\"", "'"), over_lines("\"")],
        layout: Layout::Indented,
        doubtful: &["@\"", "(*)"],
        ..HASH
    },
    Language {
        endings: &["clj", "cljs", "cljc", "edn", "lisp", "el", "scm", "rkt"],
        line_comments: &[";"],
        quotes: &[over_lines("\"")],
        layout: Layout::Free,
        doubtful: &["\\\"", "\\;", "#|"],
        ..HASH
    },
    Language {
        endings: &["erl", "hrl"],
        line_comments: &["%"],
        quotes: &[over_lines("\""), over_lines("'")],
        layout: Layout::Free,
        doubtful: &["$\"", "$%", "$'"],
        ..HASH
    },
    Language {
        endings: &["html", "htm", "xml", "svg", "vue", "svelte", "astro", "xaml", "csproj", "xhtml"],
        line_comments: &[],
        block_comments: &[("<!--", "-->")],
        quotes: &[],
        ..HASH
    },
    Language { endings: &["json"], line_comments: &[], quotes: &[DOUBLE], layout: Layout::Free, ..HASH },
    Language {
        endings: &["ini", "cfg", "conf", "properties"],
        line_comments: &["#", ";"],
        comments_stand_apart: true,
        quotes: &[],
        ..HASH
    },
];

/// The language of the file at `path`, by its name.
pub(crate) fn language_of(path: &str) -> Option<&'static Language> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_ending = |known: &str| known.eq_ignore_ascii_case(ending);
    LANGUAGES.iter().find(|language| {
        language.names.contains(&name) || language.endings.iter().any(|known| is_ending(known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_one_language() {
        for (place, language) in LANGUAGES.iter().enumerate() {
            for known in language.endings {
                let others = LANGUAGES.iter().enumerate().filter(|(other, _)| *other != place);
                let again = others.flat_map(|(_, other)| other.endings).find(|other| *other == known);
                assert_eq!(again, None);
            }
        }
        assert!(LANGUAGES.len() > 30);
    }

    /// A sign that is looked for by its first character must have one that is.
    #[test]
    fn every_sign_begins_with_an_ascii_character() {
        for language in LANGUAGES {
            let quotes = language.quotes.iter().map(|quote| quote.open);
            let blocks = language.block_comments.iter().map(|(open, _)| *open);
            let others = [language.line_comments, language.directives, language.doubtful];
            for sign in quotes.chain(blocks).chain(others.into_iter().flatten().copied()) {
                assert!(sign.starts_with(|first: char| first.is_ascii()), "{sign:?}");
            }
        }
    }
}
