//! Whether the console lives.

pub(crate) async fn health() -> &'static str {
    "ok"
}
