//! The scratch folder of the demo: a repository with a remote, and a home, a configuration and a state directory of its
//! own, so that nothing of the person's is read or written.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use files::ChildError;

use crate::environment;
use crate::error::CommandError;
use crate::interruption::Interruption;

use super::differs;

/// Nothing in the demo takes longer, unless it hangs.
const LIMIT: Duration = Duration::from_secs(30);

const POLICY: &str = r#"# Made by `checkstone demo`: a change of the program asks for its tests.
[[category]]
name = "program"
include = ["*.sh"]
require = ["tests"]

[action.tests]
order = 10
say = "Run `sh test.sh`"
evidence = ["sh test.sh", "make test"]
"#;

/// The person's own settings: what saves and pushes is switched on here, and nowhere else.
const SETTINGS: &str = "[autosave]\nmode = \"autonomous\"\nwait = \"60s\"\n";

const PROGRAM: &str = "# Prints the price of $1 pieces, in cents.\necho $(( $1 * 250 ))\n";
const TESTS: &str = "# From the fourth piece on, every piece is 10 % cheaper.\n\
    test \"$(sh price.sh 1)\" = 250 && test \"$(sh price.sh 4)\" = 900 && echo '2 tests passed'\n";
const GUIDE: &str = "# Build guide\n\n- [x] Prices\n- [ ] Discounts in the invoice\n- [ ] Taxes\n";

pub(super) struct DemoFolder {
    folder: PathBuf,
    interruption: Interruption,
}

/// What a program wrote, once it ended well or not.
pub(super) struct ProgramOutput {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl DemoFolder {
    pub(super) fn make(folder: PathBuf, interruption: Interruption) -> Result<Self, CommandError> {
        let scratch = Self { folder, interruption };
        for (file, text) in [
            ("repository/checkstone.toml", POLICY),
            ("repository/price.sh", PROGRAM),
            ("repository/test.sh", TESTS),
            ("repository/buildguide.md", GUIDE),
            ("config/checkstone/config.toml", SETTINGS),
            (
                "gitconfig",
                "[user]\n\tname = Demo\n\temail = demo@example.invalid\n[init]\n\tdefaultBranch = main\n",
            ),
        ] {
            scratch.write(file, text)?;
        }
        fs_err::create_dir_all(scratch.folder.join("home"))?;
        scratch.git(&["init", "--quiet"])?;
        scratch.git(&["add", "."])?;
        scratch.git(&["commit", "--quiet", "-m", "Prices"])?;
        let remote = scratch.folder.join("remote.git");
        scratch.git(&["init", "--quiet", "--bare", &remote.to_string_lossy()])?;
        scratch.git(&["remote", "add", "origin", &remote.to_string_lossy()])?;
        scratch.git(&["push", "--quiet", "--set-upstream", "origin", "main"])?;
        Ok(scratch)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.folder.join("repository")
    }

    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), CommandError> {
        let path = self.folder.join(file);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        fs_err::write(path, text).map_err(CommandError::from)
    }

    pub(super) fn read(&self, file: &str) -> Result<String, CommandError> {
        fs_err::read_to_string(self.folder.join(file)).map_err(CommandError::from)
    }

    /// This very program, as a person or a client would run it.
    pub(super) fn checkstone(&self, arguments: &[&str], input: &str) -> Result<ProgramOutput, CommandError> {
        self.run(&mut self.own_command(arguments)?, input)
    }

    pub(super) fn own_command(&self, arguments: &[&str]) -> Result<Command, CommandError> {
        let program = std::env::current_exe()?;
        let mut command = self.command(program.as_os_str());
        command.args(arguments);
        Ok(command)
    }

    /// What git says; it has to end well.
    pub(super) fn git(&self, arguments: &[&str]) -> Result<String, CommandError> {
        let git = environment::program("git")
            .ok_or_else(|| CommandError::environment("the demo needs `git`, and there is none on `PATH`"))?;
        let said = self.run(self.command(git.as_os_str()).args(arguments), "")?;
        match said.code {
            Some(0) => Ok(said.stdout.trim_end().to_owned()),
            _ => Err(differs(&format!("`git {}` failed", arguments.join(" ")), said.stderr.trim())),
        }
    }

    /// What the agent types into its shell.
    pub(super) fn shell(&self, text: &str) -> Result<ProgramOutput, CommandError> {
        self.run(self.command(OsStr::new("sh")).arg("-c").arg(text), "")
    }

    fn command(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.repository())
            .env(environment::HOME, self.folder.join("home"))
            .env(environment::XDG_CONFIG_HOME, self.folder.join("config"))
            .env(environment::STATE_DIRECTORY, self.folder.join("state"))
            .env("GIT_CONFIG_GLOBAL", self.folder.join("gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // What is quoted has no colours of its own.
            .env_remove("CLICOLOR_FORCE");
        for variable in [environment::SWITCH, environment::SLUG].into_iter().chain(environment::of_callers())
        {
            command.env_remove(variable);
        }
        command
    }

    fn run(&self, command: &mut Command, input: &str) -> Result<ProgramOutput, CommandError> {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        match self.interruption.run(command, input.as_bytes(), LIMIT) {
            Ok(ended) => Ok(ProgramOutput {
                code: ended.status.code(),
                stdout: text(ended.stdout),
                stderr: text(ended.stderr),
            }),
            Err(ChildError::Start(error)) => {
                let program = command.get_program().to_string_lossy().into_owned();
                Err(CommandError::environment(format!(
                    "the demo needs `{program}`, which cannot be started: {error}"
                )))
            }
            Err(ChildError::Interrupted) => Err(CommandError::interrupted("interrupted")
                .hint(format!("what was created so far is in `{}`", self.folder.display()))),
            Err(_) => Err(differs("a command did not end", &format!("{command:?}"))),
        }
    }
}
