/** The schema of a fleet's database, as the steps that lead to it. A step that was released is never changed; another follows it. */

export interface Migration {
  /** 1, 2, 3 … */
  readonly version: number;
  readonly name: string;
  /** The oldest schema whose programs still work with the database after this step: of a Ralph that knows no later one. */
  readonly minVersion: number;
  /** Statements, separated by semicolons. All steps that are missing run in one transaction. */
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'units, their events, and who works on them',
    minVersion: 1,
    sql: `
create table ralph.account (
  id text primary key,
  slots int check (slots > 0),
  limited_until timestamptz,
  -- The unit that tries first when a limit is over, and since when: the others follow when it works.
  probe text,
  probe_since timestamptz
);
create table ralph.budget (
  id text primary key,
  owner text not null,
  -- Dollars, tokens or turns of an agent.
  currency text not null default 'cost' check (currency in ('cost', 'tokens', 'turns')),
  cap numeric not null check (cap >= 0),
  reserved numeric not null default 0 check (reserved >= 0),
  spent numeric not null default 0 check (spent >= 0),
  -- What the dearest turn has used so far; null: none has ended.
  dearest numeric,
  -- What it is part of, and the list of stories whose own it is.
  within text references ralph.budget (id),
  unit text
);
-- A budget and those that it is part of, the nearest first, each once: rows may name each other in a circle.
create function ralph.whole_of(text) returns setof ralph.budget language sql stable as $$
  with recursive whole as (
    select id, within, array[id] as path from ralph.budget where id = $1
    union all
    select b.id, b.within, path || b.id from ralph.budget b join whole on b.id = whole.within where not b.id = any(path)
  )
  select b.* from whole join ralph.budget b using (id) order by cardinality(path)
$$;
create table ralph.unit (
  id text primary key,
  number bigint generated always as identity,
  kind text not null check (kind in ('loop', 'prd', 'story')),
  parent text references ralph.unit (id),
  title text not null,
  owner text not null,
  repo_url text not null,
  base text not null,
  config jsonb not null,
  needs text[] not null default '{}',
  account text not null,
  budget text references ralph.budget (id),
  priority int not null default 0,
  depends text[] not null default '{}',
  min_version int not null,
  state text not null check (state in ('waiting', 'ready', 'admitted', 'running', 'parked', 'done', 'stopped', 'cancelled', 'lost')),
  -- Grows with every claim; whoever holds an older one writes nothing.
  fence bigint not null default 0,
  worker text,
  -- The lease on it, as long as there is one.
  job uuid,
  takeovers int not null default 0,
  -- The commit that carries the work and the state of the run, and how far its ledger was then.
  carry text,
  carry_fence bigint,
  head_sha text,
  stop_reason text,
  detail text,
  cost numeric,
  iterations int not null default 0,
  ready_at timestamptz,
  submitted_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz
);
create index unit_state on ralph.unit (state, priority desc, number);
create index unit_job on ralph.unit (number) where job is not null;
create index unit_parent on ralph.unit (parent) where parent is not null;
create index unit_owner on ralph.unit (owner) where state in ('admitted', 'running');
create table ralph.event (
  unit text not null references ralph.unit (id),
  seq bigint not null,
  fence bigint not null,
  type text not null,
  -- Byte for byte as in the ledger: each line holds the hash of the one before it.
  line text not null,
  primary key (unit, seq)
);
create table ralph.reservation (
  unit text not null references ralph.unit (id),
  budget text not null references ralph.budget (id),
  amount numeric not null check (amount >= 0),
  fence bigint not null,
  primary key (unit, budget)
);
create table ralph.worker (
  id text primary key,
  labels text[] not null,
  -- Patterns of the repositories that it works on; none: on all.
  repos text[] not null default '{}',
  version int not null,
  slots int not null,
  busy int not null default 0,
  host text not null,
  draining boolean not null default false,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);
create table ralph.command (
  id bigint generated always as identity primary key,
  unit text not null references ralph.unit (id),
  body jsonb not null,
  given_by text not null,
  given_at timestamptz not null default now(),
  done_at timestamptz
);
create index command_open on ralph.command (unit) where done_at is null;
create table ralph.artifact (
  unit text not null references ralph.unit (id),
  name text not null,
  sha256 text not null,
  content bytea not null,
  primary key (unit, name)
);
`,
  },
  {
    version: 2,
    name: 'what was asked of a unit outlives its worker',
    // An older worker neither reads that a unit was cancelled, nor leaves a command open until its effect is on record.
    minVersion: 2,
    sql: `
alter table ralph.unit
  -- Whoever claims or releases it reads this; null: nobody has cancelled it.
  add column cancel text check (cancel in ('now', 'gently')),
  add column cancelled_by text,
  -- How often in a row it was given up because something was away.
  add column waits int not null default 0,
  -- The same for a list that is submitted twice; null: it may be there as often as anybody likes.
  add column likeness text;
create unique index unit_likeness on ralph.unit (likeness) where state not in ('stopped', 'cancelled', 'lost');
update ralph.unit u set cancel = case when (c.body->>'gently')::boolean then 'gently' else 'now' end, cancelled_by = c.given_by
  from ralph.command c where c.unit = u.id and c.body->>'kind' = 'cancel' and u.ended_at is null;
delete from ralph.command where body->>'kind' = 'cancel';
`,
  },
  {
    version: 3,
    name: 'a unit that is over may be worked on again',
    // An older worker takes no unit that was reopened: its min_version says so.
    minVersion: 2,
    sql: `
-- Until its ledger says that it was resumed: the result in it is not the last word.
alter table ralph.unit add column reopened boolean not null default false;
-- Who watches the issues of a repository for this fleet.
create table ralph.watch (
  id text primary key,
  watcher text not null,
  host text not null,
  seen_at timestamptz not null default now()
);
`,
  },
];

/** What this Ralph writes and understands: the number of its newest migration. */
export const FLEET_VERSION = MIGRATIONS.at(-1)?.version ?? 0;
