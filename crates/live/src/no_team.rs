//! A build without PostgreSQL has no team to show.

/// There is none.
#[derive(Clone, Copy, Debug)]
pub enum NoTeamPlace {}

#[derive(Debug, Default)]
pub(crate) struct NoTeamWatch;
