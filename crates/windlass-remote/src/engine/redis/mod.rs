//! The engine on Redis 6.2 or later, or Valkey.
//!
//! All keys of a queue begin with `wl:{queue}:`; the braces put them into one slot of a cluster.
//!
//! | key | type | content |
//! |---|---|---|
//! | `t:<id>` | string | the record of a task without an outcome, and of a dead letter: what changes (state, fence, counts, entry, worker), watchers, what does not change (options, version, schedule, name), payload |
//! | `e:<id>` | hash | beside such a record, if it has any of these: `p` a payload of more than 1 KiB, `x` last failure, `c` checkpoint |
//! | `t:<id>` | string | the record of a task with an outcome: state, name, result or failure; expires |
//! | `r0` `r1` `r2` | stream | ids of ready tasks by priority; group `w`, whose pending list is the leases |
//! | `z` | sorted set | ids by due time |
//! | `dead` | sorted set | dead letters |
//! | `wk`, `wki` | sorted set, hash | workers: last sign of life, what is known of them |
//! | `wait` | sorted set | feeds of workers that wait for tasks, `<feed>:<worker>`, with the number that each has room for |
//! | `re:<client>` | stream | outcomes for one client that did not listen when they came; capped, expires |
//! | `ctl` | stream | messages to workers; capped |
//! | `cfg`, `cnt`, `run` | hash | settings; counts; running tasks by type |
//! | `lim:<name>`, `park:<name>` | hash, list | limits of a type, and who waits for them |
//! | `cron`, `cronz`, `s:<name>`, `sq:<name>` | set, sorted set, hash, list | schedules, and the tasks that wait for the last one |
//!
//! Two channels have the form of keys: `w:<feed>:<worker>` for tasks that a worker is given while it waits, `re:<client>` for outcomes.
//!
//! Every transition is a script; a script runs alone, and its effects are in the append-only file before its answer is sent.
//! Beyond these keys there is `wl:queues`, the set of queue names.

mod answers;
mod connection;
mod engine;
mod feeds;
mod packed;
mod push;
mod scripts;

pub use connection::{EnginePolicy, RedisEngineBuilder, RedisReport};
pub use engine::RedisEngine;
