//! The share of the time in which processes wait for storage, from the kernel's pressure information.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the kernel with the time that was waited.
#[derive(Clone, Debug)]
pub struct Pressure {
    file: PathBuf,
    is_of_group: bool,
    /// When it was read last, and what it said, both in nanoseconds.
    last: Option<(u64, u64)>,
}

impl Pressure {
    /// Of the group where the kernel tells it apart, else of the machine; `None` on a kernel that does not tell.
    pub fn of(group: Option<&Path>) -> Option<Pressure> {
        let group = group.map(|group| (group.join("io.pressure"), true));
        let files = group.into_iter().chain([(PathBuf::from("/proc/pressure/io"), false)]);
        let mut found = files.filter(|(file, _)| read(file).is_some());
        found.next().map(|(file, is_of_group)| Pressure { file, is_of_group, last: None })
    }

    /// True if it is that of the group, not of the machine.
    pub fn is_of_group(&self) -> bool {
        self.is_of_group
    }

    /// Nanoseconds in which a process waited, since the beginning.
    pub fn waited(&self) -> Option<u64> {
        read(&self.file)
    }

    /// The part of the time since the last call in which a process waited.
    pub fn waiting(&mut self, now: u64) -> Option<f64> {
        let waited = self.waited()?;
        let (then, before) = self.last.replace((now, waited)).unwrap_or((now, waited));
        Some(if now > then { waited.saturating_sub(before) as f64 / (now - then) as f64 } else { 0.0 })
    }
}

fn read(file: &Path) -> Option<u64> {
    total(&fs::read_to_string(file).ok()?)
}

/// Nanoseconds out of `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, which tells microseconds.
fn total(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total = some.split(' ').find_map(|word| word.strip_prefix("total="))?;
    Some(total.parse::<u64>().ok()? * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_was_waited_is_a_part_of_the_time_that_went_by() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("io.pressure");
        let write = |total: u64| {
            let line = |kind: &str, total: u64| format!("{kind} avg10=1.00 avg60=0.50 avg300=0.10 total={total}\n");
            fs::write(&file, line("some", total) + &line("full", 1)).unwrap();
        };
        write(1_000_000);
        let mut pressure = Pressure::of(Some(folder.path())).unwrap();
        assert!(pressure.is_of_group() && pressure.waited() == Some(1_000_000_000));
        assert_eq!(pressure.waiting(5_000_000_000), Some(0.0));
        write(1_250_000);
        assert_eq!(pressure.waiting(6_000_000_000), Some(0.25));
        fs::remove_file(&file).unwrap();
        assert_eq!(pressure.waiting(7_000_000_000), None);
    }
}
