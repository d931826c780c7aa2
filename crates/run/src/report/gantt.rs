//! The chart of a run: one row per stage, one bar per attempt, marks for what happened on the way. Drawn as SVG, so that
//! it needs no script. The time in which nobody had the run in hand is cut to a narrow strip: a run that went on the
//! next day would else be two dots.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};

use super::story::{Attempt, Story};
use super::words;
use crate::event::What;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const ROW: f64 = 30.0;
const BAR: f64 = 18.0;
/// The strip between two sittings.
const PAUSE: f64 = 34.0;
/// Shorter bars cannot be seen or pointed at.
const THINNEST: f64 = 3.0;
/// A name of more letters does not fit before the chart.
const LONGEST_NAME: usize = 32;

/// From times to places.
struct Scale {
    /// Each sitting with the place where it begins, and the seconds before it.
    parts: Vec<(Timestamp, Timestamp, f64)>,
    per_second: f64,
}

impl Scale {
    fn of(story: &Story) -> Self {
        let seconds: f64 =
            story.sittings.iter().map(|sitting| span(sitting.began, sitting.ended)).sum::<f64>().max(0.001);
        let pauses = PAUSE * story.resumes() as f64;
        let per_second = (WIDTH - LEFT - RIGHT - pauses).max(100.0) / seconds;
        let mut at = LEFT;
        let parts = story
            .sittings
            .iter()
            .map(|sitting| {
                let part = (sitting.began, sitting.ended, at);
                at += span(sitting.began, sitting.ended) * per_second + PAUSE;
                part
            })
            .collect();
        Self { parts, per_second }
    }

    fn place(&self, time: Timestamp) -> f64 {
        let part = self.parts.iter().rev().find(|(began, ..)| *began <= time).or(self.parts.first());
        part.map_or(LEFT, |(began, ended, at)| at + span(*began, time.min(*ended)) * self.per_second)
    }
}

fn span(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

pub(super) fn chart(story: &Story) -> String {
    let scale = Scale::of(story);
    let height = TOP + ROW * story.stages.len() as f64 + 8.0;
    let mut svg = format!(
        "<svg class=\"gantt\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Stages over time\">\n"
    );
    axis(&mut svg, story, &scale, height);
    for (row, stage) in story.stages.iter().enumerate() {
        let top = TOP + ROW * row as f64;
        let name = text::first_characters(&stage.id, LONGEST_NAME);
        let _ = writeln!(
            svg,
            "<text class=\"name\" x=\"{}\" y=\"{}\">{}<title>{}</title></text>",
            LEFT - 10.0,
            top + ROW / 2.0 + 4.0,
            text::html_text(name),
            text::html_text(&match stage.parameters.as_str() {
                "" => stage.goal.clone(),
                parameters => format!("{parameters}: {}", stage.goal),
            })
        );
        for attempt in &stage.attempts {
            bar(&mut svg, &scale, top, &stage.name(), attempt);
        }
        if stage.attempts.is_empty() {
            let _ = writeln!(
                svg,
                "<text class=\"never\" x=\"{LEFT}\" y=\"{}\">{}</text>",
                top + ROW / 2.0 + 4.0,
                text::html_text(&stage.state.name().to_lowercase())
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Ticks of every sitting, and the strips between them.
fn axis(svg: &mut String, story: &Story, scale: &Scale, height: f64) {
    let mut before: Option<Timestamp> = None;
    for (began, ended, at) in &scale.parts {
        if let Some(before) = before {
            let left = at - PAUSE;
            let pause = began.duration_since(before).max(SignedDuration::ZERO);
            let _ = writeln!(
                svg,
                "<rect class=\"pause\" x=\"{:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"><title>Nobody had the run in hand for {}</title></rect>",
                left + 4.0,
                PAUSE - 8.0,
                height - TOP,
                words::duration(pause)
            );
            let _ = writeln!(
                svg,
                "<text class=\"resumed\" x=\"{:.1}\" y=\"12\">resumed</text>",
                left + PAUSE / 2.0
            );
        }
        let seconds = span(*began, *ended);
        let step = step(seconds, scale.per_second);
        let mut second = 0.0;
        while second <= seconds {
            let x = at + second * scale.per_second;
            let _ = writeln!(
                svg,
                "<line class=\"tick\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{height:.1}\"/>"
            );
            let _ = writeln!(
                svg,
                "<text class=\"time\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                TOP - 8.0,
                tick(second)
            );
            second += step;
        }
        before = Some(*ended);
    }
    if story.stages.is_empty() {
        let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"20\">no stage has begun</text>");
    }
}

/// Seconds between ticks, as clocks divide them, so that their labels do not meet.
fn step(seconds: f64, per_second: f64) -> f64 {
    const BETWEEN: f64 = 90.0;
    const STEPS: [f64; 22] = [
        0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0,
        1200.0, 1800.0, 3600.0, 7200.0, 14400.0,
    ];
    let fits = STEPS.into_iter().find(|step| step * per_second >= BETWEEN);
    fits.unwrap_or_else(|| seconds.max(86_400.0))
}

/// The label of a tick: whole numbers where they are.
fn tick(second: f64) -> String {
    let seconds = second.round();
    if second < 1.0 {
        return if second == 0.0 { "0".to_owned() } else { format!("{:.0} ms", second * 1000.0) };
    }
    match (seconds / 60.0, seconds % 60.0) {
        (minutes, _) if minutes < 1.0 => format!("{seconds} s"),
        (minutes, 0.0) if minutes < 60.0 => format!("{minutes} min"),
        (minutes, 0.0) if minutes % 60.0 == 0.0 => format!("{} h", minutes / 60.0),
        _ => words::duration(SignedDuration::from_secs(seconds as i64)),
    }
}

fn bar(svg: &mut String, scale: &Scale, top: f64, stage: &str, attempt: &Attempt) {
    let (from, to) = (scale.place(attempt.began), scale.place(attempt.ended));
    let y = top + (ROW - BAR) / 2.0;
    let told = format!(
        "{stage}, attempt {}: {} after {}{}",
        attempt.number,
        attempt.outcome.name(),
        words::duration(attempt.duration()),
        attempt.reason.as_deref().map(|reason| format!(" — {reason}")).unwrap_or_default()
    );
    let _ = writeln!(
        svg,
        "<rect class=\"bar {}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"3\"><title>{}</title></rect>",
        attempt.outcome.name(),
        (to - from).max(THINNEST),
        text::html_text(&told)
    );
    for incident in &attempt.incidents {
        let x = scale.place(incident.at);
        let (shape, told) = match &incident.what {
            What::Signal { signal, .. } => ("signal", signal.clone()),
            What::Stall { signal, .. } => ("stall", format!("stalled: {signal}")),
            What::Suspended { milliseconds, .. } => {
                let time = SignedDuration::from_millis(i64::try_from(*milliseconds).unwrap_or(i64::MAX));
                ("suspended", format!("suspended for {}", words::duration(time)))
            }
            What::Checkpoint { checkpoint_id, status, .. } => {
                ("checkpoint", format!("checkpoint {checkpoint_id} ({status})"))
            }
            _ => continue,
        };
        let _ = writeln!(
            svg,
            "<circle class=\"mark {shape}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\"><title>{}</title></circle>",
            y + BAR / 2.0,
            text::html_text(&told)
        );
    }
}
