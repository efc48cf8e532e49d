//! The reference models, one file each; the table names them.

use crate::model::{Given, Model};

mod acme;
mod applications;
mod arc;
mod bimodal;
mod bypass;
mod cacheus;
mod car;
mod clock;
mod clock_pro;
mod craw;
mod demote;
mod dip;
mod dulo;
mod eelru;
mod fifo;
mod hyperbolic;
mod karma;
mod lecar;
mod lfu;
mod lfuda;
mod lhd;
mod lifo;
mod lirs;
mod lrfu;
mod lru;
mod lru_k;
mod lru_sp;
mod mq;
mod mru;
mod opt;
mod opt_bypass;
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
mod virtual_io;
mod w_tinylfu;

/// Builds a model.
pub type Build = fn(&Given<'_>) -> Box<dyn Model>;

/// Every model under the canonical name of its policy.
pub static MODELS: &[(&str, Build)] = &[
    ("2q", build::<two_q::TwoQ>),
    ("acme", build::<acme::Acme>),
    ("arc", build::<arc::Arc>),
    ("best", build::<applications::Applications<applications::Equal>>),
    ("bypass", build::<bypass::Bypass>),
    ("cacheus", build::<cacheus::Cacheus>),
    ("car", build::<car::Car>),
    ("clock", build::<clock::Clock>),
    ("clock-pro", build::<clock_pro::ClockPro>),
    ("demote", build::<demote::Demote>),
    ("craw", build::<craw::Craw>),
    ("dip", build::<dip::Dip>),
    ("dulo", build::<dulo::Dulo>),
    ("eelru", build::<eelru::Eelru>),
    ("equal", build::<applications::Applications<applications::Equal>>),
    ("fifo", build::<fifo::Fifo>),
    ("hyperbolic", build::<hyperbolic::Hyperbolic>),
    ("karma", build::<karma::Karma>),
    ("lecar", build::<lecar::LeCar>),
    ("lfu", build::<lfu::Lfu>),
    ("lfuda", build::<lfuda::Lfuda>),
    ("lhd", build::<lhd::Lhd>),
    ("lifo", build::<lifo::Lifo>),
    ("lirs", build::<lirs::Lirs>),
    ("lrfu", build::<lrfu::Lrfu>),
    ("lru", build::<lru::Lru>),
    ("lru-k", build::<lru_k::LruK>),
    ("lru-sp", build::<lru_sp::LruSp>),
    ("mq", build::<mq::Mq>),
    ("mru", build::<mru::Mru>),
    ("opt", build::<opt::Opt>),
    ("opt-bypass", build::<opt_bypass::OptBypass>),
    ("pcc", build::<pcc::Pcc>),
    ("qos", build::<applications::Applications<applications::Qos>>),
    ("random", build::<random::Random>),
    ("render", build::<render::Render>),
    ("rrip", build::<rrip::Rrip>),
    ("s3-fifo", build::<s3_fifo::S3Fifo>),
    ("sarc", build::<sarc::Sarc>),
    ("seq", build::<seq::Seq>),
    ("shared", build::<shared::Shared>),
    ("sieve", build::<sieve::Sieve>),
    ("slru", build::<slru::Slru>),
    ("ubm", build::<ubm::Ubm>),
    ("ucp", build::<applications::Applications<applications::Ucp>>),
    ("ulc", build::<ulc::Ulc>),
    ("virtual", build::<virtual_io::VirtualIo>),
    ("w-tinylfu", build::<w_tinylfu::WTinyLfu>),
];

/// Builds the model of the policy with this canonical name; `None` if it has none.
pub fn model(name: &str, given: &Given<'_>) -> Option<Box<dyn Model>> {
    MODELS.iter().find(|(known, _)| *known == name).map(|(_, build)| build(given))
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
