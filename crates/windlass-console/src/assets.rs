//! The files of the page, which are part of the program.

use std::hash::{DefaultHasher, Hasher};
use std::sync::OnceLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::api::Segment;
use crate::failure::Failure;

struct Asset {
    name: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal)*) => {
        [$(Asset { name: $name, bytes: include_bytes!(concat!("../assets/", $name)) }),*]
    };
}

/// Every file that is served, `index.html` first. There is no way from a path of the network to one of
/// the disk: a name is compared with these, and that is all.
static ASSETS: [Asset; 38] = assets![
    "index.html" "actions.js" "alerts.js" "api.js" "app.js" "audit.js" "base.css" "batch.js"
    "cards.js" "changes.js" "charts.js" "chips.js" "detail.css" "detail.js" "dialog.js"
    "dom.js" "format.js" "gauge.js" "history.js" "icon.svg" "icons.js" "live.js"
    "overview.css" "overview.js" "recent.js" "remote.js" "route.js" "scheduled.js"
    "session.js" "spark.js" "state.js" "table.js" "theme.js" "thresholds.js" "tune.js"
    "uPlot.iife.min.js" "uPlot.min.css" "workers.js"
];

/// Returns the page.
pub(crate) async fn index(headers: HeaderMap) -> Response {
    ASSETS[0].response(&headers)
}

/// Returns a file that the page asks for.
pub(crate) async fn file(Segment(name): Segment, headers: HeaderMap) -> Response {
    match ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => asset.response(&headers),
        None => Failure::not_found("there is no such file").into_response(),
    }
}

impl Asset {
    /// Returns the file, or that the browser has it already.
    fn response(&self, request: &HeaderMap) -> Response {
        let tag = version();
        let is_known = request
            .get_all(header::IF_NONE_MATCH)
            .iter()
            .any(|known| known == tag);
        let (status, body) = if is_known {
            (StatusCode::NOT_MODIFIED, Body::empty())
        } else {
            (StatusCode::OK, Body::from(self.bytes))
        };
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(self.content_type()),
        );
        headers.insert(header::ETAG, tag.clone());
        // The browser keeps the file, and asks each time whether it is still the same.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    fn content_type(&self) -> &'static str {
        match self.name.rsplit_once('.') {
            Some((_, "html")) => "text/html; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "application/octet-stream",
        }
    }
}

/// Returns the tag of all files: it changes with any of them, so a browser never mixes the files of two
/// versions of the page.
fn version() -> &'static HeaderValue {
    static VERSION: OnceLock<HeaderValue> = OnceLock::new();
    VERSION.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        for asset in &ASSETS {
            hasher.write(asset.name.as_bytes());
            hasher.write(asset.bytes);
        }
        let tag = format!("\"{:016x}\"", hasher.finish());
        HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""))
    })
}

#[cfg(test)]
mod tests {
    use super::ASSETS;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_file_of_the_page_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        for file in fs::read_dir(folder).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let is_served = ASSETS.iter().any(|asset| asset.name == name);
            let is_document = name.ends_with(".md") || name.ends_with(".LICENSE");
            assert_ne!(is_served, is_document, "{name}");
        }
    }
}
