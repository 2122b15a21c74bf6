//! The full-text index: texts of records, inverted batch by batch and merged term by term.
//!
//! - `batch` inverts the texts of a batch of records; `vocabulary` numbers the words.
//! - `merge` writes the index from the runs of all chunks, and from the index of the previous snapshot, which `old` reads.
//!
//! A run holds the terms of one chunk's rows. An entry of a run has one part for each batch, as the batch encoded it:
//!
//! ```text
//! batch 1: "graph" → rows 4, 9    "network" → row 3
//! batch 2: "graph" → row 2,050                         run: "graph" → [4, 9] [2,050]   "network" → [3]
//! ```

pub(crate) mod batch;
mod merge;
mod old;
mod vocabulary;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    io::{self, Write},
    path::Path,
};

use pinakes_format::storage::blobs::Spool;
use pinakes_format::storage::leb128;

/// The runs of an entity's texts.
pub(crate) struct TextRuns {
    /// The encoded batches of the current chunk.
    batches: Vec<Vec<u8>>,
    held_bytes: usize,
    spool: Spool,
    position: usize,
    runs: Vec<Run>,
}

/// A run: the chunk of its rows, and its range in the spool.
struct Run {
    chunk: u32,
    from: usize,
    to: usize,
}

impl TextRuns {
    pub fn new(scratch: &Path) -> TextRuns {
        TextRuns {
            batches: Vec::new(),
            held_bytes: 0,
            spool: Spool::new(scratch),
            position: 0,
            runs: Vec::new(),
        }
    }

    /// Adds an encoded batch of the next rows.
    pub fn push(&mut self, batch: &[u8]) {
        self.held_bytes += batch.len();
        self.batches.push(batch.to_vec());
    }

    /// Bytes in memory.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Writes the batches in memory, all of one chunk, as a run.
    pub fn close_run(&mut self, chunk: u32) -> io::Result<()> {
        let from = self.position;
        let mut rests: Vec<&[u8]> = Vec::with_capacity(self.batches.len());
        // The next term of each batch, with its first bytes as a number that is fast to compare, and the batch.
        let mut heap = BinaryHeap::new();
        for (number, batch) in self.batches.iter().enumerate() {
            let mut rest = &batch[..];
            if let Some((stem, part)) = take_entry(&mut rest)? {
                heap.push(Reverse((first_bytes(stem), stem, number, part)));
            }
            rests.push(rest);
        }
        let (mut last, mut parts): (&[u8], Vec<&[u8]>) = (&[], Vec::new());
        while let Some(mut top) = heap.peek_mut() {
            let Reverse((_, stem, number, part)) = *top;
            if stem != last {
                self.position += write_entry(&mut self.spool, last, &parts)?;
                last = stem;
                parts.clear();
            }
            parts.push(part);
            match take_entry(&mut rests[number])? {
                Some((stem, part)) => *top = Reverse((first_bytes(stem), stem, number, part)),
                None => drop(PeekMut::pop(top)),
            }
        }
        self.position += write_entry(&mut self.spool, last, &parts)?;
        if self.position > from {
            self.runs.push(Run { chunk, from, to: self.position });
        }
        self.batches.clear();
        self.held_bytes = 0;
        Ok(())
    }
}

/// The first eight bytes of a stem as a number that ascends with the text. Stems have no zero bytes.
fn first_bytes(stem: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = stem.len().min(8);
    first[..length].copy_from_slice(&stem[..length]);
    u64::from_be_bytes(first)
}

/// Writes the entry of a term. Returns the bytes written: none without parts.
fn write_entry(out: &mut impl Write, stem: &[u8], parts: &[&[u8]]) -> io::Result<usize> {
    if parts.is_empty() {
        return Ok(0);
    }
    let mut head = Vec::with_capacity(stem.len() + 8);
    leb128::push(stem.len() as u64, &mut head);
    head.extend_from_slice(stem);
    // A run has less than 4 GiB: its batches were in memory.
    let length: usize = parts.iter().map(|part| part.len()).sum();
    head.extend_from_slice(&(length as u32).to_le_bytes());
    out.write_all(&head)?;
    parts.iter().try_for_each(|part| out.write_all(part))?;
    Ok(head.len() + length)
}

/// Takes an entry off the front of a batch: the term and its part.
fn take_entry<'b>(bytes: &mut &'b [u8]) -> io::Result<Option<(&'b [u8], &'b [u8])>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let stem = take_text(bytes)?;
    let part = *bytes;
    let length = take_sized(bytes)?.len();
    Ok(Some((stem, &part[..4 + length])))
}

/// Takes bytes off the front of a run, behind their length as a u32.
fn take_sized<'b>(bytes: &mut &'b [u8]) -> io::Result<&'b [u8]> {
    let cut = || io::Error::other("a run ends within an entry");
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    let (sized, rest) =
        rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
    *bytes = rest;
    Ok(sized)
}

/// Takes a number off the front of a run.
fn take_number(bytes: &mut &[u8]) -> io::Result<u64> {
    leb128::take(bytes).ok_or_else(|| io::Error::other("a run ends within a number"))
}

/// Takes a text off the front of a run.
fn take_text<'b>(bytes: &mut &'b [u8]) -> io::Result<&'b [u8]> {
    let length = take_number(bytes)? as usize;
    let cut = || io::Error::other("a run ends within a text");
    let (text, rest) = bytes.split_at_checked(length).ok_or_else(cut)?;
    *bytes = rest;
    Ok(text)
}
