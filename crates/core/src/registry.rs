//! The table of policies: one line each. Everything that lists, names or builds policies goes through it.

use crate::policy::{Info, Policy};

/// Work to be done for a policy chosen by name at run time, with its type known at compile time.
pub trait Visitor {
    /// What the work gives.
    type Output;
    /// Does it for policy `P`.
    fn visit<P: Policy + 'static>(self) -> Self::Output;
}

/// A line of the table.
#[derive(Debug)]
pub struct Entry {
    /// Name, parameters and texts.
    pub info: &'static Info,
    source: &'static str,
}

impl Entry {
    /// The text at the head of the policy's file: idea, paper, deviations, costs, when not to use it.
    pub fn doc(&self) -> String {
        let lines = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }
}

macro_rules! entries {
    ($($(#[$doc:meta])* $table:ident in $room:ident { $($file:ident :: $policy:ident),* $(,)? })*) => {
        $($(#[$doc])*
        pub static $table: &[Entry] = &[$(Entry {
            info: &crate::$room::$file::$policy::INFO,
            source: include_str!(concat!(stringify!($room), "/", stringify!($file), ".rs")),
        }),*];)*

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
        arc::Arc,
        cacheus::Cacheus,
        car::Car,
        clock::Clock,
        clock_pro::ClockPro,
        craw::Craw,
        dip::Dip,
        dulo::Dulo,
        eelru::Eelru,
        fifo::Fifo,
        hyperbolic::Hyperbolic,
        karma::Karma,
        lecar::LeCar,
        lfu::Lfu,
        lfuda::Lfuda,
        lhd::Lhd,
        lifo::Lifo,
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
        ucp::Ucp,
        unix::Unix,
        virtual_io::VirtualIo,
    }
}

/// Every entry of both tables.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().chain(SCHEMES)
}

/// The entry with this name or alias.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().find(|entry| entry.info.name == name || entry.info.aliases.contains(&name))
}
