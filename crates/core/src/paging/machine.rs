//! What a paging policy is told, and what it may ask.

/// Number of a page, dense from 0.
pub type Page = u32;

/// A reference to a page that is not resident. The page is resident afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The page.
    pub page: Page,
    /// The position of the reference in the trace. It grows from fault to fault; between two faults nobody knows how far.
    pub time: u64,
    /// The memory object that the page belongs to, if it is known to belong to one.
    pub object: Option<Object>,
}

/// A range of memory that was allocated as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its number. An object that was freed and another at the same address have different numbers.
    pub id: u32,
    /// Its size.
    pub bytes: u64,
    /// It is a variable of the program, not an allocation.
    pub is_global: bool,
}

/// The machine as a policy sees it while it handles a fault.
pub trait Machine {
    /// True if `page` was accessed since its bit was last cleared; clears the bit. The bit of a page being fetched is set already,
    /// since the access that faults is an access.
    fn test_and_clear(&mut self, page: Page) -> bool;

    /// The position of the next reference to `page` behind the fault at hand, `None` if there is none. Only for policies that
    /// must know the future ([`crate::policy::Info::offline`]); machines may be unable to tell and panic.
    fn next_use(&mut self, page: Page) -> Option<u64>;
}
