//! Asking a store: credentials, concurrent calls with timeouts, reads that are made twice, a limit of the bandwidth.

pub(crate) mod bandwidth;
pub(crate) mod calls;
mod connect;
pub(crate) mod hedge;
pub(crate) mod in_flight;
mod profile;
pub(crate) mod store;
pub(crate) mod stream;
