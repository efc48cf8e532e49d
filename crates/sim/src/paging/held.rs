//! A memory trace that is held, in blocks.

use hotset_core::policy::{Object, Slot};

use super::body::{Body, Unpacker};

/// In an entry of a block: the block writes to the page.
pub(super) const WRITTEN: u32 = 1 << 31;

/// Pages of a block, at most.
pub(super) const MOST_PLACES: usize = 256;

/// A run of references.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Steps before it.
    pub first_step: u64,
    pub steps: u32,
    /// References before it.
    pub first_reference: u64,
    /// Instructions executed before it, as far as is known.
    pub first_instruction: u64,
    /// Where its pages end in [`HeldMemory::entries`]; they begin where those of the block before end.
    pub entries_end: usize,
    /// Where it ends in [`HeldMemory::bodies`].
    pub body_end: usize,
}

/// Something that happens to objects before a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// Steps before it.
    pub at: u64,
    pub address: u64,
    /// The object that begins; otherwise the object at the address ends.
    pub born: Option<Object>,
}

/// A memory trace that is held: any number of cells can replay it.
#[derive(Debug, Default)]
pub struct HeldMemory {
    pub(super) page_bytes: u64,
    /// By page: its address, in pages.
    pub(super) addresses: Vec<u64>,
    /// The pages in the order of their addresses.
    pub(super) by_address: Vec<Slot>,
    pub(super) blocks: Vec<Block>,
    /// The pages of each block in the order of their first references, with [`WRITTEN`].
    pub(super) entries: Vec<u32>,
    /// Beside `entries`: the step of the block that references the page first.
    pub(super) firsts: Vec<u16>,
    pub(super) bodies: Vec<u8>,
    /// Steps of that many references or more that do not fit a body: number of the step, references.
    pub(super) long: Vec<(u64, u64)>,
    pub(super) events: Vec<Event>,
    pub(super) references: u64,
    pub(super) steps: u64,
    pub(super) writes: u64,
    pub(super) instructions: u64,
    pub(super) objects: u32,
    pub(super) unknown_frees: u64,
}

impl HeldMemory {
    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Distinct pages.
    pub fn pages(&self) -> u32 {
        self.addresses.len() as u32
    }

    /// References, repeats counted.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// References that write.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Runs of references to one page.
    pub fn runs(&self) -> u64 {
        self.steps
    }

    /// Instructions executed, if they were counted.
    pub fn instructions(&self) -> Option<u64> {
        Some(self.instructions).filter(|&count| count > 0)
    }

    /// Objects that came to life.
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// Frees of memory whose allocation was not seen.
    pub fn unknown_frees(&self) -> u64 {
        self.unknown_frees
    }

    /// Bytes of memory that the trace takes.
    pub fn memory_bytes(&self) -> u64 {
        let pages = self.addresses.capacity() * 12;
        let blocks = self.blocks.capacity() * size_of::<Block>() + self.entries.capacity() * 6 + self.bodies.capacity();
        let rare = self.long.capacity() * 16 + self.events.capacity() * size_of::<Event>();
        (pages + blocks + rare) as u64
    }

    /// Where the pages of a block stand.
    pub(super) fn entry_range(&self, block: usize) -> std::ops::Range<usize> {
        let begin = block.checked_sub(1).map_or(0, |before| self.blocks[before].entries_end);
        begin..self.blocks[block].entries_end
    }

    /// Unpacks the references of a block.
    pub(super) fn unpack(&self, block: usize, unpacker: &mut Unpacker, body: &mut Body) {
        let begin = block.checked_sub(1).map_or(0, |before| self.blocks[before].body_end);
        let packed = &self.bodies[begin..self.blocks[block].body_end];
        unpacker.unpack(packed, self.blocks[block].steps as usize, body);
    }

    /// References of a step whose count does not fit.
    #[cold]
    pub(super) fn long_count(&self, step: u64) -> u64 {
        let at = self.long.partition_point(|&(long, _)| long < step);
        self.long[at].1
    }

    /// The pages from address `first` to before `end`, in pages.
    pub(super) fn pages_between(&self, first: u64, end: u64) -> &[Slot] {
        let at = |address: u64| self.by_address.partition_point(|&page| self.addresses[page as usize] < address);
        let (first, end) = (at(first), at(end));
        &self.by_address[first.min(end)..end]
    }
}
