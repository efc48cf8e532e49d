//! Counts what a trace of objects leaves open, so that no request is dropped or weightless without a word.

use hotset_core::{request::Op, words::grouped};

use crate::{Addressing, Batch, Meta, Tables, TraceError, TraceReader, memory::MemoryReader};

/// A reader that counts requests without a size and requests with a negative one.
pub(super) struct Noted {
    reader: Box<dyn TraceReader>,
    /// Reads and writes so far that did not fail, and those of them without a size.
    whole: u64,
    without_size: u64,
    failed: u64,
}

impl Noted {
    /// Counts the requests of `reader`, if its format can have such requests.
    pub(super) fn around(reader: Box<dyn TraceReader>) -> Box<dyn TraceReader> {
        let meta = reader.meta();
        match meta.addressing == Addressing::Objects || meta.format == "csv" {
            true => Box::new(Noted { reader, whole: 0, without_size: 0, failed: 0 }),
            false => reader,
        }
    }

    fn count(&mut self, batch: &Batch) {
        for request in &batch.requests {
            // Without a branch: every request of a trace of objects passes here.
            let is_data = request.op <= Op::Write as u8;
            self.failed += u64::from(is_data && request.failed());
            self.whole += u64::from(is_data && !request.failed());
            self.without_size += u64::from(is_data && !request.failed() && request.length == 0);
        }
    }
}

impl TraceReader for Noted {
    fn meta(&self) -> &Meta {
        self.reader.meta()
    }

    fn tables(&self) -> &Tables {
        self.reader.tables()
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        self.reader.read(batch)?;
        self.count(batch);
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.reader.skipped()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.reader.remarks();
        if self.failed > 0 {
            let of = grouped(self.failed + self.whole);
            remarks.push(format!(
                "{} of {of} reads and writes have a negative size: they count as failed calls, and reference nothing",
                grouped(self.failed)
            ));
        }
        let objects = self.reader.meta().addressing == Addressing::Objects;
        if objects && (1..self.whole).contains(&self.without_size) {
            remarks.push(format!(
                "{} of {} reads and writes have no size: where sizes count, an object keeps its last one, or else \
                 counts as the average so far",
                grouped(self.without_size),
                grouped(self.whole)
            ));
        }
        remarks
    }

    fn memory(&mut self) -> Option<&mut dyn MemoryReader> {
        self.reader.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        by_name,
        testing::{read, skipping},
    };
    use crate::formats::BUILTIN;

    #[test]
    fn requests_without_a_size_and_failed_ones_are_counted() {
        let csv = by_name("csv", BUILTIN).unwrap();
        let remarks = |text: &str| read(csv, text.as_bytes()).remarks.join("; ");
        let sizes = "key,op,size\na,SET,82\na,GET,0\nb,GET,\nb,DELETE,0\n";
        assert!(remarks(sizes).starts_with("2 of 3 reads and writes have no size: "), "{}", remarks(sizes));
        let negative = "time,id,size\n1,1,-1\n2,2,100\n3,1,-1\n";
        assert!(remarks(negative).starts_with("2 of 3 reads and writes have a negative size: "));
        let ranges = "offset,size\n0,-1\n0,4096\n";
        assert!(remarks(ranges).starts_with("1 of 2 reads and writes have a negative size: "));
        assert_eq!(remarks("id\n1\n2\n"), "");
        assert_eq!(skipping(csv, b"id,size\n1,10\n2,20\n").remarks, [""; 0]);
    }
}
