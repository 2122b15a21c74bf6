//! The members that a type reads, for inputs that store every member apart.

/// The part of a value that a type reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The value of a scalar, or the elements of a list of scalars. Of an object only its presence.
    Scalar,
    /// Everything below the value.
    All,
    /// These members of an object, or of the objects of a list.
    Members(&'static [(&'static str, Wanted)]),
}

impl Wanted {
    /// The parts of a member that the type reads; `None` for a member that it ignores.
    pub(crate) fn member(self, name: &str) -> Option<Wanted> {
        match self {
            Wanted::Scalar => None,
            Wanted::All => Some(Wanted::All),
            Wanted::Members(members) => {
                members.iter().find(|(member, _)| *member == name).map(|(_, wanted)| *wanted)
            }
        }
    }
}
