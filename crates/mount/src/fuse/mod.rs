//! The kernel's protocol: mounting, requests and answers.

pub(crate) mod dropping;
mod kernel;
mod reading;
pub(crate) mod session;
mod values;
