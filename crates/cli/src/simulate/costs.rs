//! What policies cost in memory.

use hotset_core::policy::{Policy, PolicySpec, Setup};
use hotset_core::registry::{self, Visitor};
use hotset_sim::results::Row;
use hotset_sim::sweep::Sweep;

/// Notes in `rows`, which are policy by policy, what their policies need for each block.
pub(super) fn weigh(rows: &mut [Row], sweep: &Sweep) {
    let sizes = rows.len() / sweep.policies.len().max(1);
    for (policy, rows) in sweep.policies.iter().zip(rows.chunks_mut(sizes.max(1))) {
        for row in rows {
            row.policy_bytes_per_block = bytes_per_block(policy, sweep, row);
        }
    }
}

/// Bytes that the policy takes for each block with a capacity of twice as many as it keeps; nothing for those that hold
/// the future of a trace, and those that cannot be built without one.
fn bytes_per_block(policy: &PolicySpec, sweep: &Sweep, row: &Row) -> Option<f64> {
    if policy.is_offline() {
        return None;
    }
    let args = policy.args(row.block_bytes).with_rules(sweep.rules.clone());
    let setup = Setup {
        capacity: row.size_blocks,
        slots: row.size_blocks.saturating_mul(2),
        seed: row.seed,
        args: &args,
        future: None,
        addresses: None,
        apps: &[],
        weighs: row.object_bytes.is_some(),
        costs: false,
    };
    let bytes = registry::visit(policy.entry().info.name, Weigh(&setup))?;
    Some(bytes? as f64 / f64::from(row.size_blocks.max(1)))
}

/// Bytes that building a policy takes from the heap and keeps.
struct Weigh<'a>(&'a Setup<'a>);

impl Visitor for Weigh<'_> {
    type Output = Option<u64>;

    fn visit<P: Policy + 'static>(self) -> Option<u64> {
        let before = heap_bytes()?;
        let policy = P::new(self.0).ok()?;
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
