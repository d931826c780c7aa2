//! Git and its hosts, and the installers of the system: words differ from one try to the next.

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::{Program, Reads, Writes, on};

programs! {
    "git" => Changes {
        grammar: Subcommand, folder: "-C --work-tree", valued: "-c --git-dir", facts: &[AnyWords],
        writes: Writes::Git, reads: Reads::Git,
        uses: &[
            on("commit", Commits),
            on("push", Pushes),
            on("add fetch", Records),
            on("grep diff check-ignore merge-base show-ref config", Asks),
            on("blame branch cat-file describe for-each-ref log ls-files ls-remote ls-tree name-rev reflog remote", Looks),
            on("rev-list rev-parse shortlog show status symbolic-ref tag worktree", Looks),
            on("stash/list stash/show submodule/status bisect/log notes/show", Looks),
        ],
    }
    "gh" => Other {
        grammar: Subcommand, valued: "-R --repo", facts: &[AnyWords],
        uses: &[on("run/view run/list pr/view pr/list pr/diff pr/status issue/view issue/list repo/view auth/status", Looks)],
    }
    "apt" | "apt-get" | "brew" => Other { uses: &[on("install", Installs)], facts: &[AnyWords] }
}
