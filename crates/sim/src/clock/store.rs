//! The store behind a cache: so many accesses at a time, over one line that carries so many bytes a second.
//!
//! `disk(…)` is the mechanical one of the papers' simulations (5 ms seek, 10,045 rpm, and 20 MB/s), `hdd` one of today:
//! a block that does not follow the last one costs a seek, half a rotation and its transfer; the next block of the same
//! file costs its transfer alone. In every other store each run of neighbours waits for the latency once, up to
//! `parallel` runs at a time, and all share the bandwidth. `latency(time=…)` takes the same time for each run.
//!
//! The defaults of the kinds of today are round figures of what such stores are sold as; whoever knows better gives
//! `LATENCY,BANDWIDTH,PARALLEL`. For `s3` they follow Amazon's own guidance (100 ms to the first byte; many requests
//! side by side fill the network's line, here 10 Gbit/s).

use hotset_core::policy::{Args, Param, ParamKind};
use hotset_core::spec::{Spec, SpecError, Value};

/// A model of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Store {
    /// What a cached block costs, in nanoseconds.
    pub hit: u64,
    /// Nanoseconds until the first byte.
    reach: u64,
    nanoseconds_a_byte: f64,
    /// Accesses at a time.
    parallel: u32,
    /// It has a head: a block behind the one that was transferred last is reached at once, however long ago that was.
    has_head: bool,
}

/// A kind of store.
#[derive(Debug)]
pub struct Kind {
    /// Its name in `--store`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What can be set.
    pub params: &'static [Param],
}

/// Accesses at a time, at most: no store that is known serves more to one client.
const MOST_PARALLEL: u64 = 256;

const fn time(key: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param { key, kind: ParamKind::Time, default, doc }
}

const fn rate(default: &'static str) -> Param {
    Param { key: "transfer", kind: ParamKind::Bytes, default, doc: "bytes a second" }
}

const fn parallel(default: &'static str) -> Param {
    Param { key: "parallel", kind: ParamKind::Count { min: 1, max: MOST_PARALLEL }, default, doc: "accesses at a time" }
}

const HIT: Param = time("hit", "2us", "a request that hits");
const PAPERS_HIT: Param = time("hit", "200us", "a request that hits (paper: 200us)");

/// The kinds of stores.
pub const STORES: [Kind; 7] = [
    Kind {
        name: "nvme",
        summary: "a solid-state disk at the processor's bus",
        params: &[time("latency", "80us", "until the first byte"), rate("3G"), parallel("64"), HIT],
    },
    Kind {
        name: "ssd",
        summary: "a solid-state disk behind SATA",
        params: &[time("latency", "100us", "until the first byte"), rate("500M"), parallel("32"), HIT],
    },
    Kind {
        name: "hdd",
        summary: "a turning disk of today; neighbours cost their transfer alone",
        params: &[
            time("seek", "8ms", "a move of the arm"),
            time("rotation", "8333us", "a whole turn, of which half is waited for"),
            rate("200M"),
            HIT,
        ],
    },
    Kind {
        name: "nfs",
        summary: "a file server over gigabit Ethernet",
        params: &[time("latency", "500us", "until the first byte"), rate("110M"), parallel("16"), HIT],
    },
    Kind {
        name: "s3",
        summary: "an object store",
        params: &[time("latency", "100ms", "until the first byte"), rate("1G"), parallel("64"), HIT],
    },
    Kind {
        name: "disk",
        summary: "the turning disk of the papers",
        params: &[
            time("seek", "5ms", "a move of the arm (paper: 5ms)"),
            time("rotation", "5973us", "a whole turn, of which half is waited for (paper: 10,045 a minute)"),
            rate("20M"),
            PAPERS_HIT,
        ],
    },
    Kind {
        name: "latency",
        summary: "the same time for every run of neighbours, one after the other",
        params: &[time("time", "10ms", "a read or write (paper: 10ms)"), PAPERS_HIT],
    },
];

impl Store {
    /// Reads `nvme`, `disk(seek=4ms)`, `latency(time=2ms)`, or `LATENCY,BANDWIDTH,PARALLEL` such as `5ms,100M,8`.
    pub fn parse(text: &str) -> Result<Store, SpecError> {
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return Store::of_figures(text);
        }
        let spec = Spec::parse(text)?;
        let Some(kind) = STORES.iter().find(|kind| kind.name == spec.name) else {
            let known = STORES.map(|kind| kind.name).join(", ");
            return Err(SpecError::new(format!(
                "unknown store {:?}: expected one of {known}, or LATENCY,BANDWIDTH,PARALLEL such as 5ms,100M,8",
                spec.name
            )));
        };
        let args = Args::of(kind.params, &spec.args)?;
        let nanoseconds_a_byte = || 1e9 / args.bytes("transfer").max(1) as f64;
        let store = Store { hit: args.time("hit"), reach: 0, nanoseconds_a_byte: 0.0, parallel: 1, has_head: false };
        Ok(match kind.name {
            "latency" => Store { reach: args.time("time"), ..store },
            "disk" | "hdd" => Store {
                reach: args.time("seek").saturating_add(args.time("rotation") / 2),
                nanoseconds_a_byte: nanoseconds_a_byte(),
                has_head: true,
                ..store
            },
            _ => Store {
                reach: args.time("latency"),
                nanoseconds_a_byte: nanoseconds_a_byte(),
                parallel: args.count("parallel") as u32,
                ..store
            },
        })
    }

    /// Reads `5ms,100M,8`.
    fn of_figures(text: &str) -> Result<Store, SpecError> {
        let values = text.split(',').map(Value::parse).collect::<Result<Vec<_>, _>>()?;
        match values[..] {
            [Value::Time(latency), Value::Size(bytes), Value::Number(parallel)]
                if bytes > 0 && parallel.fract() == 0.0 && (1.0..=MOST_PARALLEL as f64).contains(&parallel) =>
            {
                Ok(Store {
                    hit: 2_000,
                    reach: latency,
                    nanoseconds_a_byte: 1e9 / bytes as f64,
                    parallel: parallel as u32,
                    has_head: false,
                })
            }
            _ => Err(SpecError::new(format!(
                "{text:?} is no store: expected LATENCY,BANDWIDTH,PARALLEL with a time, bytes a second and 1 to {MOST_PARALLEL} accesses at a time, such as 5ms,100M,8"
            ))),
        }
    }
}

/// A store at work.
#[derive(Clone, Debug)]
pub(super) struct Device {
    store: Store,
    /// When each of the accesses that are possible at a time will have ended.
    ends: Vec<u64>,
    /// Which of them transferred the last block.
    at: usize,
    /// The address behind that block.
    behind: Option<u64>,
    /// When the line will have carried all that it was given.
    line: u64,
    /// When all that was given will be done.
    free: u64,
    /// Nanoseconds in which it worked.
    pub busy: u64,
}

impl Device {
    pub fn new(store: Store) -> Device {
        Device { store, ends: vec![0; store.parallel as usize], at: 0, behind: None, line: 0, free: 0, busy: 0 }
    }

    /// Transfers a block of so many bytes that is asked for at the time `now`, which never goes back; gives when that
    /// is done. Addresses are files in the high half, blocks in the low one. A block without a size counts as 4 KB.
    pub fn transfer(&mut self, now: u64, address: u64, bytes: Option<u64>) -> u64 {
        // A run that goes on while the store is at it is one access; a head stays where it is.
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
}

/// A store that nobody else uses, for what a request would cost if all of it were read.
#[derive(Clone, Debug)]
pub(super) struct Idle(Device);

impl Idle {
    pub fn new(store: Store) -> Idle {
        Idle(Device::new(store))
    }

    /// Nanoseconds until the last of these blocks would be there. A head is where it is in `device`, or behind the last
    /// block that was asked for, which may not have been read: a run costs what it does whether it is resident or not.
    pub fn serve(&mut self, device: &Device, blocks: impl Iterator<Item = (u64, Option<u64>)>) -> u64 {
        let Idle(idle) = self;
        idle.ends.fill(0);
        idle.line = 0;
        let mut end = 0;
        for (number, (address, bytes)) in blocks.enumerate() {
            let is_at_head = idle.store.has_head && [idle.behind, device.behind].contains(&Some(address));
            if number == 0 {
                idle.behind = is_at_head.then_some(address);
            }
            end = idle.transfer(0, address, bytes).max(end);
        }
        end
    }

    /// The same, if no two of these blocks were neighbours, and the head elsewhere.
    pub fn serve_apart(&mut self, blocks: impl Iterator<Item = (u64, Option<u64>)>) -> u64 {
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
        let store = Store::parse("disk(seek=5ms,rotation=6ms,transfer=4000K)").unwrap();
        let mut device = Device::new(store);
        assert_eq!(device.transfer(0, 10, Some(4096)), 9_000_000, "seek, half a turn, a millisecond of transfer");
        assert_eq!(device.transfer(0, 11, Some(4096)), 10_000_000, "it goes on, and waits for the one before");
        assert_eq!(device.transfer(50_000_000, 10, Some(4096)), 59_000_000, "it was idle");
        assert_eq!(device.busy, 19_000_000);
    }

    #[test]
    fn a_latency_is_paid_once_a_run() {
        let mut device = Device::new(Store::parse("latency(time=2ms)").unwrap());
        assert_eq!([10, 11, 13].map(|address| device.transfer(0, address, None)), [2_000_000, 2_000_000, 4_000_000]);
        assert_eq!(device.transfer(9_000_000, 14, Some(4096)), 11_000_000, "a run that went on later is another");
    }

    #[test]
    fn accesses_side_by_side_share_the_line() {
        let mut device = Device::new(Store::parse("1ms,4096K,2").unwrap());
        let kib = Some(1024);
        // A millisecond of latency and a quarter of one on the line; the third access waits for the first to end.
        assert_eq!([10, 20, 30].map(|address| device.transfer(0, address, kib) / 1000), [1244, 1488, 2488]);
        assert_eq!(device.transfer(2_400_000, 31, kib) / 1000, 2732, "the run goes on: its transfer alone");
        assert_eq!(device.busy, 2_488_282 + 244_141, "it was never idle");
        let mut alone = Device::new(Store::parse("1ms,4096K,1").unwrap());
        assert_eq!([10, 20].map(|address| alone.transfer(0, address, kib) / 1000), [1244, 2488]);
    }

    /// A request costs the same whether the one before it was read or not.
    #[test]
    fn an_idle_store_tells_what_a_request_would_cost() {
        let cost = |store: &str, requests: &[&[u64]]| {
            let store = Store::parse(store).unwrap();
            let (mut idle, mut device) = (Idle::new(store), Device::new(store));
            device.transfer(0, 99, Some(4096));
            let serve = |request: &&[u64]| {
                idle.serve(&device, request.iter().map(|&address| (address, Some(4096)))) / 1_000_000
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
            let mut idle = Idle::new(Store::parse(store).unwrap());
            idle.serve_apart(request.iter().map(|&address| (address, Some(4096)))) / 1_000_000
        };
        assert_eq!(cost("disk(seek=5ms,rotation=6ms,transfer=4000K)", &[10, 11, 12]), 27);
        assert_eq!(cost("latency(time=2ms)", &[10, 11]), 4);
        // Side by side it makes no difference.
        assert_eq!(cost("4ms,4000K,2", &[10, 11]), 6);
    }

    #[test]
    fn what_is_no_store_is_refused() {
        let refused = |text: &str| Store::parse(text).unwrap_err().to_string();
        assert!(
            refused("tape")
                .starts_with("unknown store \"tape\": expected one of nvme, ssd, hdd, nfs, s3, disk, latency")
        );
        assert!(refused("disk(seek=fast)").contains("seek"));
        assert!(refused("latency(time=0ms)").contains("above 0"));
        assert!(refused("nvme(parallel=1000)").contains("parallel"));
        for text in ["5ms", "5ms,100M", "5,100M,8", "5ms,100M,0", "5ms,100M,1000", "5ms,100M,2.5", "1,2"] {
            assert!(refused(text).contains("LATENCY,BANDWIDTH,PARALLEL"), "{text}");
        }
        assert!(STORES.iter().all(|kind| Store::parse(kind.name).is_ok()));
    }
}
