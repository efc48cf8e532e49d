//! Which blocks are resident, and whose they are; and what the disk has to do besides.

use hotset_core::policy::{Note, Slot};

use crate::engine::{Heat, Watch};

/// The block has not been referenced yet.
const NOBODY: u32 = u32::MAX;

/// The known facts of a block.
#[derive(Clone, Copy)]
struct Block {
    /// The application that missed it last.
    owner: u32,
    is_resident: bool,
    /// When the disk has read it, in nanoseconds.
    arrival: u64,
}

impl Block {
    const UNKNOWN: Block = Block { owner: NOBODY, is_resident: false, arrival: 0 };
}

#[derive(Default)]
pub(super) struct Residents {
    /// By slot; unknown behind the last.
    blocks: Vec<Block>,
    /// By application.
    apps: Vec<Held>,
    /// Blocks to be read without a waiting request, and addresses to be written, since they were taken last.
    pub reads: Vec<Slot>,
    pub writes: Vec<u64>,
    /// Nanoseconds for which the store has worked so far; `None` without one.
    pub storage_busy: Option<u64>,
}

/// The known facts of an application.
#[derive(Clone, Default)]
pub(super) struct Held {
    /// Resident blocks.
    pub blocks: u32,
    /// Its virtual queue at the end of its last quantum.
    pub queue: Option<Heat>,
    /// The table of it that a scheme keeps, as it was when the room was divided last.
    pub table: Vec<(u32, f64)>,
}

impl Residents {
    /// Nothing is resident, and a store, if there is one, has done nothing.
    pub fn before(has_store: bool) -> Residents {
        Residents { storage_busy: has_store.then_some(0), ..Residents::default() }
    }

    pub fn is_resident(&self, slot: Slot) -> bool {
        self.blocks.get(slot as usize).is_some_and(|block| block.is_resident)
    }

    /// When the disk has read the block.
    pub fn arrival(&self, slot: Slot) -> u64 {
        self.blocks.get(slot as usize).map_or(0, |block| block.arrival)
    }

    pub fn arrives(&mut self, slot: Slot, when: u64) {
        self.block(slot).arrival = when;
    }

    /// The block was not there for `app`, and is now if it `is_kept`.
    pub fn miss(&mut self, slot: Slot, app: u32, is_kept: bool) {
        *self.block(slot) = Block { owner: app, is_resident: is_kept, arrival: 0 };
        self.app(app).blocks += u32::from(is_kept);
    }

    /// The known facts of an application.
    pub fn of(&self, app: u32) -> Held {
        self.apps.get(app as usize).cloned().unwrap_or_default()
    }

    fn block(&mut self, slot: Slot) -> &mut Block {
        let slot = slot as usize;
        if slot >= self.blocks.len() {
            self.blocks.resize(slot + slot / 2 + 64, Block::UNKNOWN);
        }
        &mut self.blocks[slot]
    }

    fn app(&mut self, app: u32) -> &mut Held {
        let app = app as usize;
        if app >= self.apps.len() {
            self.apps.resize(app + 1, Held::default());
        }
        &mut self.apps[app]
    }
}

impl Watch for Residents {
    fn leaves(&mut self, slot: Slot) {
        let block = self.block(slot);
        if std::mem::take(&mut block.is_resident) {
            let owner = block.owner;
            self.app(owner).blocks -= 1;
        }
    }

    fn is_written(&mut self, address: impl FnOnce() -> u64) {
        self.writes.push(address());
    }

    fn enters(&mut self, slot: Slot) {
        // The former owner has it again.
        let block = self.block(slot);
        block.is_resident = true;
        let owner = block.owner;
        self.app(owner).blocks += 1;
        self.reads.push(slot);
    }

    fn storage_busy(&self) -> Option<u64> {
        self.storage_busy
    }

    fn is_told(&mut self, note: &Note) {
        match *note {
            Note::Worth(worth) => self.app(worth.app).queue = Some(Heat::of(worth)),
            Note::HitRates(rates) => self.app(rates.app).table = rates.points.to_vec(),
            Note::Unforced(_) | Note::Division(_) => {}
        }
    }
}
