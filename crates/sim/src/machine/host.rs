//! The host of a policy: it keeps whose blocks are resident, and what the disk has to do besides.

use std::sync::Arc;

use hotset_core::policy::{Effects, Extra, Note, Repartition, Slot, Worth};

use crate::cell::{Transfers, note};

/// Nobody has referred to the block yet.
const NOBODY: u32 = u32::MAX;

/// What is known of a block.
#[derive(Clone, Copy)]
struct Block {
    /// The application that missed it last.
    owner: u32,
    is_resident: bool,
    is_dirty: bool,
    /// When the disk has read it, in nanoseconds.
    arrival: u64,
}

impl Block {
    const UNKNOWN: Block = Block { owner: NOBODY, is_resident: false, is_dirty: false, arrival: 0 };
}

pub(super) struct Host {
    addresses: Arc<[u64]>,
    /// Addresses of blocks that are read ahead though the trace never refers to them: their slots follow on those of
    /// the trace.
    others: Vec<u64>,
    /// By slot.
    blocks: Vec<Block>,
    /// Resident blocks by application.
    pub held: Vec<u32>,
    /// Blocks that are to be read though nobody waits, and addresses that are to be written, since they were taken
    /// last.
    pub reads: Vec<Slot>,
    pub writes: Vec<u64>,
    pub transfers: Transfers,
    pub decisions: Vec<Repartition>,
    /// By application: its virtual queue at the end of its last quantum.
    pub queues: Vec<Option<Heat>>,
    /// By application: the table of it that a scheme keeps, as it was when the room was divided last.
    pub tables: Vec<Vec<(u32, f64)>>,
}

/// Bands in which the values of a virtual queue are told.
pub const BANDS: usize = 64;

/// What stretches of a virtual queue are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Blocks of the queue.
    pub blocks: u64,
    /// Values of 64 bands of equal length, from the head on: hits there, faded.
    pub bands: Vec<f64>,
}

impl Heat {
    fn of(worth: &Worth) -> Heat {
        let mut bands = vec![0.0; BANDS];
        for (unit, value) in worth.values.iter().enumerate() {
            bands[unit * BANDS / worth.units] += value;
        }
        Heat { blocks: worth.units as u64 * u64::from(worth.unit), bands }
    }
}

impl Host {
    pub fn new(addresses: Arc<[u64]>, apps: usize) -> Host {
        Host {
            others: Vec::new(),
            blocks: vec![Block::UNKNOWN; addresses.len()],
            addresses,
            held: vec![0; apps],
            reads: Vec::new(),
            writes: Vec::new(),
            transfers: Transfers::default(),
            decisions: Vec::new(),
            queues: vec![None; apps],
            tables: vec![Vec::new(); apps],
        }
    }

    /// Where a block lies: its file in the high half, its number in the file in the low one.
    pub fn address(&self, slot: Slot) -> u64 {
        let slot = slot as usize;
        self.addresses.get(slot).copied().unwrap_or_else(|| self.others[slot - self.addresses.len()])
    }

    /// A slot for a block that the trace never refers to.
    pub fn add(&mut self, address: u64) -> Slot {
        self.others.push(address);
        self.blocks.push(Block::UNKNOWN);
        (self.blocks.len() - 1) as Slot
    }

    pub fn is_resident(&self, slot: Slot) -> bool {
        self.blocks[slot as usize].is_resident
    }

    /// When the disk has read the block.
    pub fn arrival(&self, slot: Slot) -> u64 {
        self.blocks[slot as usize].arrival
    }

    pub fn arrives(&mut self, slot: Slot, when: u64) {
        self.blocks[slot as usize].arrival = when;
    }

    /// The block was not there for `app`, and is now if it `is_kept`.
    pub fn miss(&mut self, slot: Slot, app: u32, is_kept: bool) {
        let block = &mut self.blocks[slot as usize];
        (block.owner, block.is_resident, block.arrival) = (app, is_kept, 0);
        self.held[app as usize] += u32::from(is_kept);
    }

    /// The block, which has come in for `app`, was read ahead.
    pub fn prefetch(&mut self, slot: Slot, app: u32) {
        self.miss(slot, app, true);
        self.transfers.extra_reads += 1;
        self.transfers.extra.prefetch_reads += 1;
        self.reads.push(slot);
    }

    /// The resident block was written.
    pub fn mark_dirty(&mut self, slot: Slot) {
        self.blocks[slot as usize].is_dirty = true;
    }

    /// The block goes to the disk.
    pub fn write(&mut self, slot: Slot) {
        self.transfers.write_backs += 1;
        self.writes.push(self.address(slot));
    }
}

impl Effects for Host {
    fn evict(&mut self, slot: Slot) {
        let block = &mut self.blocks[slot as usize];
        block.is_resident = false;
        self.held[block.owner as usize] -= 1;
        if std::mem::take(&mut block.is_dirty) {
            self.write(slot);
        }
    }

    fn forget(&mut self, _slot: Slot) {}

    fn fetch(&mut self, slot: Slot, why: Extra) {
        // Whoever had it before has it again.
        let block = &mut self.blocks[slot as usize];
        block.is_resident = true;
        self.held[block.owner as usize] += 1;
        self.transfers.extra_reads += 1;
        self.transfers.extra.count(why);
        self.reads.push(slot);
    }

    fn note(&mut self, told: &Note) {
        match *told {
            Note::Unforced(_) => self.transfers.extra.push_outs += 1,
            Note::Division(decision) => note(&mut self.decisions, decision),
            Note::Worth(worth) => self.queues[worth.app as usize] = Some(Heat::of(worth)),
            Note::HitRates(rates) => self.tables[rates.app as usize] = rates.points.to_vec(),
        }
    }
}
