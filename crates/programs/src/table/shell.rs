//! What a shell itself can do, the shells, and interpreters of other languages.

use super::Fact::*;
use super::{
    Deed::{self, *},
    LAUNCH, Launch, Launches, Program, Writes,
};

programs! {
    "echo" | "printf" | "true" | ":" | "Write-Host" | "Write-Output" => Prints { facts: &[NeverFails] }
    "pwd" | "date" => Looks { facts: &[NeverFails] }
    "set" | "export" | "unset" | "sleep" | "trap" | "shopt" | "alias" | "local" | "declare" | "clear" | "break"
        | "continue" => Steers { facts: &[NeverFails] }
    "exit" | "return" | "shift" | "read" | "wait" => Steers {}
    "cd" | "pushd" | "popd" | "Set-Location" => Steers {}
    "test" | "[" | "which" | "type" | "false" => Asks { facts: &[AnswersSilently] }
    "man" | "info" | "tldr" | "help" | "whatis" | "apropos" | "whereis" | "history" => Looks {}
    "command" => Asks { facts: &[AnswersSilently], launches: Launches::Rest(&[Launch { unless: "-v -V", ..LAUNCH }]) }
    "kill" | "pkill" | "killall" => Ends {}

    "bash" | "sh" | "zsh" | "dash" | "ksh" | "ash" => Runs { launches: Launches::Script, uses: &[("-n", Lints)], facts: &[ChecksOneFile] }
    "powershell" | "pwsh" => Runs { launches: Launches::CommandLine("-command -c /c") }
    "cmd" => Runs { launches: Launches::CommandLine("/c //c /k") }
    "eval" => Runs { launches: Launches::Words }

    "perl" => Runs { writes: Writes::OneLiner, facts: &[Filters, Interprets, ChecksOneFile] }
    "ruby" => Runs { writes: Writes::OneLiner, facts: &[Interprets, ChecksOneFile], prints: &[outputs::Runner::Minitest] }
    "php" => Runs { facts: &[Interprets], uses: &[("artisan/test", Tests), ("-l", Lints)] }
    "lua" => Runs { facts: &[Interprets] }
}
