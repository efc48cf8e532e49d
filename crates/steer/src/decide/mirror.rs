//! The pages of the watched files that the kernel holds, their folios, and the pages among them that were never read.
//!
//! Built from the kernel's events of folios that come and go, without queries in between. Memory: four bits a page in
//! groups of 64 pages, each 48 bytes with its entry in a table: 0.02 % of the resident bytes where files are resident
//! in long extents, at most 1.2 % where single pages are.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// Pages of a group.
const GROUP: u64 = 64;

/// 64 pages of a file, a bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    present: u64,
    /// The first pages of folios.
    heads: u64,
    /// Pages that were not read since they came.
    unread: u64,
    /// Pages that were dropped, and have not left yet.
    dropped: u64,
    /// When the last of them came, in nanoseconds.
    came: u64,
}

/// Resident pages, by file.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    files: Vec<FxHashMap<u64, Group>>,
    pages: u64,
}

/// The bits of each group that the pages `range` lie in.
fn groups(range: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
    let all = range.start / GROUP..range.end.div_ceil(GROUP);
    let all = if range.is_empty() { 0..0 } else { all };
    all.map(move |group| {
        let from = range.start.saturating_sub(group * GROUP);
        let to = (range.end - group * GROUP).min(GROUP);
        (group, (u64::MAX >> (GROUP - (to - from))) << from)
    })
}

impl Mirror {
    /// Resident pages of all files.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// A folio came.
    pub fn add(&mut self, file: u32, folio: Range<u64>, at: u64) {
        let file = file as usize;
        if file >= self.files.len() {
            self.files.resize_with(file + 1, FxHashMap::default);
        }
        for (number, bits) in groups(folio.clone()) {
            let group = self.files[file].entry(number).or_default();
            self.pages += u64::from((bits & !group.present).count_ones());
            group.present |= bits;
            group.heads &= !bits;
            group.unread |= bits;
            group.dropped &= !bits;
            group.came = at;
        }
        if let Some(group) = self.files[file].get_mut(&(folio.start / GROUP)) {
            group.heads |= 1 << (folio.start % GROUP);
        }
    }

    /// A folio left; gives how many of its pages had been dropped.
    pub fn remove(&mut self, file: u32, folio: Range<u64>) -> u64 {
        let Some(file) = self.files.get_mut(file as usize) else { return 0 };
        let mut dropped = 0;
        for (number, bits) in groups(folio) {
            let Some(group) = file.get_mut(&number) else { continue };
            self.pages -= u64::from((bits & group.present).count_ones());
            dropped += u64::from((bits & group.dropped).count_ones());
            group.present &= !bits;
            group.heads &= !bits;
            group.unread &= !bits;
            group.dropped &= !bits;
            if group.present == 0 {
                file.remove(&number);
            }
        }
        dropped
    }

    /// Pages that are resident were dropped, and will leave unless something holds them.
    pub fn drop(&mut self, file: u32, pages: Range<u64>) {
        let Some(file) = self.files.get_mut(file as usize) else { return };
        for (number, bits) in groups(pages) {
            if let Some(group) = file.get_mut(&number) {
                group.dropped |= bits & group.present;
            }
        }
    }

    /// Pages were read.
    pub fn touch(&mut self, file: u32, pages: Range<u64>) {
        let Some(file) = self.files.get_mut(file as usize) else { return };
        for (number, bits) in groups(pages) {
            if let Some(group) = file.get_mut(&number) {
                group.unread &= !bits;
                group.dropped &= !bits;
            }
        }
    }

    /// Nothing of the file is resident.
    pub fn forget(&mut self, file: u32) {
        if let Some(file) = self.files.get_mut(file as usize) {
            self.pages -= file.values().map(|group| u64::from(group.present.count_ones())).sum::<u64>();
            *file = FxHashMap::default();
        }
    }

    /// The folios that the pages `range` lie in, whole, in order.
    pub fn folios(&self, file: u32, range: Range<u64>) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        let mut page = range.start;
        while page < range.end {
            match self.folio(file, page) {
                Some(folio) => {
                    page = folio.end;
                    found.push(folio);
                }
                None => page += 1,
            }
        }
        found
    }

    /// The folio that a page lies in.
    fn folio(&self, file: u32, page: u64) -> Option<Range<u64>> {
        let (own, bit) = (page / GROUP, page % GROUP);
        if self.group(file, own).present >> bit & 1 == 0 {
            return None;
        }
        let start = (0..=own).rev().find_map(|number| {
            let upto = if number == own { u64::MAX >> (GROUP - 1 - bit) } else { u64::MAX };
            let heads = self.group(file, number).heads & upto;
            (heads != 0).then(|| number * GROUP + u64::from(heads.ilog2()))
        })?;
        let end = (own..).find_map(|number| {
            let group = self.group(file, number);
            let behind = if number == own { u64::MAX << bit << 1 } else { u64::MAX };
            let ends = (group.heads | !group.present) & behind;
            (ends != 0).then(|| number * GROUP + u64::from(ends.trailing_zeros()))
        })?;
        Some(start..end)
    }

    fn group(&self, file: u32, number: u64) -> Group {
        self.files.get(file as usize).and_then(|file| file.get(&number)).copied().unwrap_or_default()
    }

    /// The latest arrival of an unread page among these.
    pub fn unread_since(&self, file: u32, pages: Range<u64>) -> Option<u64> {
        let file = self.files.get(file as usize)?;
        let unread = groups(pages).filter_map(|(number, bits)| file.get(&number).filter(|it| it.unread & bits != 0));
        unread.map(|group| group.came).max()
    }

    /// The resident pages of a file in order, in stretches as long as can be: no folio lies in two of them.
    pub fn resident(&self, file: u32) -> Vec<Range<u64>> {
        let groups = self.files.get(file as usize).into_iter().flatten();
        let mut groups: Vec<(u64, u64)> = groups.map(|(&number, group)| (number, group.present)).collect();
        groups.sort_unstable();
        let mut found: Vec<Range<u64>> = Vec::new();
        for (number, mut bits) in groups {
            while bits != 0 {
                let from = bits.trailing_zeros();
                let length = (bits >> from).trailing_ones();
                let (start, end) = (number * GROUP + u64::from(from), number * GROUP + u64::from(from + length));
                match found.last_mut().filter(|last| last.end == start) {
                    Some(last) => last.end = end,
                    None => found.push(start..end),
                }
                bits &= !((u64::MAX >> (GROUP as u32 - length)) << from);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hotset_core::random::Rng;

    use super::*;

    #[test]
    fn a_folio_is_found_from_each_of_its_pages() {
        let mut mirror = Mirror::default();
        mirror.add(3, 0..512, 1);
        mirror.add(3, 512..513, 1);
        mirror.add(3, 514..516, 1);
        assert_eq!(mirror.folios(3, 100..101).pop(), Some(0..512));
        assert_eq!(mirror.folios(3, 500..520), vec![0..512, 512..513, 514..516]);
        assert_eq!(mirror.pages(), 515);
        mirror.remove(3, 0..512);
        assert_eq!(mirror.folios(3, 0..513).pop(), Some(512..513));
        mirror.forget(3);
        assert_eq!((mirror.pages(), mirror.folios(3, 0..600).len()), (0, 0));
    }

    #[test]
    fn what_leaves_because_it_was_dropped_is_told_from_what_the_kernel_takes() {
        let mut mirror = Mirror::default();
        mirror.add(0, 0..128, 1);
        mirror.drop(0, 32..256);
        mirror.drop(0, 32..64);
        assert_eq!(mirror.remove(0, 60..68), 8, "once each, however often they were dropped");
        assert_eq!(mirror.remove(0, 0..34), 2);
        mirror.touch(0, 100..128);
        assert_eq!(mirror.remove(0, 96..128), 4, "pages read again are wanted");
        mirror.add(0, 200..201, 2);
        assert_eq!(mirror.remove(0, 200..201), 0);
    }

    #[test]
    fn pages_are_unread_until_they_are_read() {
        let mut mirror = Mirror::default();
        mirror.add(0, 60..76, 5);
        mirror.touch(0, 60..64);
        assert_eq!(mirror.unread_since(0, 60..64), None);
        assert_eq!(mirror.unread_since(0, 60..65), Some(5));
        mirror.touch(0, 0..1000);
        assert_eq!(mirror.unread_since(0, 0..1000), None);
    }

    /// Held against a map of folios that come and go as the kernel's do: aligned, by powers of two, never over others.
    #[test]
    fn the_mirror_is_the_kernels_list_of_folios() {
        let (mut mirror, mut model) = (Mirror::default(), BTreeMap::<u64, u64>::new());
        let mut random = Rng::new(7);
        for step in 0..20_000u64 {
            let order = random.below(8);
            let (pages, page) = (1u64 << order, u64::from(random.below(1024)) >> order << order);
            let covering: Vec<u64> =
                model.iter().filter(|&(&at, &size)| at < page + pages && page < at + size).map(|(&at, _)| at).collect();
            if covering.is_empty() {
                mirror.add(1, page..page + pages, step);
                model.insert(page, pages);
            } else if random.below(3) == 0 {
                for at in covering {
                    let size = model.remove(&at).unwrap();
                    mirror.remove(1, at..at + size);
                }
            } else {
                let expected: Vec<Range<u64>> = covering.iter().map(|&at| at..at + model[&at]).collect();
                assert_eq!(mirror.folios(1, page..page + pages), expected);
            }
            assert_eq!(mirror.pages(), model.values().sum::<u64>());
        }
        let listed: u64 = mirror.resident(1).iter().map(|range| range.end - range.start).sum();
        assert_eq!(listed, mirror.pages());
    }
}
