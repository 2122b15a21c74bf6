//! Builds records from the tree of a native line, as leniently as from an OpenAlex line.

use pinakes_format::entity::Entity;
use pinakes_format::record::build::ValueSource;
use pinakes_format::record::{AnyRef, Date, LongText, Timestamp};

use crate::frontend::international::RawInternational;
use crate::object::SegmentBuilder;
use crate::read::{
    Diagnostics, JsonValue, Lenient, MaybeBool, MaybeId, MaybeNumber, MaybeObject, MaybeText,
    identifier, parse_any_reference, parse_reference, times,
};

/// The prefix of a rendered ORCID iD.
const ORCID_URL: &str = "https://orcid.org/";

/// The current value in the tree of a line, and the segment that collects references.
pub(crate) struct TreeCursor<'t, 'a, 's> {
    at: &'t JsonValue<'a>,
    around: &'t JsonValue<'a>,
    segment: &'s mut SegmentBuilder,
    diagnostics: &'s Diagnostics,
    /// The last object that was read as a reference, and its symbol. Several members of a record
    /// may read one object as a reference.
    referred: Option<(&'t JsonValue<'a>, u32)>,
}

impl<'t, 'a, 's> TreeCursor<'t, 'a, 's> {
    pub(crate) fn new(
        line: &'t JsonValue<'a>,
        segment: &'s mut SegmentBuilder,
        diagnostics: &'s Diagnostics,
    ) -> TreeCursor<'t, 'a, 's> {
        TreeCursor { at: line, around: line, segment, diagnostics, referred: None }
    }

    /// Reads the current value leniently.
    fn read<T: Lenient<'t>>(&self) -> T {
        // Lenient types accept any value, and parsing the line found every other error.
        T::read(self.at, self.diagnostics).unwrap_or_default()
    }

    fn read_member<T: Lenient<'t>>(&self, name: &str) -> T {
        let value = self.at.members().and_then(|members| members.get(name));
        value.and_then(|value| T::read(value, self.diagnostics).ok()).unwrap_or_default()
    }

    /// Calls `make` with `to` as the current value.
    fn step<T>(&mut self, to: &'t JsonValue<'a>, make: impl FnOnce(&mut Self) -> T) -> T {
        let (at, around) = (self.at, self.around);
        (self.at, self.around) = (to, at);
        let made = make(self);
        (self.at, self.around) = (at, around);
        warn_of_unknown_members(to, self.diagnostics);
        made
    }
}

/// Warns of each member of an object that no declaration requested.
pub(crate) fn warn_of_unknown_members(value: &JsonValue<'_>, diagnostics: &Diagnostics) {
    let unknown = value.members().map_or(0, |members| members.unrequested_count());
    (0..unknown).for_each(|_| diagnostics.warn("unknown_member"));
}

impl ValueSource for TreeCursor<'_, '_, '_> {
    fn object<T>(&mut self, make: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        match self.at {
            JsonValue::Object(_) => make(self),
            JsonValue::Null => None,
            _ => {
                self.diagnostics.warn("not_an_object");
                None
            }
        }
    }

    fn member<T>(
        &mut self,
        name: &'static str,
        make: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let value = self.at.members().and_then(|members| members.get(name));
        self.step(value.unwrap_or(&JsonValue::Null), make)
    }

    fn around<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let at = std::mem::replace(&mut self.at, self.around);
        let made = make(self);
        self.at = at;
        made
    }

    fn list<T>(&mut self, mut make: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        match self.at {
            JsonValue::List(list) => {
                let given = list.iter().filter(|element| !matches!(element, JsonValue::Null));
                Some(given.filter_map(|element| self.step(element, &mut make)).collect())
            }
            JsonValue::Null => None,
            _ => {
                self.diagnostics.warn("not_an_array");
                None
            }
        }
    }

    fn boolean(&mut self) -> Option<bool> {
        self.read::<MaybeBool>().0
    }

    fn integer(&mut self) -> Option<i64> {
        self.read::<MaybeNumber>().integer(self.diagnostics)
    }

    fn count(&mut self) -> Option<u64> {
        self.read::<MaybeNumber>().count(self.diagnostics)
    }

    fn year(&mut self) -> Option<i32> {
        self.read::<MaybeNumber>().year(self.diagnostics)
    }

    fn number(&mut self) -> Option<f64> {
        self.read::<MaybeNumber>().fraction()
    }

    fn text(&mut self) -> Option<String> {
        self.read::<MaybeText<'_>>().to_owned()
    }

    fn long_text(&mut self) -> Option<LongText> {
        self.read::<MaybeText<'_>>().as_str().map(|text| self.segment.long_text(text))
    }

    fn id(&mut self, entity: Entity) -> Option<u64> {
        let id = self.read::<MaybeId<'_>>();
        id.0.as_str().and_then(|id| identifier::parse(entity, id).ok())
    }

    fn reference(&mut self, entity: Entity) -> u32 {
        if let Some((_, symbol)) =
            self.referred.filter(|(object, _)| std::ptr::eq(*object, self.at))
        {
            return symbol;
        }
        let id = parse_reference(entity, &self.read_member("id"), self.diagnostics);
        let name = self.read_member::<MaybeText<'_>>("name");
        let symbol = self.segment.symbol(entity as u8, id, name.as_str());
        self.referred = Some((self.at, symbol));
        symbol
    }

    fn any_reference(&mut self) -> Option<AnyRef> {
        let (entity, id) = parse_any_reference(&self.read(), self.diagnostics)?;
        Some(self.segment.any_reference(entity, id))
    }

    fn code(&mut self, table: u8) -> Option<u32> {
        let text = self.read::<MaybeText<'_>>();
        text.as_str().map(|text| self.segment.code_number(table, Some(text)))
    }

    fn named_code(&mut self, table: u8) -> Option<u32> {
        // The name follows from the code; the name in the line is ignored.
        self.object(|given| {
            given.member("name", |_| Some(()));
            given.member("code", |given| given.code(table))
        })
    }

    fn date(&mut self) -> Option<Date> {
        times::date(&self.read(), self.diagnostics)
    }

    fn timestamp(&mut self) -> Option<Timestamp> {
        times::timestamp(&self.read(), self.diagnostics)
    }

    fn orcid(&mut self) -> Option<String> {
        let text = self.read::<MaybeText<'_>>();
        // A rendered value is read back unchanged, even if it is no valid iD.
        match text.as_str()?.strip_prefix(ORCID_URL) {
            Some(bare) => Some(bare.to_ascii_uppercase()).filter(|bare| !bare.is_empty()),
            None => identifier::bare_orcid(text.as_str()?),
        }
    }

    fn json(&mut self) -> Option<String> {
        let names = |value: &JsonValue<'_>| {
            let names = MaybeObject::<RawInternational<'_>>::read(value, self.diagnostics);
            names.unwrap_or_default().0.map(|names| names.to_json().0)
        };
        // A table has the object as a text.
        match self.at.text().and_then(|text| JsonValue::parse(text, self.diagnostics).ok()) {
            Some(inside) => names(&inside),
            None => names(self.at),
        }
    }
}
