//! A plan as a drawing: its stages, each after those it waits for. The instances of a fan-out are one box.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use crate::plan::{Plan, SessionTurn};

/// Pixels.
const BOX_WIDTH: f64 = 230.0;
const BOX_HEIGHT: f64 = 40.0;
const ACROSS: f64 = 70.0;
const BETWEEN: f64 = 18.0;
const MARGIN: f64 = 16.0;
/// A longer name does not fit into its box.
const LONGEST_NAME: usize = 28;

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
            let instances = if waiting.is_fan_out { Instances::Later } else { Instances::One };
            boxes.push(StageBox { id: waiting.id, instances, after: Vec::new(), rank: 0 });
            names.push(waiting.waits_for);
        }
        // A cell begins with what the one before it left in the session.
        let in_session: Vec<String> = plan
            .session_turns()
            .into_iter()
            .filter_map(|turn| match turn {
                SessionTurn::Stage(place) => Some(plan.stages.get(place)?.template.clone()),
                SessionTurn::Waiting(id) => Some(id),
            })
            .collect();
        for pair in in_session.windows(2) {
            let [before, after] = pair else { continue };
            let names = places.get(after).and_then(|place| names.get_mut(*place));
            names.into_iter().filter(|_| before != after).for_each(|names| names.push(before.clone()));
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
        let drawing = Drawing::of(self);
        let (width, height) = drawing.size();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"ui-monospace, monospace\" font-size=\"12\">\n\
             <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
             <path d=\"M0 0L8 4L0 8Z\" fill=\"#8a93a3\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        );
        for (from, to) in &drawing.lines {
            let ((from_x, from_y), (x, to_y)) = (drawing.right_of(*from), drawing.left_of(*to));
            let middle = (from_x + x) / 2.0;
            let (end, arrow) = match to {
                Node::Box(_) => (String::new(), " marker-end=\"url(#arrow)\""),
                Node::Lane { .. } => (format!("h{BOX_WIDTH}"), ""),
            };
            let _ = writeln!(
                svg,
                "<path d=\"M{from_x} {from_y}C{middle} {from_y} {middle} {to_y} {x} {to_y}{end}\" fill=\"none\" stroke=\"#8a93a3\"{arrow}/>"
            );
        }
        for (place, stage) in self.boxes.iter().enumerate() {
            let (x, middle) = drawing.left_of(Node::Box(place));
            let y = middle - BOX_HEIGHT / 2.0;
            let (whole, name) = (text::html_text(&stage.id), text::shortened(&stage.id, LONGEST_NAME));
            let (left, note, name) = (x + 10.0, stage.note(), text::html_text(&name));
            let baseline = if note.is_empty() { y + 24.0 } else { y + 17.0 };
            let _ = writeln!(
                svg,
                "<g><title>{whole}</title>\
                 <rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"6\" fill=\"#f4f6f9\" stroke=\"#8a93a3\"/>\
                 <text x=\"{left}\" y=\"{baseline}\" fill=\"#16181d\">{name}</text></g>"
            );
            if !note.is_empty() {
                let _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\" fill=\"#5a6372\">{note}</text>", y + 32.0);
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// What has a place in a column.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Node {
    Box(usize),
    /// Where the lines from a box pass a column on their way, so that they do not run behind its boxes.
    Lane {
        from: usize,
        rank: usize,
    },
}

/// Where everything of a picture is.
struct Drawing {
    /// The column of each, and the middle of its height.
    places: BTreeMap<Node, (usize, f64)>,
    /// From one column to the next.
    lines: BTreeSet<(Node, Node)>,
}

impl Drawing {
    fn of(graph: &Graph) -> Self {
        let mut lines = BTreeSet::new();
        let mut columns: Vec<BTreeSet<Node>> = Vec::new();
        columns.resize_with(graph.boxes.iter().map(|stage| stage.rank + 1).max().unwrap_or(0), BTreeSet::new);
        let mut put = |node: Node, rank: usize| {
            columns.get_mut(rank).map(|column| column.insert(node));
        };
        for (place, stage) in graph.boxes.iter().enumerate() {
            put(Node::Box(place), stage.rank);
            for (from, rank) in stage.after.iter().filter_map(|on| Some((*on, graph.boxes.get(*on)?.rank))) {
                let mut at = Node::Box(from);
                for rank in rank + 1..stage.rank {
                    let lane = Node::Lane { from, rank };
                    put(lane, rank);
                    lines.insert((at, lane));
                    at = lane;
                }
                lines.insert((at, Node::Box(place)));
            }
        }
        let mut before: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
        lines.iter().for_each(|(from, to)| before.entry(*to).or_default().push(*from));
        let mut drawing = Self { places: BTreeMap::new(), lines };
        for (rank, column) in columns.into_iter().enumerate() {
            // As high as what it comes after, as far as there is room.
            let wanted = |node: &Node| {
                let heights = before.get(node).into_iter().flatten();
                let heights: Vec<f64> = heights.filter_map(|on| Some(drawing.places.get(on)?.1)).collect();
                if heights.is_empty() { 0.0 } else { heights.iter().sum::<f64>() / heights.len() as f64 }
            };
            let mut column: Vec<(f64, Node)> = column.into_iter().map(|node| (wanted(&node), node)).collect();
            column.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            let mut free = MARGIN;
            for (wanted, node) in column {
                let height = if matches!(node, Node::Box(_)) { BOX_HEIGHT } else { 0.0 };
                let middle = wanted.max(free + height / 2.0);
                free = middle + height / 2.0 + BETWEEN;
                drawing.places.insert(node, (rank, middle));
            }
        }
        drawing
    }

    fn size(&self) -> (f64, f64) {
        let columns = self.places.values().map(|(rank, _)| rank + 1).max().unwrap_or(0);
        let bottom = self.places.values().map(|(_, middle)| middle + BOX_HEIGHT / 2.0).fold(MARGIN, f64::max);
        (MARGIN * 2.0 + columns as f64 * (BOX_WIDTH + ACROSS) - ACROSS, bottom + MARGIN)
    }

    fn left_of(&self, node: Node) -> (f64, f64) {
        let (rank, middle) = self.places.get(&node).copied().unwrap_or_default();
        (MARGIN + rank as f64 * (BOX_WIDTH + ACROSS), middle)
    }

    fn right_of(&self, node: Node) -> (f64, f64) {
        let (left, middle) = self.left_of(node);
        (left + BOX_WIDTH, middle)
    }
}
