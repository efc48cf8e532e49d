//! GDSF: LFU with aging where a large object must be used more often to stay.
//!
//! Idea: the key of an object is what its uses are worth per byte, plus L, the key of the last victim: uses times cost,
//! divided by size. The least key leaves. L rises with every victim, so what is no longer used is overtaken. A small
//! object is kept for fewer uses, since it takes the place of few others.
//!
//! Paper: Cherkasova, "Improving WWW proxies performance with Greedy-Dual-Size-Frequency caching policy", HP
//! Laboratories technical report HPL-98-69R1, 1998; the aging is that of Cao, Irani, "Cost-aware WWW proxy caching
//! algorithms", USENIX Symposium on Internet Technologies and Systems 1997.
//!
//! Provenance: from secondary sources, the report's text was not at hand. libCacheSim 0.3.5 misses as much within 0.01
//! points, of requests and of bytes, on a trace of objects at three sizes (`benches/objects.py`).
//!
//! Deviations and readings: uses are counted from 1 while an object is resident; the key takes L, and the size, as they
//! are at the last use; of equal keys the least recently used leaves. Keys are floating-point numbers of 64 bits.
//! `cost=packets` is what the report has for hits by bytes: 2 packets and one for each 536 bytes begun. Blocks of one
//! size make it `lfuda`.
//!
//! Cost: a hit writes one record; a miss costs a heap. Memory: 36 bytes a slot and 72 to 80 a block of capacity.
//!
//! When not to use it: where all blocks are of one size (`lfuda` is the same), and where bytes from storage count and
//! not requests: with `cost=requests` large objects hardly stay.

use crate::families::aging::{Aging, AgingRule};
use crate::policy::{Args, Info, Needs, Param, ParamKind, Reference};

/// Bytes that a packet carries.
const PACKET: u32 = 536;

/// The GDSF policy.
pub type Gdsf = Aging<PerByte>;

/// Uses times cost per byte, as the bits of a number that is not negative, which are in the order of such numbers.
#[derive(Debug)]
pub struct PerByte {
    by_packets: bool,
}

impl AgingRule for PerByte {
    const INFO: Info = Info {
        name: "gdsf",
        aliases: &["gds-f"],
        family: "frequency",
        summary: "LFU with dynamic aging by uses per byte: small objects stay for fewer uses",
        params: &[Param {
            key: "cost",
            kind: ParamKind::Word(&["requests", "packets"]),
            default: "requests",
            doc: "cost of a miss: one request, which favours hits, or the packets that carry it, which favours byte hits (paper: both)",
        }],
        needs: Needs { size: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };
    /// The key of one that is used again may not grow, if the object has become larger.
    const GREATEST_WHEN_NEW: bool = false;

    fn new(args: &Args) -> PerByte {
        PerByte { by_packets: args.word("cost") == "packets" }
    }

    #[inline(always)]
    fn value(&self, floor: u64, uses: u64, reference: &Reference) -> u64 {
        let bytes = reference.bytes;
        let cost = if self.by_packets { 2 + bytes.div_ceil(PACKET) } else { 1 };
        let value = f64::from_bits(floor) + uses as f64 * f64::from(cost) / f64::from(bytes.max(1));
        value.to_bits()
    }
}
