//! Attempts on threads of this process, one each.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use supervise::Controls;

use super::{AttemptReport, AttemptTicket, Executor};
use crate::attempt::{self, Job};

pub(crate) struct LocalThreads {
    /// Of those that run.
    controls: HashMap<usize, Controls>,
    sender: Sender<AttemptReport>,
    receiver: Receiver<AttemptReport>,
}

impl LocalThreads {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        Self { controls: HashMap::new(), sender, receiver }
    }

    fn heard(&mut self, report: AttemptReport) -> AttemptReport {
        if let AttemptReport::Ended(stage, _) = &report {
            self.controls.remove(stage);
        }
        report
    }
}

impl Executor for LocalThreads {
    fn ticket(&mut self) -> io::Result<AttemptTicket> {
        Ok(AttemptTicket { controls: Controls::new()?, token: None })
    }

    fn submit(&mut self, job: Job) -> io::Result<()> {
        let (stage, controls, sender) = (job.stage, job.controls.clone(), self.sender.clone());
        let work = move || {
            let teller = sender.clone();
            // The receiver outlives every stage; where it does not, nobody wants to know.
            let tell = move |told| drop(teller.send(AttemptReport::Progress(stage, told)));
            let outcome = attempt::run(&job, &tell);
            let _ = sender.send(AttemptReport::Ended(stage, Box::new(outcome)));
        };
        std::thread::Builder::new().spawn(work)?;
        self.controls.insert(stage, controls);
        Ok(())
    }

    fn poll(&mut self, wait: Duration) -> Option<AttemptReport> {
        let report = self.receiver.recv_timeout(wait).ok()?;
        Some(self.heard(report))
    }

    fn cancel(&mut self, stage: usize) -> bool {
        let controls = self.controls.get(&stage);
        controls.into_iter().for_each(Controls::abort);
        controls.is_some()
    }

    /// Threads end with their process.
    fn adopt(&mut self, job: Job) -> Result<(), Box<Job>> {
        Err(Box::new(job))
    }

    /// The kernel is this process's, and is asked itself.
    fn holds(&self, _: &str) -> bool {
        false
    }

    /// They would go on without anybody who knows of them.
    fn let_go(&mut self) {
        self.controls.values().for_each(Controls::abort);
        while !self.controls.is_empty() {
            let Ok(report) = self.receiver.recv() else { return };
            self.heard(report);
        }
    }
}
