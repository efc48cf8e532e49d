//! The reference models, one file each; the table names them.

use crate::model::{Given, Model};

mod arc;
mod bimodal;
mod car;
mod clock;
mod clock_pro;
mod dip;
mod fifo;
mod lfu;
mod lfuda;
mod lifo;
mod lirs;
mod lrfu;
mod lru;
mod lru_k;
mod mru;
mod opt;
mod opt_bypass;
mod random;
mod rrip;
mod s3_fifo;
mod sieve;
mod slru;
mod two_q;
mod w_tinylfu;

/// Builds a model.
pub type Build = fn(&Given<'_>) -> Box<dyn Model>;

/// Every model under the canonical name of its policy.
pub static MODELS: &[(&str, Build)] = &[
    ("2q", build::<two_q::TwoQ>),
    ("arc", build::<arc::Arc>),
    ("car", build::<car::Car>),
    ("clock", build::<clock::Clock>),
    ("clock-pro", build::<clock_pro::ClockPro>),
    ("dip", build::<dip::Dip>),
    ("fifo", build::<fifo::Fifo>),
    ("lfu", build::<lfu::Lfu>),
    ("lfuda", build::<lfuda::Lfuda>),
    ("lifo", build::<lifo::Lifo>),
    ("lirs", build::<lirs::Lirs>),
    ("lrfu", build::<lrfu::Lrfu>),
    ("lru", build::<lru::Lru>),
    ("lru-k", build::<lru_k::LruK>),
    ("mru", build::<mru::Mru>),
    ("opt", build::<opt::Opt>),
    ("opt-bypass", build::<opt_bypass::OptBypass>),
    ("random", build::<random::Random>),
    ("rrip", build::<rrip::Rrip>),
    ("s3-fifo", build::<s3_fifo::S3Fifo>),
    ("sieve", build::<sieve::Sieve>),
    ("slru", build::<slru::Slru>),
    ("w-tinylfu", build::<w_tinylfu::WTinyLfu>),
];

/// Builds the model of the policy with this canonical name; `None` if it has none.
pub fn model(name: &str, given: &Given<'_>) -> Option<Box<dyn Model>> {
    MODELS.iter().find(|(known, _)| *known == name).map(|(_, build)| build(given))
}

fn build<M: Model + 'static>(given: &Given<'_>) -> Box<dyn Model> {
    Box::new(M::new(given))
}
