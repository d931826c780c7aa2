//! Where pages are made: what was read of files that did not change since stays here, and a page that nothing changed for is
//! made once for all who look at it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use journal::{Journal, NotedRunId, OpenFor};
use run::control;

use crate::door::Door;
use crate::file_watch::FileWatch;
#[cfg(not(feature = "postgres"))]
use crate::no_team::NoTeamWatch as TeamWatch;
use crate::overview::Overview;
use crate::page::Page;
use crate::session_story::SessionStory;
use crate::settings::PageSettings;
use crate::sources::{Drawers, PageError, Sources};
#[cfg(feature = "postgres")]
use crate::team_watch::TeamWatch;
use crate::view::View;
use crate::waiting_sessions::{self, WaitingSession};
use crate::{history_page, overview_page, runs_page, session_page, turn_changes, workflows_page};

/// What is silent for long looks different although no file changed.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// Pages beyond are made anew.
const MOST_PAGES: usize = 50;

#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) settings: PageSettings,
    pub(crate) files: FileWatch,
    /// Forms that change something have its key.
    door: Arc<Door>,
    kept: Mutex<KeptPages>,
    /// Of the last notification.
    problems: Mutex<Vec<String>>,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "there is no team to show"))]
    pub(crate) team: TeamWatch,
}

/// What stays from page to page.
#[derive(Debug, Default)]
struct KeptPages {
    drawers: Drawers,
    pages: HashMap<View, KeptPage>,
}

#[derive(Debug)]
struct KeptPage {
    /// Of changes, as it was when the page was made.
    count: u64,
    made_at: Instant,
    page: Arc<Page>,
}

impl Desk {
    pub(crate) fn new(settings: PageSettings, files: FileWatch, door: Arc<Door>) -> Self {
        for name in ["journal.db", "journal.db-wal"] {
            files.file(&settings.state.join(name));
        }
        Self {
            settings,
            files,
            door,
            kept: Mutex::default(),
            problems: Mutex::default(),
            team: Default::default(),
        }
    }

    /// The page for somebody who opens it. Blocks while it reads, and a little while a database is asked.
    pub(crate) fn opened(&self, view: &View) -> Result<Arc<Page>, PageError> {
        #[cfg(feature = "postgres")]
        if *view == View::Team && self.settings.team.is_some() {
            self.team.refresh();
        }
        self.page(view)
    }

    /// The page as it is now. Blocks while it reads.
    pub(crate) fn page(&self, view: &View) -> Result<Arc<Page>, PageError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at before reading: what changes meanwhile is a later count.
        let count = self.files.count();
        if let Some(kept) = kept.pages.get(view)
            && kept.count == count
            && kept.made_at.elapsed() < KEPT_FOR
        {
            return Ok(Arc::clone(&kept.page));
        }
        let page = Arc::new(self.make(view, &mut kept.drawers)?);
        if kept.pages.len() >= MOST_PAGES {
            kept.pages.clear();
        }
        kept.pages.insert(view.clone(), KeptPage { count, made_at: Instant::now(), page: Arc::clone(&page) });
        Ok(page)
    }

    fn make(&self, view: &View, drawers: &mut Drawers) -> Result<Page, PageError> {
        let mut sources = self.sources(drawers)?;
        match view {
            View::Overview => {
                let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Ok(overview_page::page(&Overview::of(&mut sources)?, &problems, &sources))
            }
            View::Session(id, before) => {
                Ok(session_page::page(&SessionStory::of(*id, *before, &mut sources)?, &sources))
            }
            View::Changes(turn) => turn_changes::page(*turn, &mut sources),
            View::Runs => runs_page::list(&mut sources),
            View::Run(id) => runs_page::one(*id, &mut sources),
            View::AbortQuestion(id) => runs_page::abort_question(*id, self.door.form_key(), &mut sources),
            View::Workflows => workflows_page::page(&mut sources),
            View::History(filter) => history_page::page(filter, &mut sources),
            View::Team => self.team_page(&mut sources),
        }
    }

    #[cfg(feature = "postgres")]
    fn team_page(&self, sources: &mut Sources<'_>) -> Result<Page, PageError> {
        crate::team_page::page(&self.team, sources)
    }

    #[cfg(not(feature = "postgres"))]
    fn team_page(&self, _sources: &mut Sources<'_>) -> Result<Page, PageError> {
        Err(PageError::NotFound("This build of checkstone cannot use PostgreSQL.".to_owned()))
    }

    /// The sessions that need a person now.
    pub(crate) fn now_waiting(&self) -> Result<Vec<WaitingSession>, PageError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(waiting_sessions::now_waiting(&mut self.sources(&mut kept.drawers)?)?)
    }

    /// What went wrong with telling somebody is shown on the overview.
    pub(crate) fn note_problems(&self, problems: Vec<String>) {
        let mut noted = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if *noted != problems {
            *noted = problems;
            self.files.count_up();
        }
    }

    fn sources<'a>(&'a self, drawers: &'a mut Drawers) -> Result<Sources<'a>, PageError> {
        let journal = match Journal::exists(&self.settings.state) {
            true => Some(Journal::open(&self.settings.state, OpenFor::Command)?),
            false => None,
        };
        Ok(Sources { settings: &self.settings, files: &self.files, journal, drawers, now: Timestamp::now() })
    }

    /// Asks whoever runs it to abort the run.
    pub(crate) fn abort(&self, id: NotedRunId) -> Result<(), PageError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = runs_page::layout_of(id, &mut self.sources(&mut kept.drawers)?)?;
        if !control::is_taken(&layout) {
            return Err(PageError::NotFound("This run is not running.".to_owned()));
        }
        control::request_abort(&layout, None).map_err(|error| PageError::Failed(text::error_chain(&error)))
    }
}
