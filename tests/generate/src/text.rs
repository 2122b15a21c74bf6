//! Synthetic vocabularies, one a script, with words drawn by Zipf's law.
//!
//! Every dump uses the same vocabularies. Words hold no character that JSON escapes.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::random::Random;

/// Writing systems; the discriminant indexes the vocabularies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    Latin,
    Accented,
    Cyrillic,
    Greek,
    Chinese,
    Japanese,
    Korean,
    Arabic,
    Thai,
}

/// The alphabet and the spelling of a script.
struct Traits {
    words: u32,
    syllables: &'static str,
    spaced: bool,
    languages: &'static [&'static str],
}

const TRAITS: [Traits; 9] = [
    Traits {
        words: 50_000,
        syllables: "a e i o u al an ar as at ba be bi bo ca car ce cen chi ci co con cra cu da de di dis do du el em en er es ex fa fe fi fo ga ge gen gi go gra he hi ho hy im in is ka ki la le li lo ly ma me men mi mo mor mu na ne neu ni no nu ol om on or os pa pe per phe phi pla po pre pro psy ra re ri ro ru sa sci se sen si so spec sta ste sti stru su syn ta te ten ter tha the thy ti tio to tra tri tu ty ul un va ve vi vo xi za zo",
        spaced: true,
        languages: &[
            "en", "en", "en", "en", "en", "en", "en", "en", "en", "en", "en", "en", "en", "en",
            "id", "nl",
        ],
    },
    Traits {
        words: 12_000,
        syllables: "á bé cá ción de dé él én ería es ção gó ía ica ión la le lé lín ma mé mente ná né ni niño ño nó ó öl pá po ré río rá sé sión sí ta té tí tra ü über ver vé zó äu ß ęk ła ńsk ř ş ği če ž",
        spaced: true,
        languages: &["es", "fr", "de", "pt", "pl", "tr", "cs", "sv"],
    },
    Traits {
        words: 12_000,
        syllables: "а во го да ди ев ес за ие ин ис ка ко ла ли ло ма ми на не ни но об ов ого ор пе по пра ра ре ри ро ру са ск ста сти та те ти то тор тра фи хо че ши эк юр я ение ость",
        spaced: true,
        languages: &["ru", "uk", "bg"],
    },
    Traits {
        words: 6_000,
        syllables: "α αν γο δη δια ει εκ ελ επι ζω θε ική ιο κα κο λα λο μα με μο νο ξη οι ορ πα πο ρα σις στα τη τικ το υγ φι χρο ψυ ω ών",
        spaced: true,
        languages: &["el"],
    },
    Traits {
        words: 12_000,
        syllables: "中 国 研 究 学 大 分 析 方 法 系 统 应 用 基 于 影 响 技 术 发 展 教 育 经 济 社 会 环 境 医 药 生 物 化 工 材 料 信 息 网 络 模 型 设 计 理 论 实 验 性 能 水 土 地 区 城 市 农 业 林 王 李 张 刘 陈 杨 赵 黄",
        spaced: false,
        languages: &["zh"],
    },
    Traits {
        words: 12_000,
        syllables: "研 究 日 本 大 学 の に 関 す る 検 討 解 析 開 発 評 価 シ ス テ ム デ ー タ 効 果 方 法 教 育 医 療 環 境 社 会 田 中 山 佐 藤 鈴 木 高 橋 を 用 い た 的",
        spaced: false,
        languages: &["ja"],
    },
    Traits {
        words: 12_000,
        syllables: "연 구 한 국 대 학 교 의 분 석 개 발 영 향 사 회 교 육 경 제 환 경 기 술 방 법 평 가 정 보 시 스 템 김 이 박 최 민 수 지 은 현 서 영 준 호",
        spaced: true,
        languages: &["ko"],
    },
    Traits {
        words: 6_000,
        syllables: "ال در تح ليل جا مع ة عل م تع لي في من دو لة اق تص اد بي ئة نظ ام مح مد عب د الر حمن ية ات ون ين",
        spaced: true,
        languages: &["ar", "fa"],
    },
    Traits {
        words: 6_000,
        syllables: "กา ร ศึก ษา วิ จัย มหา วิท ยา ลัย พัฒ นา ระ บบ ประ เทศ ไทย ผล ของ การ ความ สัม พันธ์ แพทย์ สุข ภาพ",
        spaced: false,
        languages: &["th"],
    },
];

/// The most frequent words of the first vocabulary.
const FREQUENT: &str = "the of and in to a for is with that on as by this are from we was be were an which at or it \
    these can our results study between has using have not based their more also than research data model method \
    analysis new used been two paper high such both its may during effect different system control treatment time";

impl Script {
    fn traits(self) -> &'static Traits {
        &TRAITS[self as usize]
    }

    /// Tells whether spaces separate words.
    pub(crate) fn spaced(self) -> bool {
        self.traits().spaced
    }

    /// Tells whether letters have capitals.
    pub(crate) fn cased(self) -> bool {
        matches!(self, Self::Latin | Self::Accented | Self::Cyrillic | Self::Greek)
    }

    /// The ISO 639-1 codes of the script's languages. Frequent languages occur several times.
    pub(crate) fn languages(self) -> &'static [&'static str] {
        self.traits().languages
    }

    /// The vocabulary, built on first use (a few milliseconds for all scripts together).
    pub(crate) fn vocabulary(self) -> &'static Vocabulary {
        &VOCABULARIES[self as usize]
    }

    /// Draws the script of a text or name; about 85 % are Latin, with or without accents.
    pub(crate) fn draw(random: &mut Random) -> Self {
        match random.below(1000) {
            0..700 => Self::Latin,
            700..850 => Self::Accented,
            850..890 => Self::Cyrillic,
            890..900 => Self::Greek,
            900..940 => Self::Chinese,
            940..965 => Self::Japanese,
            965..980 => Self::Korean,
            980..995 => Self::Arabic,
            _ => Self::Thai,
        }
    }
}

static VOCABULARIES: LazyLock<[Vocabulary; 9]> =
    LazyLock::new(|| std::array::from_fn(|script| Vocabulary::new(script as u64, &TRAITS[script])));

/// Buckets of equal probability over the ranks of a vocabulary.
const BUCKETS: u32 = 4096;

/// Distinct lower-case words by descending frequency.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    text: String,
    ends: Vec<u32>,
    /// First rank of each bucket, and the number of words as the last.
    buckets: Vec<u32>,
}

impl Vocabulary {
    fn new(script: u64, traits: &Traits) -> Self {
        let syllables: Vec<&str> = traits.syllables.split_whitespace().collect();
        let mut words: Vec<String> = if script == 0 {
            FREQUENT.split_whitespace().map(str::to_owned).collect()
        } else {
            Vec::new()
        };
        let mut seen: HashSet<String> = words.iter().cloned().collect();
        for rank in words.len() as u64..u64::from(traits.words) {
            let mut random = Random::new(script << 32 | rank);
            let length = if rank < 2000 { random.between(2, 3) } else { random.between(2, 5) };
            let mut word: String = (0..length).map(|_| *random.choose(&syllables)).collect();
            while !seen.insert(word.clone()) {
                word.push_str(random.choose::<&str>(&syllables));
            }
            words.push(word);
        }
        Self::of_words(&words, 2.7)
    }

    /// Builds a vocabulary of at least one word, commonest first. A word's share is 1 / (rank + `flatness`).
    pub(crate) fn of_words(words: &[String], flatness: f64) -> Self {
        let buckets = zipf_buckets(words.len() as u32, flatness);
        let mut vocabulary = Self { text: String::new(), ends: vec![0], buckets };
        for word in words {
            vocabulary.text.push_str(word);
            vocabulary.ends.push(vocabulary.text.len() as u32);
        }
        vocabulary
    }

    /// Number of words.
    pub(crate) fn len(&self) -> u32 {
        self.ends.len() as u32 - 1
    }

    /// The word of a rank.
    pub(crate) fn word(&self, rank: u32) -> &str {
        &self.text[self.ends[rank as usize] as usize..self.ends[rank as usize + 1] as usize]
    }

    /// Draws a rank by Zipf's law, in constant time.
    pub(crate) fn draw(&self, random: &mut Random) -> u32 {
        let bits = random.bits();
        let bucket = (bits % u64::from(BUCKETS)) as usize;
        let (low, high) = (self.buckets[bucket], self.buckets[bucket + 1]);
        low + ((u64::from(high - low) * (bits >> 32)) >> 32) as u32
    }

    /// Draws the rank of a content word, beyond the 100 most frequent words.
    pub(crate) fn draw_content(&self, random: &mut Random) -> u32 {
        100 + random.skewed(u64::from(self.len() - 100), 2) as u32
    }
}

/// Splits ranks with probability proportional to 1 / (rank + `flatness`) into buckets of equal probability.
fn zipf_buckets(words: u32, flatness: f64) -> Vec<u32> {
    let weight = |rank: u32| 1.0 / (f64::from(rank) + flatness);
    let total: f64 = (0..words).map(weight).sum();
    let (mut rank, mut below) = (0, 0.0);
    let mut buckets: Vec<u32> = (0..BUCKETS)
        .map(|bucket| {
            let wanted = total * f64::from(bucket) / f64::from(BUCKETS);
            while rank + 1 < words && below + weight(rank) <= wanted {
                below += weight(rank);
                rank += 1;
            }
            rank
        })
        .collect();
    buckets.push(words);
    buckets
}

/// Appends a word with its first letter in upper case.
pub(crate) fn put_capitalised(out: &mut Vec<u8>, word: &str) {
    let mut rest = word.chars();
    let mut buffer = [0; 4];
    for upper in rest.next().into_iter().flat_map(char::to_uppercase) {
        out.extend_from_slice(upper.encode_utf8(&mut buffer).as_bytes());
    }
    out.extend_from_slice(rest.as_str().as_bytes());
}

/// Appends `count` content words, the first capitalised (all of them if `title_case`).
pub(crate) fn put_phrase(
    out: &mut Vec<u8>,
    script: Script,
    random: &mut Random,
    count: u64,
    title_case: bool,
) {
    let vocabulary = script.vocabulary();
    for position in 0..count {
        let word = vocabulary.word(vocabulary.draw_content(random));
        if position > 0 && script.spaced() {
            out.push(b' ');
        }
        if position == 0 || title_case {
            put_capitalised(out, word)
        } else {
            out.extend_from_slice(word.as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinct_and_need_no_escaping() {
        for vocabulary in VOCABULARIES.iter() {
            let words: HashSet<&str> =
                (0..vocabulary.len()).map(|rank| vocabulary.word(rank)).collect();
            assert_eq!(words.len() as u32, vocabulary.len());
            assert!(
                words
                    .iter()
                    .all(|word| !word.contains(['"', '\\']) && !word.chars().any(char::is_control))
            );
        }
    }

    #[test]
    fn frequent_words_are_drawn_often() {
        let vocabulary = Script::Latin.vocabulary();
        let mut random = Random::new(3);
        let frequent = (0..10_000).filter(|_| vocabulary.draw(&mut random) < 100).count();
        assert!((3000..4500).contains(&frequent), "{frequent}");
    }
}
