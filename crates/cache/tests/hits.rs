//! A read of what is there allocates nothing: not in the cache, and not for its reply once that has room.

mod support;

use hotset_cache::{Access, FileCache, Read, Stream};
use hotset_testkit::allocations::{Counting, allocations};

use support::{Opened, pattern, settings};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_hit_allocates_nothing() {
    const SIZE: usize = 256 << 10;
    for policy in ["lru", "arc", "lirs", "s3-fifo", "sieve", "attribute"] {
        let cache = FileCache::new(&settings(policy, 4 << 20), None).unwrap();
        let file = Opened::new(&cache, "/f", pattern(1, SIZE));
        let stream = Stream::default();
        let access = Access { stream: Some(&stream), ..file.access(0) };
        let mut reply = Vec::new();
        for round in 0..3 {
            let before = allocations();
            for (offset, length) in [(0, 65536), (65536, 4096), (69632, 4096), (131_072, 65536), (5000, 100)] {
                let is_there = match round {
                    // Blocks that are admitted, and blocks that grow to their size.
                    0 => cache.read(&access, offset, length).is_ok(),
                    _ => matches!(cache.begin_read(&access, offset, length, &mut reply), Some(Read::Done)),
                };
                assert!(is_there, "{policy}: {length} at {offset}");
                assert!(round == 0 || reply == pattern(1, SIZE)[offset as usize..][..length]);
            }
            let allocated = allocations() - before;
            assert!(round < 2 || allocated == 5, "{policy}: {allocated}, of which 5 by the test");
        }
    }
}
