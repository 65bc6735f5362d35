//! What a reader does with the page and sees on it.

use fantoccini::key::Key;
use fantoccini::{Client, Locator};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// How long something on the page may take to come true, in milliseconds.
const PATIENCE: u32 = 25_000;

/// How often the key for the next element is pressed before a test gives up.
const MOST_TABS: usize = 80;

#[derive(Clone)]
pub(crate) struct Page {
    client: Client,
    log: String,
}

impl Page {
    pub(crate) fn new(client: Client, log: String) -> Self {
        Self { client, log }
    }

    pub(crate) async fn open(&self, address: &str) {
        self.client.goto(address).await.unwrap();
    }

    /// Waits until a condition in JavaScript is true; one that throws is not true yet.
    pub(crate) async fn until(&self, what: &str, condition: &str) {
        let script = format!(
            "const done = arguments[0];
             const end = performance.now() + {PATIENCE};
             const look = () => {{
                 let seen = false;
                 try {{ seen = Boolean({condition}); }} catch {{ }}
                 if (seen || performance.now() > end) done(seen);
                 else setTimeout(look, 25);
             }};
             look();"
        );
        let seen = self
            .client
            .execute_async(&script, Vec::new())
            .await
            .unwrap();
        if seen != Value::Bool(true) {
            let shown = self.value("document.body.innerText").await;
            panic!("not within {PATIENCE} ms: {what}\nthe page shows: {shown}");
        }
    }

    /// Returns the value of an expression in JavaScript.
    pub(crate) async fn value(&self, expression: &str) -> Value {
        self.client
            .execute(&format!("return ({expression})"), Vec::new())
            .await
            .unwrap()
    }

    /// Returns the text of an element.
    pub(crate) async fn text(&self, selector: &str) -> String {
        let value = self
            .value(&format!("document.querySelector({selector:?}).textContent"))
            .await;
        value.as_str().unwrap().to_owned()
    }

    /// Runs a script.
    pub(crate) async fn run(&self, script: &str) {
        self.client.execute(script, Vec::new()).await.unwrap();
    }

    /// Waits until an element is on the page and shown.
    pub(crate) async fn until_shown(&self, selector: &str) {
        self.until(
            selector,
            &format!("document.querySelector({selector:?}).checkVisibility()"),
        )
        .await;
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.until_shown(selector).await;
        let element = self.client.find(Locator::Css(selector)).await.unwrap();
        element.click().await.unwrap();
    }

    /// Replaces what stands in a field.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        self.until_shown(selector).await;
        let element = self.client.find(Locator::Css(selector)).await.unwrap();
        element
            .send_keys(&format!(
                "{}a{}{text}",
                char::from(Key::Control),
                char::from(Key::Null)
            ))
            .await
            .unwrap();
    }

    /// Chooses a value of a list.
    pub(crate) async fn choose(&self, selector: &str, value: &str) {
        let element = self.client.find(Locator::Css(selector)).await.unwrap();
        element.select_by_value(value).await.unwrap();
    }

    /// Presses keys on whatever has the focus.
    pub(crate) async fn press(&self, keys: &str) {
        let element = self.client.active_element().await.unwrap();
        element.send_keys(keys).await.unwrap();
    }

    /// Moves the focus on with the tab key until a condition in JavaScript is true.
    pub(crate) async fn tab_until(&self, condition: &str) {
        let tab = char::from(Key::Tab).to_string();
        for _ in 0..MOST_TABS {
            self.press(&tab).await;
            if self.value(condition).await == Value::Bool(true) {
                return;
            }
        }
        panic!("the keyboard does not reach: {condition}");
    }

    /// Unlocks changes as a reader does.
    pub(crate) async fn unlock(&self, token: &str) {
        self.click("#unlock").await;
        self.fill("#token", token).await;
        self.press(&char::from(Key::Enter).to_string()).await;
        self.until(
            "changes are unlocked",
            "document.querySelector('#unlock-word').textContent === 'Changes unlocked'",
        )
        .await;
    }

    /// Asserts that the page has logged no error and has asked nobody but the console for anything.
    pub(crate) async fn assert_clean(&self) {
        self.assert_no_error_but(|_| false).await;
        self.assert_no_other_host().await;
    }

    /// Asserts that the page has logged no error but those that a test expects.
    pub(crate) async fn assert_no_error_but(&self, is_expected: impl Fn(&str) -> bool) {
        let log = self.log().await;
        let entries = log["value"].as_array().unwrap();
        let errors: Vec<_> = entries
            .iter()
            .filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING")
            .filter(|entry| !is_expected(entry["message"].as_str().unwrap()))
            .collect();
        assert!(errors.is_empty(), "the browser logged: {errors:#?}");
    }

    /// Returns what the browser has logged since it was asked last.
    async fn log(&self) -> Value {
        let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http();
        let question = Full::<Bytes>::from(r#"{"type":"browser"}"#);
        let request = Request::post(&self.log).body(question).unwrap();
        let answer = client
            .request(request)
            .await
            .unwrap()
            .into_body()
            .collect()
            .await
            .unwrap();
        serde_json::from_slice(&answer.to_bytes()).unwrap()
    }

    pub(crate) async fn assert_no_other_host(&self) {
        let asked = "performance.getEntriesByType('resource').map((entry) => entry.name)";
        let foreign = self
            .value(&format!(
                "{asked}.filter((name) => !name.startsWith(location.origin + '/'))"
            ))
            .await;
        assert_eq!(foreign, Value::Array(Vec::new()), "asked of other hosts");
        // The list would be empty if it were not recorded.
        assert!(
            self.value(&format!("{asked}.length"))
                .await
                .as_u64()
                .unwrap()
                > 10
        );
    }
}
