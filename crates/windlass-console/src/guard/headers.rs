//! The headers that every response carries.

use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};

const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'; \
                      frame-ancestors 'none'";

/// What the browser must not do with the page. There is no header that lets another origin read.
const FIXED: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Adds the headers. What a response says about caching itself stays; else it is not stored.
pub(crate) fn add(headers: &mut HeaderMap) {
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}
