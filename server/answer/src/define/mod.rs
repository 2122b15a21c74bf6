//! The parts of every endpoint, the lowest first.
//!
//! - A host gives [`settings`], its [`host`] functions and a [`served`] snapshot. [`charge`] and [`freshness`]
//!   are facts that both sides name alike.
//! - A [`call`] is a request over one snapshot, for a thread and within [`work_limits`]. Its [`plan`] is a reply or work,
//!   which ends with a reply or a [`failure`].
//! - An [`endpoint`] is a row of the table, a [`path`] what a row stands for, and a [`route`] finds the row of a request.
//!
//! Imports `clock`, `openapi`, `reply`, `request`.

pub(crate) mod call;
pub(crate) mod charge;
pub(crate) mod endpoint;
pub(crate) mod failure;
pub(crate) mod freshness;
pub(crate) mod host;
pub(crate) mod path;
pub(crate) mod plan;
pub(crate) mod route;
pub(crate) mod served;
pub(crate) mod settings;
pub(crate) mod work_limits;

pub(crate) use crate::define::call::{Asked, Call, Caller, Interface};
pub(crate) use crate::define::charge::{Charge, Quota, Quotas};
pub(crate) use crate::define::endpoint::{Endpoint, Lists, Reader};
pub(crate) use crate::define::failure::{Answer, Failure};
pub(crate) use crate::define::host::{Event, GraphqlOutcome, HealthIssue, Host};
pub(crate) use crate::define::path::{RoutePath, Subject};
pub(crate) use crate::define::plan::{Cost, Plan, Planned, Planning, page_or_not_found};
pub(crate) use crate::define::settings::{Collection, OtherPages};
pub(crate) use crate::define::work_limits::{Thread, WorkLimits};
