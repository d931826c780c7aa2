//! Where pages are made: what was read of files that did not change since stays here, and a page that nothing changed for is
//! made once for all who look at it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use journal::{Journal, NotedRunId, OpenFor};
use run::control;

use crate::door::Door;
use crate::file_watch::FileWatch;
use crate::overview::Overview;
use crate::page::Page;
use crate::session_story::SessionStory;
use crate::settings::PageSettings;
use crate::sources::{Drawers, PageError, Sources};
use crate::view::View;
use crate::{history_page, overview_page, runs_page, session_page, turn_changes, workflows_page};

/// Pages beyond are made anew.
const MOST_PAGES: usize = 50;

#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) settings: PageSettings,
    pub(crate) files: FileWatch,
    /// Forms that change something have its key.
    door: Arc<Door>,
    kept: Mutex<KeptPages>,
}

/// What stays from page to page.
#[derive(Debug, Default)]
struct KeptPages {
    drawers: Drawers,
    /// Each with the count of changes that it was made at.
    pages: HashMap<View, (u64, Arc<Page>)>,
}

impl Desk {
    pub(crate) fn new(settings: PageSettings, files: FileWatch, door: Arc<Door>) -> Self {
        for name in ["journal.db", "journal.db-wal"] {
            files.file(&settings.state.join(name));
        }
        Self { settings, files, door, kept: Mutex::default() }
    }

    /// The page as it is now. Blocks while it reads.
    pub(crate) fn page(&self, view: &View) -> Result<Arc<Page>, PageError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at before reading: what changes meanwhile is a later count.
        let count = self.files.count();
        if let Some((made_at, page)) = kept.pages.get(view)
            && *made_at == count
        {
            return Ok(Arc::clone(page));
        }
        let page = Arc::new(self.make(view, &mut kept.drawers)?);
        if kept.pages.len() >= MOST_PAGES {
            kept.pages.clear();
        }
        kept.pages.insert(view.clone(), (count, Arc::clone(&page)));
        Ok(page)
    }

    fn make(&self, view: &View, drawers: &mut Drawers) -> Result<Page, PageError> {
        let mut sources = self.sources(drawers)?;
        match view {
            View::Overview => Ok(overview_page::page(&Overview::of(&mut sources)?, &sources)),
            View::Session(id, before) => {
                Ok(session_page::page(&SessionStory::of(*id, *before, &mut sources)?, &sources))
            }
            View::Changes(turn) => turn_changes::page(*turn, &mut sources),
            View::Runs => runs_page::list(&mut sources),
            View::Run(id) => runs_page::one(*id, &mut sources),
            View::AbortQuestion(id) => runs_page::abort_question(*id, self.door.form_key(), &mut sources),
            View::Workflows => workflows_page::page(&mut sources),
            View::History(filter) => history_page::page(filter, &mut sources),
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
