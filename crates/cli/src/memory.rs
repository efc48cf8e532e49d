//! How much memory a command may use unless it is told.

use std::fs;

/// Used where the system does not say what it has.
const FALLBACK_BYTES: u64 = 2 << 30;

/// Half of what is available to this process.
pub(crate) fn default_budget() -> u64 {
    let available = [meminfo_available(), cgroup_left()].into_iter().flatten().min();
    available.unwrap_or(FALLBACK_BYTES) / 2
}

fn meminfo_available() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// What the control group (version 2) still allows.
fn cgroup_left() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let read =
        |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{group}/{name}")).ok()?.trim().parse::<u64>().ok();
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}
