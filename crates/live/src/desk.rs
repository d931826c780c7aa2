//! Where pages are made: what was read of files that did not change since stays here, and a page that nothing changed for is
//! made once for all who look at it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gate::Rule;
use jiff::Timestamp;
use journal::{Journal, JournalError, NotedRunId, OpenFor, VerdictId};
use run::control;

use crate::door::Door;
use crate::file_watch::FileWatch;
use crate::overview::Overview;
use crate::page::Page;
use crate::seen_transcript::SeenTranscripts;
use crate::session_story::SessionStory;
use crate::settings::PageSettings;
use crate::view::View;
use crate::{history_page, overview_page, runs_page, session_page, turn_changes, workflows_page};

/// Pages and reasons beyond are made anew.
const MOST_KEPT: usize = 2000;
const MOST_PAGES: usize = 50;
const MOST_RULES: usize = 20_000;

/// Why a page cannot be shown, in a sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Failed(String),
    #[error("{}", text::error_chain(.0))]
    Journal(#[from] JournalError),
}

#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) settings: PageSettings,
    pub(crate) files: FileWatch,
    /// Forms that change something have its key.
    door: Arc<Door>,
    drawers: Mutex<Drawers>,
}

/// What stays from page to page.
#[derive(Debug, Default)]
pub(crate) struct Drawers {
    pub(crate) transcripts: SeenTranscripts,
    /// A recorded verdict does not change.
    reasons: HashMap<VerdictId, String>,
    rules: HashMap<VerdictId, Vec<Rule>>,
    pages: HashMap<View, (u64, Arc<Page>)>,
}

/// What a page is made from.
pub(crate) struct Sources<'a> {
    pub(crate) settings: &'a PageSettings,
    pub(crate) files: &'a FileWatch,
    /// `None` if nothing was ever recorded.
    pub(crate) journal: Option<Journal>,
    pub(crate) drawers: &'a mut Drawers,
    pub(crate) now: Timestamp,
}

impl Desk {
    pub(crate) fn new(settings: PageSettings, files: FileWatch, door: Arc<Door>) -> Self {
        for name in ["journal.db", "journal.db-wal"] {
            files.file(&settings.state.join(name));
        }
        Self { settings, files, door, drawers: Mutex::default() }
    }

    /// The page as it is now. Blocks while it reads.
    pub(crate) fn page(&self, view: &View) -> Result<Arc<Page>, PageError> {
        let mut drawers = self.drawers.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at before reading: what changes meanwhile is a later count.
        let count = self.files.count();
        if let Some((made_at, page)) = drawers.pages.get(view)
            && *made_at == count
        {
            return Ok(Arc::clone(page));
        }
        let page = Arc::new(self.make(view, &mut drawers)?);
        if drawers.pages.len() >= MOST_PAGES {
            drawers.pages.clear();
        }
        drawers.pages.insert(view.clone(), (count, Arc::clone(&page)));
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
        let mut drawers = self.drawers.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = runs_page::layout_of(id, &mut self.sources(&mut drawers)?)?;
        if !control::is_taken(&layout) {
            return Err(PageError::NotFound("This run is not running.".to_owned()));
        }
        control::request_abort(&layout, None).map_err(|error| PageError::Failed(text::error_chain(&error)))
    }
}

impl Sources<'_> {
    /// Why a recorded verdict came out as it did, in a few words; empty if that was not kept.
    pub(crate) fn reason(&mut self, id: VerdictId) -> Result<String, JournalError> {
        if let Some(known) = self.drawers.reasons.get(&id) {
            return Ok(known.clone());
        }
        let Some(journal) = &mut self.journal else { return Ok(String::new()) };
        let inputs = journal.read(|reader| reader.inputs(id))?;
        let reason = inputs.and_then(|inputs| stop::recorded_reason(&inputs.bytes)).unwrap_or_default();
        if self.drawers.reasons.len() >= MOST_KEPT {
            self.drawers.reasons.clear();
        }
        self.drawers.reasons.insert(id, reason.clone());
        Ok(reason)
    }

    /// The rules that spoke in recorded verdicts, each as often as it did.
    pub(crate) fn spoken_rules(&mut self, ids: &[VerdictId]) -> Result<Vec<Vec<Rule>>, JournalError> {
        let Some(journal) = &mut self.journal else { return Ok(Vec::new()) };
        let known = &mut self.drawers.rules;
        if known.len() > MOST_RULES {
            known.clear();
        }
        journal.read(|reader| {
            let of_one = |id: &VerdictId| {
                if let Some(rules) = known.get(id) {
                    return Ok(rules.clone());
                }
                let rules =
                    reader.inputs(*id)?.map(|inputs| stop::recorded_rules(&inputs.bytes)).unwrap_or_default();
                known.insert(*id, rules.clone());
                Ok(rules)
            };
            ids.iter().map(of_one).collect()
        })
    }
}
