//! A page: a list of parts in one frame. A part is what is sent again when it changed.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::settings::PageFrame;
use crate::view::View;

/// The files of the page, compiled in.
pub(crate) const STYLE: &str = include_str!("page.css");
pub(crate) const SCRIPT: &str = include_str!("page.js");

/// What is sent again when it changed.
#[derive(Debug)]
pub(crate) struct Part {
    /// One of a page has it, and it keeps it.
    pub(crate) id: String,
    pub(crate) markup: Markup,
    pub(crate) hash: u64,
}

impl Part {
    pub(crate) fn new(id: impl Into<String>, markup: Markup) -> Self {
        let mut hasher = DefaultHasher::new();
        markup.0.hash(&mut hasher);
        Self { id: id.into(), markup, hash: hasher.finish() }
    }
}

#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) parts: Vec<Part>,
}

impl Page {
    /// By which a page is known that has all of this.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.title.hash(&mut hasher);
        for part in &self.parts {
            (&part.id, part.hash).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The whole page, which needs no script to be read.
    pub(crate) fn whole(&self, view: &View, frame: PageFrame) -> String {
        let places =
            [("/", "Sessions"), ("/runs", "Runs"), ("/workflows", "Workflows"), ("/history", "History")];
        let places = places.into_iter().chain(frame.has_team.then_some(("/team", "Team")));
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    link rel="icon" href="/icon.svg" type="image/svg+xml";
                    link rel="stylesheet" href="/style.css";
                    script src="/script.js" defer {}
                }
                body data-seen=(self.hash()) {
                    a.skip href="#parts" { "To the content" }
                    header.top {
                        a.brand href="/" { (mark()) "checkstone" }
                        nav aria-label="Views" {
                            @for (address, name) in places {
                                a href=(address) aria-current=[(view.place() == address).then_some("page")] { (name) }
                            }
                        }
                        p #live data-state="off" { span {} b { "not live" } }
                    }
                    main #parts {
                        @for part in &self.parts {
                            (framed(part))
                        }
                    }
                    footer.bottom {
                        "checkstone " (frame.version) ", served on this machine only"
                        span.keys hidden { "Keys: " kbd { "j" } " " kbd { "k" } " move, " kbd { "Enter" } " opens, " kbd { "/" } " searches, " kbd { "g" } " then " kbd { "s" } " " kbd { "r" } " " kbd { "w" } " " kbd { "h" } @if frame.has_team { " " kbd { "t" } } " goes to a view" }
                    }
                }
            }
        };
        page.into_string()
    }
}

/// A part in the element that the script replaces.
pub(crate) fn framed(part: &Part) -> Markup {
    html! { div.part id=(format!("part-{}", part.id)) data-hash=(part.hash) { (PreEscaped(&part.markup.0)) } }
}

/// The stone, drawn by hand.
fn mark() -> Markup {
    html! {
        svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true" {
            path d="M4 20 L6.5 6.5 L14 3.5 L20 9 L19 20 Z" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round" {}
            path d="M8.5 13 l2.8 2.8 L16 10.6" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" {}
        }
    }
}

pub(crate) const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 24 24\"><path d=\"M4 20 L6.5 6.5 L14 3.5 L20 9 L19 20 Z\" fill=\"#2f6f5e\"/><path d=\"M8.5 13 l2.8 2.8 L16 10.6\" fill=\"none\" stroke=\"#fff\" stroke-width=\"2\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/></svg>";
