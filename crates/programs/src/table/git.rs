//! Git and its hosts, and the installers of the system: words differ from one try to the next.

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::{Program, Reads, Writes};

programs! {
    "git" => Changes {
        grammar: Subcommand, folder: "-C --work-tree", valued: "-c --git-dir", facts: &[AnyWords],
        writes: Writes::Git, reads: Reads::Git, shows: "log show blame cat-file stash/show notes/show",
        uses: &[
            ("commit", Commits),
            ("push", Pushes),
            ("add fetch", Records),
            ("grep diff check-ignore merge-base show-ref config", Asks),
            ("blame branch cat-file describe for-each-ref log ls-files ls-remote ls-tree name-rev reflog remote", Looks),
            ("rev-list rev-parse shortlog show status symbolic-ref tag worktree", Looks),
            ("stash/list stash/show submodule/status bisect/log notes/show", Looks),
        ],
    }
    "gh" => Other {
        grammar: Subcommand, valued: "-R --repo", facts: &[AnyWords],
        shows: "api run/view run/watch pr/view pr/checks pr/diff issue/view release/view",
        uses: &[("pr/checks run/watch workflow/list workflow/view release/list release/view", Looks), ("run/view run/list pr/view pr/list pr/diff pr/status issue/view issue/list repo/view auth/status", Looks)],
    }
    "pacman" | "emerge" => Installs { facts: &[AnyWords] }
    "apt" | "apt-get" | "brew" => Other { uses: &[("install", Installs)], facts: &[AnyWords] }
}
