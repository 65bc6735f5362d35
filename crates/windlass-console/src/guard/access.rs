//! Who may do what: the rules that stand before every route.

use std::time::Instant;

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};

use super::hosts::Hosts;
use super::peers::{Cost, Peers};
use super::site;
use crate::failure::{Code, Failure};
use crate::server::Peer;
use crate::token::Token;

/// Who may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Everybody who reaches the console.
    Open,
    /// Only who has the token.
    Token,
}

/// The rules of one console.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) hosts: Hosts,
    pub(crate) peers: Peers,
    pub(crate) token: Token,
    pub(crate) reads: Access,
    pub(crate) metrics: Access,
    pub(crate) read_only: bool,
}

/// What the `Authorization` header of a request is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presented {
    Nothing,
    Wrong,
    Right,
}

/// What a request wants, as far as the rules are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// A file of the page, or whether the console lives: nothing about the pools.
    File,
    /// Whether a token is right. The route itself compares it.
    Session,
    Metrics,
    Read,
    Write,
}

impl Guard {
    /// Decides whether a request reaches its route.
    pub(crate) fn check(&self, request: &Parts, peer: Peer, now: Instant) -> Result<(), Failure> {
        let wish = wish(&request.method, request.uri.path());
        let cost = if wish == Wish::File {
            Cost::File
        } else {
            Cost::Request
        };
        self.peers
            .admit(peer.0.ip(), cost, now)
            .map_err(|wait| Failure::too_many("too many requests", wait))?;
        let host = self.hosts.check(request)?;
        if wish != Wish::File && site::is_foreign(&request.headers, host) {
            return Err(Failure::forbidden(
                "the request comes from a page of another site",
            ));
        }
        match wish {
            Wish::File | Wish::Session => Ok(()),
            Wish::Metrics => self.require(self.metrics, &request.headers),
            Wish::Read => self.require(self.reads, &request.headers),
            Wish::Write => {
                if self.read_only {
                    return Err(Failure::forbidden("the console is read-only"));
                }
                self.require(Access::Token, &request.headers)?;
                check_content_type(&request.method, &request.headers)
            }
        }
    }

    /// Compares the token that a request carries.
    pub(crate) fn presented(&self, headers: &HeaderMap) -> Presented {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        match (values.next(), values.next()) {
            (None, _) => Presented::Nothing,
            (Some(value), None) if self.matches(value.as_bytes()) => Presented::Right,
            _ => Presented::Wrong,
        }
    }

    fn matches(&self, value: &[u8]) -> bool {
        value.split_at_checked(7).is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case(b"bearer ") && self.token.matches(token)
        })
    }

    fn require(&self, access: Access, headers: &HeaderMap) -> Result<(), Failure> {
        match (access, self.presented(headers)) {
            (Access::Open, _) | (Access::Token, Presented::Right) => Ok(()),
            (Access::Token, Presented::Wrong) => Err(Failure::unauthorized("the token is wrong")),
            (Access::Token, Presented::Nothing) => {
                Err(Failure::unauthorized("this needs the token of the console"))
            }
        }
    }
}

fn wish(method: &Method, path: &str) -> Wish {
    if method != Method::GET && method != Method::HEAD {
        return Wish::Write;
    }
    match path {
        "/metrics" => Wish::Metrics,
        "/events" => Wish::Read,
        "/api/v1/session" => Wish::Session,
        "/api/v1/openapi.json" => Wish::File,
        path if path.starts_with("/api") => Wish::Read,
        _ => Wish::File,
    }
}

/// A form of another site can post text, but not JSON without asking first. What has no body says
/// nothing about it, and what no route answers to is refused there.
fn check_content_type(method: &Method, headers: &HeaderMap) -> Result<(), Failure> {
    if ![Method::POST, Method::PATCH, Method::DELETE].contains(method) {
        return Ok(());
    }
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let is_json = match (values.next(), values.next()) {
        (None, _) => method == Method::DELETE,
        (Some(value), None) => value.to_str().is_ok_and(is_json),
        _ => false,
    };
    if is_json {
        Ok(())
    } else {
        let message = "the content type of a write is application/json";
        Err(Failure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::Unsupported,
            message,
        ))
    }
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}
