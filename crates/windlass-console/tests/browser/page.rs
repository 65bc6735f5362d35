//! What a reader does with the page and sees on it.

use fantoccini::key::Key;
use fantoccini::{Client, Locator};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

/// How long something on the page may take to come true, in milliseconds.
const PATIENCE: u32 = 25_000;

/// How often the key for the next element is pressed before a test gives up.
const MOST_TABS: usize = 80;

#[derive(Clone)]
pub(crate) struct Page {
    client: Client,
    /// The address of the session, for what only this driver has.
    session: String,
}

impl Page {
    pub(crate) fn new(client: Client, session: String) -> Self {
        Self { client, session }
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

    /// Clicks the button with this text, when it is shown.
    pub(crate) async fn click_named(&self, name: &str) {
        let button = format!(
            "[...document.querySelectorAll('main button')]
                .find((button) => button.textContent === {name:?} && button.checkVisibility())"
        );
        self.until(name, &format!("{button} !== undefined")).await;
        self.run(&format!("{button}.click()")).await;
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

    /// Returns a picture of what is in sight.
    pub(crate) async fn picture(&self) -> Vec<u8> {
        self.client.screenshot().await.unwrap()
    }

    /// Waits until figures have arrived this many times.
    pub(crate) async fn after_figures(&self, times: u32) {
        self.run(
            "window.figures = 0;
             import('./assets/state.js').then(({ on }) => on('pools', () => { window.figures += 1; }));",
        )
        .await;
        self.until("figures", &format!("window.figures >= {times}"))
            .await;
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
        self.ask("se/log", &json!({ "type": "browser" })).await
    }

    /// Gives the page a size, whatever the least width of a window is.
    pub(crate) async fn resize(&self, (width, height): (u32, u32), scale: f64) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": false,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", &size)
            .await;
    }

    /// Makes `light` or `dark` the theme of the system.
    pub(crate) async fn prefer(&self, theme: &str) {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
        self.devtools("Emulation.setEmulatedMedia", &media).await;
    }

    /// Runs a script in each page that is opened from now on, before its own.
    pub(crate) async fn run_first(&self, script: &str) {
        let source = json!({ "source": script });
        self.devtools("Page.addScriptToEvaluateOnNewDocument", &source)
            .await;
    }

    /// Sends a command of the DevTools protocol, and returns its result.
    pub(crate) async fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let question = json!({ "cmd": command, "params": parameters });
        let answer = self.ask("goog/cdp/execute", &question).await;
        assert!(
            answer["value"]["error"].is_null(),
            "{command} answered {answer}"
        );
        answer["value"].clone()
    }

    /// Asks what only this driver answers.
    async fn ask(&self, path: &str, question: &Value) -> Value {
        let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http();
        let body = Full::<Bytes>::from(question.to_string());
        let request = Request::post(format!("{}/{path}", self.session))
            .body(body)
            .unwrap();
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
