//! The disk behind a cache: one request at a time, in the order in which they come.
//!
//! `disk(…)` is a mechanical one. Defaults are those of the papers' simulations (5 ms seek, 10,045 rpm,
//! and 20 MB/s): a block that does not follow the last one costs a seek, half a rotation and its transfer; the next
//! block of the same file costs its transfer alone. `latency(time=…)` takes the same time for each run of neighbours.

use hotset_core::policy::{Args, Param, ParamKind};
use hotset_core::spec::{Spec, SpecError};

/// A model of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// What a cached block costs, in nanoseconds.
    pub hit: u64,
    cost: Cost,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cost {
    /// To reach a block that is no neighbour, and to transfer a byte.
    Mechanical { reach: u64, nanoseconds_a_byte: f64 },
    /// Nanoseconds of a run of neighbours.
    Latency(u64),
}

/// A kind of disk.
#[derive(Debug)]
pub struct Kind {
    /// Its name in `--disk`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What can be set.
    pub params: &'static [Param],
}

const HIT: Param =
    Param { key: "hit", kind: ParamKind::Time, default: "200us", doc: "a request that hits (paper: 200us)" };

/// The kinds of disks.
pub const DISKS: [Kind; 2] = [
    Kind {
        name: "disk",
        summary: "a turning disk: seek, half a rotation and transfer; neighbours cost their transfer alone",
        params: &[
            Param { key: "seek", kind: ParamKind::Time, default: "5ms", doc: "a move of the arm (paper: 5ms)" },
            Param {
                key: "rotation",
                kind: ParamKind::Time,
                default: "5973us",
                doc: "a whole turn, of which half is waited for (paper: 10,045 a minute)",
            },
            Param { key: "transfer", kind: ParamKind::Bytes, default: "20M", doc: "bytes a second" },
            HIT,
        ],
    },
    Kind {
        name: "latency",
        summary: "the same time for every run of neighbours",
        params: &[
            Param { key: "time", kind: ParamKind::Time, default: "10ms", doc: "a read or write (paper: 10ms)" },
            HIT,
        ],
    },
];

impl Disk {
    /// Reads `disk(seek=4ms)` or `latency(time=2ms)`.
    pub fn parse(text: &str) -> Result<Disk, SpecError> {
        let spec = Spec::parse(text)?;
        let Some(kind) = DISKS.iter().find(|kind| kind.name == spec.name) else {
            let known = DISKS.map(|kind| kind.name).join(" or ");
            return Err(SpecError::new(format!("unknown disk {:?}: expected {known}", spec.name)));
        };
        let args = Args::of(kind.params, &spec.args)?;
        let cost = match kind.name {
            "latency" => Cost::Latency(args.time("time")),
            _ => Cost::Mechanical {
                reach: args.time("seek").saturating_add(args.time("rotation") / 2),
                nanoseconds_a_byte: 1e9 / args.bytes("transfer").max(1) as f64,
            },
        };
        Ok(Disk { hit: args.time("hit"), cost })
    }
}

/// A disk at work.
#[derive(Clone, Debug)]
pub(super) struct Device {
    disk: Disk,
    /// The address behind the block that was transferred last.
    behind: Option<u64>,
    /// When it will have done all that it was given.
    free: u64,
    /// Nanoseconds in which it worked.
    pub busy: u64,
}

impl Device {
    pub fn new(disk: Disk) -> Device {
        Device { disk, behind: None, free: 0, busy: 0 }
    }

    /// Transfers a block of so many bytes that is asked for at the time `now`; gives when that is done. Addresses are
    /// files in the high half, blocks in the low one. A block without a size counts as 4 KB.
    pub fn transfer(&mut self, now: u64, address: u64, bytes: Option<u64>) -> u64 {
        let is_neighbour = self.behind == Some(address);
        let cost = match self.disk.cost {
            Cost::Mechanical { reach, nanoseconds_a_byte } => {
                let transfer = (bytes.unwrap_or(4096) as f64 * nanoseconds_a_byte).round() as u64;
                transfer.saturating_add(if is_neighbour { 0 } else { reach })
            }
            // A run that goes on while the disk is at it is one access.
            Cost::Latency(_) if is_neighbour && self.free >= now => 0,
            Cost::Latency(time) => time,
        };
        self.behind = Some(address.wrapping_add(1));
        self.free = self.free.max(now).saturating_add(cost);
        self.busy = self.busy.saturating_add(cost);
        self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turning_disk_seeks_unless_it_goes_on() {
        let disk = Disk::parse("disk(seek=5ms,rotation=6ms,transfer=4000K)").unwrap();
        let mut device = Device::new(disk);
        assert_eq!(device.transfer(0, 10, Some(4096)), 9_000_000, "seek, half a turn, a millisecond of transfer");
        assert_eq!(device.transfer(0, 11, Some(4096)), 10_000_000, "it goes on, and waits for the one before");
        assert_eq!(device.transfer(50_000_000, 10, Some(4096)), 59_000_000, "it was idle");
        assert_eq!(device.busy, 19_000_000);
    }

    #[test]
    fn a_latency_is_paid_once_a_run() {
        let mut device = Device::new(Disk::parse("latency(time=2ms)").unwrap());
        assert_eq!([10, 11, 13].map(|address| device.transfer(0, address, None)), [2_000_000, 2_000_000, 4_000_000]);
        assert_eq!(device.transfer(9_000_000, 14, Some(4096)), 11_000_000, "a run that went on later is another");
    }

    #[test]
    fn what_is_no_disk_is_refused() {
        let refused = |text: &str| Disk::parse(text).unwrap_err().to_string();
        assert_eq!(refused("tape"), "unknown disk \"tape\": expected disk or latency");
        assert!(refused("disk(seek=fast)").contains("seek"));
        assert!(refused("latency(time=0ms)").contains("above 0"));
    }
}
