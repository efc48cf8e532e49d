//! The log of repartitions: the quota of each application after each change.

use std::fs::File;
use std::io::{Write, stderr};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use hotset_cache::FileCache;
use hotset_core::policy::{PartRoom, Repartition};

use crate::failure::Failure;
use crate::output::human;

/// A thread that writes a line for each repartition. It ends with the cache, see [`FileCache::finish`].
pub(super) struct Log(JoinHandle<()>);

impl Log {
    /// Appends repartitions of `cache`, whose blocks have `block` bytes, to the file `to`, or to the terminal.
    pub fn start(cache: &Arc<FileCache>, block: u64, to: Option<&Path>) -> Result<Log, Failure> {
        let mut out: Box<dyn Write + Send> = match to {
            Some(path) => {
                let file = File::options().create(true).append(true).open(path);
                Box::new(
                    file.map_err(|error| Failure::Work(format!("--log: cannot write {}: {error}", path.display())))?,
                )
            }
            None => Box::new(stderr()),
        };
        let (sender, decisions): (_, Receiver<Repartition>) = channel();
        cache.tell(sender);
        let (cache, started) = (cache.clone(), Instant::now());
        Ok(Log(thread::spawn(move || {
            for decision in decisions {
                let (when, names) = (started.elapsed().as_secs_f64(), cache.apps());
                let parts: Vec<String> = decision.parts.iter().map(|part| words(part, &names, block)).collect();
                // Serving continues with a full disk or a closed terminal.
                let _ = writeln!(out, "hotset: after {}: {}", human::duration(when), parts.join(", "));
            }
        })))
    }

    /// Waits until all lines are written.
    pub fn finish(self) {
        // The thread does not panic.
        let _ = self.0.join();
    }
}

/// Formats a partition as `cc1 12M, target 80 % (infeasible)`.
fn words(part: &PartRoom, names: &[String], block: u64) -> String {
    let name = names.get(part.app as usize).map_or("?", String::as_str);
    let promised = part.target.map_or(String::new(), |millionths| {
        format!(", target {} %{}", f64::from(millionths) / 1e4, if part.is_infeasible { " (infeasible)" } else { "" })
    });
    format!("{name} {}{promised}", human::bytes(u64::from(part.blocks) * block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_quotas_and_targets() {
        let names = ["cc1".to_owned(), "ld".to_owned()];
        let part = PartRoom { app: 1, blocks: 3, target: Some(805_000), is_infeasible: true };
        assert_eq!(words(&part, &names, 4096), "ld 12K, target 80.5 % (infeasible)");
        assert_eq!(words(&PartRoom { app: 0, blocks: 1, ..PartRoom::default() }, &names, 4096), "cc1 4K");
    }
}
