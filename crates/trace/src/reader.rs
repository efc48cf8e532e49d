//! The interface between formats and readers of traces.

use hotset_core::words::grouped;

use crate::{Batch, Meta, Tables, TraceError, memory::MemoryReader};

/// A trace being read from front to back.
pub trait TraceReader: Send {
    /// Facts known before reading; they never change.
    fn meta(&self) -> &Meta;

    /// Names of the files and applications met so far.
    fn tables(&self) -> &Tables;

    /// Clears `batch` and fills it with up to [`crate::batch::BATCH_REQUESTS`] requests (a few more where one line of a
    /// trace gives several). An empty batch is the end of the trace.
    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError>;

    /// Records that were malformed and skipped so far; always 0 unless the reader was opened to skip them.
    fn skipped(&self) -> u64 {
        0
    }

    /// Remarks on the trace for the user once it has been read: an interrupted recording, calls that could not be
    /// attributed. One sentence each.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Messages for the user once the trace has been read: the number of skipped records, and the remarks.
    fn notes(&self) -> Vec<String> {
        let skipped = self.skipped();
        let told = (skipped > 0).then(|| format!("{} malformed records were skipped", grouped(skipped)));
        told.into_iter().chain(self.remarks()).collect()
    }

    /// Bytes of memory that grow with the trace, such as what is remembered of each object.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// The same trace as one of memory, if it is one; [`TraceReader::read`] is then not used.
    fn memory(&mut self) -> Option<&mut dyn MemoryReader> {
        None
    }
}

/// A pointer to a reader reads as the reader does.
macro_rules! read_through {
    ($($reader:ty),+) => {$(
        impl<R: TraceReader + ?Sized> TraceReader for $reader {
            fn meta(&self) -> &Meta {
                (**self).meta()
            }

            fn tables(&self) -> &Tables {
                (**self).tables()
            }

            fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
                (**self).read(batch)
            }

            fn skipped(&self) -> u64 {
                (**self).skipped()
            }

            fn remarks(&self) -> Vec<String> {
                (**self).remarks()
            }

            fn held_bytes(&self) -> u64 {
                (**self).held_bytes()
            }

            fn memory(&mut self) -> Option<&mut dyn MemoryReader> {
                (**self).memory()
            }
        }
    )+};
}

read_through!(&mut R, Box<R>);
