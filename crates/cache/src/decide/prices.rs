//! What requests would cost the storage below.

use hotset_core::storage::{Cost, Idle, StorageModel};

use crate::arena::block_index::Block;

/// What requests would cost the storage below.
pub(crate) struct Prices {
    idle: Idle,
    /// The address behind the block that was read last, where the head is if there is one.
    pub head: Option<u64>,
}

impl Prices {
    pub fn new(store: StorageModel) -> Prices {
        Prices { idle: Idle::new(store), head: None }
    }

    pub fn of(&mut self, blocks: &[Block]) -> Cost {
        self.idle.cost(self.head, blocks.iter().map(|block| (block.address, Some(u64::from(block.bytes)))))
    }
}
