//! A chromedriver and a browser for each test, and their end.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::panic;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::page::Page;

/// One browser at a time: several would only wait for each other's processors.
static TURN: Mutex<()> = Mutex::new(());

const ARGUMENTS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1440,1000",
];

/// Runs a test in a browser, which is closed however the test ends. Without a browser the test is left
/// out, and says so.
pub(crate) fn browse<T>(test: impl FnOnce(Page) -> T)
where
    T: Future<Output = ()> + Send + 'static,
{
    let (Some(driver), Some(browser)) = (
        program(&["chromedriver"]),
        program(&["chromium", "chromium-browser", "google-chrome"]),
    ) else {
        // Not by `eprintln!`, which is captured, and shown of tests that fail only.
        let _ = writeln!(
            io::stderr(),
            "\nleft out: a test of the page needs chromium and chromedriver \
             (on Debian: apt-get install chromium chromium-driver)"
        );
        return;
    };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let driver = Driver::start(&driver);
        let client = driver.session(&browser).await;
        let session = client.session_id().await.unwrap().unwrap();
        let page = Page::new(
            client.clone(),
            format!("{}/session/{session}", driver.address),
        );
        let outcome = tokio::spawn(test(page)).await;
        // Ends the browser too, which would outlive its driver.
        client.close().await.unwrap();
        drop(driver);
        if let Err(failure) = outcome {
            panic::resume_unwind(failure.into_panic());
        }
    });
}

/// Finds a program by the first of its names that is in the search path.
fn program(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    names
        .iter()
        .flat_map(|name| env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|candidate| candidate.is_file())
}

struct Driver {
    process: Child,
    address: String,
    // A driver that cannot write to its standard output would end.
    _output: BufReader<ChildStdout>,
}

impl Driver {
    /// Starts a driver on a free port, which it tells on its standard output.
    fn start(program: &PathBuf) -> Self {
        let mut process = Command::new(program)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        let port = loop {
            line.clear();
            assert!(
                output.read_line(&mut line).unwrap() > 0,
                "chromedriver has ended"
            );
            let port = line
                .rsplit_once("successfully on port ")
                .and_then(|(_, rest)| rest.trim().trim_end_matches('.').parse::<u16>().ok());
            if let Some(port) = port {
                break port;
            }
        };
        Self {
            process,
            address: format!("http://127.0.0.1:{port}"),
            _output: output,
        }
    }

    async fn session(&self, browser: &PathBuf) -> Client {
        let Value::Object(capabilities) = json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "binary": browser, "args": ARGUMENTS },
            "goog:loggingPrefs": { "browser": "ALL" },
        }) else {
            unreachable!("an object is an object")
        };
        ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&self.address)
            .await
            .unwrap()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
