//! The figures of all pools for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use windlass::monitor::Exposition;

use super::parameters::Parameters;
use super::remote;
use crate::failure::Failure;
use crate::shared::Shared;
use crate::{remote_histograms, remote_metrics};

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn metrics(
    State(shared): State<Arc<Shared>>,
    mut parameters: Parameters,
) -> Result<Response, Failure> {
    let names = parameters.take("names");
    parameters.end()?;
    let exposition = match names.as_deref() {
        None | Some("windlass") => Exposition::Windlass,
        Some("micrometer") => Exposition::Micrometer,
        Some(_) => {
            let message = "names is windlass or micrometer";
            return Err(Failure::invalid(message).in_field("names"));
        }
    };
    let mut text = shared.monitor.prometheus(exposition);
    if let Some(source) = &shared.options.remote {
        let overview = remote::ask(&shared, |source| source.overview()).await.ok();
        remote_metrics::write(&mut text, overview.as_ref());
        if let Some(figures) = source.figures() {
            remote_histograms::write(&mut text, &figures);
        }
    }
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}
