//! One control group under steering: its memory, and whether steering pays.

pub(crate) mod governor;
pub(crate) mod session;
