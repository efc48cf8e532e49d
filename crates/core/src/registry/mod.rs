//! The table of policies: one line each. Everything that lists, names or builds policies goes through it.

mod parse;

use crate::policy::{Args, Catalog, Entry, Hits, Policy, PolicySpec, Setting};
use crate::spec::SpecError;

/// Work to be done for a policy chosen by name at run time, with its type known at compile time.
pub trait Visitor {
    /// The result of the work.
    type Output;
    /// Does it for policy `P`.
    fn visit<P: Policy + 'static>(self) -> Self::Output;
}

macro_rules! entries {
    ($($(#[$doc:meta])* $table:ident in $room:ident { $($file:ident :: $policy:ident),* $(,)? })*) => {
        $($(#[$doc])*
        pub static $table: &[Entry] = &[$(Entry::of::<crate::$room::$file::$policy>(
            include_str!(concat!("../", stringify!($room), "/", stringify!($file), ".rs")),
            &CATALOG,
        )),*];)*

        /// Every policy that a spec can name.
        pub static CATALOG: Catalog = Catalog { groups: &[$(&$table),*] };

        /// Runs `visitor` for the policy with this canonical name; `None` if there is none.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $($(if name == crate::$room::$file::$policy::INFO.name {
                return Some(visitor.visit::<crate::$room::$file::$policy>());
            })*)*
            None
        }
    };
}

entries! {
    /// Every policy that replaces blocks of a single cache, in the order of the table.
    ENTRIES in policies {
        acme::Acme,
        apr::Apr,
        arc::Arc,
        auto::Auto,
        cacheus::Cacheus,
        car::Car,
        clock::Clock,
        clock_pro::ClockPro,
        clock_sweep::ClockSweep,
        craw::Craw,
        dip::Dip,
        dulo::Dulo,
        eelru::Eelru,
        eta::Eta,
        fifo::Fifo,
        gdsf::Gdsf,
        hyperbolic::Hyperbolic,
        innodb::Innodb,
        karma::Karma,
        lecar::LeCar,
        lfu::Lfu,
        lfuda::Lfuda,
        lhd::Lhd,
        lifo::Lifo,
        lifo_plus::LifoPlus,
        linux::Linux,
        lirs::Lirs,
        lrfu::Lrfu,
        lru::Lru,
        lru_k::LruK,
        lru_sp::LruSp,
        mq::Mq,
        mru::Mru,
        opt::Opt,
        opt_bypass::OptBypass,
        pcc::Pcc,
        random::Random,
        rrip::Rrip,
        s3_fifo::S3Fifo,
        sarc::Sarc,
        seq::Seq,
        sieve::Sieve,
        slru::Slru,
        two_q::TwoQ,
        ubm::Ubm,
        ulc::Ulc,
        w_tinylfu::WTinyLfu,
    }
    /// Every scheme that is made of other policies or parts.
    SCHEMES in schemes {
        attribute::Attribute,
        best::Best,
        bypass::Bypass,
        demote::Demote,
        equal::Equal,
        qos::Qos,
        render::Render,
        shared::Shared,
        size::Size,
        ucp::Ucp,
        undivided::Undivided,
        unix::Unix,
        virtual_io::VirtualIo,
    }
}

/// Every entry of both tables.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    CATALOG.all()
}

/// The entry with this name or alias.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOG.find(name)
}

/// Every policy of a single cache that runs on traces of memory, with its defaults.
pub fn on_faults() -> impl Iterator<Item = PolicySpec> {
    ENTRIES.iter().map(PolicySpec::of).filter(|spec| {
        let args = spec.clone().set_in(Setting::Paging).args(None);
        spec.entry().asks.hits(&args) < Hits::Order
    })
}

/// Refuses a policy that must be called for every reference, where it is called for blocks that are not resident alone.
pub fn check_on_faults(entry: &Entry, args: &Args) -> Result<(), SpecError> {
    if entry.asks.hits(args) < Hits::Order {
        return Ok(());
    }
    let others: Vec<String> = on_faults().map(|spec| spec.to_string()).collect();
    let name = entry.info.name;
    Err(SpecError::new(format!(
        "{name} sees every reference, but one to a page in memory leaves no more than a bit: expected one of {}; \
         `hotset policies {name}` tells whether a parameter changes that",
        others.join(", ")
    )))
}
