//! The table of hosts: one row each, from which every crate makes what it has of each of them.

/// Hands the rows to the macro `$with`: a host's name in the code, and that of its folders, which is also what people type
/// and what stands in JSON. This is the only place that lists the hosts; see docs/adding-a-host.md.
#[macro_export]
macro_rules! each_host {
    ($with:ident) => {
        $with! {
            Claude claude,
            Gemini gemini,
            Codex codex,
            Qwen qwen,
            Opencode opencode,
            Copilot copilot,
            Droid droid,
            Cursor cursor,
            Vscode vscode,
        }
    };
}

macro_rules! agent {
    ($($host:ident $name:ident,)*) => {
        /// A client whose transcripts are understood.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Agent {
            $($host,)*
        }

        impl Agent {
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$host),*];

            /// The name used in commands and in JSON.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$host => stringify!($name),)*
                }
            }
        }
    };
}

each_host!(agent);

/// The first of the table is the one that is assumed where nothing tells.
impl Default for Agent {
    fn default() -> Self {
        let [first, ..] = Self::ALL;
        first
    }
}

impl Agent {
    /// The client of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }
}

/// A name, and no list of them: a schema does not change with every client that is added.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Agent {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Agent".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A client whose transcripts are understood, by the name that `--agent` takes.",
            "type": "string",
            "pattern": "^[a-z]+$",
        })
    }
}
