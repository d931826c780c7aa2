//! The real clients, in pinned versions: installed once from npm into `target/clients`, each in a folder of its own
//! with its program at `bin/<name>`, and the tests that drive them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use scripted_model::{ClientProgram, form};
use transcript::Agent;

use crate::needs;
use crate::npm;
use crate::packages;
use crate::process;
use crate::root;
use crate::steps::Done;

/// Which of the two versions that are tested of each client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    Current,
    /// Still supported.
    Previous,
}

impl Generation {
    fn of<T: Copy>(self, [current, previous]: [T; 2]) -> T {
        match self {
            Self::Current => current,
            Self::Previous => previous,
        }
    }

    pub(crate) fn of_flag(previous: bool) -> Self {
        if previous { Self::Previous } else { Self::Current }
    }

    pub(crate) fn version(self, host: Agent) -> &'static str {
        self.of(form(host).versions)
    }
}

/// How much of the tests.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Extent {
    /// The whole way from `init` to `uninstall` in every client, and every other fact in one of them.
    Sample,
    /// Every tool of the MCP server in every client.
    McpTable,
    Everything,
}

impl Extent {
    /// As the test binary is told.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Sample => &["sample::", "network::"],
            Self::McpTable => &["mcp_table::"],
            Self::Everything => &["--skip", "sample::with_one_client::"],
        }
    }
}

/// Where the programs are.
pub(crate) struct Programs(Vec<(Agent, PathBuf)>);

impl Programs {
    pub(crate) fn hosts(&self) -> impl Iterator<Item = Agent> {
        self.0.iter().map(|(host, _)| *host)
    }

    pub(crate) fn of(&self, host: Agent) -> Result<&Path, String> {
        let found = self.0.iter().find(|(known, _)| *known == host);
        found.map(|(_, program)| program.as_path()).ok_or_else(|| format!("{} is not installed", host.name()))
    }
}

/// The end-to-end tests of these clients, in these versions.
pub(crate) fn test(generation: Generation, extent: Extent, hosts: &[Agent]) -> Result<Done, String> {
    let Some(machine) = machine() else {
        return Ok(Done::Skipped("the clients have no packages for this machine".to_owned()));
    };
    let programs = match install(generation, hosts, machine) {
        Ok(programs) => programs,
        Err(_) if !needs::is_there("npm") && !needs::in_ci() => {
            return Ok(Done::Skipped("npm, which the clients come from, is missing".to_owned()));
        }
        Err(why) => return Err(why),
    };
    process::run(process::test_target("clients").arg("--no-run"))?;
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    packages::make(&process::built_beside_us("checkstone")?, place.path())?;
    let mut command = alone_on_loopback();
    command.env("CHECKSTONE_TEST_PACKAGES", place.path());
    let test = process::test_target("clients");
    command.arg(test.get_program()).args(test.get_args()).arg("--offline").current_dir(root());
    command.env("CHECKSTONE_TEST_MCP_TABLE", place.path());
    command.arg("--").args(extent.words());
    for (host, program) in &programs.0 {
        command.env(format!("CHECKSTONE_TEST_{}", host.name().to_uppercase()), program);
        for skipped in generation.of(form(*host).skipped_tests) {
            command.args(["--skip", skipped]);
        }
    }
    let done = process::run(&mut command)?;
    let table = mcp_table(place.path());
    print!("{table}");
    // A sample asks one client only.
    let is_whole = extent != Extent::Sample && hosts.len() == Agent::ALL.len();
    match generation == Generation::Current && is_whole {
        true => check_mcp_table(&table).map(|()| done),
        false => Ok(done),
    }
}

/// Where the table stands in the documents: between two lines.
const MCP_DOCUMENT: &str = "docs/mcp.md";
const MCP_BEGIN: &str = "<!-- the table of `cargo xtask clients`: begin -->\n";
const MCP_END: &str = "<!-- end -->";

/// The documents say what was found with all clients.
fn check_mcp_table(table: &str) -> Result<(), String> {
    let text = fs_err::read_to_string(root().join(MCP_DOCUMENT)).map_err(|error| error.to_string())?;
    let written = text.split_once(MCP_BEGIN).and_then(|(_, rest)| rest.split_once(MCP_END));
    match written {
        Some((written, _)) if written == table => Ok(()),
        _ => Err(format!("the table in `{MCP_DOCUMENT}` is not what was found; put the one above into it")),
    }
}

/// Which tools of the MCP server each client's model was offered, called and told the answer of.
fn mcp_table(folder: &Path) -> String {
    let rows: Vec<(&str, BTreeMap<String, bool>)> = Agent::ALL
        .into_iter()
        .map(Agent::name)
        .filter_map(|client| {
            let text = fs_err::read_to_string(folder.join(format!("{client}.json"))).ok()?;
            Some((client, serde_json::from_str(&text).ok()?))
        })
        .collect();
    let Some((_, tools)) = rows.first() else { return String::new() };
    let names: Vec<&str> = rows.iter().map(|(client, _)| *client).collect();
    let mut table = format!("| tool | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for tool in tools.keys() {
        let cells = rows.iter().map(|(_, row)| if row.get(tool) == Some(&true) { "yes" } else { "no" });
        table.push_str(&format!("| `{tool}` | {} |\n", cells.collect::<Vec<_>>().join(" | ")));
    }
    table
}

/// Runs a command in a network of its own that has nothing but the loopback device, so that nothing can leave the
/// machine; where the system does not let us make one, as it is.
fn alone_on_loopback() -> Command {
    let isolated = |root: &[&str]| {
        let mut command = process::called_by_hand("unshare");
        command.args(root).args(["--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]);
        command
    };
    for root in [&[][..], &["--map-root-user"]] {
        let mut attempt = isolated(root);
        attempt.arg("true").stdout(Stdio::null()).stderr(Stdio::null());
        if attempt.status().is_ok_and(|status| status.success()) {
            let mut command = isolated(root);
            command.env("CHECKSTONE_TEST_ISOLATED", "1");
            return command;
        }
    }
    println!(
        "no network namespace can be made here: that the clients stay on the loopback device is not proven"
    );
    process::called_by_hand("env")
}

/// All clients of today, so that a later step finds them.
pub(crate) fn install_current() -> Result<(), String> {
    let Some(machine) = machine() else { return Ok(()) };
    install(Generation::Current, &Agent::ALL, machine).map(drop)
}

/// Installs what is missing, all clients at once.
pub(crate) fn install(generation: Generation, hosts: &[Agent], machine: &str) -> Result<Programs, String> {
    let folder = root().join("target/clients");
    fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let package = |host: Agent| {
        let version = generation.version(host);
        let (packages, program) = (form(host).packages, form(host).program);
        Package {
            name: host.name(),
            version,
            packages: packages(machine, version),
            program: program(machine),
        }
    };
    let installed = std::thread::scope(|scope| {
        let installing: Vec<_> = hosts
            .iter()
            .filter(|host| form(**host).is_run())
            .map(|host| {
                let (package, folder) = (package(*host), &folder);
                (*host, scope.spawn(move || package.install(folder)))
            })
            .collect();
        let installed = installing.into_iter().map(|(host, installing)| {
            let program =
                installing.join().map_err(|_| "the installation of a client panicked".to_owned())?;
            Ok((host, program?))
        });
        installed.collect::<Result<_, String>>()
    });
    installed.map(Programs)
}

/// The name of this machine in npm's packages.
pub(crate) fn machine() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("x64"),
        ("linux", "aarch64") => Some("arm64"),
        _ => None,
    }
}

struct Package {
    name: &'static str,
    version: &'static str,
    /// As npm is asked for them.
    packages: Vec<String>,
    program: ClientProgram,
}

impl Package {
    /// The client's program. What is in the cache is whole: it was tried before it got its name.
    fn install(&self, cache: &Path) -> Result<PathBuf, String> {
        let told = |error: std::io::Error| error.to_string();
        let folder = cache.join(format!("{}-{}", self.name, self.version));
        let program = folder.join("bin").join(self.name);
        if program.exists() {
            return Ok(program);
        }
        println!("installing {} {}…", self.name, self.version);
        let made = tempfile::Builder::new().prefix(".new-").tempdir_in(cache).map_err(told)?;
        npm::install(made.path(), &self.packages)?;
        self.link(made.path()).map_err(told)?;
        self.try_out(made.path())?;
        let made = made.keep();
        if let Err(error) = fs_err::rename(&made, &folder) {
            // Another run may have been quicker.
            let _ = fs_err::remove_dir_all(&made);
            if !program.exists() {
                return Err(error.to_string());
            }
        }
        Ok(program)
    }

    fn link(&self, folder: &Path) -> std::io::Result<()> {
        let program = folder.join("bin").join(self.name);
        fs_err::create_dir(folder.join("bin"))?;
        match &self.program {
            ClientProgram::At(path) => {
                // A path that leads nowhere is told here, and not as a missing link.
                fs_err::metadata(folder.join(path))?;
                fs_err::os::unix::fs::symlink(Path::new("..").join(path), program)
            }
            ClientProgram::Script { node, script } => {
                use std::os::unix::fs::PermissionsExt as _;
                let text = format!(
                    "#!/bin/sh\nfolder=${{0%/*}}/..\nexec \"$folder/{node}\" \"$folder/{script}\" \"$@\"\n"
                );
                fs_err::write(&program, text)?;
                fs_err::set_permissions(program, std::fs::Permissions::from_mode(0o755))
            }
        }
    }

    /// It must start, and be what was asked for. Its home is a folder that goes away.
    fn try_out(&self, folder: &Path) -> Result<(), String> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut command = Command::new(folder.join("bin").join(self.name));
        command.arg("--version").env("HOME", home.path()).stdin(Stdio::null());
        let told = process::output(&mut command)?;
        if told.split_whitespace().any(|word| word.trim_end_matches('.') == self.version) {
            return Ok(());
        }
        Err(format!("{} {} was installed and says that it is `{}`", self.name, self.version, told.trim()))
    }
}
