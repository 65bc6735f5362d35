//! Whether a request comes from a page of another site.
//!
//! Browsers say so in `Sec-Fetch-Site`, except on plain `http` with a host that is not loopback; then
//! `Origin` has to do, which they send with every request that is not a plain read. What is no browser
//! sends neither, and is held to the token.

use axum::http::HeaderMap;
use axum::http::header::{self, HeaderName};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns whether a page of another site made the request. `host` is the checked `Host` header.
pub(crate) fn is_foreign(headers: &HeaderMap, host: &str) -> bool {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter().peekable();
    if sites.peek().is_some() {
        return !sites.all(|site| site == "same-origin" || site == "none");
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    !origins.all(|origin| origin.to_str().is_ok_and(|origin| is_of_host(origin, host)))
}

/// Returns whether an origin is that of the host: `https` is what a proxy in front makes of it.
fn is_of_host(origin: &str, host: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .filter_map(|scheme| origin.strip_prefix(scheme))
        .any(|name| name.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::is_foreign;
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    fn foreign(headers: &[(&'static str, &'static str)]) -> bool {
        let mut map = HeaderMap::new();
        for &(name, value) in headers {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        is_foreign(&map, "localhost:7171")
    }

    #[test]
    fn sec_fetch_site_decides_where_it_is_sent() {
        assert!(!foreign(&[("sec-fetch-site", "same-origin")]));
        assert!(!foreign(&[("sec-fetch-site", "none")]));
        assert!(foreign(&[("sec-fetch-site", "cross-site")]));
        assert!(foreign(&[
            ("sec-fetch-site", "same-site"),
            ("origin", "http://localhost:7171")
        ]));
        assert!(foreign(&[
            ("sec-fetch-site", "none"),
            ("sec-fetch-site", "cross-site")
        ]));
        assert!(foreign(&[("sec-fetch-site", "")]));
    }

    #[test]
    fn origin_decides_where_sec_fetch_site_is_absent() {
        assert!(!foreign(&[("origin", "http://localhost:7171")]));
        assert!(!foreign(&[("origin", "https://LOCALHOST:7171")]));
        for origin in [
            "null",
            "",
            "http://evil.example",
            "http://localhost",
            "localhost:7171",
            "ftp://localhost:7171",
            "http://localhost:7171.evil.example",
        ] {
            let mut map = HeaderMap::new();
            map.insert("origin", HeaderValue::from_str(origin).unwrap());
            assert!(is_foreign(&map, "localhost:7171"), "{origin}");
        }
    }

    #[test]
    fn what_is_no_browser_sends_neither() {
        assert!(!foreign(&[]));
    }
}
