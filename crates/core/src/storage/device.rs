//! Storage in operation, and the cost of a request on storage that is otherwise idle.

use super::StorageModel;

/// A storage model in operation.
#[derive(Clone, Debug)]
pub struct Device {
    store: StorageModel,
    /// The end time of each parallel access.
    ends: Vec<u64>,
    /// The index of the access that transferred the last block.
    at: usize,
    /// The address after that block.
    behind: Option<u64>,
    /// When the shared line has transferred everything queued.
    line: u64,
    /// When all queued accesses are done.
    free: u64,
    /// Nanoseconds spent working.
    pub busy: u64,
}

impl Device {
    /// Storage without load.
    pub fn new(store: StorageModel) -> Device {
        Device { store, ends: vec![0; store.parallel as usize], at: 0, behind: None, line: 0, free: 0, busy: 0 }
    }

    /// Transfers a block of `bytes`, requested at the time `now`, which never decreases. Returns when the transfer is
    /// done. Addresses are files in the high half and blocks in the low half. A block without a size counts as 4 KB.
    pub fn transfer(&mut self, now: u64, address: u64, bytes: Option<u64>) -> u64 {
        // A run that continues during its access is one access. A head keeps its position.
        let goes_on = self.behind == Some(address) && (self.store.has_head || self.ends[self.at] >= now);
        if !goes_on {
            let ends = self.ends.iter().enumerate();
            self.at = ends.min_by_key(|(_, end)| **end).map_or(0, |(at, _)| at);
        }
        let start = self.ends[self.at].max(now);
        let ready = start.saturating_add(if goes_on { 0 } else { self.store.reach });
        let transfer = (bytes.unwrap_or(4096) as f64 * self.store.nanoseconds_a_byte).round() as u64;
        let done = match transfer {
            0 => ready,
            transfer => ready.max(self.line).saturating_add(transfer),
        };
        self.busy = self.busy.saturating_add(done.saturating_sub(start.max(self.free)));
        (self.ends[self.at], self.behind) = (done, Some(address.wrapping_add(1)));
        (self.line, self.free) = (self.line.max(done), self.free.max(done));
        done
    }

    /// Returns the address after the last transferred block, which is the position of the head if there is one.
    pub fn head(&self) -> Option<u64> {
        self.behind
    }
}

/// Average nanoseconds that storage needs for each block of a request if nothing of it is resident.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The blocks as they are.
    pub together: u64,
    /// As if no two blocks were neighbours and the head were elsewhere.
    pub apart: u64,
}

/// Idle storage, to compute what a request would cost if all of it were read.
#[derive(Clone, Debug)]
pub struct Idle(Device);

impl Idle {
    /// Storage without load.
    pub fn new(store: StorageModel) -> Idle {
        Idle(Device::new(store))
    }

    /// Returns the cost of a request for these blocks, each an address and its bytes. The head is at `head`, or after
    /// the last requested block even if that was not read. A run therefore costs the same whether it is resident or
    /// not.
    pub fn cost(&mut self, head: Option<u64>, blocks: impl Iterator<Item = (u64, Option<u64>)> + Clone) -> Cost {
        let count = (blocks.clone().count() as u64).max(1);
        Cost { together: self.serve(head, blocks.clone()) / count, apart: self.serve_apart(blocks) / count }
    }

    /// Returns the nanoseconds until the last of these blocks arrives.
    fn serve(&mut self, head: Option<u64>, blocks: impl Iterator<Item = (u64, Option<u64>)>) -> u64 {
        let Idle(idle) = self;
        idle.ends.fill(0);
        idle.line = 0;
        let mut end = 0;
        for (number, (address, bytes)) in blocks.enumerate() {
            let is_at_head = idle.store.has_head && [idle.behind, head].contains(&Some(address));
            if number == 0 {
                idle.behind = is_at_head.then_some(address);
            }
            end = idle.transfer(0, address, bytes).max(end);
        }
        end
    }

    /// Like `serve`, as if no two blocks were neighbours and the head were elsewhere.
    fn serve_apart(&mut self, blocks: impl Iterator<Item = (u64, Option<u64>)>) -> u64 {
        let Idle(idle) = self;
        let behind = idle.behind;
        idle.ends.fill(0);
        idle.line = 0;
        let mut end = 0;
        for (address, bytes) in blocks {
            idle.behind = None;
            end = idle.transfer(0, address, bytes).max(end);
        }
        idle.behind = behind;
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turning_disk_seeks_unless_it_goes_on() {
        let store = StorageModel::parse("disk(seek=5ms,rotation=6ms,transfer=4000K)").unwrap();
        let mut device = Device::new(store);
        assert_eq!(device.transfer(0, 10, Some(4096)), 9_000_000, "seek, half a turn, a millisecond of transfer");
        assert_eq!(device.transfer(0, 11, Some(4096)), 10_000_000, "it goes on, and waits for the one before");
        assert_eq!(device.transfer(50_000_000, 10, Some(4096)), 59_000_000, "it was idle");
        assert_eq!(device.busy, 19_000_000);
    }

    #[test]
    fn a_latency_is_paid_once_a_run() {
        let mut device = Device::new(StorageModel::parse("latency(time=2ms)").unwrap());
        assert_eq!([10, 11, 13].map(|address| device.transfer(0, address, None)), [2_000_000, 2_000_000, 4_000_000]);
        assert_eq!(device.transfer(9_000_000, 14, Some(4096)), 11_000_000, "a run that went on later is another");
    }

    #[test]
    fn accesses_side_by_side_share_the_line() {
        let mut device = Device::new(StorageModel::parse("1ms,4096K,2").unwrap());
        let kib = Some(1024);
        // A latency of 1 ms and 0.25 ms on the line. The third access waits for the end of the first one.
        assert_eq!([10, 20, 30].map(|address| device.transfer(0, address, kib) / 1000), [1244, 1488, 2488]);
        assert_eq!(device.transfer(2_400_000, 31, kib) / 1000, 2732, "the run goes on: its transfer alone");
        assert_eq!(device.busy, 2_488_282 + 244_141, "it was never idle");
        let mut alone = Device::new(StorageModel::parse("1ms,4096K,1").unwrap());
        assert_eq!([10, 20].map(|address| alone.transfer(0, address, kib) / 1000), [1244, 2488]);
    }

    /// Checks that a request costs the same whether the previous one was read or not.
    #[test]
    fn an_idle_store_tells_what_a_request_would_cost() {
        let cost = |store: &str, requests: &[&[u64]]| {
            let store = StorageModel::parse(store).unwrap();
            let (mut idle, mut device) = (Idle::new(store), Device::new(store));
            device.transfer(0, 99, Some(4096));
            let serve = |request: &&[u64]| {
                idle.serve(device.head(), request.iter().map(|&address| (address, Some(4096)))) / 1_000_000
            };
            requests.iter().map(serve).collect::<Vec<u64>>()
        };
        let disk = "disk(seek=5ms,rotation=6ms,transfer=4000K)";
        assert_eq!(cost(disk, &[&[10, 11], &[12], &[14], &[100], &[100]]), [10, 1, 9, 1, 1]);
        assert_eq!(cost("latency(time=2ms)", &[&[10, 11], &[12], &[14, 16]]), [2, 2, 4]);
        assert_eq!(cost("4ms,4000K,2", &[&[10, 11], &[12], &[14, 16], &[14, 16, 18]]), [6, 5, 6, 10]);
    }

    #[test]
    fn an_idle_store_tells_what_blocks_would_cost_one_by_one() {
        let cost = |store: &str, request: &[u64]| {
            let mut idle = Idle::new(StorageModel::parse(store).unwrap());
            idle.serve_apart(request.iter().map(|&address| (address, Some(4096)))) / 1_000_000
        };
        assert_eq!(cost("disk(seek=5ms,rotation=6ms,transfer=4000K)", &[10, 11, 12]), 27);
        assert_eq!(cost("latency(time=2ms)", &[10, 11]), 4);
        // With parallel accesses it makes no difference.
        assert_eq!(cost("4ms,4000K,2", &[10, 11]), 6);
    }
}
