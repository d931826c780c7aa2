//! One process at one instant, and who descends from whom. The shim of `supervise` uses this between fork and exec, so
//! nothing here allocates, and nothing panics.

/// One process at one instant. A number alone names nobody for long; number and start do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Process {
    pub pid: i32,
    /// On macOS, where orphans fall to process 1, an orphan's is the leader of its session.
    pub parent: i32,
    /// Not a zombie, which nobody can signal and which holds nothing.
    pub is_alive: bool,
    /// In the unit of the platform: two of one number that started at different times differ in it.
    pub started: u64,
    /// Processor time in hundredths of a second, that of its children which have ended included.
    pub ticks: u64,
}

/// The processes of a machine that are looked at; further ones are found when some are gone.
pub const MOST: usize = 32_768;

/// More steps than this lead nowhere: rows that were read at different instants can go round in a circle.
const DEEPEST: usize = 4096;

/// Whether a process has this ancestor, by rows in the order of their numbers.
pub fn descends(rows: &[Process], process: &Process, ancestor: i32) -> bool {
    let mut parent = process.parent;
    for _ in 0..DEEPEST {
        if parent == ancestor {
            return true;
        }
        match rows.binary_search_by_key(&parent, |row| row.pid) {
            Ok(place) => match rows.get(place) {
                Some(row) => parent = row.parent,
                None => return false,
            },
            Err(_) => return false,
        }
    }
    false
}

/// A process and all that descend from it.
pub fn tree(rows: &[Process], root: i32) -> impl Iterator<Item = &Process> {
    rows.iter().filter(move |row| row.pid == root || descends(rows, row, root))
}

/// The processor time of a process and of all that descend from it, in hundredths of a second; and how many they are.
pub fn tree_ticks(rows: &[Process], root: i32) -> (u64, usize) {
    tree(rows, root).fold((0, 0), |(ticks, number), row| (ticks + row.ticks, number + 1))
}
