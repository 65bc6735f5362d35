-- The tables of a new schema; older ones get there by the steps of `schema.rs`. Times are milliseconds of the server's clock since 1970.
CREATE TABLE queue (
  qid integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  paused boolean NOT NULL DEFAULT false,
  closed boolean NOT NULL DEFAULT false,
  limited boolean NOT NULL DEFAULT false,
  capacity bigint
);

-- When somebody last looked for lost deliveries, and until when none counts as lost; a table of its own, since queue rows are read by every
-- call.
CREATE TABLE reap (qid integer PRIMARY KEY, at bigint NOT NULL, spared bigint NOT NULL DEFAULT 0);

-- The order of ready tasks, and of dead letters.
CREATE SEQUENCE pos;

-- States: s scheduled, r ready, x running, d done, f failed, c cancelled, b dead letter.
CREATE TABLE task (
  qid integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  state "char" NOT NULL,
  level smallint NOT NULL,
  parked boolean NOT NULL DEFAULT false,
  paid boolean NOT NULL DEFAULT false,
  version integer NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  deaths integer NOT NULL DEFAULT 0,
  fence bigint NOT NULL DEFAULT 0,
  pos bigint NOT NULL,
  due bigint,
  start_by bigint,
  renewed bigint,
  expires bigint,
  unknown_since bigint,
  name text COLLATE "C" NOT NULL,
  options text NOT NULL,
  worker text COLLATE "C",
  schedule text COLLATE "C",
  watchers text[],
  failure bytea,
  result bytea,
  payload bytea,
  checkpoint bytea,
  -- The id first: a condition `id = ANY (array)` on a first column is always one of the index. On a second column it may
  -- become a filter over the whole queue.
  PRIMARY KEY (id, qid)
) WITH (
  -- A task is written three times within a short time. The second and third version find room on the page of the first, and what they
  -- replace is pruned there: less to log, and less space, than new pages for each.
  fillfactor = 50,
  -- Vacuum keeps up with a queue that is always busy: it starts early and does not pause.
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX task_ready ON task (qid, level, pos) WHERE state = 'r' AND NOT parked;
CREATE INDEX task_parked ON task (qid, name, pos) WHERE state = 'r' AND parked;
CREATE INDEX task_start_by ON task (qid, start_by) WHERE state = 'r' AND start_by IS NOT NULL;
CREATE INDEX task_due ON task (qid, due) WHERE state = 's';
CREATE INDEX task_running ON task (qid, worker) WHERE state = 'x';
CREATE INDEX task_dead ON task (qid, pos) WHERE state = 'b';
CREATE INDEX task_expires ON task (qid, expires) WHERE expires IS NOT NULL;

-- Changes of the counts, one row for each batch: a single row with the counts would be locked until each commit,
-- and so make all commits of a queue wait for each other. A tick adds the rows up.
CREATE TABLE tally (
  qid integer NOT NULL,
  scheduled bigint NOT NULL DEFAULT 0,
  ready bigint NOT NULL DEFAULT 0,
  running bigint NOT NULL DEFAULT 0,
  submitted bigint NOT NULL DEFAULT 0,
  refused bigint NOT NULL DEFAULT 0,
  done bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  cancelled bigint NOT NULL DEFAULT 0,
  dead bigint NOT NULL DEFAULT 0,
  retried bigint NOT NULL DEFAULT 0,
  redelivered bigint NOT NULL DEFAULT 0,
  stale bigint NOT NULL DEFAULT 0
);
CREATE INDEX tally_qid ON tally (qid);

-- Outcomes on their way, one row for each batch and client. Not in the write-ahead log: a server that crashed has cut every
-- connection, and clients look their tasks up after that.
CREATE UNLOGGED TABLE reply (
  client text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  ids text[] NOT NULL,
  kinds text[] NOT NULL,
  data bytea[] NOT NULL
);
CREATE INDEX reply_client ON reply (client);
CREATE INDEX reply_at ON reply (at);

CREATE TABLE worker (
  qid integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  seen bigint NOT NULL,
  host text NOT NULL,
  pid bigint NOT NULL,
  slots bigint NOT NULL,
  busy bigint NOT NULL,
  tasks text[] NOT NULL,
  PRIMARY KEY (qid, id)
);

CREATE TABLE schedule (
  qid integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  rule text NOT NULL,
  task text NOT NULL,
  version integer NOT NULL,
  level smallint NOT NULL,
  options text NOT NULL,
  payload bytea NOT NULL,
  -- While the last task has no outcome: 0 skip, 1 allow, 2 queue.
  overlap smallint NOT NULL,
  after_finish bigint,
  next bigint,
  last text COLLATE "C",
  -- The ids that wait for the outcome of the last one, the oldest first.
  waiting text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (qid, name)
);
CREATE INDEX schedule_next ON schedule (qid, next) WHERE next IS NOT NULL;

CREATE TABLE type_limit (
  qid integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  most bigint,
  interval_us bigint,
  burst bigint NOT NULL,
  next_us bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (qid, name)
);
