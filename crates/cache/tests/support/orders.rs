//! Cases under a checker of interleavings.

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// Tries the orders that belong to the seed: half of them by priorities that change a few times, which finds what needs
/// one thread to be very late, half of them with every step drawn.
pub fn check(name: &str, orders: usize, case: impl Fn() + Send + Sync + Copy + 'static) {
    let number = |variable: &str| std::env::var(variable).ok().map(|text| text.parse::<u64>().expect("a number"));
    let orders = number("HOTSET_SCHEDULES").map_or(orders, |orders| orders as usize);
    let seed = number("HOTSET_SEED").unwrap_or(1);
    eprintln!("{name}: {orders} orders of seed {seed}");
    Runner::new(PctScheduler::new_from_seed(seed, 3, orders / 2), Config::default()).run(case);
    Runner::new(RandomScheduler::new_from_seed(seed, orders / 2), Config::default()).run(case);
}
