//! Builds records from a source of values, the inverse of rendering.
//!
//! The declaration of a record says which members to ask for and their types. A [`ValueSource`]
//! answers from parsed input; this library parses nothing. The same declaration therefore reads
//! what it renders for a single record.

use crate::entity::Entity;
use crate::record::value::{
    AnyRef, Code, Date, Id, Json, LongText, NO_CODE, Named, Orcid, ParentRef, PrintedName, Ref,
    Table, Timestamp, UtcTimestamp, entity,
};
use crate::record::{AuthorOrcid, HostName, OrcidProfile, SourceKind, VenueMetrics, YearPrices};

/// A cursor on one value of parsed input.
///
/// Each method returns `None` if the value is null or not of the wanted type. The implementation
/// reports values of a wrong type.
pub trait ValueSource {
    /// Runs `make` if the value is an object; `None` if it is not.
    fn object<T>(&mut self, make: impl FnOnce(&mut Self) -> Option<T>) -> Option<T>;

    /// Runs `make` on one member of the object; a missing member is null.
    fn member<T>(
        &mut self,
        name: &'static str,
        make: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T>;

    /// Runs `make` on the object that contains the value.
    fn around<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T;

    /// Collects `make` of each element that is not null, without the elements it rejects.
    fn list<T>(&mut self, make: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>>;

    /// `true` or `false`.
    fn boolean(&mut self) -> Option<bool>;

    /// An integer of 64 bits.
    fn integer(&mut self) -> Option<i64>;

    /// An integer from 0 to 2^53 - 1.
    fn count(&mut self) -> Option<u64>;

    /// A year, from 1 to 9999.
    fn year(&mut self) -> Option<i32>;

    /// A finite number, `-0` as `0`.
    fn number(&mut self) -> Option<f64>;

    /// A text that is not only white space.
    fn text(&mut self) -> Option<String>;

    /// A text as [`ValueSource::text`], appended to the pool of the record's long texts.
    fn long_text(&mut self) -> Option<LongText>;

    /// The number of an identifier of an entity.
    fn id(&mut self, entity: Entity) -> Option<u64>;

    /// The symbol of the record that the `id` and `name` of the object refer to.
    fn reference(&mut self, entity: Entity) -> u32;

    /// The symbol of the record that an identifier of any entity refers to.
    fn any_reference(&mut self) -> Option<AnyRef>;

    /// The symbol of a code; `table` is the number of its table.
    fn code(&mut self, table: u8) -> Option<u32>;

    /// The symbol of the member `code` of an object.
    fn named_code(&mut self, table: u8) -> Option<u32>;

    /// A calendar day, without a time zone.
    fn date(&mut self) -> Option<Date>;

    /// A moment in UTC.
    fn timestamp(&mut self) -> Option<Timestamp>;

    /// An ORCID iD without its URL prefix.
    fn orcid(&mut self) -> Option<String>;

    /// An object of names by language, as canonical JSON text.
    fn json(&mut self) -> Option<String>;
}

/// Types that can be built from a [`ValueSource`].
pub trait Build: Sized {
    /// Builds the value; `None` if the source is null or not of this type.
    fn build(source: &mut impl ValueSource) -> Option<Self>;

    /// The value of a missing member; `None` if the object is invalid without the member.
    fn absent() -> Option<Self> {
        None
    }
}

impl<T: Build> Build for Option<T> {
    fn build(source: &mut impl ValueSource) -> Option<Self> {
        Some(T::build(source))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Build> Build for Vec<T> {
    fn build(source: &mut impl ValueSource) -> Option<Self> {
        source.list(|source| T::build(source))
    }
}

impl Build for bool {
    fn build(source: &mut impl ValueSource) -> Option<bool> {
        source.boolean()
    }

    fn absent() -> Option<bool> {
        Some(false)
    }
}

/// Implements [`Build`] for values without members.
macro_rules! leaves {
    ($([$($parameter:tt)*] $type:ty, |$source:ident| $build:expr;)*) => {
        $(impl<$($parameter)*> Build for $type {
            fn build($source: &mut impl ValueSource) -> Option<Self> {
                $build
            }
        })*
    };
}

leaves! {
    // Records use this width for years alone.
    [] i32, |source| source.year();
    [] i64, |source| source.integer();
    [] u64, |source| source.count();
    [] f64, |source| source.number();
    [] String, |source| source.text();
    [] LongText, |source| source.long_text();
    [const E: u8] PrintedName<E>, |source| source.long_text().map(PrintedName);
    [] Date, |source| source.date();
    [] Timestamp, |source| source.timestamp();
    [] UtcTimestamp, |source| source.timestamp().map(|moment| UtcTimestamp::from_micros(moment.micros));
    [] Orcid, |source| source.orcid().map(Orcid);
    [] Json, |source| source.json().map(Json);
    [] AnyRef, |source| source.any_reference();
    [const E: u8] Id<E>, |source| source.id(entity(E)).map(Id);
    [const E: u8] Ref<E>, |source| source.object(|source| Some(Ref(source.reference(entity(E)))));
    [const E: u8] ParentRef<E>, |source| {
        source.object(|source| Some(ParentRef(source.reference(entity(E)))))
    };
    [const T: u8] Code<T>, |source| source.code(T).map(Code);
    [const T: u8] Named<T>, |source| source.named_code(T).map(Named);
    [] YearPrices, |source| Vec::build(source).map(YearPrices);
    [] AuthorOrcid, |source| OrcidProfile::build(source).map(AuthorOrcid);
    // The interface shows the name alone, so input holds nothing else.
    [] HostName, |source| {
        source.text().map(|name| HostName { given: Some(name), ..HostName::default() })
    };
    // The reference is the object that contains these two values.
    [] SourceKind, |source| {
        let code = source.code(Table::SourceType as u8).unwrap_or(NO_CODE);
        Some(SourceKind { source: source.around(|source| source.reference(Entity::Source)), code })
    };
    [] VenueMetrics, |source| {
        Some(VenueMetrics(Ref(source.around(|source| source.reference(Entity::Source)))))
    };
}
