//! The applications that the cache has met, by number and by name.
//!
//! Their number is unbounded: with `app_by=pid` each process is one. So those that have ended are folded into one
//! entry of the counts, and their numbers are reused. A new application that finds [`MOST`] others shares the name
//! [`OTHERS`].

use hotset_core::policy::App;
use rustc_hash::FxHashMap;

/// Applications that are distinguished at a time.
pub(crate) const MOST: usize = 4096;

/// The name of all beyond.
const OTHERS: &str = "others";

/// The table.
#[derive(Debug)]
pub(crate) struct Applications {
    /// By number; those of free numbers have no name.
    known: Vec<App>,
    numbers: FxHashMap<String, u32>,
    free: Vec<u32>,
}

impl Applications {
    /// Those of which a spec speaks, before any has come.
    pub fn new(names: impl IntoIterator<Item = String>) -> Applications {
        let mut applications = Applications { known: Vec::new(), numbers: FxHashMap::default(), free: Vec::new() };
        for name in names {
            applications.number(&name);
        }
        applications
    }

    /// The number of an application, and the name of a new one if it is none of those that are known.
    pub fn number(&mut self, name: &str) -> (u32, Option<&str>) {
        // A spec that spoke of it before it came spells its name in fewer signs.
        let known = |name: &str| self.numbers.get(name).copied();
        if let Some(number) = known(name).or_else(|| known(&App::spelt(name))) {
            return (number, None);
        }
        let is_full = self.numbers.len() >= MOST;
        if is_full && let Some(others) = known(OTHERS) {
            return (others, None);
        }
        let name = if is_full { OTHERS } else { name };
        let number = self.free.pop().unwrap_or(self.known.len() as u32);
        match self.known.get_mut(number as usize) {
            Some(free) => *free = App::from(name),
            None => self.known.push(App::from(name)),
        }
        self.numbers.insert(name.to_owned(), number);
        (number, Some(&self.known[number as usize].name))
    }

    /// The number may be given to another one.
    pub fn forget(&mut self, number: u32) {
        if let Some(app) = self.known.get_mut(number as usize)
            && self.numbers.remove(&app.name).is_some()
        {
            *app = App::from("");
            self.free.push(number);
        }
    }

    /// By number; those of numbers that are free have no name.
    pub fn known(&self) -> &[App] {
        &self.known
    }

    /// The name of the application with this number.
    pub fn name(&self, number: u32) -> &str {
        self.known.get(number as usize).map_or("", |app| app.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_number_each_and_numbers_are_used_again() {
        let mut applications = Applications::new(["a_b".to_owned()]);
        assert_eq!(applications.number("a b"), (0, None), "as a spec spells it");
        assert_eq!(applications.number("c"), (1, Some("c")));
        assert_eq!(applications.number("c"), (1, None));
        applications.forget(1);
        applications.forget(1);
        assert_eq!(applications.name(1), "");
        assert_eq!(applications.number("d"), (1, Some("d")));
        assert_eq!(applications.number("c"), (2, Some("c")));
    }

    #[test]
    fn there_is_a_bound() {
        let mut applications = Applications::new([]);
        for number in 0..2 * MOST as u32 {
            applications.number(&number.to_string());
        }
        assert_eq!(applications.known().len(), MOST + 1);
        assert_eq!(applications.name(MOST as u32), OTHERS);
        assert_eq!(applications.number("another one"), (MOST as u32, None));
    }
}
