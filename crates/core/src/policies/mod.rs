//! The replacement policies, one file each. The table in [`crate::registry`] names them.

pub mod arc;
pub mod car;
pub mod clock;
pub mod clock_pro;
pub mod dip;
pub mod fifo;
pub mod hyperbolic;
pub mod lecar;
pub mod lfu;
pub mod lfuda;
pub mod lifo;
pub mod lirs;
pub mod lrfu;
pub mod lru;
pub mod lru_k;
pub mod mq;
pub mod mru;
pub mod opt;
pub mod opt_bypass;
pub mod random;
pub mod rrip;
pub mod s3_fifo;
pub mod sieve;
pub mod slru;
pub mod two_q;
pub mod w_tinylfu;
