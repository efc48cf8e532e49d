//! Running an experiment: each of its traces and mixes through all of its policies at all of its sizes.

use std::path::PathBuf;

use hotset_core::spec::{SizeSpec, SpecError};
use hotset_results::{Row, SeriesRow};
use hotset_sim::sweep::{Sweep, Swept};
use hotset_sim::{Observer, Options};

use crate::error::Error;
use crate::file::File;
use crate::mixes::{Mix, OpenTrace};

/// The results of one trace or mix.
#[derive(Clone)]
pub struct Replayed {
    /// Its rows, policy by policy.
    pub rows: Vec<Row>,
    /// Rows of its intervals, where the experiment asks for them.
    pub series: Vec<SeriesRow>,
}

impl Replayed {
    /// Names the trace in all rows as the experiment does, wherever its file lies.
    pub fn rename(&mut self, trace: &str) {
        self.rows.iter_mut().for_each(|row| trace.clone_into(&mut row.trace));
    }
}

/// Runs experiments on this machine.
pub struct Runner {
    /// Directory of the traces; without it, each file's own directory.
    pub traces: Option<PathBuf>,
    /// Opens traces.
    pub open: OpenTrace,
    /// Bytes of memory for holding a trace.
    pub memory_bytes: u64,
}

impl Runner {
    /// The results of an experiment: of each trace, then of each mix.
    ///
    /// # Errors
    ///
    /// A trace cannot be read, or not be replayed as the file says.
    pub fn run(&self, file: &File, observer: &dyn Observer) -> Result<Vec<Replayed>, Error> {
        let sweep = Sweep {
            of_memory: file.measure.is_of_memory(),
            options: Options {
                block: file.block_size()?,
                maps: file.maps,
                deletes: file.deletes,
                ttl: file.ttl,
                memory_bytes: self.memory_bytes,
                ..Options::default()
            },
            clock: file.clock()?,
            selection: file.selection()?,
            ..Sweep::new(file.policies()?, file.size_list()?)
        };
        let alone = file.traces.iter().map(|trace| {
            let place = file.place(self.traces.as_deref(), trace);
            let swept = sweep.run(&place.display().to_string(), || (self.open)(&place), observer);
            Ok(Replayed::from(swept.map_err(|error| Error::of_replay(error, &file.sizes))?))
        });
        let mixed = file.mixes.iter().map(|mix| self.run_mix(file, mix, &sweep, observer));
        let mut all = alone.chain(mixed).collect::<Result<Vec<Replayed>, Error>>()?;
        file.trace_names().zip(&mut all).for_each(|(name, replayed)| replayed.rename(name));
        Ok(all)
    }

    /// The results of a mix. `sweep` is that of the experiment.
    fn run_mix(&self, file: &File, mix: &Mix, sweep: &Sweep, observer: &dyn Observer) -> Result<Replayed, Error> {
        let wrong = |error: SpecError| Error::File(format!("{}, {}: {error}", file.path().display(), mix.name));
        let own = Sweep {
            policies: mix.policies(&sweep.policies).map_err(wrong)?,
            sizes: match &mix.size {
                Some(size) => SizeSpec::parse(size).map_err(wrong)?,
                None => sweep.sizes.clone(),
            },
            ..sweep.clone()
        };
        let open = || mix.open(&self.open, |trace| file.place(self.traces.as_deref(), trace));
        let sizes = mix.size.as_ref().unwrap_or(&file.sizes);
        let mut swept = own.run(&mix.name, open, observer).map_err(|error| Error::of_replay(error, sizes))?;
        mix.tell(&sweep.policies, &mut swept.rows, &mut swept.series).map_err(wrong)?;
        Ok(Replayed::from(swept))
    }
}

impl From<Swept> for Replayed {
    fn from(Swept { rows, series }: Swept) -> Replayed {
        Replayed { rows, series }
    }
}
