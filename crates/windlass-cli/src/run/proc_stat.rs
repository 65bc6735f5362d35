//! What the kernel tells of a process in `/proc/PID/stat`.
//!
//! `getsid` and `getpgid` would tell the same, but answer 0 for a session or a group that began outside the
//! PID namespace of the caller, as everything in a container does that was not started in a session of its
//! own. `rustix` takes that 0 for impossible.

/// State, process group and session of a process; a group or session of another PID namespace is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only Linux lists the members of a group")
)]
pub(super) struct ProcStat {
    /// Whether it is neither a zombie nor dead.
    pub(super) lives: bool,
    pub(super) group: i32,
    pub(super) session: i32,
}

impl ProcStat {
    /// Reads that of a process, `None` if there is no such process, or no `/proc`.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// State, parent, group and session follow the name, which may contain anything.
    fn parse(stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let lives = !"ZX".contains(fields.next()?);
        let _parent = fields.next()?;
        Some(Self {
            lives,
            group: fields.next()?.parse().ok()?,
            session: fields.next()?.parse().ok()?,
        })
    }
}

/// Lists the processes of this PID namespace, `None` where there is no `/proc`.
pub(super) fn processes() -> Option<impl Iterator<Item = u32>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    Some(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::ProcStat;

    #[test]
    fn the_name_of_a_process_may_contain_anything() {
        let stat = |lives, group, session| {
            Some(ProcStat {
                lives,
                group,
                session,
            })
        };
        assert_eq!(ProcStat::parse("7 (a) b) S 1 42 3 0"), stat(true, 42, 3));
        assert_eq!(ProcStat::parse("7 (sleep) T 1 42 3 0"), stat(true, 42, 3));
        assert_eq!(ProcStat::parse("7 (sleep) Z 1 42 3 0"), stat(false, 42, 3));
        assert_eq!(ProcStat::parse("7 (sleep) S 1 0 0 0"), stat(true, 0, 0));
        assert_eq!(ProcStat::parse("7 (sleep) S 1"), None);
        assert_eq!(ProcStat::parse(""), None);
    }
}
