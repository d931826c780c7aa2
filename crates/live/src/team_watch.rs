//! What a team's database shows, asked again every two seconds while somebody looks, and when somebody opens the page. A database that is slow or away keeps no page from
//! being made: pages have what was heard last, or why nothing was.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use changes::git::Git;
use changes::{GitProgram, Repository};
use database::{Connection, DatabaseAddress, DatabaseError, TeamLook};
use team::{RepositoryIds, TeamHashes, machine_id};

use crate::desk::Desk;

/// Where the team's database is, and what its hashes are made with.
#[derive(Clone, Debug)]
pub struct TeamPlace {
    pub address: DatabaseAddress,
    /// Empty if the team has set none.
    pub key: String,
}

/// Between two questions whether something is new; a younger answer is new enough for whoever opens the page.
const PAUSE: Duration = Duration::from_secs(2);

/// Sessions go out of sight although nothing new is sent.
const AT_LEAST_EVERY: Duration = Duration::from_secs(30);

/// So long whoever opens the page waits for the first answer, and so long for a newer one.
const FIRST_ANSWER: Duration = Duration::from_secs(4);
const NEXT_ANSWER: Duration = Duration::from_secs(1);

/// Sessions that were heard of within so many hours are shown.
const HOURS: f64 = 12.0;

/// What the database answered last.
#[derive(Debug, PartialEq)]
pub(crate) enum TeamAnswer {
    Look(TeamLook),
    /// Why there is none, in a sentence, and what to do about it.
    Silence {
        why: String,
        advice: Option<&'static str>,
    },
    /// Nobody has sent anything.
    NoTables,
}

#[derive(Debug, Default)]
pub(crate) struct TeamWatch {
    heard: Mutex<HeardAnswer>,
    answered: Condvar,
    wanted: Condvar,
    /// What was found out stays from page to page.
    names: Mutex<Option<KnownNames>>,
}

#[derive(Debug, Default)]
struct HeardAnswer {
    answer: Option<Arc<TeamAnswer>>,
    /// When the database was last asked, and had answered.
    at: Option<Instant>,
    /// Somebody waits for a newer one.
    is_wanted: bool,
}

impl HeardAnswer {
    fn is_new(&self) -> bool {
        self.at.is_some_and(|at| at.elapsed() < PAUSE)
    }
}

impl TeamWatch {
    /// What was heard last; `None` where the database has not answered yet.
    pub(crate) fn heard(&self) -> Option<Arc<TeamAnswer>> {
        self.lock().answer.clone()
    }

    /// Has the database asked if the last answer is old: nobody asks it while nobody looks, and a page without a script is only looked at
    /// when it is opened. Waits a little for the answer.
    pub(crate) fn refresh(&self) {
        let mut heard = self.lock();
        if heard.is_new() {
            return;
        }
        heard.is_wanted = true;
        self.wanted.notify_all();
        let patience = if heard.answer.is_none() { FIRST_ANSWER } else { NEXT_ANSWER };
        drop(self.answered.wait_timeout_while(heard, patience, |heard| !heard.is_new()));
    }

    /// Lends what is known of the names.
    pub(crate) fn with_names<T>(
        &self,
        new: impl FnOnce() -> KnownNames,
        use_them: impl FnOnce(&mut KnownNames) -> T,
    ) -> T {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        use_them(names.get_or_insert_with(new))
    }

    /// `None` where the database has nothing new to say. Whether it differs from what was heard before.
    fn hear(&self, answer: Option<TeamAnswer>) -> bool {
        let mut heard = self.lock();
        let differs = answer.is_some() && heard.answer.as_deref() != answer.as_ref();
        if let Some(answer) = answer {
            heard.answer = Some(Arc::new(answer));
        }
        heard.at = Some(Instant::now());
        heard.is_wanted = false;
        self.answered.notify_all();
        differs
    }

    /// Returns when it is time to ask again.
    fn rest(&self, is_looked_at: impl Fn() -> bool) {
        let mut heard = self.lock();
        loop {
            let waited = self.wanted.wait_timeout_while(heard, PAUSE, |heard| !heard.is_wanted);
            heard = waited.unwrap_or_else(PoisonError::into_inner).0;
            if heard.is_wanted || is_looked_at() {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HeardAnswer> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for as long as the process lives, first now and then while somebody looks.
pub(crate) fn follow(place: TeamPlace, desk: Arc<Desk>) {
    std::thread::spawn(move || {
        let mut asked: Option<(Connection, f64, Instant)> = None;
        loop {
            let answer = ask(&place, &mut asked).unwrap_or_else(|error| {
                asked = None;
                Some(TeamAnswer::Silence { why: text::error_chain(&error), advice: error.advice() })
            });
            if desk.team.hear(answer) {
                desk.files.count_up();
            }
            desk.team.rest(|| desk.files.has_listeners());
        }
    });
}

/// `None` where nothing is new.
fn ask(
    place: &TeamPlace,
    asked: &mut Option<(Connection, f64, Instant)>,
) -> Result<Option<TeamAnswer>, DatabaseError> {
    let (mut connection, before) = match asked.take() {
        Some((connection, newest, at)) => (connection, Some((newest, at))),
        None => {
            let mut connection = Connection::open_once(&place.address)?;
            if database::applied(&mut connection)? < database::MIGRATIONS.len() {
                return Ok(Some(TeamAnswer::NoTables));
            }
            (connection, None)
        }
    };
    let newest = database::newest(&mut connection)?;
    if let Some((known, at)) = before
        && known == newest
        && at.elapsed() < AT_LEAST_EVERY
    {
        *asked = Some((connection, known, at));
        return Ok(None);
    }
    let look = database::look(&mut connection, HOURS)?;
    *asked = Some((connection, newest, Instant::now()));
    Ok(Some(TeamAnswer::Look(look)))
}

/// What hashes stand for, as far as this machine has the same repositories.
#[derive(Debug)]
pub(crate) struct KnownNames {
    hashes: TeamHashes,
    ids: RepositoryIds,
    git: GitProgram,
    /// Repositories that this machine has, by their ids.
    roots: HashMap<String, PathBuf>,
    /// Files of them, by their hashes; a repository is looked through once.
    files: HashMap<String, HashMap<i64, String>>,
    /// Names of repositories, and of branches with their repositories, that somebody sent.
    sent_repositories: HashMap<String, String>,
    sent_branches: HashMap<(String, String), String>,
}

impl KnownNames {
    pub(crate) fn new(place: &TeamPlace, state: &std::path::Path, git: &GitProgram) -> Self {
        let hashes = TeamHashes::new(&place.key);
        let ids = RepositoryIds::new(hashes.clone(), &machine_id(&hashes, state), git.clone());
        Self {
            hashes,
            ids,
            git: git.clone(),
            roots: HashMap::new(),
            files: HashMap::new(),
            sent_repositories: HashMap::new(),
            sent_branches: HashMap::new(),
        }
    }

    /// These are here.
    pub(crate) fn learn(&mut self, roots: Vec<PathBuf>) {
        for root in roots {
            self.roots.insert(self.ids.of(&root), root);
        }
    }

    /// Somebody calls them so.
    pub(crate) fn hear_of(&mut self, repository: &str, name: Option<String>, branch: Option<(&str, String)>) {
        if let Some(name) = name {
            self.sent_repositories.insert(repository.to_owned(), name);
        }
        if let Some((branch, name)) = branch {
            self.sent_branches.insert((repository.to_owned(), branch.to_owned()), name);
        }
    }

    /// The name of the folder, here or where it was sent from, or the first digits of the hash.
    pub(crate) fn repository(&self, id: &str) -> String {
        let here = self.roots.get(id).and_then(|root| root.file_name());
        let here = here.map(|name| name.to_string_lossy().into_owned());
        here.or_else(|| self.sent_repositories.get(id).cloned())
            .unwrap_or_else(|| format!("repository {}", text::head(id, 8)))
    }

    /// As it was sent; otherwise the branch that is checked out here, or one of the usual names.
    pub(crate) fn branch(&self, repository: &str, branch: &str) -> String {
        if let Some(name) = self.sent_branches.get(&(repository.to_owned(), branch.to_owned())) {
            return name.clone();
        }
        let here = self.roots.get(repository).and_then(|root| Repository::at(root)?.branch());
        let usual = ["main", "master", "develop"].map(str::to_owned);
        let mut names = here.into_iter().chain(usual);
        names
            .find(|name| self.hashes.of("branch", &[repository, name]) == branch)
            .unwrap_or_else(|| format!("branch {}", text::head(branch, 8)))
    }

    pub(crate) fn file(&mut self, repository: &str, file: i64) -> Option<String> {
        if !self.files.contains_key(repository) {
            let names = self.roots.get(repository).map(|root| self.names_in(repository, root));
            self.files.insert(repository.to_owned(), names.unwrap_or_default());
        }
        self.files.get(repository)?.get(&file).cloned()
    }

    fn names_in(&self, repository: &str, root: &std::path::Path) -> HashMap<i64, String> {
        let listed = Repository::at(root)
            .and_then(|found| Git::of(&found, &self.git).ok())
            .and_then(|git| git.run(&["ls-files", "-z"], &[]).ok());
        let listed = listed.unwrap_or_default();
        let names = listed.split(|byte| *byte == 0).map(|name| String::from_utf8_lossy(name).into_owned());
        names.map(|name| (self.hashes.number("file", &[repository, &name]), name)).collect()
    }
}
