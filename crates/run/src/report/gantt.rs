//! The chart of a run: one row per stage, its name above its bars, one bar per attempt, marks for what happened on the way.
//! Drawn as SVG, so that it needs no script, and in shares of its width, so that it fits a phone with letters that can be
//! read. The time in which nobody had the run in hand is cut to a narrow strip: a run that went on the next day would
//! else be two dots.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};

use super::story::{Attempt, StageStory, Story};
use super::words;
use crate::event::What;

/// Places across are in percent of the width, those down in pixels.
const RIGHT: f64 = 99.0;
const TOP: f64 = 34.0;
const ROW: f64 = 38.0;
const NAME: f64 = 18.0;
const BAR: f64 = 15.0;
/// The strip between two sittings.
const PAUSE: f64 = 4.0;
/// Shorter bars cannot be seen or pointed at.
const THINNEST: f64 = 0.6;
/// Of the ticks so many are left out on a phone, one after each that stays.
const TICKS_ON_A_PHONE: usize = 3;
/// The label of a tick that is further to the right does not fit.
const LAST_LABEL: f64 = 92.0;
/// A name of more letters does not fit above its bars.
const LONGEST_NAME: usize = 90;

/// From times to places.
struct Scale {
    /// Each sitting with the place where it begins.
    parts: Vec<(Timestamp, Timestamp, f64)>,
    per_second: f64,
}

impl Scale {
    fn of(story: &Story) -> Self {
        let seconds: f64 =
            story.sittings.iter().map(|sitting| span(sitting.began, sitting.ended)).sum::<f64>().max(0.001);
        // However often it was resumed, half of the chart is for what happened.
        let pause = (50.0 / story.resumes().max(1) as f64).min(PAUSE);
        let per_second = (RIGHT - pause * story.resumes() as f64) / seconds;
        let mut at = 0.0;
        let parts = story
            .sittings
            .iter()
            .map(|sitting| {
                let part = (sitting.began, sitting.ended, at);
                at += span(sitting.began, sitting.ended) * per_second + pause;
                part
            })
            .collect();
        Self { parts, per_second }
    }

    fn place(&self, time: Timestamp) -> f64 {
        let part = self.parts.iter().rev().find(|(began, ..)| *began <= time).or(self.parts.first());
        part.map_or(0.0, |(began, ended, at)| at + span(*began, time.min(*ended)) * self.per_second)
    }
}

fn span(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

/// Also for pages that show a run while it runs; each page says in its own style sheet how it looks.
pub fn chart(story: &Story) -> String {
    let scale = Scale::of(story);
    let height = TOP + ROW * story.stages.len() as f64 + 8.0;
    let mut svg = format!(
        "<svg class=\"gantt\" width=\"100%\" height=\"{height}\" role=\"img\" aria-label=\"Stages over time\">\n"
    );
    axis(&mut svg, story, &scale, height);
    for (row, stage) in story.stages.iter().enumerate() {
        let top = TOP + ROW * row as f64;
        name(&mut svg, top, stage);
        for attempt in &stage.attempts {
            bar(&mut svg, &scale, top, &stage.name_in(attempt), attempt);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn name(svg: &mut String, top: f64, stage: &StageStory) {
    let state = match stage.attempts.is_empty() || stage.is_dropped {
        true => format!("<tspan class=\"never\"> · {}</tspan>", stage.standing().to_lowercase()),
        false => String::new(),
    };
    let _ = writeln!(
        svg,
        "<text class=\"name\" x=\"0\" y=\"{}\">{}{state}<title>{}</title></text>",
        top + NAME - 4.0,
        text::html_text(text::first_characters(&stage.name(), LONGEST_NAME)),
        text::html_text(&stage.goal)
    );
}

/// Ticks of every sitting, and the strips between them.
fn axis(svg: &mut String, story: &Story, scale: &Scale, height: f64) {
    let mut before: Option<(Timestamp, f64)> = None;
    for (began, ended, at) in &scale.parts {
        let seconds = span(*began, *ended);
        if let Some((before, left)) = before {
            let pause = began.duration_since(before).max(SignedDuration::ZERO);
            let _ = writeln!(
                svg,
                "<rect class=\"pause\" x=\"{left:.2}%\" y=\"{TOP}\" width=\"{:.2}%\" height=\"{:.1}\"><title>The run was not active for {}</title></rect>",
                at - left,
                height - TOP,
                words::duration(pause)
            );
            let _ = writeln!(
                svg,
                "<text class=\"resumed\" x=\"{:.2}%\" y=\"12\">resumed</text>",
                left + (at - left) / 2.0
            );
        }
        let step = step(seconds, scale.per_second);
        let mut second = 0.0;
        let mut number = 0;
        while second <= seconds {
            let x = at + second * scale.per_second;
            let class = if number % TICKS_ON_A_PHONE == 0 { "" } else { " minor" };
            let _ = writeln!(
                svg,
                "<line class=\"tick{class}\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{TOP}\" y2=\"{height:.1}\"/>"
            );
            if x < LAST_LABEL {
                let _ = writeln!(
                    svg,
                    "<text class=\"time{class}\" x=\"{x:.2}%\" y=\"{:.1}\">{}</text>",
                    TOP - 8.0,
                    tick(second)
                );
            }
            second += step;
            number += 1;
        }
        before = Some((*ended, at + seconds * scale.per_second));
    }
    if story.stages.is_empty() {
        let _ = writeln!(svg, "<text x=\"0\" y=\"20\">no stage has begun</text>");
    }
}

/// Seconds between ticks, as clocks divide them, so that their labels do not meet.
fn step(seconds: f64, per_second: f64) -> f64 {
    const BETWEEN: f64 = 9.0;
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
        (minutes, _) if minutes < 1.0 && (second - seconds).abs() > 0.01 => format!("{second:.1} s"),
        (minutes, _) if minutes < 1.0 => format!("{seconds} s"),
        (minutes, 0.0) if minutes < 60.0 => format!("{minutes} min"),
        (minutes, 0.0) if minutes % 60.0 == 0.0 => format!("{} h", minutes / 60.0),
        _ => words::duration(SignedDuration::from_secs(seconds as i64)),
    }
}

fn bar(svg: &mut String, scale: &Scale, top: f64, stage: &str, attempt: &Attempt) {
    let (from, to) = (scale.place(attempt.began), scale.place(attempt.ended));
    let y = top + NAME;
    let told = format!(
        "{stage}, attempt {}: {} after {}{}",
        attempt.number,
        attempt.outcome.name(),
        words::duration(attempt.duration()),
        attempt.reason.as_deref().map(|reason| format!(" — {reason}")).unwrap_or_default()
    );
    let _ = writeln!(
        svg,
        "<rect class=\"bar {}\" x=\"{from:.2}%\" y=\"{y:.1}\" width=\"{:.2}%\" height=\"{BAR}\" rx=\"3\"><title>{}</title></rect>",
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
            What::Checkpoint { checkpoint_id, status, mid_stage, .. } => {
                let kind = words::checkpoint_kind(status, *mid_stage);
                ("checkpoint", format!("checkpoint {checkpoint_id} ({kind})"))
            }
            _ => continue,
        };
        let _ = writeln!(
            svg,
            "<circle class=\"mark {shape}\" cx=\"{x:.2}%\" cy=\"{:.1}\" r=\"4\"><title>{}</title></circle>",
            y + BAR / 2.0,
            text::html_text(&told)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No two ticks of one axis have the same label.
    #[test]
    fn ticks_are_named_by_clocks() {
        let labels = [0.0, 0.02, 0.5, 1.0, 1.5, 30.0, 60.0, 90.0, 3600.0].map(tick);
        assert_eq!(labels, ["0", "20 ms", "500 ms", "1 s", "1.5 s", "30 s", "1 min", "1 min 30 s", "1 h"]);
    }
}
