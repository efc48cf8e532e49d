//! The library that `hotset run` loads into a program: allocations of at least 40 KB are paged by `hotset-pager`,
//! others go to the program's own allocator.
//!
//! The crate has no interface for Rust. It exports the C functions that allocate memory, and those that change the
//! mappings of paged memory. Each calls the function of the same name that comes next in the order of libraries.
//!
//! - Nothing is allocated, and no thread runs, until a program asks for 40 KB.
//! - Memory of the library itself comes from the next allocator, never from paged memory.
//! - Where paging is impossible, an allocation comes from the next allocator. A program never fails for this library,
//!   except when the device has lost a page.

mod allocate;
mod arena;
mod fork;
mod mappings;
mod next;
mod start;
mod worker;

#[global_allocator]
static ALLOCATOR: next::Next = next::Next;
