//! The engine on PostgreSQL 13 or later.
//!
//! All of it is in one schema, `windlass` unless named otherwise:
//!
//! | table | content |
//! |---|---|
//! | `task` | the record of each task, and the queue: partial indexes on the state are the ready, due, running, dead and expiry lists |
//! | `queue`, `type_limit` | settings; limits of a type |
//! | `tally` | changes of the counts, one row for each batch; a tick adds them up |
//! | `reply` | outcomes for clients, one row for each batch; unlogged |
//! | `worker`, `schedule`, `reap` | signs of life; named schedules; when somebody last looked for lost deliveries |
//! | `meta` | the version of all this |
//!
//! Every transition is a function in the schema (`sql/`), called by one statement that is a transaction of its own; so it is
//! one round trip and one commit for a batch, and the same function runs inside a user's transaction. The functions carry
//! the planner settings they need: an index is used on a table without statistics too. Whom to tell of a change is an answer of
//! the function, and goes out after the commit on another connection (`NOTIFY`): a transaction that notifies and writes holds
//! a lock of the whole database until it is on disk.

mod address;
mod blocking;
mod builder;
mod calls;
mod columns;
mod engine;
mod errors;
mod feeds;
mod pool;
mod records;
mod schema;
mod session;
mod signals;
#[cfg(feature = "postgres-tls")]
mod tls;
mod transaction;
mod wire;

pub use builder::PostgresEngineBuilder;
pub use engine::{PostgresEngine, PostgresReport};
pub use transaction::InTransaction;
