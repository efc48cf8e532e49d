//! What policies cost in memory.

use hotset_core::policy::{NoEffects, Object, Outcome, Policy, PolicySpec, Reference, Setting, Setup};
use hotset_core::registry::{self, Visitor};
use hotset_results::Row;
use hotset_sim::sweep::Sweep;

/// Notes in `rows`, which are policy by policy, what their policies need for each block.
pub(super) fn weigh(rows: &mut [Row], sweep: &Sweep) {
    let sizes = rows.len() / sweep.policies.len().max(1);
    for (policy, rows) in sweep.policies.iter().zip(rows.chunks_mut(sizes.max(1))) {
        for row in rows {
            // An interval that is a share of the run has no length here; it has one as it is served.
            let served = || bytes_per_block(&policy.clone().set_in(Setting::Serving), sweep, row);
            row.policy_bytes_per_block = bytes_per_block(policy, sweep, row).or_else(served);
        }
    }
}

/// Blocks of a file, all of which belong to one application.
const BLOCKS_OF_A_FILE: u32 = 64;

/// Bytes that the policy takes for each block of its capacity once twice as many were referenced, by all applications
/// of the trace in turns; nothing for those that hold the future of a trace, and those that cannot be built without
/// one.
fn bytes_per_block(policy: &PolicySpec, sweep: &Sweep, row: &Row) -> Option<f64> {
    if policy.is_offline() {
        return None;
    }
    let capacity = row.size_blocks as u32;
    let args = policy.args(row.block_bytes).with_rules(sweep.rules.clone());
    let setup = Setup {
        weighs: row.object_bytes.is_some(),
        ..Setup::new(&args, capacity, capacity.saturating_mul(2), row.seed)
    };
    let apps = row.apps.len().max(1) as u32;
    let bytes = registry::visit(policy.entry().info.name, Weigh { setup: &setup, apps })?;
    Some(bytes? as f64 / f64::from(capacity.max(1)))
}

/// Bytes that a policy takes from the heap and keeps: when it is built, and for what it builds at the first references.
struct Weigh<'a> {
    setup: &'a Setup<'a>,
    apps: u32,
}

impl Visitor for Weigh<'_> {
    type Output = Option<u64>;

    fn visit<P: Policy + 'static>(self) -> Option<u64> {
        let before = heap_bytes()?;
        let mut policy = P::new(self.setup).ok()?;
        for slot in 0..self.setup.slots {
            let file = slot / BLOCKS_OF_A_FILE;
            let (app, time, block) = (file % self.apps, u64::from(slot), slot % BLOCKS_OF_A_FILE);
            let object = Some(Object::of_file(file));
            let _: Outcome = policy.access(
                slot,
                Reference { time, file, block, app, object, ..Reference::default() },
                &mut NoEffects,
            );
        }
        let after = heap_bytes()?;
        drop(policy);
        Some(after.saturating_sub(before))
    }
}

/// Bytes that the heap has given out, as the main thread, which alone may ask, sees it; nothing where the system's
/// allocator does not tell.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn heap_bytes() -> Option<u64> {
    // SAFETY: the call takes nothing, and gives numbers.
    let told = unsafe { libc::mallinfo2() };
    Some((told.uordblks + told.hblkhd) as u64)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn heap_bytes() -> Option<u64> {
    None
}
