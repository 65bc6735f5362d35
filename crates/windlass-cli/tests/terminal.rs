//! The program on a terminal: progress, colours, keys.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use support::{stdout, wait_for_file, wait_until, wait_until_every, windlass};

/// The program on a pseudo-terminal, and what it has shown so far.
struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let size = PtySize {
            rows: 40,
            cols: 120,
            ..PtySize::default()
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(arguments);
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        for (name, value) in environment {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut from, to) = (pair.master.try_clone_reader().unwrap(), Arc::clone(&shown));
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                to.lock().unwrap().extend_from_slice(&buffer[..length]);
            }
        });
        Self {
            child,
            master: pair.master,
            shown,
            reader,
        }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    fn wait_to_see(&self, text: &str) {
        wait_until(&format!("{text:?} is shown"), || {
            self.shown().contains(text)
        });
    }

    /// Waits for the end, and returns the exit code and everything that was shown.
    fn end(mut self) -> (u32, String) {
        wait_until("the program has ended", || {
            self.child.try_wait().unwrap().is_some()
        });
        let code = self.child.wait().unwrap().exit_code();
        drop(self.master);
        self.reader.join().unwrap();
        let shown = String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned();
        (code, shown)
    }
}

#[test]
fn a_terminal_shows_progress_and_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    let command = format!(
        "test {{}} != 3 || while ! test -e {}; do sleep 0.01; done; echo out{{}}",
        gate.display()
    );
    let terminal = Terminal::start(
        &["run", "-j", "1", &command, ":::", "1", "2", "3", "4"],
        &[],
    );
    terminal.wait_to_see("2/4");
    terminal.wait_to_see("left");
    terminal.wait_to_see("/s");
    std::fs::write(&gate, "").unwrap();
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    for text in ["out1\r\n", "out4\r\n", "4 succeeded", "p99"] {
        assert!(shown.contains(text), "{text:?} in {shown:?}");
    }
}

#[test]
fn without_the_number_of_inputs_progress_counts_them() {
    let folder = tempfile::tempdir().unwrap();
    let (gate, fifo) = (folder.path().join("gate"), folder.path().join("fifo"));
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let command = format!(
        "test {{}} != 3 || while ! test -e {}; do sleep 0.01; done",
        gate.display()
    );
    let terminal = Terminal::start(
        &["run", "-j", "1", "-a", fifo.to_str().unwrap(), &command],
        &[],
    );
    std::fs::write(&fifo, "1\n2\n3\n").unwrap();
    terminal.wait_to_see("2 done");
    std::fs::write(&gate, "").unwrap();
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_terminal_has_colours_unless_no_color_is_set() {
    let failing = ["run", "false", ":::", "1"];
    let (code, shown) = Terminal::start(&failing, &[]).end();
    assert_eq!(code, 123);
    assert!(
        shown.contains("\x1b[1m\x1b[31mnot all done") || shown.contains("\x1b[1;31m"),
        "{shown:?}"
    );
    let (_, shown) = Terminal::start(&failing, &[("NO_COLOR", "1")]).end();
    assert!(
        shown.contains("not all done") && !shown.contains("\x1b[31m"),
        "{shown:?}"
    );
    let (_, shown) = Terminal::start(&["run", "--quiet", "false", ":::", "1"], &[]).end();
    assert_eq!(shown, "");
}

#[test]
fn ctrl_c_twice_on_a_terminal_ends_the_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let command = format!("touch {}; sleep 1000", ready.display());
    let terminal = Terminal::start(&["run", "-j", "1", &command, ":::", "1", "2"], &[]);
    wait_for_file(&ready);
    // Nobody knows how long the first job takes.
    terminal.wait_to_see("0/2  -/s  ? left");
    let mut keys = terminal.master.take_writer().unwrap();
    keys.write_all(b"\x03").unwrap();
    terminal.wait_to_see("no more jobs are started");
    // What the terminal shows for the key is on the line of the bar, and is cleared with it.
    let shown = terminal.shown();
    let (before, after) = shown.split_once("^C").unwrap();
    let bar = before.rsplit('\r').next().unwrap();
    let columns = anstream::adapter::strip_str(bar)
        .to_string()
        .chars()
        .count();
    assert!(columns + 2 < 120, "{columns} columns: {bar:?}");
    assert!(after.starts_with("\r\x1b[2K"), "{after:?}");
    keys.write_all(b"\x03").unwrap();
    terminal.wait_to_see("told to terminate");
    let (code, shown) = terminal.end();
    assert_eq!(code, 130);
    assert!(shown.contains("ended by SIGTERM"), "{shown}");
}

#[test]
fn nothing_to_run_on_a_terminal_is_explained() {
    let (code, shown) = Terminal::start(&["run"], &[]).end();
    assert_eq!(code, 2);
    assert!(
        shown.contains("nothing to run") && shown.contains("gzip -k {}"),
        "{shown}"
    );
}

#[test]
fn top_shows_pools_and_keys_tune_them() {
    let demo = Terminal::start(&["demo", "--port", "0", "--quiet"], &[]);
    demo.wait_to_see("ctrl-c ends");
    let shown = demo.shown();
    let value = |name: &str| {
        let line = shown
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        line.trim().to_owned()
    };
    let (address, token) = (value("console"), value("token"));
    let top = Terminal::start(&["top", "-A", &address], &[("WINDLASS_TOKEN", &token)]);
    // A space is not drawn on an empty screen, so words are looked for.
    for text in ["housekeeping", "thumbnails", "workers", "minute"] {
        top.wait_to_see(text);
    }
    let mut keys = top.master.take_writer().unwrap();
    // The pools are sorted by name: web is the last. The screen is drawn by its differences, so the
    // console is asked what the key has done.
    keys.write_all(b"jjj+").unwrap();
    let pause = std::time::Duration::from_millis(200);
    wait_until_every(pause, "the key has changed the pool", || {
        let output = windlass()
            .args(["pools", "web", "-A", &address])
            .output()
            .unwrap();
        stdout(&output).contains("core 5, max 8")
    });
    // Escape closes the help, and only then the program.
    keys.write_all(b"?").unwrap();
    top.wait_to_see("closes");
    let drawn = top.shown().matches("last").count();
    keys.write_all(b"\x1b").unwrap();
    wait_until("the last minute is drawn again", || {
        top.shown().matches("last").count() > drawn
    });
    keys.write_all(b"\x1b").unwrap();
    let (code, shown) = top.end();
    assert_eq!(code, 0, "{shown}");
    let mut keys = demo.master.take_writer().unwrap();
    keys.write_all(b"\x03").unwrap();
    let (code, shown) = demo.end();
    assert_eq!(code, 0);
    assert!(shown.contains("handed back"), "{shown}");
}
