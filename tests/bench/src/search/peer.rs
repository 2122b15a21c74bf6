//! The same texts in a tantivy index: one segment in memory, documents in row order, the tokens of the analyzer.

use tantivy::{
    Index, Searcher, TantivyDocument, Term,
    collector::{Count, TopDocs},
    directory::RamDirectory,
    query::{
        BooleanQuery, BoostQuery, ConstScoreQuery, Occur, PhraseQuery, Query, RegexQuery, TermQuery,
    },
    schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
    space_usage::PerFieldSpaceUsage,
    tokenizer::{PreTokenizedString, Token},
};

use super::{
    engine::{Engine, Found, IndexBytes},
    texts::Texts,
};
use crate::Result;

/// How tantivy stores the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fields {
    /// Title and abstract are fields, and each word is looked up in both.
    Two,
    /// One field holds both texts, which is faster and cannot weigh titles.
    One,
}

/// Positions between the title and the abstract in one field.
const TEXT_GAP: usize = 16;
/// The weight of the title, as in the score of a search.
const TITLE_BOOST: f32 = 3.0;
/// The field that tells whether an output is of the rare type.
const TYPE_FIELD: &str = "is_of_rare_type";
/// Memory of the writer's hash table; the texts take what they need.
const WRITER_BYTES: usize = 256 << 20;

/// A query of English stems.
#[derive(Clone, Debug)]
pub enum PeerQuery {
    Word(String),
    /// Words side by side, or with a distance.
    Phrase(Vec<String>, u32),
    /// Words that begin with letters.
    Begin(String),
    All(Vec<PeerQuery>),
    Any(Vec<PeerQuery>),
    /// The first, without any of the others.
    Without(Box<PeerQuery>, Vec<PeerQuery>),
    /// Of the rare type; does not score.
    OfRareType(Box<PeerQuery>),
}

/// A searcher over the texts.
pub struct Peer {
    searcher: Searcher,
    fields: Vec<(Field, f32)>,
    kind: Field,
}

impl Peer {
    /// Indexes the texts of all outputs on this thread.
    pub fn index(texts: &Texts, outputs: u32, engine: &Engine, fields: Fields) -> Result<Peer> {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let mut schema = Schema::builder();
        let options = TextOptions::default().set_indexing_options(indexing);
        let stored_fields = match fields {
            Fields::Two => vec![
                (schema.add_text_field("title", options.clone()), TITLE_BOOST),
                (schema.add_text_field("abstract", options), 1.0),
            ],
            Fields::One => vec![(schema.add_text_field("text", options), 1.0)],
        };
        let kind = schema.add_bool_field(TYPE_FIELD, tantivy::schema::INDEXED);
        let mut writer = Index::builder()
            .schema(schema.build())
            .single_segment_index_writer::<TantivyDocument>(RamDirectory::create(), WRITER_BYTES)?;
        let mut stems = Vec::new();
        for ordinal in 0..outputs {
            let output = texts.output(ordinal);
            let mut document = TantivyDocument::default();
            document.add_bool(kind, output.is_of_rare_type);
            let mut tokens = Vec::new();
            let mut position = 0;
            for (number, ranks) in [&output.title, &output.r#abstract].into_iter().enumerate() {
                if fields == Fields::Two {
                    (tokens, position) = (Vec::new(), 0);
                }
                engine.stems(&texts.text(ranks), &mut stems);
                for text in stems.drain(..) {
                    tokens.push(Token { position, text, ..Token::default() });
                    position += 1;
                }
                position += TEXT_GAP;
                let is_field_complete = fields == Fields::Two || number == 1;
                if is_field_complete && !tokens.is_empty() {
                    let (field, _) = stored_fields[number.min(stored_fields.len() - 1)];
                    let tokens = std::mem::take(&mut tokens);
                    document.add_pre_tokenized_text(
                        field,
                        PreTokenizedString { text: String::new(), tokens },
                    );
                }
            }
            writer.add_document(document)?;
        }
        let index = writer.finalize()?;
        let searcher = index.reader()?.searcher();
        Ok(Peer { searcher, fields: stored_fields, kind })
    }

    /// Counts the matches and finds the ten best.
    pub fn search(&self, query: &PeerQuery) -> Result<Found> {
        let query = self.query(query)?;
        let (best, count) =
            self.searcher.search(&*query, &(TopDocs::with_limit(10).order_by_score(), Count))?;
        let rows = best.into_iter().map(|(_, document)| document.doc_id).collect();
        Ok(Found { count: count as u64, rows })
    }

    /// Finds the ten best alone.
    pub fn best(&self, query: &PeerQuery) -> Result<usize> {
        let query = self.query(query)?;
        Ok(self.searcher.search(&*query, &TopDocs::with_limit(10).order_by_score())?.len())
    }

    fn query(&self, query: &PeerQuery) -> Result<Box<dyn Query>> {
        let all = |queries: &[PeerQuery]| {
            queries.iter().map(|query| self.query(query)).collect::<Result<Vec<_>>>()
        };
        Ok(match query {
            PeerQuery::Word(stem) => self.in_fields(|field| {
                let term = Term::from_field_text(field, stem);
                Ok(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)))
            })?,
            PeerQuery::Phrase(stems, distance) => self.in_fields(|field| {
                let terms = stems.iter().map(|stem| Term::from_field_text(field, stem));
                let mut phrase = PhraseQuery::new(terms.collect());
                phrase.set_slop(*distance);
                Ok(Box::new(phrase))
            })?,
            PeerQuery::Begin(letters) => self.in_fields(|field| {
                Ok(Box::new(RegexQuery::from_pattern(&format!("{letters}.*"), field)?))
            })?,
            PeerQuery::All(queries) => Box::new(BooleanQuery::intersection(all(queries)?)),
            PeerQuery::Any(queries) => Box::new(BooleanQuery::union(all(queries)?)),
            PeerQuery::Without(query, without) => {
                let mut clauses = vec![(Occur::Must, self.query(query)?)];
                clauses.extend(all(without)?.into_iter().map(|query| (Occur::MustNot, query)));
                Box::new(BooleanQuery::new(clauses))
            }
            PeerQuery::OfRareType(query) => {
                let is_rare = Term::from_field_bool(self.kind, true);
                let filter = TermQuery::new(is_rare, IndexRecordOption::Basic);
                let filter = ConstScoreQuery::new(Box::new(filter), 0.0);
                Box::new(BooleanQuery::intersection(vec![self.query(query)?, Box::new(filter)]))
            }
        })
    }

    /// A query in any of the fields.
    fn in_fields(&self, make: impl Fn(Field) -> Result<Box<dyn Query>>) -> Result<Box<dyn Query>> {
        let boosted = self.fields.iter().map(|(field, boost)| -> Result<Box<dyn Query>> {
            match *boost == 1.0 {
                true => make(*field),
                false => Ok(Box::new(BoostQuery::new(make(*field)?, *boost))),
            }
        });
        let mut queries = boosted.collect::<Result<Vec<_>>>()?;
        match queries.len() {
            1 => Ok(queries.remove(0)),
            _ => Ok(Box::new(BooleanQuery::union(queries))),
        }
    }

    pub fn bytes(&self) -> Result<IndexBytes> {
        let usage = self.searcher.space_usage()?;
        let segment = usage.segments().first().ok_or("the index has no segment")?;
        // The type is no text.
        let bytes = |usage: &PerFieldSpaceUsage| -> u64 {
            let texts = usage.fields().filter(|field| field.field_name() != TYPE_FIELD);
            texts.map(|field| field.total().get_bytes()).sum()
        };
        Ok(IndexBytes {
            postings: bytes(segment.postings()),
            positions: bytes(segment.positions()),
            dictionary: bytes(segment.termdict()),
            lengths: bytes(segment.fieldnorms()),
        })
    }
}
