//! Nothing allocates while a policy decides: all memory is taken when the cache is built.

use hotset_core::policy::{Args, Future, NoEffects, Policy, Setup, Slot, Told};
use hotset_core::registry::{self, Visitor};
use hotset_testkit::allocations::{Counting, allocations};
use hotset_testkit::harness::Case;
use hotset_testkit::selection::selected;
use hotset_testkit::world::World;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations during 200,000 references of a skewed trace with a scan in it, at this capacity.
struct Run {
    args: Args,
    capacity: u32,
}

impl Visitor for Run {
    type Output = u64;

    fn visit<P: Policy + 'static>(self) -> u64 {
        let trace = trace();
        let future = future(&trace);
        let world = World::default();
        let addresses = world.addresses(SLOTS);
        let setup = Setup {
            future: Some(&future),
            addresses: Some(&addresses),
            ..Setup::new(&self.args, self.capacity, SLOTS, 1)
        };
        let mut policy = P::new(&setup).expect("defaults build");
        let before = allocations();
        for (time, &slot) in trace.iter().enumerate() {
            policy.access(slot, world.reference(slot, time as u64), &mut NoEffects);
        }
        allocations() - before
    }
}

const SLOTS: u32 = 10_000;

fn trace() -> Vec<Slot> {
    let mut state = 7u64;
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let skewed = |u: f64| (f64::from(SLOTS).powf(u) as u32).min(SLOTS - 1);
    (0..200_000).map(|step| if step % 50_000 < SLOTS { step % SLOTS } else { skewed(draw()) }).collect()
}

fn future(trace: &[Slot]) -> Future {
    let mut seen = vec![Future::NEVER; SLOTS as usize];
    let mut next_use = vec![Future::NEVER; trace.len()];
    for (position, &slot) in trace.iter().enumerate().rev() {
        next_use[position] = std::mem::replace(&mut seen[slot as usize], position as u32);
    }
    Future::Told(Told { slots: std::sync::Arc::new(trace.to_vec()), next_use: std::sync::Arc::new(next_use) })
}

/// Schemes that give each application a part, or each object scores, when it comes, or that resize a policy.
const LEFT_OUT: &[&str] = &["apr", "best", "equal", "eta", "qos", "ucp", "undivided", "virtual"];

#[test]
fn no_policy_allocates_once_it_is_built() {
    for entry in selected().into_iter().filter(|entry| !LEFT_OUT.contains(&entry.info.name)) {
        for capacity in [1, 2, 100, 2_500, SLOTS] {
            let run = Run { args: Case::new(entry.info.name, capacity).args, capacity };
            let allocations = registry::visit(entry.info.name, run).expect("registered");
            assert_eq!(allocations, 0, "{} at {capacity}", entry.info.name);
        }
    }
}

#[test]
fn the_counter_counts() {
    let before = allocations();
    std::hint::black_box(Box::new(7));
    assert_eq!(allocations() - before, 1);
}
