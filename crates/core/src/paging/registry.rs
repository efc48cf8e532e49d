//! The table of paging policies: one line each.

use super::PagingPolicy;
use super::policies;
use crate::policy::Info;

/// Work to be done for a policy chosen by name at run time, with its type known at compile time.
pub trait Visitor {
    /// What the work gives.
    type Output;
    /// Does it for policy `P`.
    fn visit<P: PagingPolicy + 'static>(self) -> Self::Output;
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

macro_rules! policies {
    ($($file:literal $module:ident :: $policy:ident),* $(,)?) => {
        /// Every paging policy, in the order of the table.
        pub static ENTRIES: &[Entry] = &[$(Entry {
            info: &policies::$module::$policy::INFO,
            source: include_str!(concat!("policies/", $file)),
        }),*];

        /// Runs `visitor` for the policy with this canonical name; `None` if there is none.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $(if name == policies::$module::$policy::INFO.name {
                return Some(visitor.visit::<policies::$module::$policy>());
            })*
            None
        }
    };
}

policies! {
    "apr/mod.rs" apr::Apr,
    "car.rs" car::Car,
    "clock.rs" clock::Clock,
    "clock_pro.rs" clock_pro::ClockPro,
    "fifo.rs" fifo::Fifo,
    "lifo_plus.rs" lifo_plus::LifoPlus,
    "opt.rs" opt::Opt,
    "random.rs" random::Random,
    "seq.rs" seq::Seq,
}

/// The entry with this name or alias.
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.info.name == name || entry.info.aliases.contains(&name))
}
