//! Programs in the kernel: where its structures have their fields, and what all objects share.

pub mod btf;
pub mod object;
