//! Records made of what is given for their members: rendering, the other way round.
//!
//! A declaration says which members a value has, and what each of them is. Whoever reads them says
//! what is there ([`Given`]): this library parses nothing. So what the declaration renders in the
//! shape of a single record, the same declaration reads.

use crate::entity::Entity;
use crate::record::value::{
    AnyRef, Code, Cold, Date, Id, Json, NO_CODE, Named, Orcid, ParentRef, Ref, Table, Timestamp,
    UtcTimestamp, entity,
};
use crate::record::{AuthorOrcid, HostName, OrcidProfile, SourceKind, VenueMetrics, YearPrices};

/// The value at hand, as whoever reads it has it.
///
/// What a value must be and is not counts as not given: each of these is then `None`, as where the
/// value is null, and telling anybody is the reader's.
pub trait Given {
    /// Makes something of the value's members; `None` where it is no object.
    fn object<T>(&mut self, make: impl FnOnce(&mut Self) -> Option<T>) -> Option<T>;

    /// Makes something of one member of the object at hand, which is null where it is not there.
    fn member<T>(
        &mut self,
        name: &'static str,
        make: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T>;

    /// Makes something of the object that the value is a member of.
    fn around<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T;

    /// Makes something of each element that is not null, and leaves out those nothing is made of.
    fn list<T>(&mut self, make: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>>;

    /// `true` or `false`.
    fn boolean(&mut self) -> Option<bool>;

    /// An integer.
    fn integer(&mut self) -> Option<i64>;

    /// An integer from 0 to 2^53 - 1.
    fn count(&mut self) -> Option<u64>;

    /// A year, from 1 to 9999.
    fn year(&mut self) -> Option<i32>;

    /// A finite number, `-0` as `0`.
    fn number(&mut self) -> Option<f64>;

    /// A text that is more than white space.
    fn text(&mut self) -> Option<String>;

    /// The same, put into the pool of the record under way.
    fn cold(&mut self) -> Option<Cold>;

    /// The number of an entity's identifier.
    fn id(&mut self, entity: Entity) -> Option<u64>;

    /// The mention of the record that the `id` and `name` of the object at hand refer to.
    fn reference(&mut self, entity: Entity) -> u32;

    /// The mention of the record that an identifier of any entity refers to.
    fn any_reference(&mut self) -> Option<AnyRef>;

    /// The mention of a code, by the number of its table.
    fn code(&mut self, table: u8) -> Option<u32>;

    /// The mention of the `code` of an object.
    fn named_code(&mut self, table: u8) -> Option<u32>;

    /// A day.
    fn date(&mut self) -> Option<Date>;

    /// A moment.
    fn timestamp(&mut self) -> Option<Timestamp>;

    /// An ORCID iD, bare.
    fn orcid(&mut self) -> Option<String>;

    /// Names by language, as their canonical text.
    fn json(&mut self) -> Option<String>;
}

/// Types that can be made of what is given.
pub trait Make: Sized {
    /// The value at hand; `None` where it is null, or nothing such a value could be.
    fn make(given: &mut impl Given) -> Option<Self>;

    /// What stands for a member that is not given; `None` where its object cannot be without it.
    fn absent() -> Option<Self> {
        None
    }
}

impl<T: Make> Make for Option<T> {
    fn make(given: &mut impl Given) -> Option<Self> {
        Some(T::make(given))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Make> Make for Vec<T> {
    fn make(given: &mut impl Given) -> Option<Self> {
        given.list(|given| T::make(given))
    }
}

/// Values without members: how each is made.
macro_rules! leaves {
    ($([$($parameter:tt)*] $type:ty, |$given:ident| $make:expr;)*) => {
        $(impl<$($parameter)*> Make for $type {
            fn make($given: &mut impl Given) -> Option<Self> {
                $make
            }
        })*
    };
}

leaves! {
    [] bool, |given| given.boolean();
    // Integers of this width are years.
    [] i32, |given| given.year();
    [] i64, |given| given.integer();
    [] u64, |given| given.count();
    [] f64, |given| given.number();
    [] String, |given| given.text();
    [] Cold, |given| given.cold();
    [] Date, |given| given.date();
    [] Timestamp, |given| given.timestamp();
    [] UtcTimestamp, |given| given.timestamp().map(|moment| UtcTimestamp::of(moment.micros));
    [] Orcid, |given| given.orcid().map(Orcid);
    [] Json, |given| given.json().map(Json);
    [] AnyRef, |given| given.any_reference();
    [const E: u8] Id<E>, |given| given.id(entity(E)).map(Id);
    [const E: u8] Ref<E>, |given| given.object(|given| Some(Ref(given.reference(entity(E)))));
    [const E: u8] ParentRef<E>, |given| {
        given.object(|given| Some(ParentRef(given.reference(entity(E)))))
    };
    [const T: u8] Code<T>, |given| given.code(T).map(Code);
    [const T: u8] Named<T>, |given| given.named_code(T).map(Named);
    [] YearPrices, |given| Vec::make(given).map(YearPrices);
    [] AuthorOrcid, |given| OrcidProfile::make(given).map(AuthorOrcid);
    // The name alone is shown, so it is all there is to read.
    [] HostName, |given| {
        given.text().map(|name| HostName { given: Some(name), ..HostName::default() })
    };
    // These two stand beside the reference they are of.
    [] SourceKind, |given| {
        let code = given.code(Table::SourceType as u8).unwrap_or(NO_CODE);
        Some(SourceKind { source: given.around(|given| given.reference(Entity::Source)), code })
    };
    [] VenueMetrics, |given| {
        Some(VenueMetrics(Ref(given.around(|given| given.reference(Entity::Source)))))
    };
}
