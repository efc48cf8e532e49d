//! The table of policies: one line each. Everything that lists, names or builds policies goes through it.

mod boxed;
mod expected;
mod parse;

use crate::capabilities;
use crate::policy::dynamic::by_weights;
use crate::policy::{Args, Capabilities, Catalog, Entry, Hits, Policy, PolicySpec, Setting};
use crate::spec::SpecError;

pub use boxed::Boxed;

/// Work to be done for a policy chosen by name at run time, with its type known at compile time.
pub trait Visitor {
    /// The result of the work.
    type Output;
    /// Does it for policy `P`.
    fn visit<P: Policy + Capabilities + 'static>(self) -> Self::Output;
}

/// The names of the policies of the feature `historic`.
const HISTORIC: &[&str] =
    &["acme", "craw", "dip", "hyperbolic", "karma", "lecar", "lru-sp", "mq", "multi-queue", "sarc", "ulc"];

macro_rules! entries {
    ($($(#[$doc:meta])* $table:ident in $room:ident {
        $($(#[$cfg:meta])? $file:ident :: $policy:ident $([$($capability:ident)*])? $(or $weighed:ident)? $(by $build:ident)?),* $(,)?
    })*) => {
        $($(#[$doc])*
        pub static $table: &[Entry] = &[$(
            $(#[$cfg])?
            Entry::of::<crate::$room::$file::$policy>(
                include_str!(concat!("../", stringify!($room), "/", stringify!($file), ".rs")),
                &CATALOG,
            )
            $(.built_by(by_weights::<crate::$room::$file::$policy, crate::$room::$file::$weighed>))?
            $(.built_by(crate::$room::$file::$build))?
        ),*];)*

        /// Every policy that a spec can name.
        pub static CATALOG: Catalog = Catalog {
            groups: &[$(&$table),*],
            left_out: if cfg!(feature = "historic") { &[] } else { HISTORIC },
        };

        $($($(#[$cfg])? capabilities!(
            crate::$room::$file::$policy $(, crate::$room::$file::$weighed)?: [$($($capability)*)?]
        );)*)*

        /// Runs `visitor` for the policy with this canonical name; `None` if there is none.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $($($(#[$cfg])? if name == crate::$room::$file::$policy::INFO.name {
                return Some(visitor.visit::<crate::$room::$file::$policy>());
            })*)*
            None
        }
    };
}

entries! {
    /// Every policy that replaces blocks of a single cache, in the order of the table. In brackets are its
    /// capabilities; `or` names the policy for blocks of many weights, `by` another function that builds it.
    ENTRIES in policies {
        #[cfg(feature = "historic")]
        acme::Acme,
        apr::Apr,
        arc::Arc [Ranked] or WeighedArc,
        auto::Auto [Learning Reconfigure],
        cacheus::Cacheus,
        car::Car,
        clock::Clock,
        clock_pro::ClockPro,
        clock_sweep::ClockSweep,
        #[cfg(feature = "historic")]
        craw::Craw,
        #[cfg(feature = "historic")]
        dip::Dip,
        dulo::Dulo,
        eelru::Eelru,
        eta::Eta,
        fifo::Fifo,
        gdsf::Gdsf,
        #[cfg(feature = "historic")]
        hyperbolic::Hyperbolic,
        innodb::Innodb,
        #[cfg(feature = "historic")]
        karma::Karma,
        #[cfg(feature = "historic")]
        lecar::LeCar,
        lfu::Lfu [Ranked],
        lfuda::Lfuda,
        lhd::Lhd,
        lifo::Lifo,
        lifo_plus::LifoPlus,
        linux::Linux,
        lirs::Lirs or WeighedLirs,
        lrfu::Lrfu,
        lru::Lru [Ranked],
        lru_k::LruK,
        #[cfg(feature = "historic")]
        lru_sp::LruSp,
        #[cfg(feature = "historic")]
        mq::Mq,
        mru::Mru,
        opt::Opt by boxed,
        opt_bypass::OptBypass,
        pcc::Pcc,
        random::Random,
        rrip::Rrip,
        s3_fifo::S3Fifo or WeighedS3Fifo,
        #[cfg(feature = "historic")]
        sarc::Sarc,
        seq::Seq,
        sieve::Sieve,
        slru::Slru or WeighedSlru,
        two_q::TwoQ [Ranked] or WeighedTwoQ,
        ubm::Ubm,
        #[cfg(feature = "historic")]
        ulc::Ulc,
        w_tinylfu::WTinyLfu,
    }
    /// Every scheme that is made of other policies or parts.
    SCHEMES in schemes {
        attribute::Attribute [Partitioned],
        best::Best [Reconfigure],
        bypass::Bypass [Around Selective Reconfigure],
        demote::Demote,
        equal::Equal [Reconfigure],
        qos::Qos [Reconfigure],
        render::Render,
        shared::Shared [Around Reconfigure],
        size::Size [Around Selective Reconfigure],
        ucp::Ucp [Reconfigure],
        undivided::Undivided [Around Partitioned],
        unix::Unix [Partitioned],
        virtual_io::VirtualIo [Reconfigure],
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

/// A capacity for requirements that do not depend on it.
const ANY: u32 = 1 << 20;

/// Every policy of a single cache that runs on traces of memory, with its defaults.
pub fn on_faults() -> impl Iterator<Item = PolicySpec> {
    ENTRIES.iter().map(PolicySpec::of).filter(|spec| {
        let args = spec.clone().set_in(Setting::Paging).args(None);
        spec.entry().requirements(&args, ANY).is_ok_and(|requirements| requirements.hits < Hits::Order)
    })
}

/// Refuses a policy that must be called for every reference, where it is called for blocks that are not resident alone.
pub fn check_on_faults(entry: &Entry, args: &Args) -> Result<(), SpecError> {
    if entry.requirements(args, ANY)?.hits < Hits::Order {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_left_out_by_their_names() {
        assert!(HISTORIC.iter().all(|name| find(name).is_some() == cfg!(feature = "historic")));
        let refused = cfg!(not(feature = "historic"));
        assert_eq!(PolicySpec::parse("mq").is_err_and(|error| error.message.contains("`historic`")), refused);
    }
}
