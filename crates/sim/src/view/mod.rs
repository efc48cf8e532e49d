//! A trace as a scheme wants to see it: classified, cut into blocks of the parts' own sizes, with the inodes and
//! directories that naming a file touches.

mod cell;
mod cut;
mod requests;
mod show;

pub(crate) use cell::ClassCell;
pub(crate) use requests::Requests;
pub(crate) use show::{Shown, Span, What, show};
