//! Experiments: a figure of a paper, repeated with traces at hand and compared with the published values.
//!
//! [`File`] is the experiment as a user writes it, [`Runner`] replays it, [`Comparison`] compares its policies with
//! each other and with the paper, and [`page`] is the result as pages show it.
//!
//! ```
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use hotset_experiment::{Comparison, File, Runner};
//! use hotset_sim::Silent;
//! use hotset_trace::formats::{BUILTIN, OpenOptions};
//!
//! let dir = tempfile::tempdir()?;
//! let lines: String = (0..400).map(|at| format!("{},4096\n", at % 100 * 4096)).collect();
//! std::fs::write(dir.path().join("loop.csv"), format!("offset,size\n{lines}"))?;
//!
//! let text = r#"
//! title = "A loop that does not fit"
//! source = "Belady 1966"
//! traces = ["loop.csv"]
//! policies = "lru,opt"
//! sizes = "50%"
//! [[compare]]
//! better = "opt"
//! than = "lru"
//! "#;
//! let file = File::parse(&dir.path().join("loop.toml"), text)?;
//! let open = |path: &Path| hotset_trace::open(path, &BUILTIN, &OpenOptions::default());
//! let runner = Runner { traces: None, open: Arc::new(open), memory_bytes: 1 << 30 };
//!
//! let replayed = runner.run(&file, &Silent)?;
//! assert_eq!((replayed[0].rows[0].policy.as_str(), file.value(&replayed[0].rows[0])), ("lru", Some(0.0)));
//! let compared = Comparison::all(&file, &replayed);
//! assert!(compared[0].gain.as_ref().is_some_and(|gain| gain.mean > 30.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compare;
mod error;
mod file;
mod measure;
mod mixes;
pub mod page;
mod request;
mod run;
mod saved;

pub use compare::{Comparison, Gain, NO_GAIN, OnTrace};
pub use error::Error;
pub use file::{Compare, File, file_name, label};
pub use measure::Measure;
pub use mixes::{App, Mix, OpenTrace};
pub use request::SweepRequest;
pub use run::{Replayed, Runner};
