//! Live view and tuning of Windlass thread pools in the browser.
//!
//! A [`Console`] serves one page, a REST interface, server-sent events and Prometheus metrics, from a
//! thread of its own within the process that it shows. Pools appear in it once they are registered:
//!
//! ```
//! use windlass::prelude::*;
//! use windlass_console::Console;
//!
//! let pool = ThreadPoolExecutor::builder().name("web").core_pool_size(4).build().unwrap();
//! windlass::monitor::register(&pool);
//!
//! let console = Console::builder().bind("127.0.0.1:0").announce(false).start().unwrap();
//! println!("{}", console.url());
//! // ... the program ...
//! console.shutdown();
//! pool.close();
//! ```
//!
//! # What is served
//!
//! | path | what |
//! |---|---|
//! | `/` | the page |
//! | `/api/v1/pools`, `/api/v1/pools/{pool}` | figures and settings |
//! | `/api/v1/pools/{pool}/history`, `/threads`, `/recent` | the past, the threads, slow and failed tasks |
//! | `/api/v1/pools/{pool}/config` | `PATCH` changes settings |
//! | `/api/v1/pools/{pool}/confirm`, `/revert`, `/pause`, `/resume`, `/purge`, `/prestart`, `/shutdown` | `POST` |
//! | `/api/v1/alerts`, `/api/v1/audit` | what is wrong, and who has changed what |
//! | `/api/v1/remote` | a distributed engine, if one is [attached](Builder::remote) |
//! | `/events` | all of that as it happens |
//! | `/metrics`, `/healthz` | for machines |
//!
//! The whole description, for tools, is `/api/v1/openapi.json`.
//!
//! # Who gets in
//!
//! | rule | unless |
//! |---|---|
//! | The console listens on a loopback address. | [`bind`](Builder::bind) names another one, which needs a chosen [token](Builder::token). |
//! | Every request names the console as its host: a name that is made to point at a loopback address (DNS rebinding) gets nothing. | [`allow_host`](Builder::allow_host) |
//! | Pages of other sites can neither write nor read; there are no CORS headers and no cookies. | |
//! | A write carries the token, as `Authorization: Bearer`, and JSON. | [`read_only`](Builder::read_only): then no write is allowed. |
//! | Everybody who reaches the console may read if the address is loopback, else who has the token. | [`reads`](Builder::reads), [`metrics`](Builder::metrics) |
//! | Messages of failed tasks are left out. | [`show_errors`](Builder::show_errors) |
//! | Pools cannot be shut down. | [`allow_shutdown`](Builder::allow_shutdown) |
//!
//! A request has 5 s to send its headers and 5 s for its body, which is 16 KiB at most; a peer may make 20
//! requests a second and hold some of the 128 connections, of which 8 may be streams of events; a pool is
//! changed once a second at most. The console speaks plain HTTP: if others than this machine shall reach it,
//! put a proxy with TLS in front.
//!
//! # What it costs
//!
//! The thread of the console sleeps while nobody asks it anything. The monitor, which the console starts
//! unless it is [given](Builder::monitor) one, samples each pool once a second. Tasks run no code of the
//! console.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod api;
mod assets;
mod body;
mod builder;
mod console;
#[cfg(feature = "remote")]
mod engine_source;
mod events;
mod failure;
mod guard;
mod history_steps;
mod json;
mod overview;
pub mod remote;
mod remote_figures;
mod remote_histograms;
mod remote_metrics;
mod remote_text;
mod remote_watch;
mod reply;
mod routes;
mod server;
mod shared;
mod stall;
mod start_error;
mod token;
#[cfg(feature = "webhook")]
mod webhook;

pub use builder::Builder;
pub use console::Console;
pub use guard::Access;
pub use start_error::StartError;
pub use token::TokenError;
#[cfg(feature = "webhook")]
#[cfg_attr(docsrs, doc(cfg(feature = "webhook")))]
pub use webhook::WebhookError;
