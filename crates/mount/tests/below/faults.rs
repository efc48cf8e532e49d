//! What goes wrong with calls of a source, drawn by a seed or named beforehand.

use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use hotset_core::random::Rng;

/// Calls of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Read,
    Write,
    SetLen,
    Stamp,
    Sync,
    SyncDirectory,
    LookUp,
    Open,
    Create,
    MakeDirectory,
    Unlink,
    Rename,
    Link,
    Flush,
    List,
}

/// What goes wrong with one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails with this error, and nothing was done.
    Before(i32),
    /// It is done, and fails with this error all the same.
    After(i32),
    /// It moves few bytes.
    Short,
}

pub const EIO: i32 = 5;
pub const EINTR: i32 = 4;
pub const ENOSPC: i32 = 28;

/// The errors that are drawn.
pub const ERRORS: [i32; 3] = [EIO, EINTR, ENOSPC];

/// Decides about every call of a source.
#[derive(Default)]
pub struct Faults(Mutex<Plan>);

#[derive(Default)]
struct Plan {
    /// The random numbers, and how many calls are hit: one in this many.
    random: Option<(Rng, u32)>,
    /// A call that is performed may be reported as failed.
    lies: bool,
    /// The next such call fails so, whatever is drawn.
    next: Option<(Call, i32)>,
    /// Each such call fails so.
    each: Option<(Call, i32)>,
    /// What will be next after such a call.
    then: Option<(Call, (Call, i32))>,
    errors: u64,
    calls: u64,
}

impl Faults {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap()
    }

    /// From now on one call in so many is hit. With `lies` some were done though they fail.
    pub fn draw_from(&self, seed: u64, one_in: u32, lies: bool) {
        *self.plan() = Plan { random: Some((Rng::new(seed), one_in)), lies, ..Plan::default() };
    }

    pub fn end(&self) {
        let mut plan = self.plan();
        (plan.random, plan.each) = (None, None);
    }

    /// From now on all of them fail.
    pub fn fail_each(&self, call: Call, error: i32) {
        self.plan().each = Some((call, error));
    }

    pub fn fail_next(&self, call: Call, error: i32) {
        self.plan().next = Some((call, error));
    }

    /// The same of the first one after `first`.
    pub fn fail_after(&self, first: Call, call: Call, error: i32) {
        self.plan().then = Some((first, (call, error)));
    }

    /// True if it has not come to that yet.
    pub fn waits(&self) -> bool {
        let plan = self.plan();
        plan.next.is_some() || plan.then.is_some()
    }

    /// Errors so far.
    pub fn errors(&self) -> u64 {
        self.plan().errors
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.plan().calls
    }

    /// What goes wrong with a call; some only take long, up to two milliseconds.
    pub fn draw(&self, call: Call) -> Option<Fault> {
        let mut plan = self.plan();
        plan.calls += 1;
        let each = plan.each.filter(|(each, _)| *each == call);
        if let Some((_, error)) = each.or(plan.next.take_if(|(next, _)| *next == call)) {
            plan.errors += 1;
            return Some(Fault::Before(error));
        }
        if let Some((_, next)) = plan.then.take_if(|(first, _)| *first == call) {
            plan.next = Some(next);
        }
        let lies = plan.lies;
        let (random, one_in) = plan.random.as_mut()?;
        if random.below(*one_in) > 0 {
            return None;
        }
        let (kind, micros) = (random.below(8), random.below(2000));
        let error = ERRORS[random.below(3) as usize];
        let fault = match kind {
            0 | 1 => {
                drop(plan);
                thread::sleep(Duration::from_micros(micros.into()));
                return None;
            }
            2 | 3 => return Some(Fault::Short),
            4 if lies => Fault::After(error),
            _ => Fault::Before(error),
        };
        plan.errors += 1;
        Some(fault)
    }
}
