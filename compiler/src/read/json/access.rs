//! The elements of an array, and the members of an object.

use std::borrow::Cow;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use crate::read::json::fault::JsonFault;
use crate::read::json::keys::{FEW, KeyIndex};
use crate::read::json::{JsonDeserializer, Parser};

/// The elements of an array, from behind the opening to before the closing bracket.
pub(super) struct Elements<'p, 'de> {
    parser: &'p mut Parser<'de>,
    is_first: bool,
}

impl<'p, 'de> Elements<'p, 'de> {
    pub(super) fn new(parser: &'p mut Parser<'de>) -> Elements<'p, 'de> {
        Elements { parser, is_first: true }
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = JsonFault;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, JsonFault> {
        if self.parser.skip_spaces() == b']' {
            return Ok(None);
        }
        if !std::mem::take(&mut self.is_first) {
            self.parser.expect(b',')?;
        }
        seed.deserialize(JsonDeserializer { parser: self.parser, member: None }).map(Some)
    }
}

/// The members of an object, from behind the opening to before the closing bracket. The type that reads a
/// member refuses its second occurrence; [`UnreadKeys`] refuses the second occurrence of any other.
pub(super) struct Members<'p, 'de> {
    parser: &'p mut Parser<'de>,
    is_first: bool,
    keys: UnreadKeys<'de>,
}

/// The current key of an object, and an index of its keys that no type reads.
pub(super) struct UnreadKeys<'de> {
    current: Cow<'de, str>,
    /// The first key of the object in [`Parser::unread_keys`].
    from: usize,
    index: KeyIndex<FEW>,
}

impl<'de> UnreadKeys<'de> {
    /// Adds the current key; fails where the object has the key already.
    #[inline]
    pub(super) fn insert(&mut self, keys: &mut Vec<Cow<'de, str>>) -> Result<(), JsonFault> {
        let own = keys.get(self.from..).unwrap_or_default();
        if self.index.insert(own, &self.current) {
            return Err(JsonFault::DuplicateKey);
        }
        keys.push(std::mem::take(&mut self.current));
        Ok(())
    }
}

impl<'p, 'de> Members<'p, 'de> {
    #[inline]
    pub(super) fn new(parser: &'p mut Parser<'de>) -> Members<'p, 'de> {
        let from = parser.unread_keys.len();
        let keys = UnreadKeys { current: Cow::Borrowed(""), from, index: KeyIndex::default() };
        Members { parser, is_first: true, keys }
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = JsonFault;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, JsonFault> {
        if self.parser.skip_spaces() == b'}' {
            return Ok(None);
        }
        if !std::mem::take(&mut self.is_first) {
            self.parser.expect(b',')?;
        }
        self.keys.current = self.parser.key()?;
        match &self.keys.current {
            Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
            Cow::Owned(key) => seed.deserialize(StrDeserializer::new(key)),
        }
        .map(Some)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, JsonFault> {
        self.parser.expect(b':')?;
        seed.deserialize(JsonDeserializer { parser: self.parser, member: Some(&mut self.keys) })
    }
}
