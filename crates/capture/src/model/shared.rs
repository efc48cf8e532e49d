//! Things that several holders share and the last one frees.

/// Items by number, each with a count of its holders.
#[derive(Debug)]
pub(super) struct Shared<T> {
    items: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Shared { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Shared<T> {
    /// Keeps an item with one holder.
    pub(super) fn add(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.items[number as usize] = (1, Some(item));
            return number;
        }
        self.items.push((1, Some(item)));
        (self.items.len() - 1) as u32
    }

    /// One holder more.
    pub(super) fn hold(&mut self, number: u32) -> u32 {
        self.items[number as usize].0 += 1;
        number
    }

    /// One holder less; gives the item back when that was the last.
    pub(super) fn release(&mut self, number: u32) -> Option<T> {
        let (holders, item) = &mut self.items[number as usize];
        *holders -= 1;
        if *holders > 0 {
            return None;
        }
        self.free.push(number);
        item.take()
    }

    /// How many hold it.
    pub(super) fn holders(&self, number: u32) -> u32 {
        self.items[number as usize].0
    }

    /// The item.
    pub(super) fn get(&self, number: u32) -> &T {
        self.items[number as usize].1.as_ref().expect("a number in use has an item")
    }

    /// The item, to be changed.
    pub(super) fn get_mut(&mut self, number: u32) -> &mut T {
        self.items[number as usize].1.as_mut().expect("a number in use has an item")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_holder_frees_and_numbers_are_used_again() {
        let mut shared = Shared::default();
        let (a, b) = (shared.add('a'), shared.add('b'));
        assert_eq!(shared.hold(a), a);
        assert_eq!(shared.holders(a), 2);
        assert_eq!(shared.release(a), None);
        assert_eq!(*shared.get(a), 'a');
        assert_eq!(shared.release(a), Some('a'));
        assert_eq!(shared.add('c'), a);
        assert_eq!((*shared.get(a), *shared.get_mut(b)), ('c', 'b'));
    }
}
