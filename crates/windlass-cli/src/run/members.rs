//! Who lives in a process group whose leader has ended.

use rustix::process::Pid;

/// Returns whether a process of this session lives in the group; zombies do not live.
///
/// Nobody but the kernel can ask a group for its members, so this reads the table of processes. It is for
/// the rare job that leaves something behind.
#[cfg(target_os = "linux")]
pub(super) fn has_living_members(group: Pid) -> bool {
    use super::proc_stat::{ProcStat, processes};

    let own = ProcStat::of(std::process::id());
    let (Some(own), Some(mut processes)) = (own, processes()) else {
        return rustix::process::test_kill_process_group(group).is_ok();
    };
    processes.any(|pid| {
        ProcStat::of(pid).is_some_and(|process| {
            process.lives && process.group == group.as_raw_pid() && process.session == own.session
        })
    })
}

/// On other systems a zombie counts until it is reaped.
#[cfg(not(target_os = "linux"))]
pub(super) fn has_living_members(group: Pid) -> bool {
    rustix::process::test_kill_process_group(group).is_ok()
}
