//! What commands run in a repository that says what its own words mean, and which packages each run is about.

use programs::repository::{Covered, Package, Repository, Run, Task, TaskRunner};
use programs::shell::{Attribution, Intents};

fn task(runner: TaskRunner, name: &str, folder: &str, body: &str) -> Task {
    Task {
        runner,
        name: name.to_owned(),
        folder: folder.to_owned(),
        body: body.to_owned(),
        needs: Vec::new(),
    }
}

fn render(run: &Run) -> String {
    let covers = match &run.covers {
        Covered::Unknown => "?".to_owned(),
        Covered::Packages(folders) => folders.join(","),
    };
    let hidden = if run.attribution == Attribution::Decides { "" } else { " hidden" };
    let targets = run.targets.iter().map(|target| format!(" <{target}>")).collect::<String>();
    format!("{:?} {}{targets} [{covers}]{hidden}", run.deed, run.program)
}

fn runs(repository: &Repository, command: &str) -> Vec<String> {
    let intents = Intents::read(command);
    intents
        .commands()
        .iter()
        .flat_map(|command| repository.runs(command, "/r"))
        .map(|run| render(&run))
        .collect()
}

#[test]
fn tasks_are_followed_to_the_programs_in_them() {
    let package = |folder: &str| Package { folder: folder.to_owned(), ..Package::default() };
    let repository = Repository {
        root: "/r".to_owned(),
        packages: vec![package(""), package("web")],
        tasks: vec![
            task(TaskRunner::Make, "verify", "", "cd web && npm run check"),
            task(TaskRunner::PackageScript, "check", "web", "tsc --noEmit && vitest run"),
        ],
        scripts: Vec::new(),
    };
    assert_eq!(runs(&repository, "make verify"), ["TypeChecks tsc [web]", "Tests vitest [web]"]);
}
