//! Live view and tuning of Windlass thread pools in the browser.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod api;
mod body;
mod builder;
mod console;
mod failure;
mod guard;
pub mod remote;
mod reply;
mod routes;
mod server;
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
