//! A plan as a drawing: its stages, each after those it waits for. The instances of a fan-out are one box.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::plan::Plan;

/// Pixels.
const BOX_WIDTH: f64 = 230.0;
const BOX_HEIGHT: f64 = 40.0;
const ACROSS: f64 = 70.0;
const BETWEEN: f64 = 18.0;
const MARGIN: f64 = 16.0;
/// A longer name does not fit into its box.
const LONGEST_NAME: usize = 30;

#[derive(Debug)]
pub struct Graph {
    boxes: Vec<StageBox>,
}

#[derive(Debug)]
struct StageBox {
    id: String,
    instances: Instances,
    /// Places in `boxes`.
    after: Vec<usize>,
    /// How many boxes are before it on the longest way.
    rank: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Instances {
    One,
    Many(usize),
    /// Known only during the run.
    Later,
}

impl StageBox {
    fn note(&self) -> String {
        match self.instances {
            Instances::One => String::new(),
            Instances::Many(number) => format!("× {number}"),
            Instances::Later => "known during the run".to_owned(),
        }
    }
}

impl Graph {
    pub fn of(plan: &Plan) -> Self {
        let mut boxes: Vec<StageBox> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut names: Vec<Vec<String>> = Vec::new();
        for stage in &plan.stages {
            let after = stage.dependencies.iter().filter_map(|on| plan.stages.get(*on));
            let after: Vec<String> = after.map(|before| before.template.clone()).collect();
            let is_instance = stage.id != stage.template;
            match places.get(&stage.template).copied() {
                Some(place) => {
                    if let (Some(here), Some(names)) = (boxes.get_mut(place), names.get_mut(place)) {
                        if let Instances::Many(number) = &mut here.instances {
                            *number += 1;
                        }
                        names.extend(after);
                    }
                }
                None => {
                    places.insert(stage.template.clone(), boxes.len());
                    let instances = if is_instance { Instances::Many(1) } else { Instances::One };
                    boxes.push(StageBox {
                        id: stage.template.clone(),
                        instances,
                        after: Vec::new(),
                        rank: 0,
                    });
                    names.push(after);
                }
            }
        }
        for waiting in plan.waiting() {
            places.insert(waiting.id.clone(), boxes.len());
            boxes.push(StageBox { id: waiting.id, instances: Instances::Later, after: Vec::new(), rank: 0 });
            names.push(waiting.waits_for);
        }
        for (stage, names) in boxes.iter_mut().zip(names) {
            stage.after = names.iter().filter_map(|name| places.get(name).copied()).collect();
            stage.after.sort_unstable();
            stage.after.dedup();
        }
        let mut graph = Self { boxes };
        graph.rank();
        graph
    }

    /// A plan has no cycle, so that there are no more ranks than boxes.
    fn rank(&mut self) {
        for _ in 0..self.boxes.len() {
            let ranks: Vec<usize> = self.boxes.iter().map(|stage| stage.rank).collect();
            let mut is_changed = false;
            for stage in &mut self.boxes {
                let before = stage.after.iter().filter_map(|on| ranks.get(*on)).max();
                let rank = before.map_or(0, |before| before + 1);
                is_changed |= rank != stage.rank;
                stage.rank = rank;
            }
            if !is_changed {
                return;
            }
        }
    }

    /// For a terminal: each stage below the last of those it waits for; the others are named beside it.
    pub fn lines(&self) -> String {
        let last = |stage: &StageBox| {
            stage.after.iter().copied().max_by_key(|on| self.boxes.get(*on).map(|on| on.rank))
        };
        let mut text = String::new();
        let mut waiting: Vec<(usize, String)> = Vec::new();
        let below = |parent: Option<usize>| -> Vec<usize> {
            let boxes = self.boxes.iter().enumerate();
            boxes.filter(|(_, stage)| last(stage) == parent).map(|(place, _)| place).collect()
        };
        waiting.extend(below(None).into_iter().rev().map(|place| (place, String::new())));
        while let Some((place, before)) = waiting.pop() {
            let Some(stage) = self.boxes.get(place) else { continue };
            let others: Vec<&str> = (stage.after.iter().filter(|on| Some(**on) != last(stage)))
                .filter_map(|on| self.boxes.get(*on).map(|on| on.id.as_str()))
                .collect();
            let also =
                if others.is_empty() { String::new() } else { format!(", also after {}", others.join(", ")) };
            let note = stage.note();
            let note = if note.is_empty() { note } else { format!(" {note}") };
            let _ = writeln!(text, "{before}{}{note}{also}", stage.id);
            // What was a branch to this one goes on beside what is below it, if there is more.
            let stem = match before.strip_suffix("├─ ") {
                Some(stem) => format!("{stem}│  "),
                None => before.strip_suffix("└─ ").map_or_else(String::new, |stem| format!("{stem}   ")),
            };
            let children = below(Some(place));
            let branches = children.iter().enumerate().rev().map(|(number, child)| {
                let branch = if number + 1 == children.len() { "└─ " } else { "├─ " };
                (*child, format!("{stem}{branch}"))
            });
            waiting.extend(branches);
        }
        text
    }

    /// As a picture: one column for each rank.
    pub fn svg(&self) -> String {
        let ranks = self.boxes.iter().map(|stage| stage.rank + 1).max().unwrap_or(0);
        let mut rows = vec![0_usize; ranks];
        let places: Vec<(f64, f64)> = (self.boxes.iter())
            .map(|stage| {
                let row = rows.get_mut(stage.rank).map_or(0, |row| std::mem::replace(row, *row + 1));
                let x = MARGIN + stage.rank as f64 * (BOX_WIDTH + ACROSS);
                (x, MARGIN + row as f64 * (BOX_HEIGHT + BETWEEN))
            })
            .collect();
        let width = MARGIN * 2.0 + ranks as f64 * (BOX_WIDTH + ACROSS) - ACROSS;
        let most = rows.into_iter().max().unwrap_or(0);
        let height = MARGIN * 2.0 + most as f64 * (BOX_HEIGHT + BETWEEN) - BETWEEN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"ui-monospace, monospace\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        );
        for (stage, (x, y)) in self.boxes.iter().zip(&places) {
            for (from_x, from_y) in stage.after.iter().filter_map(|on| places.get(*on)) {
                let (from_x, from_y, to_y) =
                    (from_x + BOX_WIDTH, from_y + BOX_HEIGHT / 2.0, y + BOX_HEIGHT / 2.0);
                let middle = (from_x + x) / 2.0;
                let _ = writeln!(
                    svg,
                    "<path d=\"M{from_x} {from_y}C{middle} {from_y} {middle} {to_y} {x} {to_y}\" fill=\"none\" stroke=\"#8a93a3\"/>"
                );
            }
        }
        for (stage, (x, y)) in self.boxes.iter().zip(&places) {
            let name = text::html_text(text::first_characters(&stage.id, LONGEST_NAME));
            let (left, note) = (x + 10.0, stage.note());
            let baseline = if note.is_empty() { y + 24.0 } else { y + 17.0 };
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"6\" fill=\"#f4f6f9\" stroke=\"#8a93a3\"/>\n\
                 <text x=\"{left}\" y=\"{baseline}\" fill=\"#16181d\">{name}</text>"
            );
            if !note.is_empty() {
                let _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\" fill=\"#5a6372\">{note}</text>", y + 32.0);
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}
