//! What a machine sends to its team's database: who it is, and events in batches. Every statement can be repeated where nobody knows
//! whether it was carried out: what is there already is left as it is.

use crate::team_event::{TeamEvent, TeamVerdict};
use crate::{Connection, DatabaseError, ServerClock};

/// Which machine sends.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamMachine {
    /// By which it is known again.
    pub machine: String,
    /// What people call it.
    pub name: String,
    /// Of this program.
    pub version: String,
}

/// A machine as the database knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamMachineId(i64);

/// Makes the machine known, and how its clock stands.
pub fn introduce(
    connection: &mut Connection,
    machine: &TeamMachine,
    clock: ServerClock,
) -> Result<TeamMachineId, DatabaseError> {
    let ahead = -clock.ahead;
    connection.run(|client| {
        let statement = "insert into checkstone.team_machines (machine, name, version, clock_ahead) values ($1, $2, $3, $4)
             on conflict (team, machine) do update set name = excluded.name, version = excluded.version,
                 clock_ahead = excluded.clock_ahead, member = session_user, sent_at = clock_timestamp()
             returning id";
        let row = client
            .query_one(statement, &[&machine.machine, &machine.name, &machine.version, &ahead])?;
        Ok(TeamMachineId(row.get(0)))
    })
}

/// Sends events, all or none. They are on the server's disk then. How many of them were new.
pub fn send(
    connection: &mut Connection,
    machine: TeamMachineId,
    events: &[TeamEvent],
) -> Result<u64, DatabaseError> {
    let columns = Columns::of(events);
    connection.run(|client| {
        client.execute(
            STATEMENT,
            &[
                &machine.0,
                &columns.session,
                &columns.sequence,
                &columns.at,
                &columns.turn,
                &columns.agent,
                &columns.repository,
                &columns.branch,
                &columns.verdict,
                &columns.waits,
                &columns.rules,
                &columns.changed,
                &columns.files,
                &columns.proofs,
                &columns.calls,
                &columns.turn_milliseconds,
                &columns.hook_milliseconds,
                &columns.texts,
            ],
        )
    })
}

const STATEMENT: &str = "
with sender as (update checkstone.team_machines set sent_at = clock_timestamp() where id = $1)
insert into checkstone.team_events (machine, session, sequence, at, turn, agent, repository, branch, verdict, waits, rules,
    changed, files, proofs, calls, turn_milliseconds, hook_milliseconds, texts)
select $1, decode(session, 'hex'), sequence, to_timestamp(at / 1000.0), turn, agent, decode(repository, 'hex'),
    decode(branch, 'hex'), verdict, waits, rules::text[], changed, files::bigint[], proofs, calls, turn_milliseconds,
    hook_milliseconds, texts::jsonb
from unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::boolean[],
    $11::text[], $12::integer[], $13::text[], $14::integer[], $15::integer[], $16::bigint[], $17::bigint[], $18::text[])
    as event (session, sequence, at, turn, agent, repository, branch, verdict, waits, rules, changed, files, proofs, calls,
        turn_milliseconds, hook_milliseconds, texts)
on conflict do nothing";

/// Events by column, as one statement takes them.
#[derive(Default)]
struct Columns<'a> {
    session: Vec<&'a str>,
    sequence: Vec<i64>,
    at: Vec<i64>,
    turn: Vec<i64>,
    agent: Vec<&'a str>,
    repository: Vec<Option<&'a str>>,
    branch: Vec<Option<&'a str>>,
    verdict: Vec<Option<&'a str>>,
    waits: Vec<Option<bool>>,
    /// Lists as PostgreSQL writes them: a list of lists could not be taken apart by row.
    rules: Vec<Option<String>>,
    changed: Vec<Option<i32>>,
    files: Vec<Option<String>>,
    proofs: Vec<Option<i32>>,
    calls: Vec<Option<i32>>,
    turn_milliseconds: Vec<Option<i64>>,
    hook_milliseconds: Vec<Option<i64>>,
    texts: Vec<Option<String>>,
}

impl<'a> Columns<'a> {
    fn of(events: &'a [TeamEvent]) -> Self {
        let mut columns = Self::default();
        for event in events {
            columns.session.push(&event.session);
            columns.sequence.push(event.sequence);
            columns.at.push(event.at);
            columns.turn.push(event.turn);
            columns.agent.push(&event.agent);
            columns.repository.push(event.repository.as_deref());
            columns.branch.push(event.branch.as_deref());
            columns.texts.push(event.texts.as_ref().map(without_zero));
            columns.add_verdict(event.verdict.as_ref());
        }
        columns
    }

    fn add_verdict(&mut self, verdict: Option<&'a TeamVerdict>) {
        self.verdict.push(verdict.map(|verdict| verdict.decision.as_str()));
        self.waits.push(verdict.map(|verdict| verdict.waits));
        self.rules.push(verdict.map(|verdict| list(verdict.rules.iter().map(|rule| quoted(rule)))));
        self.changed.push(verdict.map(|verdict| verdict.changed));
        self.files.push(verdict.map(|verdict| list(verdict.files.iter().map(i64::to_string))));
        self.proofs.push(verdict.map(|verdict| verdict.proofs));
        self.calls.push(verdict.map(|verdict| verdict.calls));
        self.turn_milliseconds.push(verdict.map(|verdict| verdict.turn_milliseconds));
        self.hook_milliseconds.push(verdict.map(|verdict| verdict.hook_milliseconds));
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("{{{}}}", items.collect::<Vec<_>>().join(","))
}

fn quoted(item: &str) -> String {
    format!("\"{}\"", item.replace('\\', "\\\\").replace('"', "\\\""))
}

/// PostgreSQL has no character zero, in JSON neither.
fn without_zero(texts: &serde_json::Value) -> String {
    texts.to_string().replace("\\u0000", "\\ufffd")
}
