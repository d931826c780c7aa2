//! Where there is no namespace: who descends from the shim, and signals to all of them. It runs in the copy, so it
//! allocates nothing: what is read of processes goes into room that was made before. Also for a child that has no shim.

use machine::{Process, ProcessTable};
use rustix::process::Signal;

/// After this many rounds somebody forks faster than we look; killing begins then.
const ROUNDS: usize = 64;

/// Room for two looks at all processes.
pub(super) struct Room {
    now: Vec<Process>,
    before: Vec<Process>,
}

impl Room {
    pub(super) fn new(most: usize) -> Self {
        Self { now: Vec::with_capacity(most), before: Vec::with_capacity(most) }
    }
}

/// Ends a child of this process with all that descend from it.
pub(crate) fn end_child(child: i32) {
    let mut room = Room::new(machine::MOST);
    let mut descendants = Descendants::new(&mut room);
    let Some(table) = ProcessTable::open().ok() else { return };
    let Some(process) = table.read(child) else { return };
    // One that has ended and been waited for may have left its number to anybody.
    if process.parent != descendants.me {
        return;
    }
    descendants.me = child;
    let _ = table.signal(&process, Signal::STOP);
    descendants.stop();
    descendants.kill();
    let _ = table.signal(&process, Signal::KILL);
}

pub(super) struct Descendants<'a> {
    room: &'a mut Room,
    table: Option<ProcessTable>,
    me: i32,
}

impl<'a> Descendants<'a> {
    pub(super) fn new(room: &'a mut Room) -> Self {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        // In a namespace there is no room, and no need.
        let table = if room.now.capacity() > 0 { ProcessTable::open().ok() } else { None };
        Self { room, table, me }
    }

    /// A signal to each of them that is there now.
    pub(super) fn signal(&mut self, signal: Signal) {
        self.each(|table, process| {
            let _ = table.signal(process, signal);
        });
    }

    /// Stops them until a look finds nobody new, so that nobody can react to what follows, or fork away from it. Whoever
    /// has been sent the signal does nothing more: also a fork that is under way is given up.
    pub(super) fn stop(&mut self) {
        let me = self.me;
        self.room.now.clear();
        for _ in 0..ROUNDS {
            std::mem::swap(&mut self.room.now, &mut self.room.before);
            let before = std::mem::take(&mut self.room.before);
            let mut new = false;
            self.each(|table, process| {
                let known = before.binary_search_by_key(&process.pid, |row| row.pid);
                let known = known.ok().and_then(|place| before.get(place));
                let told = known
                    .is_some_and(|row| row.started == process.started && machine::descends(&before, row, me));
                if !told {
                    new |= table.signal(process, Signal::STOP).is_ok();
                }
            });
            self.room.before = before;
            if !new {
                return;
            }
        }
    }

    /// Kills them; returns how many there are if not a single one could be killed, although there are some.
    pub(super) fn kill(&mut self) -> u32 {
        let (mut killed, mut refused) = (0_u32, 0_u32);
        self.each(|table, process| match table.signal(process, Signal::KILL) {
            Err(rustix::io::Errno::PERM) => refused = refused.saturating_add(1),
            _ => killed = killed.saturating_add(1),
        });
        if killed == 0 { refused } else { 0 }
    }

    /// How many there are.
    pub(super) fn number(&mut self) -> u32 {
        let mut number = 0_u32;
        self.each(|_, _| number = number.saturating_add(1));
        number
    }

    fn each(&mut self, mut act: impl FnMut(&ProcessTable, &Process)) {
        let Some(table) = &self.table else { return };
        table.read_all(&mut self.room.now);
        for process in &self.room.now {
            if process.is_alive && machine::descends(&self.room.now, process, self.me) {
                act(table, process);
            }
        }
    }
}
