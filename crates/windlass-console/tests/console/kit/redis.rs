//! A Redis server for a test, as the tests of `windlass-remote` start it.

use super::PATIENCE as LONG;

#[path = "../../../../windlass-remote/tests/support/server.rs"]
#[expect(unreachable_pub, reason = "shared by test binaries as a module")]
pub(crate) mod server;
#[path = "../../../../windlass-remote/tests/support/skipped.rs"]
mod skipped;

use skipped::say_skipped;
