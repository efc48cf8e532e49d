//! Page table entries: a byte a page, as the hardware would keep it.

use hotset_core::policy::Slot;

/// The page is resident.
pub const PRESENT: u8 = 1;
/// The page was accessed since the bit was last cleared.
pub const ACCESSED: u8 = 2;
/// The page was written since it was fetched.
pub const DIRTY: u8 = 4;

/// The page table.
#[derive(Clone, Debug)]
pub struct PageTable {
    entries: Vec<u8>,
}

impl PageTable {
    /// No page is resident.
    pub fn new(pages: u32) -> PageTable {
        PageTable { entries: vec![0; pages as usize] }
    }

    /// The entries, to be changed as accesses do.
    pub fn entries_mut(&mut self) -> &mut [u8] {
        &mut self.entries
    }

    /// True if `page` is resident.
    pub fn is_present(&self, page: Slot) -> bool {
        self.entries[page as usize] & PRESENT != 0
    }

    /// Tells whether the accessed bit of `page` is set, and clears it.
    #[inline(always)]
    pub fn test_and_clear(&mut self, page: Slot) -> bool {
        let entry = &mut self.entries[page as usize];
        let was_accessed = *entry & ACCESSED != 0;
        *entry &= !ACCESSED;
        was_accessed
    }

    /// Ends the stay of `page`; true if it was written meanwhile.
    pub fn drop_page(&mut self, page: Slot) -> bool {
        std::mem::take(&mut self.entries[page as usize]) & DIRTY != 0
    }
}
