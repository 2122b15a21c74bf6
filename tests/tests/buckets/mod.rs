//! Inputs and objects in a bucket, against two stores: moto and s3rver.

mod inputs;
mod objects;
mod proxy;
mod region;
mod setup;
mod transfers;
