//! Alerts for a program elsewhere, posted as JSON.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use ureq::Agent;
use windlass::monitor::{Event, Monitor};

use crate::json;

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many alerts wait while the other end is slow. Beyond, they are dropped: an alert is news, and the
/// list of alerts has it.
const WAITING: usize = 64;

/// Why an address for alerts is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebhookError {
    /// It is no `http` or `https` address.
    Invalid,
    /// It is plain `http`, and not loopback: what is posted could be read on the way.
    NotLoopback,
    /// It is `https`, which needs the feature `webhook-https`.
    HttpsDisabled,
}

impl fmt::Display for WebhookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "it is no http or https address",
            Self::NotLoopback => "plain http is for loopback addresses",
            Self::HttpsDisabled => "https needs the feature webhook-https",
        })
    }
}

impl Error for WebhookError {}

/// Where alerts are posted to. The address may hold a secret, so `Debug` does not show it.
#[derive(Clone)]
pub(crate) struct Webhook {
    agent: Agent,
    address: Arc<str>,
}

impl Webhook {
    pub(crate) fn new(address: &str) -> Result<Self, WebhookError> {
        check(address)?;
        // Neither a redirect nor a proxy of the environment may lead the alert elsewhere.
        let agent = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .proxy(None)
            .build()
            .new_agent();
        Ok(Self {
            agent,
            address: address.into(),
        })
    }

    /// Starts to deliver, in order and on this runtime, the alerts that the monitor tells, until the runtime
    /// ends.
    ///
    /// The monitor decides what is told and when: neither each time that an alert comes and goes, nor while it
    /// is silenced.
    pub(crate) fn follow(self, monitor: &Monitor, runtime: &Handle) -> io::Result<()> {
        let alerts = self.spawn(runtime);
        monitor.on_event_while(move |event| {
            if alerts.is_closed() {
                return ControlFlow::Break(());
            }
            if let Event::Alert(alert) = event {
                let data = serde_json::to_string(&json::Alert::from(alert));
                // If the other end is too slow, the alert is dropped.
                let _ = data.map(|data| alerts.try_send(data));
            }
            ControlFlow::Continue(())
        })
    }

    fn spawn(self, runtime: &Handle) -> mpsc::Sender<String> {
        let (sender, mut alerts) = mpsc::channel::<String>(WAITING);
        runtime.spawn(async move {
            while let Some(alert) = alerts.recv().await {
                let webhook = self.clone();
                // An alert that cannot be delivered is dropped; it is no reason to disturb the process.
                let _ = tokio::task::spawn_blocking(move || webhook.deliver(&alert)).await;
            }
        });
        sender
    }

    /// Posts an alert, a second time if the first fails.
    fn deliver(&self, alert: &str) -> bool {
        (0..2).any(|_| self.post(alert).unwrap_or(false))
    }

    /// Returns whether the other end has taken the alert: a redirect, which is not followed, is a refusal.
    fn post(&self, alert: &str) -> Result<bool, ureq::Error> {
        let request = self
            .agent
            .post(&*self.address)
            .header("Content-Type", "application/json");
        Ok(request.send(alert)?.status().is_success())
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Webhook(..)")
    }
}

fn check(address: &str) -> Result<(), WebhookError> {
    let uri: Uri = address.parse().map_err(|_| WebhookError::Invalid)?;
    let host = uri
        .host()
        .filter(|host| !host.is_empty())
        .ok_or(WebhookError::Invalid)?;
    match uri.scheme_str() {
        Some("http") if is_loopback(host) => Ok(()),
        Some("http") => Err(WebhookError::NotLoopback),
        Some("https") if cfg!(feature = "webhook-https") => Ok(()),
        Some("https") => Err(WebhookError::HttpsDisabled),
        _ => Err(WebhookError::Invalid),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address
            .parse()
            .is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{WebhookError, check};

    #[test]
    fn plain_http_is_for_loopback_only() {
        for address in [
            "http://127.0.0.1:9/x",
            "http://localhost/",
            "http://[::1]:9/",
        ] {
            assert_eq!(check(address), Ok(()), "{address}");
        }
        for address in [
            "http://example.com/",
            "http://10.0.0.1/",
            "http://localhost.example/",
            "http://127.0.0.1@example.com/",
        ] {
            assert_eq!(check(address), Err(WebhookError::NotLoopback), "{address}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for address in [
            "",
            "localhost",
            "/x",
            "ftp://localhost/",
            "http://",
            "http:///x",
        ] {
            assert_eq!(check(address), Err(WebhookError::Invalid), "{address}");
        }
    }

    #[test]
    fn https_depends_on_its_feature() {
        let expected = if cfg!(feature = "webhook-https") {
            Ok(())
        } else {
            Err(WebhookError::HttpsDisabled)
        };
        assert_eq!(check("https://alerts.example/x"), expected);
    }
}
