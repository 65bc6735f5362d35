//! Where a run was made: the machine, the tools, the versions of the peers.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::instruments::process;

const LOCK: &str = include_str!("../../../../Cargo.lock");

/// The peers, by the names of their crates.
const CRATES: [&str; 16] = [
    "windlass",
    "async-executor",
    "blocking",
    "chili",
    "crossbeam-channel",
    "executors",
    "futures-executor",
    "kanal",
    "oneshot",
    "rayon-core",
    "rusty_pool",
    "scheduled-thread-pool",
    "threadfin",
    "threadpool",
    "tokio",
    "tokio-util",
];

/// What the report says about the setting of a run.
pub(crate) fn describe(command: &str, jdk: Option<&str>) -> Value {
    json!({
        "date": today(),
        "command": command,
        "cpu": cpu(),
        "cores": process::cores(),
        "memory": memory(),
        "kernel": first_line("/proc/sys/kernel/osrelease"),
        "load": first_line("/proc/loadavg"),
        "rustc": output("rustc", &["--version"]),
        "commit": output("git", &["rev-parse", "--short", "HEAD"]),
        "jdk": jdk,
        "versions": versions(),
    })
}

fn first_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.lines().next()?.trim().to_owned())
}

fn field(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn cpu() -> Option<String> {
    field("/proc/cpuinfo", "model name")
}

fn memory() -> Option<String> {
    let total = field("/proc/meminfo", "MemTotal")?;
    let kilobytes: f64 = total.strip_suffix(" kB")?.parse().ok()?;
    Some(format!("{:.0} GiB", kilobytes / 1024.0 / 1024.0))
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The locked versions of the peers. Of two versions of one crate the newer counts, which is the
/// one named in this crate's manifest.
fn versions() -> Map<String, Value> {
    let packages = LOCK.split("[[package]]").filter_map(|package| {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.trim_matches('"').to_owned())
        };
        Some((value("name = ")?, value("version = ")?))
    });
    let peers = packages.filter(|(name, _)| CRATES.contains(&name.as_str()));
    peers
        .map(|(name, version)| (name, Value::String(version)))
        .collect()
}

/// The date in UTC, `year-month-day`.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let days = since.map_or(0, |since| since.as_secs() / 86_400);
    let (year, month, day) = civil(days);
    format!("{year}-{month:02}-{day:02}")
}

/// The civil date of a day counted from 1970-01-01, by the usual shift of the year to March.
const fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::{CRATES, civil, versions};

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(20_772), (2026, 11, 15));
    }

    #[test]
    fn every_peer_has_a_version() {
        assert_eq!(versions().len(), CRATES.len());
    }
}
