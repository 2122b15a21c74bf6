//! Verifies sorted texts in blocks.

use crate::index::check::{CheckError, ensure};
use crate::index::text_blocks::TextBlocks;
use crate::storage::Archive;

impl TextBlocks {
    /// Checks the order of the texts and the separators. Calls `visit` with each text and the block from the text's entry on;
    /// `visit` takes the entry off.
    pub fn verify<'s>(
        &'s self,
        archive: &'s Archive,
        mut visit: impl FnMut(&str, &mut &'s [u8]) -> Result<(), CheckError>,
    ) -> Result<(), CheckError> {
        // First, since look-ups trust the bytes of a shard.
        let mut separators = 0u64;
        self.shards.verify(archive, |_, _| {
            separators += 1;
            Ok(())
        })?;
        let mut cursor = self.cursor(archive);
        let (mut before, mut blocks, mut texts) = (None, 0u64, 0);
        let mut last_text = Vec::new();
        loop {
            let is_first = cursor.rest.is_empty();
            if !cursor.advance()? {
                break;
            }
            let text = std::mem::take(&mut cursor.text);
            ensure(last_text < text, "the texts do not ascend")?;
            if is_first {
                if let Some(before) = before {
                    let shared = last_text.iter().zip(&text).take_while(|(a, b)| a == b).count();
                    let separated = self.shards.get(archive, &text[..=shared])?;
                    ensure(separated == Some(before), "no shard entry leads to a block")?;
                }
                before = cursor.block.map(|place| place as u64);
                blocks += 1;
            }
            let name = std::str::from_utf8(&text)
                .map_err(|_| CheckError::Violation("a text is not UTF-8"))?;
            visit(name, &mut cursor.rest)?;
            texts += 1;
            last_text.clone_from(&text);
            cursor.text = text;
        }
        // Each separator that was found is another, since they ascend as the texts do.
        ensure(
            separators == blocks.saturating_sub(1),
            "the shards list a block that does not exist",
        )?;
        ensure(before.unwrap_or(0) == self.last as u64, "another block is the last")?;
        ensure(texts == self.texts, "the text count differs from the texts")
    }
}
