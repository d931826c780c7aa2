//! The server: a thread for each connection, the place in the scenario, and the log of what was asked.

use std::fmt;
use std::io::{self, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::api::{self, AnswerContext, Api};
use crate::http::{self, Answer, Asked};
use crate::scenario::{Scenario, ScenarioError, Step};

/// What the server needs beside its scenario.
#[derive(Clone, Debug)]
pub struct Settings {
    /// 0 lets the system choose a free one.
    pub port: u16,
    /// Relative paths of a scenario lie in it: the folder that the client works in.
    pub folder: PathBuf,
    /// One line of JSON for each request is appended to it.
    pub log: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on port {port} of the loopback address: {source}")]
    Listen { port: u16, source: io::Error },
    #[error("cannot open the log: {0}")]
    Log(#[source] io::Error),
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// A request as it came, and what it was answered with.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub api: Option<Api>,
    /// Whether the client asked for the agent's next step; else it is a side request, such as for a title.
    pub is_turn: bool,
    /// The words of [`crate::Conversation::when`], where the request belongs to such a conversation.
    pub conversation: Option<String>,
    /// The place of the step that was played, from 0; none for side requests and beyond the end.
    pub step: Option<usize>,
    /// The document that was sent; null if it was none.
    pub body: Value,
    #[serde(skip)]
    pub received: Instant,
    /// When the last byte of the answer had been handed to the system.
    #[serde(skip)]
    pub answered: Option<Instant>,
}

impl Request {
    /// What the conversation holds as said by the user, in order: prompts, and what hooks said.
    pub fn user_texts(&self) -> Vec<String> {
        self.api.map(|api| api.user_texts(&self.body)).unwrap_or_default()
    }
}

/// A running server. It ends when it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    scenario: Scenario,
    folder: PathBuf,
    state: Mutex<State>,
    /// Rung at every answer.
    answered: Condvar,
    is_over: AtomicBool,
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    /// How many steps were played: of the scenario's own, then of each conversation.
    played: Vec<usize>,
    log: Option<fs_err::File>,
}

/// A client that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(120);

impl Server {
    pub fn start(scenario: Scenario, settings: &Settings) -> Result<Self, ServerError> {
        scenario.check()?;
        let log = settings
            .log
            .as_ref()
            .map(|path| fs_err::OpenOptions::new().create(true).append(true).open(path))
            .transpose()
            .map_err(ServerError::Log)?;
        let refused = |source| ServerError::Listen { port: settings.port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, settings.port)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let played = vec![0; 1 + scenario.conversations.len()];
        let shared = Arc::new(Shared {
            scenario,
            folder: settings.folder.clone(),
            state: Mutex::new(State { played, log, ..State::default() }),
            answered: Condvar::new(),
            is_over: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let listener = std::thread::Builder::new()
            .name("scripted-model".to_owned())
            .spawn(move || accept(&listener, &accepting))
            .map_err(ServerError::Thread)?;
        Ok(Self { address, shared, listener: Some(listener) })
    }

    /// What a client is told as the address of its API.
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was asked so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// Waits until so many requests for the agent's next step were answered; whether they were in that time.
    pub fn wait_for_turns(&self, count: usize, limit: Duration) -> bool {
        let few = |state: &mut State| {
            state.requests.iter().filter(|request| request.is_turn && request.answered.is_some()).count()
                < count
        };
        let waited = self.shared.answered.wait_timeout_while(self.shared.lock(), limit, few);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Serves until the process ends.
    pub fn serve(mut self) {
        if let Some(listener) = self.listener.take() {
            // It ends only when the server is dropped, or by a panic, which ends the service all the same.
            let _ = listener.join();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // The thread sleeps until somebody comes.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // A client whose connection breaks tries again, or is gone; neither is the server's trouble.
        let serve = move || drop(shared.serve(&stream));
        if std::thread::Builder::new().spawn(serve).is_err() {
            return;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let mut output = stream;
        let asked = match http::read(&mut BufReader::new(stream), &mut output) {
            Ok(Some(asked)) => asked,
            Ok(None) => return Ok(()),
            Err(error) => {
                let body = json!({"error": {"message": error.to_string()}});
                return http::write(&mut output, &Answer::Document { status: 400, body });
            }
        };
        let (number, answer) = self.answer(asked);
        http::write(&mut output, &answer)?;
        if let Some(request) = self.lock().requests.get_mut(number) {
            request.answered = Some(Instant::now());
        }
        self.answered.notify_all();
        Ok(())
    }

    /// Notes the request, plays its step and returns its number and the answer.
    fn answer(&self, asked: Asked) -> (usize, Answer) {
        let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let api = Api::of_path(&asked.path);
        let turn = api.filter(|api| asked.method == "POST" && api.is_turn(&asked.path, &body));
        let mut request = Request {
            method: asked.method,
            path: asked.path,
            api,
            is_turn: turn.is_some(),
            conversation: None,
            step: None,
            body,
            received: Instant::now(),
            answered: None,
        };
        let Some(api) = turn else {
            let answer = api::side_answer(request.api, &request.path, &request.body);
            return (self.note(request), answer);
        };
        let texts = request.user_texts();
        let about = self
            .scenario
            .conversations
            .iter()
            .position(|conversation| texts.iter().any(|text| text.contains(&conversation.when)));
        let (of, steps) =
            match about.and_then(|place| Some((place + 1, self.scenario.conversations.get(place)?))) {
                Some((of, conversation)) => {
                    request.conversation = Some(conversation.when.clone());
                    (of, &conversation.steps)
                }
                None => (0, &self.scenario.steps),
            };
        let step = self.next(of, steps.len()).and_then(|place| Some((place, steps.get(place)?)));
        request.step = step.map(|(place, _)| place);
        let body = request.body.clone();
        let number = self.note(request);
        let beyond = Step { text: Some(BEYOND.to_owned()), ..Step::default() };
        let step = step.map_or(&beyond, |(_, step)| step);
        std::thread::sleep(Duration::from_millis(step.delay_ms));
        let place = AnswerContext { number, folder: &self.folder };
        (number, api.answer(step, &place, &body))
    }

    /// The place of the next step, where one is left.
    fn next(&self, of: usize, steps: usize) -> Option<usize> {
        let mut state = self.lock();
        let played = state.played.get_mut(of)?;
        let place = *played;
        *played += 1;
        (place < steps).then_some(place)
    }

    fn note(&self, request: Request) -> usize {
        let mut state = self.lock();
        if let (Some(log), Ok(line)) = (&mut state.log, serde_json::to_string(&request)) {
            // Who follows the log sees whole lines; a full disk must not end the play.
            let _ = log.write_all(format!("{line}\n").as_bytes());
        }
        state.requests.push(request);
        state.requests.len() - 1
    }
}

/// What is said when the steps are over. No failure: a client would ask again and again.
const BEYOND: &str = "(The scenario has no more steps.)";
