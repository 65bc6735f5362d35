//! Requests to a console, and its answers.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body};

use super::address::ConsoleOptions;
use crate::exit::Failure;

/// A connection to a console.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    agent: Agent,
    url: String,
    token: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Refusal {
    error: Reason,
}

#[derive(Debug, Deserialize)]
struct Reason {
    message: String,
    /// The setting that it is about.
    field: Option<String>,
}

impl Client {
    pub(crate) fn new(options: &ConsoleOptions) -> Result<Self, Failure> {
        let config = Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(5)))
            .http_status_as_error(false)
            // The token is for the console: a proxy of the environment would read it.
            .proxy(None)
            .build();
        Ok(Self {
            agent: config.into(),
            url: options.url()?,
            token: options.token()?,
        })
    }

    /// The address of the console.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Whether changes can be asked for.
    pub(crate) const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let request = self.agent.get(format!("{}{path}", self.url));
        self.answer(match &self.token {
            Some(token) => request
                .header("Authorization", format!("Bearer {token}"))
                .call(),
            None => request.call(),
        })
    }

    /// Asks for a change of the settings with this version.
    pub(crate) fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        version: u64,
        body: &Value,
    ) -> Result<T, Failure> {
        let request = self
            .agent
            .patch(format!("{}{path}", self.url))
            .header("Authorization", self.authorization()?)
            .header("If-Match", format!("\"{version}\""));
        self.answer(request.send_json(body))
    }

    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Failure> {
        let request = self
            .agent
            .post(format!("{}{path}", self.url))
            .header("Authorization", self.authorization()?);
        self.answer(request.send_json(body))
    }

    fn authorization(&self) -> Result<String, Failure> {
        let token = self.token.as_ref().ok_or_else(|| {
            Failure::new("a change needs the token of the console").hint(
                "the program prints it when the console starts; set WINDLASS_TOKEN to it, or use \
                 --token-file",
            )
        })?;
        Ok(format!("Bearer {token}"))
    }

    fn answer<T: DeserializeOwned>(
        &self,
        response: Result<Response<Body>, ureq::Error>,
    ) -> Result<T, Failure> {
        let mut response = response.map_err(|error| {
            Failure::new(format!("no console answers at {}: {error}", self.url)).hint(
                "does the program run, with a console on this address? --address names another; \
                 `windlass demo` starts one",
            )
        })?;
        let status = response.status().as_u16();
        let text = response.body_mut().read_to_string().map_err(|error| {
            Failure::new(format!(
                "the console at {} did not finish its answer: {error}",
                self.url
            ))
        })?;
        if status >= 400 {
            return Err(refusal(status, &text));
        }
        serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!(
                "{} does not answer as a console: {error}",
                self.url
            ))
            .hint("is it the address of a windlass console?")
        })
    }
}

fn refusal(status: u16, text: &str) -> Failure {
    let reason = serde_json::from_str::<Refusal>(text).map_or_else(
        |_| Reason {
            message: format!("the console answers with status {status}"),
            field: None,
        },
        |refusal| refusal.error,
    );
    let failure = Failure::new(&*reason.message);
    match hint(status, &reason) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Returns what to do about a refusal. Where one status has several reasons, their texts tell them apart; one of
/// another version, with other texts, gets a hint less.
fn hint(status: u16, reason: &Reason) -> Option<&'static str> {
    let says = |text: &str| reason.message.contains(text);
    let hint = match (status, reason.field.as_deref()) {
        (401 | 403, _) => "is the token in WINDLASS_TOKEN or --token-file the right one?",
        (404, _) => "windlass pools lists the pools",
        (400, Some("policy")) if says("there is no") => "windlass pools POOL lists the policies",
        (400 | 409, Some(_)) if says("cannot be changed") => {
            "windlass pools POOL lists the settings that can be set"
        }
        (400, Some(_)) => "windlass pools POOL shows what is set",
        (409, _) if says("by now") => {
            "somebody has changed the settings meanwhile: windlass pools POOL shows them; try again"
        }
        (409, _) if says("being carried out") => "try again",
        (409, _) if says("to confirm") => {
            "--confirm keeps a change that was made with --revert-after; --revert takes the last change back"
        }
        (422, _) if says("needs force") => "--force asks for it all the same",
        (422, _) => "the program itself sets these limits, and --force does not lift them",
        (429, _) => "wait a second and try again",
        _ => return None,
    };
    Some(hint)
}

/// Encodes a name as a part of a path.
pub(crate) fn encode(name: &str) -> String {
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::{Reason, encode, hint, refusal};

    #[test]
    fn a_name_is_one_part_of_a_path() {
        assert_eq!(encode("web-1"), "web-1");
        assert_eq!(encode("a/b ü?"), "a%2Fb%20%C3%BC%3F");
    }

    #[test]
    fn a_refusal_says_what_the_console_says() {
        let text = r#"{"error":{"code":"conflict","message":"stale version","field":null}}"#;
        assert_eq!(refusal(409, text).to_string(), "stale version");
        assert!(refusal(500, "<html>").to_string().contains("status 500"));
    }

    #[test]
    fn a_refusal_is_explained_by_its_reason() {
        let hint_of = |status, message: &str, field: Option<&str>| {
            let (message, field) = (message.to_owned(), field.map(str::to_owned));
            hint(status, &Reason { message, field }).unwrap_or_default()
        };
        let stale = hint_of(409, "the settings have version 3 by now", None);
        assert!(stale.contains("try again"), "{stale}");
        let busy = "another change of this executor is being carried out";
        assert_eq!(hint_of(409, busy, None), "try again");
        assert_eq!(hint_of(409, "this executor has no pause", None), "");
        let large = "core 4 -> 32 is a change of more than four times: needs force";
        assert!(hint_of(422, large, Some("core")).contains("--force asks"));
        let outside = hint_of(422, "core of 33 is not between 1 and 32", Some("core"));
        assert!(outside.contains("does not lift"), "{outside}");
    }
}
