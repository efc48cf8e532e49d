//! Linked lists over pages: every page is in at most one list of a set of links.

use super::Page;

const NONE: Page = Page::MAX;

/// The neighbours of every page.
#[derive(Debug)]
pub struct Links(Vec<[Page; 2]>);

const OLDER: usize = 0;
const NEWER: usize = 1;

impl Links {
    /// No page has neighbours.
    pub fn new(pages: u32) -> Links {
        Links(vec![[NONE; 2]; pages as usize])
    }

    fn of(&self, page: Page, side: usize) -> Option<Page> {
        Some(self.0[page as usize][side]).filter(|&page| page != NONE)
    }

    /// The neighbour of `page` towards the old end of its list.
    pub fn older(&self, page: Page) -> Option<Page> {
        self.of(page, OLDER)
    }

    /// The neighbour of `page` towards the new end of its list.
    pub fn newer(&self, page: Page) -> Option<Page> {
        self.of(page, NEWER)
    }
}

/// One list, from old to new.
#[derive(Clone, Debug)]
pub struct List {
    /// Oldest and newest.
    ends: [Page; 2],
    len: u32,
}

impl Default for List {
    fn default() -> List {
        List { ends: [NONE; 2], len: 0 }
    }
}

impl List {
    /// Pages in the list.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest page.
    pub fn oldest(&self) -> Option<Page> {
        Some(self.ends[OLDER]).filter(|&page| page != NONE)
    }

    /// The newest page.
    pub fn newest(&self) -> Option<Page> {
        Some(self.ends[NEWER]).filter(|&page| page != NONE)
    }

    /// Puts `page` behind the newest.
    pub fn push(&mut self, links: &mut Links, page: Page) {
        self.join(links, self.ends[NEWER], page);
        self.join(links, page, NONE);
        self.len += 1;
    }

    /// Puts `page` beside `at`, which is in the list, towards the old end.
    pub fn insert_before(&mut self, links: &mut Links, page: Page, at: Page) {
        self.join(links, links.0[at as usize][OLDER], page);
        self.join(links, page, at);
        self.len += 1;
    }

    /// Takes `page`, which is in the list, out.
    pub fn take(&mut self, links: &mut Links, page: Page) {
        let [older, newer] = std::mem::replace(&mut links.0[page as usize], [NONE; 2]);
        self.join(links, older, newer);
        self.len -= 1;
    }

    /// Takes the oldest page out.
    pub fn pop_oldest(&mut self, links: &mut Links) -> Option<Page> {
        let page = self.oldest()?;
        self.take(links, page);
        Some(page)
    }

    /// Makes `page`, which is in the list, the newest.
    pub fn renew(&mut self, links: &mut Links, page: Page) {
        if self.ends[NEWER] != page {
            self.take(links, page);
            self.push(links, page);
        }
    }

    /// The pages from old to new.
    pub fn iter<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = Page> + 'a {
        std::iter::successors(self.oldest(), |&page| links.newer(page))
    }

    /// Panics unless both directions and the count agree.
    pub fn validate(&self, links: &Links) {
        let forth: Vec<Page> = self.iter(links).collect();
        let mut back: Vec<Page> = std::iter::successors(self.newest(), |&page| links.older(page)).collect();
        back.reverse();
        assert_eq!(forth, back, "a list runs otherwise backwards");
        assert_eq!(forth.len(), self.len as usize, "a list miscounts its pages");
    }

    /// Makes two pages neighbours; [`NONE`] stands for the end of the list.
    fn join(&mut self, links: &mut Links, older: Page, newer: Page) {
        match older {
            NONE => self.ends[OLDER] = newer,
            page => links.0[page as usize][NEWER] = newer,
        }
        match newer {
            NONE => self.ends[NEWER] = older,
            page => links.0[page as usize][OLDER] = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(list: &List, links: &Links) -> Vec<Page> {
        list.validate(links);
        list.iter(links).collect()
    }

    #[test]
    fn pages_come_go_and_move() {
        let (mut links, mut list) = (Links::new(5), List::default());
        for page in [0, 1, 2] {
            list.push(&mut links, page);
        }
        list.renew(&mut links, 0);
        list.renew(&mut links, 0);
        assert_eq!(pages(&list, &links), [1, 2, 0]);
        list.insert_before(&mut links, 3, 1);
        list.insert_before(&mut links, 4, 0);
        assert_eq!(pages(&list, &links), [3, 1, 2, 4, 0]);
        assert_eq!((links.older(1), links.newer(0), list.newest()), (Some(3), None, Some(0)));
        list.take(&mut links, 2);
        list.take(&mut links, 0);
        assert_eq!(list.pop_oldest(&mut links), Some(3));
        assert_eq!(pages(&list, &links), [1, 4]);
        list.pop_oldest(&mut links);
        list.pop_oldest(&mut links);
        assert_eq!((list.pop_oldest(&mut links), list.is_empty(), list.newest()), (None, true, None));
    }
}
