//! Characters that are not visible.

/// Whether a character is a control or format character: invisible, and able to move a cursor, reverse
/// the writing direction or begin a line.
pub fn is_unseen(character: char) -> bool {
    let is_format = matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    character.is_control() || is_format
}
