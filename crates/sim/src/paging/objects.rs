//! The memory objects that are alive, and which of them a page belongs to.

use std::collections::BTreeMap;
use std::ops::Range;

use hotset_core::policy::Object;

/// Objects by their first byte. They never overlap: memory that is allocated again was free.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveObjects {
    by_address: BTreeMap<u64, (u64, Object)>,
}

impl LiveObjects {
    /// An object comes to life. Others that it overlaps must have been freed unseen.
    pub fn insert(&mut self, address: u64, object: Object) {
        let end = address.saturating_add(object.bytes);
        while let Some((&older, &(older_end, _))) = self.by_address.range(..end).next_back()
            && older_end > address
        {
            self.by_address.remove(&older);
        }
        if end > address {
            self.by_address.insert(address, (end, object));
        }
    }

    /// The object that begins at `address` dies; the bytes it had. `None` if there is none.
    pub fn remove(&mut self, address: u64) -> Option<Range<u64>> {
        self.by_address.remove(&address).map(|(end, _)| address..end)
    }

    /// The object that has most of these bytes; among equals the one in front.
    pub fn owner(&self, bytes: Range<u64>) -> Option<Object> {
        let mut best: Option<(u64, Object)> = None;
        for (&address, &(end, object)) in self.by_address.range(..bytes.end).rev() {
            if end <= bytes.start {
                break;
            }
            let shared = end.min(bytes.end) - address.max(bytes.start);
            if best.is_none_or(|(most, _)| shared >= most) {
                best = Some((shared, object));
            }
        }
        best.map(|(_, object)| object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(id: u32, bytes: u64) -> Object {
        Object { id, bytes, is_global: false }
    }

    #[test]
    fn a_page_belongs_to_whoever_has_most_of_it() {
        let mut live = LiveObjects::default();
        live.insert(100, object(1, 50));
        live.insert(150, object(2, 60));
        live.insert(0, object(3, 0));
        let owner = |live: &LiveObjects, bytes| live.owner(bytes).map(|object| object.id);
        assert_eq!(owner(&live, 0..100), None);
        assert_eq!(owner(&live, 100..200), Some(1), "50 bytes each");
        assert_eq!(owner(&live, 101..200), Some(2));
        assert_eq!(owner(&live, 200..300), Some(2));
        assert_eq!(owner(&live, 210..300), None);
    }

    #[test]
    fn allocating_over_an_object_ends_it() {
        let mut live = LiveObjects::default();
        for (address, id) in [(0, 1), (100, 2), (200, 3)] {
            live.insert(address, object(id, 100));
        }
        live.insert(150, object(4, 60));
        assert_eq!(live.remove(100), None);
        assert_eq!(live.remove(200), None);
        assert_eq!((live.remove(0), live.remove(150), live.remove(150)), (Some(0..100), Some(150..210), None));
        live.insert(u64::MAX - 1, object(5, 100));
        assert_eq!(live.remove(u64::MAX - 1), Some(u64::MAX - 1..u64::MAX));
    }
}
