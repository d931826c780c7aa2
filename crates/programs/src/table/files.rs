//! Programs that look at files, filter text, and change files by their names.

use super::Fact::*;
use super::{Deed, Launches, Program, Reads, Writes};

const SED: &str = "-e -f --expression --file";
const GREP: &str = "-e -f --regexp --file -A -B -C -m -g --glob -t --type -T --include --exclude";

programs! {
    // What shows files.
    "cat" | "less" | "more" => Looks { reads: Reads::Operands, facts: &[Filters] }
    "bat" | "batcat" => Looks { reads: Reads::Operands, valued: "-l -r --line-range", facts: &[Filters] }
    "nl" => Looks { reads: Reads::Operands, valued: "-b -w -s", facts: &[Filters] }
    "head" | "tail" => Looks { reads: Reads::Operands, valued: "-n -c --lines --bytes", facts: &[Filters] }
    "tac" => Looks { reads: Reads::Operands }
    "md5sum" | "sha256sum" | "file" | "wc" => Looks { reads: Reads::Operands, facts: &[ShowsNoLine] }
    "stat" => Looks { reads: Reads::Operands, valued: "-c -f --format", facts: &[ShowsNoLine] }
    "xxd" => Looks { reads: Reads::Operands, valued: "-l -s -c -g" }
    "od" => Looks { reads: Reads::Operands, valued: "-A -t -N -j" }
    "hexdump" => Looks { reads: Reads::Operands, valued: "-n -s -e" }
    "strings" => Looks { reads: Reads::Operands, valued: "-n", facts: &[Filters] }
    "dirname" | "basename" | "uname" | "nproc" | "hostname" | "whoami" | "printenv" | "seq" => Looks {}
    "Get-Content" | "Get-ChildItem" | "Select-Object" | "Out-String" => Looks { facts: &[Filters] }
    "ls" | "tree" | "du" | "fd" | "readlink" | "realpath" | "lsof" | "ps" | "ss" => Looks {}
    "find" => Looks { launches: Launches::PerFile, writes: Writes::Unnamed("-delete") }

    // What takes text and lets a part of it through.
    "sort" => Looks {
        reads: Reads::Operands, writes: Writes::ValueOf("-o --output"), valued: "-k -t -o", facts: &[Filters],
    }
    "uniq" => Looks { reads: Reads::Operands, valued: "-f -s -w", facts: &[Filters] }
    "cut" | "column" | "tr" | "ts" | "fold" | "col" => Looks { facts: &[Filters] }
    "sed" | "gsed" => Looks { reads: Reads::AfterScript, writes: Writes::Sed, valued: SED, facts: &[Filters] }
    "awk" | "gawk" => Looks { reads: Reads::AfterScript, valued: "-f -v -F", facts: &[Filters] }
    "jq" => Looks { reads: Reads::AfterScript, valued: "-f --from-file" }
    "yq" => Looks { reads: Reads::AfterScript, writes: Writes::InPlace("-i --inplace"), valued: "-f" }

    // What answers a question by its exit status.
    "grep" | "egrep" | "fgrep" | "rg" => Asks { reads: Reads::AfterScript, valued: GREP, facts: &[Filters] }
    "ag" => Asks { reads: Reads::AfterScript, valued: GREP }
    "Select-String" => Asks { facts: &[Filters] }
    "zgrep" | "ack" | "pgrep" | "colordiff" => Asks {}
    "diff" | "cmp" => Asks { reads: Reads::Operands, valued: "-U -C" }
    "comm" => Looks { reads: Reads::Operands }

    // What changes files by their names.
    "tee" => Changes { writes: Writes::Operands, facts: &[Filters] }
    "sponge" | "shred" => Changes { writes: Writes::Operands }
    "rm" | "unlink" => Changes { writes: Writes::Removed, already: "No such file" }
    "rmdir" => Changes { already: "No such file" }
    "mkdir" => Changes { already: "File exists" }
    "touch" => Changes { writes: Writes::Operands, valued: "-d -r -t --date --reference" }
    "truncate" => Changes { writes: Writes::Operands, valued: "-s -r --size" }
    "mv" => Changes { writes: Writes::Moved, valued: "-t -S" }
    "cp" | "ln" | "install" | "rsync" => Changes { writes: Writes::Copied, valued: "-t -S -m -o -g -e" }
    "dd" => Changes { writes: Writes::Named("of=") }
    "patch" => Changes { writes: Writes::Patch, valued: "-i --input -d -p" }
    "apply_patch" | "applypatch" => Changes { writes: Writes::PatchText }
    "curl" => Looks { writes: Writes::ValueOf("-o --output"), shows: "*" }
    "wget" => Other { writes: Writes::ValueOf("-O --output-document") }
}
