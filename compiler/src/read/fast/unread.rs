//! Values that no type reads.

use crate::read::fast::{Doubt, Parser};
use crate::read::strict::keys::{FEW, KeyIndex};

impl Parser<'_> {
    /// Consumes a value, and checks it like a value that is read.
    pub(super) fn skip_value(&mut self) -> Result<(), Doubt> {
        match self.skip_spaces() {
            b'"' => self.skip_string(),
            b'{' => self.skip_object(),
            b'[' => self.skip_array(),
            b'0'..=b'9' | b'-' => self.skip_number(),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => Err(Doubt),
        }
    }

    fn skip_array(&mut self) -> Result<(), Doubt> {
        self.open()?;
        if self.skip_spaces() != b']' {
            self.skip_value()?;
            while self.skip_spaces() == b',' {
                self.at += 1;
                self.skip_value()?;
            }
        }
        self.close(b']')
    }

    fn skip_object(&mut self) -> Result<(), Doubt> {
        self.open()?;
        let from = self.unread_keys.len();
        let mut index = KeyIndex::<FEW>::default();
        let mut is_first = true;
        while self.skip_spaces() != b'}' {
            if !std::mem::take(&mut is_first) {
                self.expect(b',')?;
            }
            let key = self.key()?;
            if index.insert(self.unread_keys.get(from..).unwrap_or_default(), &key) {
                return Err(Doubt);
            }
            self.unread_keys.push(key);
            self.expect(b':')?;
            self.skip_value()?;
        }
        self.unread_keys.truncate(from);
        self.close(b'}')
    }
}
