//! Taking over from the previous snapshot: the reasons why a step cannot, and the list of these reasons in the report.
//!
//! A step that reads the previous snapshot fails with a [`TakeOver`]:
//!
//! ```text
//! Impossible(reason)   a file of the previous snapshot is damaged, or contradicts the state of its link
//!                      → the link makes the same bytes from the objects, and reports the reason
//! Failed(error)        a full disk, an object that contradicts itself, anything else
//!                      → the run ends with the error
//! ```

use std::sync::{Mutex, PoisonError};
use std::{fmt, io};

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::OpenError;
use pinakes_format::storage::ReadError;
use serde::Serialize;

use crate::error::{Error, Unreadable};

/// Why something cannot be taken over from the previous snapshot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    /// The link `current` cannot be read.
    #[error("`current` cannot be read: {0}")]
    Current(#[source] io::Error),
    /// The previous snapshot cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The state that the previous link kept cannot be used.
    #[error("the state of its link {0}")]
    State(&'static str),
    /// A row or a file of the previous snapshot cannot be read.
    #[error(transparent)]
    Read(Unreadable),
    /// The previous snapshot and the state of its link disagree.
    #[error("it contradicts the state of its link: {0}")]
    Contradiction(&'static str),
    /// A term of the full-text index has the most forms that are kept apart, so that some rows may have other forms.
    #[error("a term of its full-text index has more forms than are kept apart")]
    Forms,
}

/// The error of a step that reads the previous snapshot. `E` is the error of the step's other work.
#[derive(Debug)]
pub(crate) enum TakeOver<E = Error> {
    /// The step can be done without the previous snapshot.
    Impossible(Reason),
    /// The run must end.
    Failed(E),
}

impl<E> From<E> for TakeOver<E> {
    fn from(error: E) -> TakeOver<E> {
        TakeOver::Failed(error)
    }
}

impl<E> TakeOver<E> {
    /// The error for two facts about the previous snapshot that exclude each other.
    pub(crate) fn contradiction(rule: &'static str) -> TakeOver<E> {
        TakeOver::Impossible(Reason::Contradiction(rule))
    }

    /// Converts the error of the step's other work.
    pub(crate) fn map_failed<F>(self, convert: impl FnOnce(E) -> F) -> TakeOver<F> {
        match self {
            TakeOver::Impossible(reason) => TakeOver::Impossible(reason),
            TakeOver::Failed(error) => TakeOver::Failed(convert(error)),
        }
    }
}

impl TakeOver {
    /// The error of a step that took nothing over.
    pub(crate) fn into_error(self) -> Error {
        match self {
            TakeOver::Impossible(reason) => Error::Internal(reason.to_string()),
            TakeOver::Failed(error) => error,
        }
    }
}

impl<E: From<Unreadable>> TakeOver<E> {
    /// The error for a row of the previous snapshot that cannot be read. Faults of this program are none of the
    /// snapshot, so that they end the run.
    pub(crate) fn unreadable(unreadable: Unreadable) -> TakeOver<E> {
        match unreadable.source {
            ReadError::WouldWait | ReadError::Internal(_) => TakeOver::Failed(unreadable.into()),
            ReadError::Damage(_)
            | ReadError::Absent { .. }
            | ReadError::Fault(_)
            | ReadError::Corrupt { .. }
            | ReadError::Row { .. } => TakeOver::Impossible(Reason::Read(unreadable)),
        }
    }

    /// The error for a file of the previous snapshot that belongs to no entity.
    pub(crate) fn snapshot(source: ReadError) -> TakeOver<E> {
        TakeOver::at(None::<Entity>, None::<u32>)(source)
    }

    /// Names the row of the previous snapshot in a failed read.
    pub(crate) fn at(
        entity: impl Into<Option<Entity>>,
        row: impl Into<Option<u32>>,
    ) -> impl FnOnce(ReadError) -> TakeOver<E> {
        let name = Unreadable::at(entity, row);
        move |source| TakeOver::unreadable(name(source))
    }
}

/// The parts of a snapshot that are taken over each on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TakenPart {
    /// Everything.
    Snapshot,
    /// Records of an entity.
    Records,
    /// The lists of references of an entity's records.
    References,
    /// The index files of an entity.
    Indexes,
}

/// A part of the previous snapshot that could not be taken over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NotTakenOver {
    /// Taken over on its own: the other parts are taken over all the same.
    pub part: TakenPart,
    /// Plural name of the part's entity; `null` for the whole snapshot.
    pub entity: Option<&'static str>,
    /// The first fault: the file, the row and the rule.
    pub reason: String,
}

impl fmt::Display for NotTakenOver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.part {
            TakenPart::Snapshot => "snapshot",
            TakenPart::Records => "records",
            TakenPart::References => "references",
            TakenPart::Indexes => "indexes",
        };
        match self.entity {
            Some(entity) => write!(out, "{part} of {entity}: {}", self.reason),
            None => write!(out, "{part}: {}", self.reason),
        }
    }
}

/// Collects the parts that could not be taken over. All threads of a link share the list.
#[derive(Default)]
pub(crate) struct NotTakenOverList(Mutex<Vec<NotTakenOver>>);

impl NotTakenOverList {
    /// Notes why a part is made from the objects instead. Keeps the first reason for each part and entity.
    pub(crate) fn note(&self, part: TakenPart, entity: Option<Entity>, reason: &Reason) {
        let entity = entity.map(|entity| entity.facts().plural);
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !list.iter().any(|known| (known.part, known.entity) == (part, entity)) {
            list.push(NotTakenOver { part, entity, reason: reason.to_string() });
        }
    }

    /// Takes a result over; `None` with a note if that is impossible. Any other error ends the run.
    pub(crate) fn or_note<T>(
        &self,
        part: TakenPart,
        entity: impl Into<Option<Entity>>,
        taken: Result<T, TakeOver>,
    ) -> Result<Option<T>, Error> {
        match taken {
            Ok(taken) => Ok(Some(taken)),
            Err(TakeOver::Impossible(reason)) => {
                self.note(part, entity.into(), &reason);
                Ok(None)
            }
            Err(TakeOver::Failed(error)) => Err(error),
        }
    }

    /// The parts, in a fixed order.
    pub(crate) fn take(&self) -> Vec<NotTakenOver> {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.sort();
        std::mem::take(&mut *list)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(source: ReadError) -> Result<Option<()>, Error> {
        let taken = Err(TakeOver::at(Entity::Output, 5)(source));
        NotTakenOverList::default().or_note(TakenPart::Records, Entity::Output, taken)
    }

    #[test]
    fn only_a_fault_of_the_previous_snapshot_falls_back() {
        assert!(check(ReadError::corrupt("records", "a record is cut")).unwrap().is_none());
        let error = check(ReadError::WouldWait).unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert!(std::error::Error::source(&error).is_some());
        let list = NotTakenOverList::default();
        let full = Error::output("orders")(io::ErrorKind::StorageFull.into());
        let failed = list.or_note::<()>(TakenPart::Indexes, None, Err(TakeOver::Failed(full)));
        assert_eq!(failed.unwrap_err().exit_code(), 6);
        let broken = Error::Internal("an object contradicts itself".into());
        let failed = list.or_note::<()>(TakenPart::Records, None, Err(TakeOver::Failed(broken)));
        assert_eq!(failed.unwrap_err().exit_code(), 1);
        assert_eq!(list.take(), []);
    }

    #[test]
    fn a_reason_names_the_file_the_row_and_the_rule_once_for_each_part() {
        let list = NotTakenOverList::default();
        for row in [5, 6] {
            let cut = ReadError::corrupt("records", "a record is cut");
            let taken = Err(TakeOver::at(Entity::Output, row)(cut));
            assert!(
                list.or_note::<()>(TakenPart::Records, Entity::Output, taken).unwrap().is_none()
            );
        }
        let noted = list.take();
        let texts: Vec<String> = noted.iter().map(NotTakenOver::to_string).collect();
        let expected = "records of outputs: row 5 of outputs: `records` is corrupt: a record is cut; rebuild the \
                        snapshot";
        assert_eq!(texts, [expected]);
    }
}
