//! How many stops are held that have to be. Where a host has no stop hook, a hold is a race against the end of the client's own process,
//! and its rate is worth knowing. The same turn is played again and again, each time in a session of its own: the agent edits a file, says
//! that it is done, and runs the tests if it is told to. A stop is held if the model was told of it and went on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use scripted_model::{Client, ClientWay, Installed, Scenario, Server, Settings, form};
use transcript::Agent;

use crate::clients::{self, Generation};
use crate::process;
use crate::steps::Done;

/// No turn takes a tenth of this, even on a machine that is busy.
const LIMIT: Duration = Duration::from_secs(120);

const SCENARIO: &str = r#"{"steps": [
  {"text": "I look first.", "calls": [{"read": "calc.py"}]},
  {"calls": [{"edit": {"path": "calc.py", "old": "    return a - b", "new": "    return a + b"}}]},
  {"text": "Fixed."},
  {"calls": [{"run": "./run-tests"}]},
  {"text": "Fixed and tested."}
]}"#;

const FILES: [(&str, &str); 3] = [
    ("calc.py", "def add(a, b):\n    return a - b\n"),
    ("run-tests", "#!/bin/sh\ngrep -q 'return a + b' calc.py && echo '1 passed'\n"),
    (
        "checkstone.toml",
        "[[category]]\nname = \"code\"\ninclude = [\"*.py\"]\nrequire = [\"tests\"]\n\n[action.tests]\nsay = \"Run \
         `./run-tests`\"\nevidence = [\"run-tests\"]\n",
    ),
];

/// What is to be measured.
pub(crate) struct StopCampaign<'a> {
    pub(crate) hosts: &'a [Agent],
    pub(crate) generation: Generation,
    /// In each way that a client can be set.
    pub(crate) stops: usize,
    /// Clients that run at the same time.
    pub(crate) at_once: usize,
    /// Registered instead of a fresh build.
    pub(crate) program: Option<&'a Path>,
}

/// Plays the turns, prints the rates, and fails if a stop was not held.
pub(crate) fn run(campaign: &StopCampaign<'_>) -> Result<Done, String> {
    let machine = clients::machine().ok_or("the clients have no packages for this machine")?;
    let programs = clients::install(campaign.generation, campaign.hosts, machine)?;
    let checkstone = match campaign.program {
        Some(program) => program.to_owned(),
        None => {
            process::run(process::test_target("clients").arg("--no-run"))?;
            process::built_beside_us("checkstone")?
        }
    };
    println!("| client | settings | stops | held | in |\n|---|---|---|---|---|");
    let mut lost = Vec::new();
    for host in campaign.hosts {
        let usual = ClientWay { name: "as they are", settle: |_| Ok(()) };
        for way in std::iter::once(&usual).chain(form(*host).ways) {
            let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
            let bench = HeldStops { host: *host, way, program: programs.of(*host)?, checkstone: &checkstone };
            let began = std::time::Instant::now();
            let counted = bench.count(folder.path(), campaign)?;
            println!(
                "| {} {} | {} | {} | {} | {:.0} s |",
                agents::host(*host).title,
                campaign.generation.version(*host),
                way.name,
                campaign.stops,
                campaign.stops - counted.len(),
                began.elapsed().as_secs_f32()
            );
            lost.extend(counted);
        }
    }
    match lost.as_slice() {
        [] => Ok(Done::Passed),
        [first, ..] => Err(format!("{} stops were not held, the first of them so:\n{first}", lost.len())),
    }
}

struct HeldStops<'a> {
    host: Agent,
    way: &'a ClientWay,
    program: &'a Path,
    checkstone: &'a Path,
}

impl HeldStops<'_> {
    /// What is known of each stop that was not held.
    fn count(&self, folder: &Path, campaign: &StopCampaign<'_>) -> Result<Vec<String>, String> {
        let begun = AtomicUsize::new(0);
        let work = |worker: usize| -> Result<Vec<String>, String> {
            let place = self.place(&folder.join(worker.to_string()))?;
            let mut lost = Vec::new();
            while begun.fetch_add(1, Ordering::SeqCst) < campaign.stops {
                lost.extend(self.stop(&place)?);
            }
            Ok(lost)
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..campaign.at_once).map(|worker| scope.spawn(move || work(worker))).collect();
            let mut lost = Vec::new();
            for worker in workers {
                lost.extend(worker.join().map_err(|_| "a campaign panicked".to_owned())??);
            }
            Ok(lost)
        })
    }

    /// A home with the hooks registered, and a repository.
    fn place(&self, folder: &Path) -> Result<Place, String> {
        let told = |error: std::io::Error| error.to_string();
        let place = Place { home: folder.join("home"), repository: folder.join("repository") };
        fs_err::create_dir_all(&place.repository).map_err(told)?;
        for (name, text) in FILES {
            fs_err::write(place.repository.join(name), text).map_err(told)?;
        }
        let mut settle = Command::new("chmod");
        process::run(settle.args(["+x", "run-tests"]).current_dir(&place.repository))?;
        git(&place, &["init", "--quiet", "--initial-branch=main"])?;
        git(&place, &["add", "--all"])?;
        git(&place, &["commit", "--quiet", "--message=Begin"])?;
        let path = process::path();
        let client = self.installed(&place, &path, "");
        client.settle().map_err(told)?;
        (self.way.settle)(&client).map_err(told)?;
        let mut init = Command::new(self.checkstone);
        client.environment(&mut init);
        process::output(init.args(["init", "--agent", self.host.name(), "--yes"]))?;
        Ok(place)
    }

    fn installed<'a>(
        &'a self,
        place: &'a Place,
        path: &'a std::ffi::OsStr,
        address: &'a str,
    ) -> Installed<'a> {
        Installed {
            client: Client::of(self.host),
            program: self.program,
            path,
            home: &place.home,
            folder: &place.repository,
            address,
        }
    }

    /// One turn; what is known of it if its stop was not held.
    fn stop(&self, place: &Place) -> Result<Option<String>, String> {
        git(place, &["checkout", "--quiet", "--", "."])?;
        let scenario: Scenario = serde_json::from_str(SCENARIO).map_err(|error| error.to_string())?;
        let settings = Settings { port: 0, folder: place.repository.clone(), log: None };
        let server = Server::start(scenario, &settings).map_err(|error| error.to_string())?;
        let (path, address) = (process::path(), server.address());
        let client = self.installed(place, &path, &address);
        client.settle().map_err(|error| error.to_string())?;
        let run = client.prompt("Fix add", false, LIMIT).map_err(|error| error.to_string())?;
        let requests = server.requests();
        let mut texts =
            requests.iter().filter(|request| request.step == Some(3)).flat_map(|held| held.user_texts());
        let is_held = texts.any(|text| text.contains("[checkstone]"));
        if is_held && requests.iter().any(|request| request.step == Some(4)) {
            return Ok(None);
        }
        let asked: Vec<_> = requests.iter().filter_map(|request| request.step).collect();
        let log = fs_err::read_to_string(place.home.join(".local/state/checkstone/log")).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(2).collect();
        Ok(Some(format!("steps {asked:?}, {:?}\n{}\n{}", run.status, last.join("\n"), run.stderr.trim())))
    }
}

struct Place {
    home: PathBuf,
    repository: PathBuf,
}

fn git(place: &Place, arguments: &[&str]) -> Result<(), String> {
    let identity = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "gc.auto=0"];
    process::run(Command::new("git").args(identity).args(arguments).current_dir(&place.repository))
        .map(|_| ())
}
