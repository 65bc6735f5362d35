//! Records scenarios on a JDK, by way of the Java program in `java/`.
//!
//! The program travels inside this one and is written to a folder of its own to be run, so that
//! recording works from wherever the binary stands.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::thread;

use crate::format::{ParseError, Scenario, parse};

/// Embeds classes of the program by their names.
macro_rules! classes {
    ($($class:literal)*) => {
        [$(($class, include_str!(concat!("../java/", $class, ".java")))),*]
    };
}

const CLASSES: [(&str, &str); 16] = classes![
    "Hooks" "Instruction" "InvalidScenario" "LimitedThreadFactory" "Named" "Oracle" "Perturbation"
    "PlainPool" "Quiescence" "RejectionPolicy" "ScenarioRun" "ScriptedFailure" "ScriptedFuture"
    "ScriptedTask" "TaskLog" "TimedPool"
];

/// The oldest JDK that runs the program.
const OLDEST: u32 = 17;

/// Why nothing was recorded.
#[derive(Debug)]
#[non_exhaustive]
pub enum OracleError {
    /// There is no JDK to ask.
    NoJdk(String),
    /// The program could not be started or talked to.
    Io(io::Error),
    /// The program ended with this code; it has said why on standard error.
    Failed(Option<i32>),
    /// The program wrote something that is no transcript.
    Transcript(ParseError),
}

impl fmt::Display for OracleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OracleError::NoJdk(why) => write!(f, "no JDK found: {why}"),
            OracleError::Io(_) => f.write_str("the oracle cannot be run"),
            OracleError::Failed(Some(code)) => write!(f, "the oracle ended with code {code}"),
            OracleError::Failed(None) => f.write_str("the oracle was killed"),
            OracleError::Transcript(_) => f.write_str("the oracle wrote no transcript"),
        }
    }
}

impl Error for OracleError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            OracleError::Io(error) => Some(error),
            OracleError::Transcript(error) => Some(error),
            OracleError::NoJdk(_) | OracleError::Failed(_) => None,
        }
    }
}

impl From<io::Error> for OracleError {
    fn from(error: io::Error) -> OracleError {
        OracleError::Io(error)
    }
}

/// A JDK that can run the oracle.
#[derive(Clone, Debug)]
pub struct Jdk {
    java: PathBuf,
}

impl Jdk {
    /// Looks in `JAVA_HOME`, then on the `PATH`.
    ///
    /// # Errors
    ///
    /// [`OracleError::NoJdk`] where there is none, or one that is too old or cannot compile.
    pub fn find() -> Result<Jdk, OracleError> {
        let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
        let nowhere = || OracleError::NoJdk("no java under JAVA_HOME or on the PATH".to_owned());
        let java = locate(home, std::env::var_os("PATH")).ok_or_else(nowhere)?;
        let asked = Command::new(&java)
            .arg("--list-modules")
            .stderr(Stdio::null())
            .output();
        let modules = asked.map_err(|error| {
            OracleError::NoJdk(format!("{} does not run: {error}", java.display()))
        })?;
        match unfit(&String::from_utf8_lossy(&modules.stdout)) {
            None => Ok(Jdk { java }),
            Some(why) => Err(OracleError::NoJdk(format!("{} {why}", java.display()))),
        }
    }

    /// Records scenarios, `jobs` at a time; those whose outcome hangs on timing are left out.
    ///
    /// # Errors
    ///
    /// Whatever keeps the program from running to its end.
    pub fn record(
        &self,
        scenarios: impl IntoIterator<Item = Scenario>,
        jobs: usize,
    ) -> Result<Vec<Scenario>, OracleError> {
        let text: String = scenarios
            .into_iter()
            .filter(Scenario::has_steps)
            .map(|scenario| scenario.without_expectations().to_string())
            .collect();
        let folder = Folder::create()?;
        self.compile(&folder)?;
        parse(&self.run(&folder, jobs, text)?).map_err(OracleError::Transcript)
    }

    /// Compiles the program, by way of `java` itself: `javac` need not stand beside it.
    fn compile(&self, Folder(folder): &Folder) -> Result<(), OracleError> {
        let mut compiler = Command::new(&self.java);
        compiler
            .args(["-m", "jdk.compiler/com.sun.tools.javac.Main", "-d"])
            .arg(folder);
        for (class, source) in CLASSES {
            let file = folder.join(class).with_extension("java");
            fs::write(&file, source)?;
            compiler.arg(file);
        }
        let status = compiler.status()?;
        if status.success() {
            Ok(())
        } else {
            Err(OracleError::Failed(status.code()))
        }
    }

    fn run(
        &self,
        Folder(folder): &Folder,
        jobs: usize,
        input: String,
    ) -> Result<String, OracleError> {
        // A play mostly waits: the quick compiler and the plain collector leave it the cores.
        let mut child = Command::new(&self.java)
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"])
            .arg(folder)
            .args(["Oracle", "--jobs", &jobs.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take();
        // Its code tells more than the broken pipe of a program that ended early.
        let writer =
            thread::spawn(move || stdin.as_mut().map(|pipe| pipe.write_all(input.as_bytes())));
        let output = child.wait_with_output()?;
        let _ = writer.join();
        if !output.status.success() {
            return Err(OracleError::Failed(output.status.code()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn locate(home: Option<OsString>, path: Option<OsString>) -> Option<PathBuf> {
    let name = format!("java{}", std::env::consts::EXE_SUFFIX);
    let home = home.map(|home| Path::new(&home).join("bin"));
    let path = path.unwrap_or_default();
    home.into_iter()
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(&name))
        .find(|java| java.is_file())
}

/// Why a runtime with these modules cannot run the oracle.
fn unfit(modules: &str) -> Option<String> {
    let version = modules
        .lines()
        .find_map(|line| line.strip_prefix("java.base@"));
    let major = version.and_then(|text| text.split(['.', '+', '-']).next()?.parse::<u32>().ok());
    match major {
        None => Some("does not tell its version".to_owned()),
        Some(major) if major < OLDEST => Some(format!("is version {major}, not {OLDEST} or later")),
        Some(_) if !modules.contains("jdk.compiler@") => {
            Some("is a bare runtime that cannot compile".to_owned())
        }
        Some(_) => None,
    }
}

/// A folder for one recording, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn create() -> io::Result<Folder> {
        let folder = std::env::temp_dir().join(format!("windlass-oracle-{}", process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever tidies the temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jdk_that_is_not_there_is_not_found() {
        assert_eq!(locate(None, None), None);
        assert_eq!(
            locate(Some("/nowhere".into()), Some("/nowhere/else".into())),
            None
        );
    }

    #[test]
    fn a_runtime_must_be_new_enough_and_able_to_compile() {
        assert_eq!(unfit("java.base@17.0.15\njdk.compiler@17.0.15\n"), None);
        assert_eq!(unfit("java.base@21\njdk.compiler@21\n"), None);
        assert!(
            unfit("java.base@11.0.2\njdk.compiler@11.0.2\n")
                .unwrap()
                .contains("version 11")
        );
        assert!(
            unfit("java.base@17.0.15\n")
                .unwrap()
                .contains("cannot compile")
        );
        assert!(unfit("").unwrap().contains("version"));
    }
}
