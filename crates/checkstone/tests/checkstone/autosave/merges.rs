//! S4: several who save on one remote, and how their histories come together.

use std::path::{Path, PathBuf};

use sandbox::{RunToEnd as _, redacted};

use super::world::World;

/// So many rounds; `CHECKSTONE_SOAK_ROUNDS` has another number.
const ROUNDS: usize = 3;

const SAVERS: [&str; 3] = ["one", "two", "three"];

/// A clone, and what git says there.
struct Saver<'a> {
    world: &'a World,
    folder: PathBuf,
}

impl<'a> Saver<'a> {
    fn new(world: &'a World, name: &str) -> Self {
        let folder = world.workplace.path(name);
        let origin = world.origin();
        world.git(&["clone", "--quiet", origin.to_str().unwrap(), folder.to_str().unwrap()]);
        Self { world, folder }
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.world.git(&[&["-C", self.folder.to_str().unwrap()], arguments].concat())
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Something new, which is saved and pushed.
    fn save(&self, round: usize) -> String {
        let name = self.folder.file_name().unwrap().to_str().unwrap();
        self.write(&format!("scratch/{name}-{round}"), "work\n");
        let answer = self.world.checkstone(&["autosave"]).current_dir(&self.folder).answer();
        assert_eq!(answer.code, Some(0), "{answer:?}");
        answer.stdout
    }
}

fn notes(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join(".checkstone/notes")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// S4: each saves at the same time as the others, and gets theirs by a merge or a rebase; every push arrives, and neither stops.
#[test]
fn s4_savers_on_one_remote_never_conflict() {
    let rounds =
        std::env::var("CHECKSTONE_SOAK_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let world = World::new("").with_origin();
    world.write(
        "CLAUDE.md",
        "# Rules of a person\n\n## Last Session\n\n- Asked: `something old`\n\n## More rules\n",
    );
    world.git(&["add", "CLAUDE.md"]);
    world.git(&["commit", "--quiet", "--message=notes"]);
    world.git(&["push", "--quiet", "origin", "main"]);
    let savers = SAVERS.map(|name| Saver::new(&world, name));
    let (mut merged, mut rebased) = (0, 0);
    for round in 0..rounds {
        std::thread::scope(|scope| {
            let saves: Vec<_> = savers.iter().map(|saver| scope.spawn(move || saver.save(round))).collect();
            for save in saves {
                save.join().unwrap();
            }
        });
        for (number, saver) in savers.iter().enumerate() {
            match (round + number) % 3 {
                0 => {
                    saver.git(&["pull", "--quiet", "--no-rebase", "--no-edit"]);
                    merged += 1;
                }
                1 => {
                    saver.git(&["pull", "--quiet", "--rebase"]);
                    rebased += 1;
                }
                // This one gets nothing until the next round.
                _ => {}
            }
        }
    }
    let there = Saver::new(&world, "last");
    assert_eq!(notes(&there.folder).len(), 3 * rounds + 1);
    println!("{} saves of 3 savers pushed, {merged} merges, {rebased} rebases, no conflict", 3 * rounds);
    for saver in &savers {
        saver.git(&["pull", "--quiet", "--no-rebase", "--no-edit"]);
        assert_eq!(notes(&saver.folder), notes(&there.folder));
    }
    insta::assert_snapshot!(there.git(&["show", "HEAD:CLAUDE.md"]), @"
    # Rules of a person

    ## Last Session

    Notes on the sessions here are in `.checkstone/notes/`, one file for each save. Their names begin with the time: the last one is the newest.

    ## More rules
    ");
    let earlier = &notes(&there.folder)[0];
    let earlier = std::fs::read_to_string(there.folder.join(".checkstone/notes").join(earlier)).unwrap();
    insta::assert_snapshot!(earlier, @"
    # Notes from before

    - Asked: `something old`
    ");
}

/// S4: two branches of one clone that save, also in one session, merge both ways.
#[test]
fn s4_branches_that_save_merge() {
    let world = World::new("").with_origin();
    let saver = Saver::new(&world, "one");
    saver.save(0);
    saver.git(&["switch", "--quiet", "--create", "side", "HEAD~1"]);
    saver.git(&["push", "--quiet", "--set-upstream", "origin", "side"]);
    saver.save(1);
    saver.save(2);
    saver.git(&["switch", "--quiet", "main"]);
    saver.save(3);
    saver.git(&["merge", "--quiet", "--no-edit", "side"]);
    saver.git(&["switch", "--quiet", "side"]);
    saver.save(4);
    saver.git(&["rebase", "--quiet", "main"]);
    assert_eq!(notes(&saver.folder).len(), 5);
    assert_eq!(redacted(saver.git(&["status", "--porcelain", "--untracked-files=no"])), "");
}
