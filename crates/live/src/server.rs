//! The server: one port on loopback, a few addresses, and no file behind any of them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use axum::routing::get;
use journal::NotedRunId;
use maud::html;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::access_token::{AccessToken, TokenError};
use crate::desk::Desk;
use crate::door::{self, Door};
use crate::file_watch::FileWatch;
use crate::live_stream;
use crate::page::{ICON, Page, Part, SCRIPT, STYLE};
use crate::settings::{PageFrame, PageSettings};
use crate::sources::PageError;
use crate::view::View;
use crate::waiting_sessions;
use crate::words::Shown;

/// So often a page is made anew although no file changed: a session that is silent for long is lost.
const TICK: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("port {port} of 127.0.0.1 is in use")]
    PortInUse { port: u16 },
    #[error("cannot listen on port {port} of 127.0.0.1")]
    Listen { port: u16, source: io::Error },
    #[error("cannot watch files")]
    Watch(#[source] notify::Error),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("the server failed")]
    Serve(#[source] io::Error),
}

/// How serving ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Served {
    /// By Ctrl-C.
    Interrupted,
    /// By a request of the system to end.
    Terminated,
}

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    router: Router,
    desk: Arc<Desk>,
    token: AccessToken,
}

/// What all addresses share.
#[derive(Clone, Debug)]
struct Shared {
    desk: Arc<Desk>,
    door: Arc<Door>,
}

impl Server {
    /// On 127.0.0.1 alone; port 0 is any that is free. Needs a runtime.
    pub async fn listen(port: u16, settings: PageSettings) -> Result<Self, ServeError> {
        let listener =
            TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await.map_err(|source| {
                match source.kind() {
                    io::ErrorKind::AddrInUse => ServeError::PortInUse { port },
                    _ => ServeError::Listen { port, source },
                }
            })?;
        let token = AccessToken::of_state_directory(&settings.state)?;
        let files = FileWatch::new().map_err(ServeError::Watch)?;
        let door = Arc::new(Door::new(token.clone())?);
        let desk = Arc::new(Desk::new(settings, files, Arc::clone(&door)));
        let router = Router::new()
            .route("/style.css", get(|| async { asset("text/css; charset=utf-8", STYLE) }))
            .route("/script.js", get(|| async { asset("text/javascript; charset=utf-8", SCRIPT) }))
            .route("/icon.svg", get(|| async { asset("image/svg+xml", ICON) }))
            .route("/live", get(live))
            .route("/run/{id}/abort", get(whole_page).post(abort))
            .fallback(get(whole_page))
            .with_state(Shared { desk: Arc::clone(&desk), door: Arc::clone(&door) })
            .layer(from_fn_with_state(door, door::guard));
        Ok(Self { listener, router, desk, token })
    }

    /// The address to open, with the token in it.
    pub fn address(&self) -> Result<String, ServeError> {
        let address = self.listener.local_addr().map_err(ServeError::Serve)?;
        Ok(format!("http://{address}/?token={}", self.token.as_str()))
    }

    /// Answers until Ctrl-C or a request to end.
    pub async fn serve(self) -> Result<Served, ServeError> {
        #[cfg(feature = "postgres")]
        if let Some(place) = &self.desk.settings.team {
            crate::team_watch::follow(place.clone(), Arc::clone(&self.desk));
        }
        if let Some(listener) = &self.desk.settings.waiting {
            tokio::spawn(waiting_sessions::watch(Arc::clone(&self.desk), listener.clone()));
        }
        let desk = Arc::clone(&self.desk);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(TICK).await;
                if desk.files.has_listeners() {
                    desk.files.count_up();
                }
            }
        });
        let answering = async { axum::serve(self.listener, self.router).await.map_err(ServeError::Serve) };
        // Streams never end by themselves, so nobody waits for them.
        tokio::select! {
            ended = answering => ended.map(|()| Served::Terminated),
            ended = interrupted() => ended.map_err(ServeError::Serve),
        }
    }
}

async fn interrupted() -> io::Result<Served> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(tokio::select! {
        _ = interrupt.recv() => Served::Interrupted,
        _ = terminate.recv() => Served::Terminated,
        _ = hangup.recv() => Served::Terminated,
    })
}

fn asset(kind: &'static str, content: &'static str) -> Response {
    ([(CONTENT_TYPE, kind)], content).into_response()
}

async fn whole_page(State(shared): State<Shared>, uri: Uri) -> Response {
    let frame = shared.desk.settings.frame();
    let Some(view) = View::of(uri.path(), uri.query().unwrap_or_default()) else {
        return problem(&View::Overview, frame, &PageError::NotFound("There is no such page.".to_owned()));
    };
    let (desk, wanted) = (Arc::clone(&shared.desk), view.clone());
    match tokio::task::spawn_blocking(move || desk.opened(&wanted)).await {
        Ok(Ok(page)) => Html(page.whole(&view, frame)).into_response(),
        Ok(Err(error)) => problem(&view, frame, &error),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "This page could not be created.\n").into_response(),
    }
}

/// Why there is no page, in the frame of one.
fn problem(view: &View, frame: PageFrame, error: &PageError) -> Response {
    let status = match error {
        PageError::NotFound(_) => StatusCode::NOT_FOUND,
        PageError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        PageError::Journal(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let said = error.to_string();
    let part =
        Part::new("problem", html! { section.empty { h1 { "Nothing to show" } p { (Shown(&said)) } } });
    let page = Page { title: "checkstone".to_owned(), parts: vec![part] };
    (status, Html(page.whole(view, frame))).into_response()
}

#[derive(Debug, Deserialize)]
struct LiveQuery {
    /// The address of the page that is open.
    page: String,
    /// Its hash.
    seen: Option<u64>,
}

async fn live(State(shared): State<Shared>, Query(query): Query<LiveQuery>) -> Response {
    let (path, rest) = query.page.split_once('?').unwrap_or((&query.page, ""));
    match View::of(path, rest) {
        Some(view) => live_stream::stream(shared.desk, view, query.seen).into_response(),
        None => (StatusCode::NOT_FOUND, "There is no such page.\n").into_response(),
    }
}

#[derive(Debug, Deserialize)]
struct AbortForm {
    key: String,
}

async fn abort(
    State(shared): State<Shared>,
    Path(id): Path<i64>,
    form: Result<Form<AbortForm>, FormRejection>,
) -> Response {
    let is_ours = form.is_ok_and(|Form(form)| shared.door.is_form_key(&form.key));
    if !is_ours {
        return (StatusCode::FORBIDDEN, "This form is not from this page: open the page again.\n")
            .into_response();
    }
    let id = NotedRunId(id);
    let desk = Arc::clone(&shared.desk);
    match tokio::task::spawn_blocking(move || desk.abort(id)).await {
        Ok(Ok(())) => Redirect::to(&format!("/run/{}", id.0)).into_response(),
        Ok(Err(error)) => problem(&View::Run(id), shared.desk.settings.frame(), &error),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "The run could not be aborted.\n").into_response(),
    }
}
