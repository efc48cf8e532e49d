//! The memory of pages, by page number.
//!
//! One allocation has the page's buffer, then the [`Page`], then SQLite's extra bytes: a reader of a damaged database
//! that goes beyond the buffer stays in the allocation, as in SQLite's own cache.

use std::alloc::{self, Layout};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use hotset_core::host::Slots;
use hotset_core::policy::{Effects, Extra, Note, Slot};

use crate::counts::{self, EVICTIONS};

/// Bytes behind SQLite's extra bytes.
const BEHIND: usize = 8;

/// A page. SQLite sees its first two fields, `sqlite3_pcache_page`.
#[repr(C)]
pub(crate) struct Page {
    buffer: *mut c_void,
    extra: *mut c_void,
    pub slot: Slot,
    /// SQLite uses it.
    pub is_pinned: bool,
    /// The policy has evicted or bypassed it: it leaves when it is unpinned.
    pub is_orphan: bool,
    /// The policy tracks its slot, perhaps as a ghost.
    pub is_tracked: bool,
}

/// A page in a slot.
pub(crate) type PageAt = NonNull<Page>;

/// The pages of a cache. A slot without a page is a ghost of the policy.
pub(crate) struct Frames {
    pub slots: Slots<Option<PageAt>>,
    buffer_bytes: usize,
    extra_bytes: usize,
    layout: Layout,
    /// Memory of the page that left last, for the next one.
    spare: Option<NonNull<u8>>,
    pub len: u32,
    pub pinned: u32,
    pub orphans: u32,
}

// SAFETY: the memory belongs to these frames. SQLite calls a cache from one thread at a time.
unsafe impl Send for Frames {}

impl Frames {
    /// Frames of pages with so many bytes, and so many extra bytes of SQLite. `None` if memory has no such blocks.
    pub fn new(page_bytes: usize, extra_bytes: usize) -> Option<Frames> {
        let buffer_bytes = page_bytes.checked_next_multiple_of(align_of::<Page>())?;
        let all = buffer_bytes.checked_add(size_of::<Page>())?.checked_add(extra_bytes)?.checked_add(BEHIND)?;
        let layout = Layout::from_size_align(all, 16).ok()?;
        let slots = Slots::default();
        Some(Frames { slots, buffer_bytes, extra_bytes, layout, spare: None, len: 0, pinned: 0, orphans: 0 })
    }

    /// Returns the page with a number.
    pub fn find(&self, number: u32) -> Option<PageAt> {
        *self.slots.value(self.slots.find(number.into())?)
    }

    /// Makes the pinned page of a number that has none. `None` without memory for it.
    pub fn make(&mut self, number: u32) -> Option<PageAt> {
        let memory = match self.spare.take() {
            Some(memory) => memory,
            // SAFETY: the layout has a size.
            None => NonNull::new(unsafe { alloc::alloc(self.layout) })?,
        };
        let slot = self.slots.slot(number.into(), None, || None);
        // SAFETY: the layout has the buffer, the page at a multiple of its alignment, and the extra bytes.
        let page = unsafe {
            let page = memory.add(self.buffer_bytes).cast::<Page>();
            let extra = page.add(1).cast::<u8>();
            ptr::write_bytes(extra.as_ptr(), 0, self.extra_bytes + BEHIND);
            let (buffer, extra) = (memory.as_ptr().cast(), extra.as_ptr().cast());
            page.write(Page { buffer, extra, slot, is_pinned: true, is_orphan: false, is_tracked: false });
            page
        };
        *self.slots.value_mut(slot) = Some(page);
        (self.len, self.pinned) = (self.len + 1, self.pinned + 1);
        Some(page)
    }

    /// Returns the fields of a page.
    #[inline(always)]
    pub fn page(&mut self, at: PageAt) -> &mut Page {
        // SAFETY: pages in slots are live, and SQLite passes only those. No other reference to one exists: every one
        // ends with the borrow of these frames.
        unsafe { &mut *at.as_ptr() }
    }

    /// Pins or unpins a page.
    pub fn set_pinned(&mut self, at: PageAt, is_pinned: bool) {
        let before = std::mem::replace(&mut self.page(at).is_pinned, is_pinned);
        self.pinned = self.pinned + u32::from(is_pinned) - u32::from(before);
    }

    /// Sets that a page leaves when it is unpinned, or that it does not.
    pub fn set_orphan(&mut self, at: PageAt, is_orphan: bool) {
        let before = std::mem::replace(&mut self.page(at).is_orphan, is_orphan);
        self.orphans = self.orphans + u32::from(is_orphan) - u32::from(before);
    }

    /// Frees a page. Its slot stays as long as the policy tracks it.
    pub fn free(&mut self, at: PageAt) {
        self.set_pinned(at, false);
        self.set_orphan(at, false);
        let Page { slot, is_tracked, .. } = *self.page(at);
        *self.slots.value_mut(slot) = None;
        self.len -= 1;
        // SAFETY: the allocation begins with the buffer.
        let memory = unsafe { at.cast::<u8>().sub(self.buffer_bytes) };
        if let Some(before) = self.spare.replace(memory) {
            // SAFETY: the memory is of this layout, and no page is in it.
            unsafe { alloc::dealloc(before.as_ptr(), self.layout) };
        }
        if !is_tracked {
            self.slots.forget(slot);
        }
    }

    /// Moves a page to another slot, which has none. The policy must not track its slot any more.
    pub fn move_to(&mut self, at: PageAt, number: u32) {
        let before = self.page(at).slot;
        *self.slots.value_mut(before) = None;
        self.slots.forget(before);
        let slot = self.slots.slot(number.into(), None, || None);
        *self.slots.value_mut(slot) = Some(at);
        self.page(at).slot = slot;
    }

    /// Frees the memory that no page uses.
    pub fn trim(&mut self) {
        if let Some(memory) = self.spare.take() {
            // SAFETY: as in `free`.
            unsafe { alloc::dealloc(memory.as_ptr(), self.layout) };
        }
    }

    /// Returns the pages, in no order.
    pub fn pages(&self) -> Vec<PageAt> {
        self.slots.slots().filter_map(|slot| *self.slots.value(slot)).collect()
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.pages().into_iter().for_each(|page| self.free(page));
        self.trim();
    }
}

impl Effects for Frames {
    fn evict(&mut self, slot: Slot) {
        let Some(page) = *self.slots.value(slot) else { return };
        counts::add(&EVICTIONS, 1);
        match self.page(page).is_pinned {
            true => self.set_orphan(page, true),
            false => self.free(page),
        }
    }

    fn forget(&mut self, slot: Slot) {
        match *self.slots.value(slot) {
            None => self.slots.forget(slot),
            Some(page) => {
                self.page(page).is_tracked = false;
                self.evict(slot);
            }
        }
    }

    /// SQLite reads pages, so a prefetch cannot be served.
    fn fetch(&mut self, _slot: Slot, _why: Extra) {}

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }

    fn note(&mut self, _note: &Note) {}
}
