//! Programs that only start what follows them: bounds of time and rights, environments, secrets, versions, containers.

use super::Fact::StartsInContainer;
use super::Grammar::*;
use super::Launches::{self, Rest};
use super::{Deed, LAUNCH, Launch, Program, after};

const DOCKER: &str = "-u --user -w --workdir -e --env --env-file -v --volume -p --publish --name --network --net \
    --entrypoint --platform --mount -m --memory --cpus -h --hostname -l --label --index --detach-keys --add-host --gpus \
    --shm-size --ulimit --cap-add --security-opt --device --tmpfs --pull --ipc --pid";

/// In a container: the word before the command names it.
const fn inside(words: &'static str) -> Launch {
    Launch { operands: 1, unless: "-d --detach", ..after(words, DOCKER) }
}

programs! {
    "nohup" | "unbuffer" | "builtin" => Other { launches: Rest(&[LAUNCH]) }
    "time" => Other { launches: Rest(&[LAUNCH]), valued: "-f --format -o --output" }
    "timeout" | "gtimeout" => Other {
        launches: Rest(&[Launch { operands: 1, ..LAUNCH }]), valued: "-k --kill-after -s --signal",
    }
    "nice" => Other { launches: Rest(&[LAUNCH]), valued: "-n --adjustment" }
    "ionice" => Other { launches: Rest(&[LAUNCH]), valued: "-c -n --class --classdata" }
    "chrt" | "taskset" => Other { launches: Rest(&[Launch { operands: 1, ..LAUNCH }]) }
    "sudo" => Other {
        launches: Rest(&[LAUNCH]), valued: "-u --user -g --group -h --host -C -D --chdir -p -r -t",
    }
    "doas" => Other { launches: Rest(&[LAUNCH]), valued: "-u -C" }
    "env" => Looks { launches: Rest(&[LAUNCH]), valued: "-u --unset", folder: "-C --chdir" }
    "exec" => Other { launches: Rest(&[LAUNCH]), valued: "-a" }
    "stdbuf" => Other { launches: Rest(&[LAUNCH]), valued: "-i -o -e --input --output --error" }
    "setsid" => Other { launches: Rest(&[Launch { waits_with: "-w --wait", ..LAUNCH }]) }
    "flock" => Other { launches: Rest(&[Launch { operands: 1, ..LAUNCH }]), valued: "-w --timeout -E" }
    "xvfb-run" => Other { launches: Rest(&[LAUNCH]), valued: "-n -s -f -e -w" }
    "xargs" => Other {
        launches: Launches::WithArguments, valued: "-n -P -I -L -d -E -s -a --max-args --max-procs --delimiter",
    }
    "dotenv" => Other { launches: Rest(&[LAUNCH]), valued: "-f -e" }
    "direnv" => Other { launches: Rest(&[Launch { operands: 1, ..after("exec", "") }]) }
    "nix" | "nix-shell" => Other { launches: Launches::After("-c --command"), uses: &[("fmt", Deed::Formats), ("build", Deed::Builds), ("check", Deed::Tests)] }
    "docker" => Other {
        grammar: Subcommand,
        valued: "--context -H -f --file -p --project-name --profile --project-directory --env-file",
        uses: &[("ps images logs inspect info version", Deed::Looks)], shows: "logs compose/logs", facts: &[StartsInContainer],
        launches: Rest(&[inside("compose/exec"), inside("compose/run"), inside("exec"), inside("run")]),
    }
    "kubectl" | "oc" => Other {
        grammar: Subcommand, launches: Launches::After("--"), uses: &[("get describe logs config explain top version", Deed::Looks)],
        shows: "logs", facts: &[StartsInContainer],
    }
    // Our own: what it refuses or finds says nothing about the code.
    "checkstone" => Looks { launches: Launches::After("--") }
    "podman" => Other { launches: Rest(&[inside("exec"), inside("run")]), facts: &[StartsInContainer] }
    "docker-compose" => Other {
        launches: Rest(&[inside("exec"), inside("run")]), facts: &[StartsInContainer],
        valued: "-f --file -p --project-name --profile --project-directory --env-file",
    }
    "bundle" => Other { launches: Rest(&[after("exec", "")]), uses: &[("install update", Deed::Installs)] }
    "coverage" => Other {
        launches: Rest(&[Launch { only_with: "-m", ..after("run", "") }]),
        valued: "--source --omit --include --rcfile --data-file --context",
    }
}
