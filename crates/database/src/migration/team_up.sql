
-- What the machines of a team did. A team is a role: rows belong to it, and its members see them and nobody else's.
create table checkstone.team_machines (
    id bigint generated always as identity primary key,
    team regrole not null default quote_ident(current_user)::regrole,
    machine text not null,
    member text not null default session_user,
    name text not null default '',
    version text not null default '',
    -- In seconds; its own clock against that of the database.
    clock_ahead double precision not null default 0,
    sent_at timestamptz not null default clock_timestamp(),
    unique (team, machine)
);
-- No reference to the machine: it is made before, never removed alone, and checking it would cost as much as the row. The time is part
-- of the key because partitions go by it; the same event always has the same time.
create table checkstone.team_events (
    team regrole not null default quote_ident(current_user)::regrole,
    machine bigint not null,
    session bytea not null,
    sequence bigint not null,
    at timestamptz not null,
    received_at timestamptz not null default now(),
    turn bigint not null,
    agent text not null,
    repository bytea,
    branch bytea,
    -- Of a turn that was opened, none of these.
    verdict text check (verdict in ('pass', 'notify', 'hold')),
    waits boolean,
    rules text[],
    changed integer,
    files bigint[],
    proofs integer,
    calls integer,
    turn_milliseconds bigint,
    hook_milliseconds bigint,
    -- Only what somebody chose to send.
    texts jsonb,
    primary key (machine, session, sequence, at)
) partition by range (at);
create table checkstone.team_events_rest partition of checkstone.team_events default;
create index team_events_by_time on checkstone.team_events (team, at);
alter table checkstone.team_machines enable row level security;
alter table checkstone.team_events enable row level security;
create policy members on checkstone.team_machines
    using (pg_has_role(team, 'member')) with check (pg_has_role(team, 'member'));
create policy members on checkstone.team_events
    using (pg_has_role(team, 'member')) with check (pg_has_role(team, 'member'));
