//! Storage models: a number of parallel accesses that share one bandwidth.
//!
//! `disk(…)` is the mechanical disk of the papers' simulations (5 ms seek, 10,045 rpm, and 20 MB/s). `hdd` is a
//! current one. On both, a block that does not follow the previous one costs a seek, half a rotation and its
//! transfer. The next block of the same file costs only its transfer. In every other model, each run of neighbours
//! waits for the latency once, up to `parallel` runs at a time, and all runs share the bandwidth. `latency(time=…)`
//! takes the same time for each run.
//!
//! The defaults of current devices are round figures from their specifications; measured values can be given as
//! `LATENCY,BANDWIDTH,PARALLEL`. The figures for `s3` follow Amazon's guidance: 100 ms to the first byte, and enough
//! parallel requests to fill the network, here 10 Gbit/s.

mod device;

pub use device::{Cost, Device, Idle};

use crate::policy::{Args, Param, ParamKind};
use crate::spec::{Spec, SpecError, Value};

/// A storage model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StorageModel {
    /// The cost of a cached block in nanoseconds.
    pub hit: u64,
    /// Nanoseconds until the first byte.
    reach: u64,
    nanoseconds_a_byte: f64,
    /// Maximum number of parallel accesses.
    parallel: u32,
    /// True if the device has a head: the block after the last transferred one is reached without delay, at any later
    /// time.
    has_head: bool,
}

/// A kind of storage model.
#[derive(Debug)]
pub struct StorageKind {
    /// Its name in the setting `store`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
}

/// Maximum of `parallel`: no known storage serves more accesses of one client at a time.
const MOST_PARALLEL: u64 = 256;

const fn time(key: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param { key, kind: ParamKind::Time, default, doc }
}

const fn rate(default: &'static str) -> Param {
    Param { key: "transfer", kind: ParamKind::Bytes, default, doc: "bytes a second" }
}

const fn parallel(default: &'static str) -> Param {
    Param { key: "parallel", kind: ParamKind::Count { min: 1, max: MOST_PARALLEL }, default, doc: "parallel accesses" }
}

const HIT: Param = time("hit", "2us", "a request that hits");
const PAPERS_HIT: Param = time("hit", "200us", "a request that hits (paper: 200us)");

/// The kinds of storage models.
pub const STORES: [StorageKind; 7] = [
    StorageKind {
        name: "nvme",
        summary: "a solid-state disk on NVMe",
        params: &[time("latency", "80us", "latency to the first byte"), rate("3G"), parallel("64"), HIT],
    },
    StorageKind {
        name: "ssd",
        summary: "a solid-state disk on SATA",
        params: &[time("latency", "100us", "latency to the first byte"), rate("500M"), parallel("32"), HIT],
    },
    StorageKind {
        name: "hdd",
        summary: "a current hard disk; consecutive blocks cost only their transfer",
        params: &[
            time("seek", "8ms", "seek time"),
            time("rotation", "8333us", "time of one rotation; an access waits for half of it"),
            rate("200M"),
            HIT,
        ],
    },
    StorageKind {
        name: "nfs",
        summary: "a file server over gigabit Ethernet",
        params: &[time("latency", "500us", "latency to the first byte"), rate("110M"), parallel("16"), HIT],
    },
    StorageKind {
        name: "s3",
        summary: "an object store",
        params: &[time("latency", "100ms", "latency to the first byte"), rate("1G"), parallel("64"), HIT],
    },
    StorageKind {
        name: "disk",
        summary: "the hard disk of the papers",
        params: &[
            time("seek", "5ms", "seek time (paper: 5ms)"),
            time("rotation", "5973us", "time of one rotation; an access waits for half of it (paper: 10,045 rpm)"),
            rate("20M"),
            PAPERS_HIT,
        ],
    },
    StorageKind {
        name: "latency",
        summary: "the same time for every run of consecutive blocks, one run after another",
        params: &[time("time", "10ms", "a read or write (paper: 10ms)"), PAPERS_HIT],
    },
];

impl StorageModel {
    /// Parses `nvme`, `disk(seek=4ms)`, `latency(time=2ms)`, or `LATENCY,BANDWIDTH,PARALLEL` such as `5ms,100M,8`.
    pub fn parse(text: &str) -> Result<StorageModel, SpecError> {
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return StorageModel::of_figures(text);
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
        let store =
            StorageModel { hit: args.time("hit"), reach: 0, nanoseconds_a_byte: 0.0, parallel: 1, has_head: false };
        Ok(match kind.name {
            "latency" => StorageModel { reach: args.time("time"), ..store },
            "disk" | "hdd" => StorageModel {
                reach: args.time("seek").saturating_add(args.time("rotation") / 2),
                nanoseconds_a_byte: nanoseconds_a_byte(),
                has_head: true,
                ..store
            },
            _ => StorageModel {
                reach: args.time("latency"),
                nanoseconds_a_byte: nanoseconds_a_byte(),
                parallel: args.count("parallel") as u32,
                ..store
            },
        })
    }

    /// Parses `5ms,100M,8`.
    fn of_figures(text: &str) -> Result<StorageModel, SpecError> {
        let values = text.split(',').map(Value::parse).collect::<Result<Vec<_>, _>>()?;
        match values[..] {
            [Value::Time(latency), Value::Size(bytes), Value::Number(parallel)]
                if bytes > 0 && parallel.fract() == 0.0 && (1.0..=MOST_PARALLEL as f64).contains(&parallel) =>
            {
                Ok(StorageModel {
                    hit: 2_000,
                    reach: latency,
                    nanoseconds_a_byte: 1e9 / bytes as f64,
                    parallel: parallel as u32,
                    has_head: false,
                })
            }
            _ => Err(SpecError::new(format!(
                "{text:?} is not a storage model: expected LATENCY,BANDWIDTH,PARALLEL (a time, bytes per second, 1 to {MOST_PARALLEL} parallel accesses), such as 5ms,100M,8"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_store_is_refused() {
        let refused = |text: &str| StorageModel::parse(text).unwrap_err().to_string();
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
        assert!(STORES.iter().all(|kind| StorageModel::parse(kind.name).is_ok()));
    }
}
