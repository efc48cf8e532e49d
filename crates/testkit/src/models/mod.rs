//! The reference models, one file each; the table names them.

use crate::model::{Given, Model};
use crate::world::World;

mod acme;
mod applications;
mod apr;
mod arc;
mod auto;
mod bimodal;
mod cacheus;
mod car;
mod clock;
mod clock_pro;
mod clock_sweep;
mod craw;
mod demote;
mod dip;
mod dulo;
mod eelru;
mod eta;
mod fifo;
mod filtered;
mod gdsf;
mod hyperbolic;
mod innodb;
mod karma;
mod lecar;
mod lfu;
mod lfuda;
mod lhd;
mod lifo;
mod lifo_plus;
mod linux;
mod lirs;
mod lrfu;
mod lru;
mod lru_k;
mod lru_sp;
mod mq;
mod mru;
mod opt;
mod opt_bypass;
mod parted;
mod partitions;
mod pcc;
mod random;
mod render;
mod rrip;
mod s3_fifo;
mod sarc;
mod seq;
mod shared;
mod sieve;
mod slru;
mod two_q;
mod ubm;
mod ulc;
mod undivided;
mod virtual_io;
mod w_tinylfu;
mod weights;

type Build = fn(&Given<'_>) -> Box<dyn Model>;

/// A line of the table.
pub struct Row {
    /// Canonical name of the policy.
    pub policy: &'static str,
    build: Build,
    /// Arguments under which policy and model are compared besides the defaults, each as in a spec. Together they give
    /// every parameter another value than its default, one that some reference can tell.
    pub variants: &'static [&'static str],
    /// Where the blocks lie meanwhile.
    pub worlds: &'static [World],
    /// Bytes of a block of the run, for caches that are divided by bytes.
    pub block_bytes: Option<u64>,
}

impl Row {
    /// The policy under its defaults and under each of the variants, as specs.
    pub fn specs(&self) -> impl Iterator<Item = String> {
        let with = |arguments: &&str| format!("{}({arguments})", self.policy);
        [self.policy.to_owned()].into_iter().chain(self.variants.iter().map(with))
    }

    const fn in_worlds(self, worlds: &'static [World]) -> Row {
        Row { worlds, ..self }
    }

    const fn in_blocks_of(self, bytes: u64) -> Row {
        Row { block_bytes: Some(bytes), ..self }
    }
}

const fn row<M: Model + 'static>(policy: &'static str, variants: &'static [&'static str]) -> Row {
    Row { policy, build: build::<M>, variants, worlds: &[World::PLAIN], block_bytes: None }
}

/// More applications than the smaller caches have blocks.
const MANY_APPS: &[World] = &[World { apps: 5, ..World::PLAIN }];

/// More applications than the smaller caches have blocks; and objects of many sizes, before a store.
const VALUED: &[World] = &[World { apps: 5, ..World::PLAIN }, World { apps: 5, has_store: true, ..World::OBJECTS }];

/// Blocks of one size, and objects of many.
const OBJECTS: &[World] = &[World::PLAIN, World::OBJECTS];

/// All classes of the attribute caches.
const SIX_CLASSES: &[World] = &[World { classes: 6, ..World::PLAIN }];

/// At one block of this size the caches in parts can hold a block of each kind; at a few, no more blocks than the tests
/// refer to.
const BLOCK_IN_PARTS: u64 = 8 << 10;

/// Every model under the canonical name of its policy.
pub static MODELS: &[Row] = &[
    row::<two_q::TwoQ>("2q", &["a1in_hit=promote", "kin=100%, kout=10%", "kin=1, kout=3"]).in_worlds(OBJECTS),
    row::<acme::Acme>(
        "acme",
        &["refetch=on", "refetch=on, beta=0.01, share=0", "beta=0.5, share=0.2", "beta=1, share=1"],
    ),
    row::<apr::Apr>(
        "apr",
        &[
            "use=clock",
            "use=lifo+, globals=on, threshold=1B",
            "decay=0.000001, ghosts=0%",
            "decay=0.3, threshold=1B",
            "decay=0.5, threshold=1B",
            "decay=0.99, threshold=1B",
            "decay=0.999999, ghosts=30%, threshold=40M",
            "initial=0, threshold=1B",
        ],
    ),
    row::<arc::Arc>("arc", &[]).in_worlds(OBJECTS),
    row::<auto::Auto>(
        "auto",
        &[
            "period=9, asks=1, nodes=26",
            "period=10, sample=5, ghosts=0, prior=1, asks=2",
            "period=20, candidates=2, decay=0.5, asks=3",
            "period=12, ghosts=0.5, candidates=1, nodes=25, asks=1, prior=0.01, decay=0",
            "period=11, nodes=27, asks=1, curves=background",
            "period=10, look=7, a0=60%, a2=90%",
            "period=13, look=3, a1=4500us, miss_time=5ms",
            "period=13, look=3, a1=30%, a3=3ms, hit_time=2ms",
            "period=9, asks=1, value=hits",
            "period=11, asks=2, value=bytes",
        ],
    )
    .in_worlds(VALUED),
    row::<parted::Parted<parted::Attribute>>(
        "attribute",
        &[
            "128/128 inode, 256/128 directory, x/4K general",
            "1K/1K id, x/4K temporal, 2K/1K sequential",
            "x/2K temporal, 1K/512 id, 3K/1K large, lookup=full, atime=off",
            "512/256 executable, 256/128 large, x/3K general, 1K/512 directory, cutoff=4K, pieces=part",
        ],
    )
    .in_worlds(SIX_CLASSES)
    .in_blocks_of(BLOCK_IN_PARTS),
    row::<applications::Applications<applications::Equal>>("best", &["mru"]),
    row::<filtered::Filtered<filtered::OfClass>>("bypass", &["2q, config", "s3-fifo, other"]),
    row::<cacheus::Cacheus>("cacheus", &["scan=50%", "scan=100%, ghosts=100%", "ghosts=0", "scan=2, ghosts=3"]),
    row::<car::Car>("car", &[]),
    row::<clock::Clock>(
        "clock",
        &[
            "clear=1",
            "clear=9, initial=1",
            "clear=50, bits=2",
            "clear=5, bits=8, initial=255",
            "bits=3",
            "bits=3, initial=2",
        ],
    ),
    row::<clock_pro::ClockPro>(
        "clock-pro",
        &[
            "fill=cold",
            "ghosts=0, cold=50%",
            "ghosts=2, max_cold=50%, fill=cold",
            "ghosts=unlimited, min_cold=100%",
            "min_cold=4000000000, cold=0, max_cold=0",
            "hands=turn",
            "hands=turn, fill=cold, cold=1, min_cold=1, max_cold=100%",
            "hands=turn, fill=cold, ghosts=0.5, cold=30%",
        ],
    ),
    row::<demote::Demote>(
        "demote",
        &[
            "upper=lru, lower=mru, client=10%",
            "upper=arc, lower=2q",
            "upper=bypass, lower=lirs, client=80%",
            "upper=arc, lower=lru, client=30%, admit=reused",
            "upper=lru, lower=lru, client=30%, levels=inclusive",
            "upper=arc, lower=s3-fifo, client=20%, admit=reused, levels=inclusive",
        ],
    ),
    row::<clock_sweep::ClockSweep>(
        "clock-sweep",
        &["ring=0", "ring=1", "ring=2, scan=2", "ring=3, scan=1, most=2", "most=1", "scan=60%, ring=2, most=255"],
    ),
    row::<craw::Craw>("craw", &["write_cost=1, step=1", "step=50%", "read_cost=0, step=100%"])
        .in_worlds(&[World::PLAIN, World { writes: 1, ..World::PLAIN }]),
    row::<dip::Dip>(
        "dip",
        &[
            "mode=bip",
            "mode=bip, epsilon=0",
            "epsilon=0.5, duel=1",
            "duel=2, shadow=1",
            "duel=3, shadow=5, epsilon=0.5",
        ],
    ),
    row::<dulo::Dulo>(
        "dulo",
        &[
            "bank=30%",
            "bank=100%, max_sequence=3, table=0",
            "bank=2, max_sequence=1000, table=unlimited",
            "bank=4000000000, max_sequence=1",
        ],
    ),
    row::<eelru::Eelru>("eelru", &["decay=0", "decay=1", "decay=0.3"]),
    row::<applications::Applications<applications::Equal>>("equal", &["lru", "mru", "arc", "lfu"]).in_worlds(MANY_APPS),
    row::<eta::Eta>("eta", &["use=clock", "use=eta"]),
    row::<fifo::Fifo>("fifo", &[]),
    row::<gdsf::Gdsf>("gdsf", &["cost=packets"]).in_worlds(OBJECTS),
    row::<hyperbolic::Hyperbolic>("hyperbolic", &["sample=1", "sample=2", "sample=5", "sample=1000"]),
    row::<innodb::Innodb>("innodb", &["old_time=1ns", "old=1", "old=60%, old_time=300ms", "old=95%"]),
    row::<karma::Karma>("karma", &["range=1", "range=3", "range=4294967295"]),
    row::<lecar::LeCar>("lecar", &["ghosts=0", "ghosts=50%, rate=2, discount=1", "rate=0", "discount=0, ghosts=3"]),
    row::<lfu::Lfu>(
        "lfu",
        &["counts=perfect", "aging=0", "aging=2.5", "counts=perfect, aging=1", "counts=perfect, aging=7"],
    ),
    row::<lfuda::Lfuda>("lfuda", &[]),
    row::<lhd::Lhd>(
        "lhd",
        &[
            "period=7, ages=8, explorers=50%",
            "period=20, ages=300, apps=3, sample=3, explorers=2",
            "period=1, ages=2, sample=1",
            "period=50, sample=2, explorers=0",
        ],
    )
    .in_worlds(OBJECTS),
    row::<lifo::Lifo>("lifo", &[]),
    row::<lifo_plus::LifoPlus>("lifo+", &["initial=0"]),
    row::<linux::Linux>("linux", &["refaults=off", "inactive=10%", "inactive=90%, refaults=off", "inactive=0"]),
    row::<lirs::Lirs>("lirs", &["ghosts=0", "ghosts=0.5", "ghosts=2, hirs=30%", "hirs=100%"]).in_worlds(OBJECTS),
    row::<lrfu::Lrfu>(
        "lrfu",
        &[
            "lambda=0",
            "lambda=1, history=kept",
            "lambda=0.4, correlated=3",
            "lambda=0.1, correlated=2, history=kept",
            "correlated=1000",
            "history=kept",
        ],
    ),
    row::<lru::Lru>("lru", &[]),
    row::<lru_k::LruK>("lru-k", &["k=1", "k=3, rip=0", "crp=2, rip=2", "k=3, crp=5, rip=3.5", "k=4, crp=1000", "k=16"]),
    row::<lru_sp::LruSp>("lru-sp", &["manager=lru", "pools=1", "manager=lru, pools=1"]),
    row::<mq::Mq>(
        "mq",
        &[
            "estimate=off",
            "estimate=off, lifetime=0, queues=3",
            "estimate=off, lifetime=0.5, ghosts=0.5",
            "lifetime=unlimited, ghosts=1",
            "queues=1, ghosts=0",
            "queues=32, ghosts=unlimited",
        ],
    ),
    row::<mru::Mru>("mru", &[]),
    row::<opt::Opt>("opt", &[]),
    row::<opt_bypass::OptBypass>("opt-bypass", &[]),
    row::<pcc::Pcc>(
        "pcc",
        &["contexts=1, seen_once=1", "context=app, seen_once=3, ghosts=0", "contexts=3, seen_once=2, ghosts=unlimited"],
    ),
    row::<applications::Applications<applications::Qos>>(
        "qos",
        &[
            "interval=7, a1=50%, a2=90%",
            "interval=1, a0=30%, a4=3ms, policy=arc",
            "interval=1s, a0=100%, a1=100us, a3=9900us, rate=interval",
            "a1=3ms, a2=5ms, miss_time=6ms",
            "a3=1%, a0=3ms, hit_time=2900us, policy=mru, interval=9",
            "a1=3ms, miss_time=20ms, interval=9",
            "interval=3%, a0=60%, a2=80%, table=3",
            "interval=2, a1=70%, a4=20%, table=5, rate=interval",
            "interval=7, a1=3%, a2=100%, a0=100%, least=1",
            "interval=9, a1=40%, a2=60%, a3=20%, curve=sampled",
            "interval=11, a1=40%, a0=30%, curve=sampled, rate=interval",
        ],
    )
    .in_worlds(MANY_APPS),
    row::<random::Random>("random", &[]),
    row::<render::Render>(
        "render",
        &[
            "shadow=literal",
            "shadow=literal, hits=all, step=2",
            "shadow=fixed, random=30%, texture=50%",
            "texture=0%, random=0",
            "texture=40%, random=100%, min_frac=20%",
            "texture=60%, random=3, hits=all, step=1000000000",
            "adapt=off, random=40%",
            "min_frac=30%, random=30%, texture=50%, step=2",
            "weight=step",
            "weight=step, hits=all, step=3, shadow=literal",
        ],
    )
    .in_worlds(&[World::PLAIN, World { class_lasts: 40, ..World::PLAIN }]),
    row::<rrip::Rrip>(
        "rrip",
        &[
            "mode=srrip",
            "mode=srrip, bits=1",
            "mode=brrip, epsilon=0.5, bits=3",
            "bits=6, duel=3, shadow=1",
            "bits=1, epsilon=0, shadow=15",
        ],
    ),
    row::<s3_fifo::S3Fifo>(
        "s3-fifo",
        &[
            "promote=1",
            "promote=3, small=50%",
            "small=1, ghost=10%, promote=1",
            "ghost=0",
            "promote=1, most=1",
            "promote=5, most=7, small=70%",
            "fill=main",
            "fill=main, small=2, promote=1",
        ],
    )
    .in_worlds(OBJECTS),
    row::<sarc::Sarc>(
        "sarc",
        &[
            "track=1",
            "track=2, run=2, foot=20%",
            "track=1, run=2, tracks=1",
            "track=4294967295, run=1, tracks=1, foot=100%",
        ],
    ),
    row::<seq::Seq>(
        "seq",
        &[
            "l=1, m=1, n=1, table=3",
            "l=2, m=3, n=2, table=1",
            "l=3, m=2, n=4, fallback=clock",
            "l=4, m=1, n=5, table=2, fallback=clock",
            "fallback=clock, l=8, m=5",
            "fallback=clock, l=3, m=2, n=2, initial=1",
            "fallback=clock, l=2, m=1, n=2, initial=1, sequences=overlapping",
            "l=3, m=2, n=1, table=3, sequences=overlapping",
        ],
    )
    .in_worlds(&[World::PLAIN, World { file_blocks: 60, ..World::PLAIN }]),
    row::<shared::Shared>("shared", &["arc", "lirs"]),
    row::<sieve::Sieve>("sieve", &[]),
    row::<filtered::Filtered<filtered::Larger>>("max-size", &["max=600B", "gdsf, max=400B", "s3-fifo, max=800B"])
        .in_worlds(OBJECTS),
    row::<slru::Slru>("slru", &["protected=0", "protected=50%", "protected=100%"]).in_worlds(OBJECTS),
    row::<ubm::Ubm>("ubm", &["files=1, broken=ignore", "files=2, run=3, broken=ignore", "run=4294967295"]),
    row::<applications::Applications<applications::Ucp>>("ucp", &["interval=10", "interval=300ms, policy=arc"])
        .in_worlds(MANY_APPS),
    row::<ulc::Ulc>(
        "ulc",
        &[
            "client=10%",
            "client=100%, temp=30%",
            "client=60%, temp=100%",
            "client=4000000000, temp=4000000000",
            "client=0, temp=0",
        ],
    ),
    row::<undivided::Undivided>(
        "undivided",
        &[
            "lru",
            "gdsf, id=256B",
            "s3-fifo, id=512B, block=2K, lookup=full, atime=off",
            "auto(period=11, asks=2), id=1K, block=8K",
        ],
    )
    .in_worlds(SIX_CLASSES)
    .in_blocks_of(BLOCK_IN_PARTS),
    row::<parted::Parted<parted::Unix>>(
        "unix",
        &["inodes=128B", "inodes=256B, block=2K", "inodes=1M, block=1K, lookup=full, atime=off, pieces=part"],
    )
    .in_worlds(SIX_CLASSES)
    .in_blocks_of(BLOCK_IN_PARTS),
    row::<virtual_io::VirtualIo>(
        "virtual",
        &[
            "queue=20, unit=1, quantum=5, alpha=0.5",
            "queue=9, unit=2, quantum=3, alpha=0, fragments=1, policy=lfu",
            "queue=12, unit=1, quantum=7, alpha=1, policy=arc, fragments=3",
            "queue=12, unit=3, quantum=7, alpha=0.5, policy=2q",
            "queue=7, unit=1, quantum=3, a0=virtual(arc,queue=9,alpha=0), policy=lfu, alpha=1",
            "queue=30, unit=2, quantum=4, alpha=0.5, policy=lfu",
            "queue=20, unit=1, quantum=auto, fragments=3",
            "queue=16, unit=1, quantum=4, alpha=0.5, objective=fair",
            "queue=16, unit=1, quantum=auto, a0=virtual(lru,promise=0.75,alpha=0.5), promise=0.25, objective=fair",
            "queue=20, unit=2, quantum=2/app, alpha=0.5",
            "queue=20, unit=1, quantum=3s, alpha=0.5, policy=arc",
        ],
    )
    .in_worlds(&[World { apps: 1, ..World::PLAIN }, World { apps: 4, ..World::PLAIN }]),
    row::<w_tinylfu::WTinyLfu>(
        "w-tinylfu",
        &["climb=on", "climb=on, window=40%, protected=100%", "window=60%, protected=0%", "window=100%"],
    ),
];

/// The line of the policy with this canonical name; `None` if it has none.
pub fn row_of(name: &str) -> Option<&'static Row> {
    MODELS.iter().find(|row| row.policy == name)
}

/// Builds the model of the policy with this canonical name; `None` if it has none.
pub fn model(name: &str, given: &Given<'_>) -> Option<Box<dyn Model>> {
    row_of(name).map(|row| (row.build)(given))
}

/// Builds the model of the policy that the parameter `key` names, of this capacity.
fn inner(given: &Given<'_>, key: &str, capacity: usize) -> Box<dyn Model> {
    let spec = given.args.policy(key);
    let args = spec.args_within(given.args);
    let inner = Given { capacity, args: &args, ..*given };
    model(spec.info().name, &inner).unwrap_or_else(|| panic!("{} has no model", spec.info().name))
}

fn build<M: Model + 'static>(given: &Given<'_>) -> Box<dyn Model> {
    Box::new(M::new(given))
}
