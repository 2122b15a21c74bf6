//! Compiling on many machines: plans, units and links, and the schedulers that run them.

mod kubernetes;
mod parallel;
mod setup;
mod slurm;
mod spark;
mod units;
