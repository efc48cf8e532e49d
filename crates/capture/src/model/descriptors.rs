//! Descriptor tables and what descriptors lead to.

use rustc_hash::FxHashMap;

use super::{files::FileId, shared::Shared, unattributed::Class};

/// The target of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A file or directory.
    File(FileId),
    /// Something without blocks.
    Object(Class),
}

/// An open file description: what `open` makes, and `dup` and `fork` share.
#[derive(Debug)]
pub(super) struct Description {
    /// The target.
    pub target: Target,
    /// The position of the next read or write; of directories, the bytes of entries read.
    pub offset: u64,
    /// Writes go to the end (`O_APPEND`).
    pub append: bool,
    /// The file as the recorder last showed it; empty if it never did.
    pub shown: Vec<u8>,
}

/// A descriptor.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    description: u32,
    close_on_exec: bool,
}

/// A descriptor table; threads share one.
type Table = FxHashMap<i32, Descriptor>;

/// All descriptor tables and all open file descriptions. Numbers are of [`Shared`].
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    tables: Shared<Table>,
    descriptions: Shared<Description>,
}

impl Descriptors {
    /// An empty table.
    pub(super) fn new_table(&mut self) -> u32 {
        self.tables.add(Table::default())
    }

    /// The same table for another thread.
    pub(super) fn share_table(&mut self, table: u32) -> u32 {
        self.tables.hold(table)
    }

    /// A copy of the table, as `fork` makes it: the descriptions are shared.
    pub(super) fn copy_table(&mut self, table: u32) -> u32 {
        let copy = self.tables.get(table).clone();
        copy.values().for_each(|descriptor| _ = self.descriptions.hold(descriptor.description));
        self.tables.add(copy)
    }

    /// A process drops its table.
    pub(super) fn drop_table(&mut self, table: u32) {
        for descriptor in self.tables.release(table).unwrap_or_default().into_values() {
            self.descriptions.release(descriptor.description);
        }
    }

    /// The table that no other process shares from now on: itself, or a copy.
    pub(super) fn unshare_table(&mut self, table: u32) -> u32 {
        if self.tables.holders(table) == 1 {
            return table;
        }
        let copy = self.copy_table(table);
        self.drop_table(table);
        copy
    }

    /// The description behind a descriptor.
    pub(super) fn find(&self, table: u32, number: i32) -> Option<u32> {
        self.tables.get(table).get(&number).map(|descriptor| descriptor.description)
    }

    /// The description with this number.
    pub(super) fn description(&mut self, description: u32) -> &mut Description {
        self.descriptions.get_mut(description)
    }

    /// Keeps a description to which no descriptor leads yet.
    pub(super) fn keep(&mut self, description: Description) -> u32 {
        self.descriptions.add(description)
    }

    /// Keeps a description, whatever happens to the descriptors that lead to it.
    pub(super) fn hold(&mut self, description: u32) {
        self.descriptions.hold(description);
    }

    /// Drops a description that was kept.
    pub(super) fn release(&mut self, description: u32) {
        self.descriptions.release(description);
    }

    /// Puts a new description behind a descriptor, in place of what was there.
    pub(super) fn open(&mut self, table: u32, number: i32, description: Description, close_on_exec: bool) -> u32 {
        let description = self.descriptions.add(description);
        self.put(table, number, Descriptor { description, close_on_exec });
        description
    }

    /// Puts a known description behind a descriptor, in place of what was there.
    pub(super) fn duplicate(&mut self, table: u32, number: i32, description: u32, close_on_exec: bool) {
        self.descriptions.hold(description);
        self.put(table, number, Descriptor { description, close_on_exec });
    }

    /// Closes a descriptor.
    pub(super) fn close(&mut self, table: u32, number: i32) {
        if let Some(descriptor) = self.tables.get_mut(table).remove(&number) {
            self.descriptions.release(descriptor.description);
        }
    }

    /// Closes the descriptors in a range.
    pub(super) fn close_range(&mut self, table: u32, first: u64, last: u64) {
        self.close_where(table, |number, _| (first..=last).contains(&(number as u64)));
    }

    /// Closes what is marked close-on-exec.
    pub(super) fn close_on_exec(&mut self, table: u32) {
        self.close_where(table, |_, descriptor| descriptor.close_on_exec);
    }

    /// Sets or clears the close-on-exec mark of a range.
    pub(super) fn mark_close_on_exec(&mut self, table: u32, first: u64, last: u64, mark: bool) {
        for (number, descriptor) in self.tables.get_mut(table) {
            if (first..=last).contains(&(*number as u64)) {
                descriptor.close_on_exec = mark;
            }
        }
    }

    fn close_where(&mut self, table: u32, condition: impl Fn(i32, &Descriptor) -> bool) {
        let closed = self.tables.get_mut(table).extract_if(|number, descriptor| condition(*number, descriptor));
        closed.for_each(|(_, descriptor)| _ = self.descriptions.release(descriptor.description));
    }

    fn put(&mut self, table: u32, number: i32, descriptor: Descriptor) {
        if let Some(before) = self.tables.get_mut(table).insert(number, descriptor) {
            self.descriptions.release(before.description);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: u32) -> Description {
        Description { target: Target::File(number), offset: 0, append: false, shown: Vec::new() }
    }

    #[test]
    fn forked_tables_part_but_share_descriptions() {
        let mut all = Descriptors::default();
        let parent = all.new_table();
        let opened = all.open(parent, 3, file(7), false);
        let child = all.copy_table(parent);
        all.description(opened).offset = 10;
        all.close(parent, 3);
        assert_eq!(all.find(parent, 3), None);
        let inherited = all.find(child, 3).unwrap();
        assert_eq!(all.description(inherited).offset, 10);
        all.drop_table(child);
        assert_eq!(all.open(parent, 4, file(8), false), opened, "the number is free again");
    }

    #[test]
    fn exec_closes_what_is_marked_in_a_table_of_its_own() {
        let mut all = Descriptors::default();
        let table = all.new_table();
        let thread = all.share_table(table);
        all.open(table, 3, file(1), true);
        all.open(table, 4, file(2), false);
        let own = all.unshare_table(thread);
        all.close_on_exec(own);
        assert_ne!(own, table);
        assert_eq!((all.find(own, 3), all.find(own, 4).is_some()), (None, true));
        assert!(all.find(table, 3).is_some());
        assert_eq!(all.unshare_table(own), own);
    }

    #[test]
    fn ranges_are_closed_and_marked() {
        let mut all = Descriptors::default();
        let table = all.new_table();
        (3..8).for_each(|number| _ = all.open(table, number, file(1), false));
        all.close_range(table, 6, u64::MAX);
        all.mark_close_on_exec(table, 4, 4, true);
        all.close_on_exec(table);
        let open: Vec<i32> = (0..10).filter(|number| all.find(table, *number).is_some()).collect();
        assert_eq!(open, [3, 5]);
    }
}
