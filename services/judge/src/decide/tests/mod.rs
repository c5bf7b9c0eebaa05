//! Every count, kept and broken.

mod duplicates;
mod fate;
mod order;
mod posts;
mod verdict;
