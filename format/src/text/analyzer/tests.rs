use super::{scanner::PART_BYTES_MAX, *};

/// The compounds of a text, as `part part=joined`, separated by ` · `.
fn analyzed(text: &str) -> String {
    let mut compounds = Vec::new();
    each_compound(text, |compound| {
        assert_eq!(compound.parts().count(), compound.part_count());
        let parts: Vec<&str> = compound.parts().collect();
        let joined = compound.joined().map(|joined| format!("={joined}"));
        compounds.push(parts.join(" ") + &joined.unwrap_or_default());
    });
    compounds.join(" · ")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(analyzed(text), expected, "{text}");
}

#[test]
fn words_of_plain_texts_fold() {
    check("", "");
    check(" -- '…' ", "");
    check("The Lancet", "the · lancet");
    check("Ökologie, Straße; ŁÓDŹ", "okologie · strasse · lodz");
    check("ﬁne H₂O Ⅳ x²", "fine · h2o · iv · x2");
    check("e\u{301}tude", "etude");
    check("snake_case and/or a.b", "snake · case · and · or · a · b");
    check("3.14 10,000 1/2 ½", "3 · 14 · 10 · 000 · 1 · 2 · 1 · 2");
}

#[test]
fn hyphens_and_apostrophes_join() {
    check("COVID-19 vaccine", "covid 19=covid19 · vaccine");
    check("e‑mail GPT–4", "e mail=email · gpt 4=gpt4");
    check("L'État dell’arte d`Arcy", "l etat=letat · dell arte=dellarte · d arcy=darcy");
    check("O’Brien Qurʾān Hawaiʻi", "o brien=obrien · qur an=quran · hawai i=hawaii");
    check("5'-UTR 5′‑UTR", "5 utr=5utr · 5 utr=5utr");
    check("meta- and sub -group", "meta · and · sub · group");
    check("dash--dash x - y", "dash · dash · x · y");
    check("students' ‘new’", "students · new");
    check("271-280 271-e80", "271 280 · 271 e80=271e80");
    check("state-of-the-art", "state of the art=stateoftheart");
}

#[test]
fn quotation_marks_separate() {
    let quoted = [
        "“x”",
        "\"x\"",
        "„x“",
        "«x»",
        "‹x›",
        "‚x‘",
        "‘x’",
        "'x'",
        "`x'",
        "``x''",
        "「x」",
        "『x』",
        "〝x〞",
        "＂x＂",
        "(x)",
        "[x]",
        "{x}",
        "〈x〉",
        "¿x?",
        "&quot;x&quot;",
        "&ldquo;x&rdquo;",
    ];
    for text in quoted {
        check(text, "x");
        check(&format!("a {text}, b"), "a · x · b");
    }
}

#[test]
fn names_with_signs_are_one_word() {
    check("C++ C# F#, c++11", "c++ · c# · f# · c++ · 11");
    check("in C++.", "in · c++");
    check("Visual-C++", "visual c++=visualc++");
    check("Ca++ Na+ A+B c+ C#1", "ca · na · a · b · c · c · 1");
    check(".NET, .net .Net-based", ".net · .net · .net based=.netbased");
    check("ASP.NET example.net ...net .network", "asp · net · example · net · net · network");
    check("R&D AT&T r&amp;d Q&amp;amp;A", "r&d · at&t · r&d · q&a");
    check("R & D Smith&Jones A&B&C a& &b", "r · d · smith · jones · a&b · c · a · b");
}

#[test]
fn greek_letters_beside_others_are_named() {
    check("α-synuclein", "alpha synuclein=alphasynuclein");
    check("TNFα TNF-α IFNγ1", "tnfalpha · tnf alpha=tnfalpha · ifngamma1");
    check("Δ9 ∆9-THC β2 IFN-ɣ", "delta9 · delta9 thc=delta9thc · beta2 · ifn gamma=ifngamma");
    check("ϵ 5 µm 𝛼 Ω ς", "epsilon · 5 · mum · alpha · omega · sigma");
    check("Ελλάδα και Ὀδυσσεύς", "ελλαδα · και · οδυσσευσ");
    check("&alpha;-&#946; &#x3b3;", "alpha beta=alphabeta · gamma");
    for (letter, name) in ('α'..='ω').filter_map(|c| Some((c, greek::name(c)?))) {
        check(&format!("{letter}-x"), &format!("{name} x={name}x"));
        let upper: String = letter.to_uppercase().collect();
        check(&format!("x{upper}"), &format!("x{name}"));
    }
}

#[test]
fn scripts_without_spaces_are_pairs_of_characters() {
    check("学习方法", "学习 习方 方法");
    check("学", "学");
    check("機械学習、東京", "機械 械学 学習 · 東京");
    check("データ ｶﾞｽ", "テー ータ · カス");
    check("한국어 한", "한국 국어 · 한");
    check("\u{1112}\u{1161}\u{11ab}국", "한국");
    check("ภาษาไทย", "ภา าษ ษา าไ ไท ทย");
    check("ພາສາ", "ພາ າສ ສາ");
    check("2019年のCOVID-19感染", "2019 · 年の · covid 19=covid19 · 感染");
    check("東-京", "東 · 京");
    check("中<i>文</i>字", "中文 文字");
}

#[test]
fn tags_join_or_separate() {
    check("H<sub>2</sub>O and CO<SUB>2</SUB>", "h2o · and · co2");
    check("<jats:p>One<jats:italic>two</jats:italic></jats:p><jats:p>x</jats:p>", "onetwo · x");
    check("a<br/>b<p>c</p>d<jats:sec>e", "a · b · c · d · e");
    check("H<mml:math><mml:msub><mml:mrow/><mml:mn>2</mml:mn></mml:msub></mml:math>O", "h2o");
    check("<span class=\"x > y\">z</span>", "y · z");
    check("a < b, p<0.05 <a", "a · b · p · 0 · 05 · a");
    check("x <!-- y --> z", "x · y · z");
    check("&lt;i&gt;E. coli&lt;/i&gt; H&lt;sub&gt;2&lt;/sub&gt;O", "e · coli · h2o");
    check("&amp;lt;b&amp;gt;x&amp;lt;/b&amp;gt; a&lt;p&gt;b a&lt;x&gt;b", "x · a · b · a · x · b");
}

#[test]
fn emphasized_words_are_words_without_spaces_around_them() {
    check(
        "An<i>in vitro</i>FcRn, of<i>Drosophila</i>.",
        "an · in · vitro · fcrn · of · drosophila",
    );
    check("p<i>K</i><sub>a</sub> <b>W</b>ord DNA<i>Pf</i>A", "pka · word · dnapfa");
    check(
        "<i>mecA</i>-positive anti-<i>Vibrio</i>",
        "meca positive=mecapositive · anti vibrio=antivibrio",
    );
    check("a&lt;i&gt;word&lt;/i&gt;b a&lt;i&gt;x&lt;/i&gt;b", "a · word · b · axb");
    check("a<b><i>b</i></b>c", "abc");
}

#[test]
fn entities_are_characters() {
    check("Universit&eacute; de Montr&#233;al", "universite · de · montreal");
    check(
        "L&apos;&Eacute;tat O&#39;Brien O&#8217;Brien",
        "l etat=letat · o brien=obrien · o brien=obrien",
    );
    check("COVID&ndash;19 COVID&#x2010;19 a&nbsp;b", "covid 19=covid19 · covid 19=covid19 · a · b");
    check("Stra&szlig;e &AElig;ther S&oslash;ren", "strasse · aether · soren");
    check("&unknown; &#xd800; &#0; &; &#; a&b", "unknown · a&b");
    check(
        "co&shy;operate co\u{ad}operate SARS-\u{200b}CoV",
        "cooperate · cooperate · sars cov=sarscov",
    );
}

#[test]
fn latex_vanishes() {
    check(r"$\alpha$-synuclein H$_2$O $\beta$", "alpha synuclein=alphasynuclein · h2o · beta");
    check(r"$\mathrm{CO}_2$ \mathrm{CO}_2 CO\textsubscript{2}", "co2 · co2 · co2");
    check(r"$x_i^{2}$ $^{13}$C Li$_{x}$CoO$_{2}$", "xi2 · 13c · lixcoo2");
    check(r"\textit{in vitro} growth_rate", "in · vitro · growth · rate");
    check(r"$\frac{a}{b}$ \LaTeX \Delta{}x $5\,\%$", "a · b · deltax · 5");
    check("Universit{\\'e} Universit\\'e M{\\\"u}nchen", "universite · universite · munchen");
    check(r"S\o ren {\O}re \v{S}koda Stra\ss e", "soren · ore · skoda · strasse");
    check("$5 and $10 per_unit {x}", "5 · and · 10 · per · unit · x");
    check("US$5, US$10 a$b", "us · 5 · us · 10 · a · b");
    check(
        r"\documentclass[12pt]{minimal} \usepackage{amsmath} \begin{document}$$\alpha_1$$\end{document} x",
        "alpha1 · x",
    );
    check(
        r"Aims\nMethods &#13;\nresource\tX \(H_2O\) C:\\x",
        "aims · methods · resource · x · h2o · c · x",
    );
}

#[test]
fn invisible_marks_vanish() {
    check("\u{202b}abc\u{202c}def \u{200f}x", "abcdef · x");
    check("می\u{200c}شود", "می شود=میشود");
    check("a\0b", "a · b");
}

#[test]
fn long_words_are_cut_between_characters() {
    check(&"a".repeat(100), &"a".repeat(64));
    check(&format!("x{}", "ж".repeat(40)), &format!("x{}", "ж".repeat(31)));
    let long = "a".repeat(100);
    let expected = format!("{0} {0} b={0}", "a".repeat(64));
    check(&format!("{long}-{long}-b"), &expected);
}

#[test]
fn sources_are_the_letters_of_the_text() {
    let sources = |text: &str| {
        let mut sources = Vec::new();
        each_compound(text, |compound| sources.push(text[compound.source()].to_owned()));
        sources
    };
    let text = "“L'État”, <i>E.</i> H$_2$O: (C++) .NET, R&amp;D; 学习方法 &alpha;-x é́!";
    let expected =
        ["L'État", "E", "H$_2$O", "C++", ".NET", "R&amp;D", "学习方法", "&alpha;-x", "é"];
    assert_eq!(sources(text), expected);
}

/// Whether a search for a query finds a text: each compound of the query is a word or a joined word of the
/// text, or its parts follow each other there. Words are compared by stems.
fn finds(text: &str, language: Option<&str>, query: &str) -> bool {
    let stemmer = Stemmer::of_language(language);
    let mut terms = Vec::new();
    let mut joined_terms = Vec::new();
    each_compound(text, |compound| {
        terms.extend(compound.parts().map(|part| stemmer.term(part).into_owned()));
        joined_terms.extend(compound.joined().map(|joined| stemmer.term(joined).into_owned()));
    });
    let mut found_all = true;
    each_compound(query, |compound| {
        let parts: Vec<Vec<String>> =
            compound.parts().map(|part| Languages::ALL.terms(part)).collect();
        let follows = terms
            .windows(parts.len())
            .any(|terms| terms.iter().zip(&parts).all(|(term, stems)| stems.contains(term)));
        let single = if parts.len() == 1 { Some(parts[0].clone()) } else { None };
        let stems = compound
            .joined()
            .map(|joined| Languages::ALL.terms(joined))
            .or(single)
            .unwrap_or_default();
        let is_joined = terms.iter().chain(&joined_terms).any(|term| stems.contains(term));
        found_all &= follows || is_joined;
    });
    found_all
}

#[test]
fn texts_are_found_by_the_other_ways_to_write_them() {
    let same: &[&[&str]] = &[
        &["L'État", "l’etat", "L´ÉTAT", "l'e\u{301}tat"],
        &["d'Arcy", "darcy", "D’Arcy"],
        &["COVID-19", "covid19", "COVID 19", "covid–19", "COVID\u{2011}19"],
        &["e-mail", "email", "E‐Mail"],
        &["GPT-4", "gpt4", "GPT 4"],
        &[
            "α-synuclein",
            "alpha-synuclein",
            "Alpha synuclein",
            "alphasynuclein",
            r"$\alpha$-synuclein",
        ],
        &["TNF-α", "TNFα", "TNF alpha", "tnf&alpha;"],
        &["C++", "c++"],
        &["C#", "c#"],
        &[".NET", ".net"],
        &["R&D", "r&d", "R&amp;D"],
        &["学习", "学\u{200b}习"],
        &["H$_2$O", "H₂O", "h2o", "H<sub>2</sub>O", "H&lt;sub&gt;2&lt;/sub&gt;O"],
        &["network", "networks", "Networks"],
    ];
    for writings in same {
        for (text, query) in
            writings.iter().flat_map(|text| writings.iter().map(move |q| (text, q)))
        {
            // Two words do not join: `covid 19` stands in no text with `covid19`.
            let is_apart = query.contains(' ') && !text.contains([' ', '-', '–', '\u{2011}']);
            let is_joined = text.contains(' ') && !query.contains([' ', '-', '–', '\u{2011}']);
            if !is_apart && !is_joined {
                assert!(finds(&format!("see {text}, too"), None, query), "{query} finds {text}");
            }
        }
    }
    let found = [
        ("L'État moderne", "état"),
        ("Commedia dell’arte", "arte"),
        ("使用学习方法", "习方"),
        ("使用学习方法", "学习方法"),
        ("ภาษาไทย", "ไทย"),
        ("機械学習", "学習"),
        ("学", "学"),
        ("대한민국은", "민국"),
    ];
    for (text, query) in found {
        assert!(finds(text, None, query), "{query} finds {text}");
    }
    let missed =
        [("vitamin c", "C++"), ("C++", "c"), ("R&D", "d"), ("net", ".NET"), ("学习", "习学")];
    for (text, query) in missed {
        assert!(!finds(text, None, query), "{query} finds {text}");
    }
}

#[test]
fn inflected_forms_find_each_other() {
    let forms = [
        ("ar", "دراسة الدراسة"),
        ("ca", "educació educacions"),
        ("cs", "škola školy škole"),
        ("da", "undersøgelse undersøgelser"),
        ("de", "Häuser Haus Häusern"),
        ("de", "Straße Straßen strasse"),
        ("el", "μελέτη μελέτης μελέτες"),
        ("en", "studies study studied"),
        ("es", "educación educaciones"),
        ("es", "niños niño"),
        ("fi", "tutkimuksen tutkimuksessa"),
        ("fr", "étudiée étudiées"),
        ("fr", "propriété propriétés"),
        ("fr", "national nationaux nationale"),
        ("hu", "kutatás kutatások"),
        ("id", "pendidikan didik"),
        ("it", "malattia malattie"),
        ("nl", "onderzoek onderzoeken"),
        ("no", "studie studien studier"),
        ("nb", "studie studien studier"),
        ("pl", "polski polska polskiej"),
        ("pt", "educação educações"),
        ("pt", "ação ações"),
        ("pt-br", "investigação investigações"),
        ("ro", "universitate universitatea"),
        ("ru", "русский русской русская русские"),
        ("ru", "история историй историей"),
        ("sv", "sjukdom sjukdomar"),
        ("tr", "eğitim eğitimi eğitimde"),
        ("uk", "український українська української"),
    ];
    for (language, forms) in forms {
        let forms: Vec<&str> = forms.split(' ').collect();
        for (text, query) in forms.iter().flat_map(|text| forms.iter().map(move |q| (text, q))) {
            assert!(finds(text, Some(language), query), "{language}: {query} finds {text}");
        }
    }
    assert!(finds("studies", None, "study"));
    assert_eq!(stem_of(&Stemmer::of_language(Some("tr")).term("agac")), "agac");
    assert!(!finds("studies", Some("ja"), "study"), "no stemmer");
    assert!(finds("studies", Some("ja"), "studies"), "no stemmer");
}

/// A generator of pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}

/// Pieces of texts, closed markup among them.
const PIECES: [&str; 62] = [
    "a",
    "Z",
    "7",
    "word",
    " ",
    " ",
    "-",
    "'",
    "’",
    "–",
    ".",
    ",",
    "++",
    "#",
    "&",
    "&amp;",
    "<i>x</i>",
    "<i>word</i>",
    "<p>",
    "é",
    "E\u{301}",
    "\u{301}",
    "\u{20dd}",
    "ß",
    "ﬁ",
    "½",
    "東",
    "京",
    "한",
    "\u{1112}",
    "\u{1161}",
    "ー",
    "ไ",
    "\u{e34}",
    "α",
    "Δ",
    "ς",
    "∆",
    "µ",
    "𝛼",
    "𠀀",
    "\u{200b}",
    "\u{200c}",
    "\u{ad}",
    "\u{202e}",
    "\0",
    "\n",
    r"\alpha",
    r"\mathrm{x}",
    "{",
    "}",
    "_",
    "^",
    "&lt;",
    "&gt;",
    "&#945;",
    "ʼ",
    "\u{9c7}",
    "\u{9be}",
    "ж",
    "й",
    ".net",
];

fn random_text(numbers: &mut Numbers) -> String {
    let count = numbers.below(12);
    (0..count).map(|_| PIECES[numbers.below(PIECES.len())]).collect()
}

#[test]
fn compounds_of_two_texts_are_those_of_each() {
    let mut numbers = Numbers(1);
    for _ in 0..50_000 {
        let (first, second) = (random_text(&mut numbers), random_text(&mut numbers));
        // An open brace reaches into the next text.
        if first.contains('\\') && first.contains('{') {
            continue;
        }
        let compounds = [analyzed(&first), analyzed(&second)];
        let expected: Vec<&str> =
            compounds.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        check(&format!("{first} {second}"), &expected.join(" · "));
    }
}

#[test]
fn sources_ascend_and_parts_are_words() {
    let mut numbers = Numbers(2);
    for _ in 0..50_000 {
        let text = random_text(&mut numbers) + &random_text(&mut numbers);
        // The words of one character, such as `½`, share its bytes.
        let mut before = 0..0;
        each_compound(&text, |compound| {
            let source = compound.source();
            let ascends = before.end <= source.start + 'ﷺ'.len_utf8();
            assert!(source.start < source.end && ascends, "{text:?}");
            assert!(before.start <= source.start && before.end <= source.end, "{text:?}");
            assert!(text.get(source.clone()).is_some(), "{text:?}");
            before = source;
            assert!(compound.part_count() > 0);
            for part in compound.parts() {
                assert!(!part.is_empty() && part.len() <= PART_BYTES_MAX, "{text:?}");
                let is_word = |c: char| c.is_alphanumeric() || "+#&.".contains(c);
                assert!(part.chars().all(is_word), "{part:?} in {text:?}");
            }
        });
    }
}

#[test]
fn words_are_their_own_analysis() {
    let mut numbers = Numbers(3);
    for _ in 0..50_000 {
        let text = random_text(&mut numbers);
        each_compound(&text, |compound| {
            let is_plain = |part: &&str| part.chars().all(char::is_alphanumeric);
            for part in compound.parts().filter(is_plain) {
                assert_eq!(analyzed(part), part, "{text:?}");
            }
        });
    }
}

#[test]
fn hostile_texts_cost_linear_time() {
    let pieces = [
        "a", "-", "a-", "a'", "東", "\u{301}", "\u{202e}", "\0", "<", "<a", "<i>", "&", "&amp;",
        "&lt;", "&lt;a", "amp;", "$", "$a", "$$", "\\", r"\a", r"\a{", "{", r"{\", "}", r"\begin{",
        "a&", "c+", ".net", "α", "𠀀", "\u{9c7}", "\u{1112}", "a\u{9c7}",
    ];
    for piece in pieces {
        let text = piece.repeat((1 << 20) / piece.len());
        let mut parts = 0;
        each_compound(&text, |compound| parts += compound.part_count());
        assert!(parts <= text.len(), "{piece:?}");
    }
}

#[test]
fn stop_words_are_folded_words() {
    for language in languages::LANGUAGES {
        let words = language.stop_words;
        assert!((10..=35).contains(&words.len()), "{:?}", language.codes);
        for word in words {
            assert_eq!(analyzed(word), *word, "{:?}", language.codes);
            assert!(is_stop_word(word));
        }
    }
    assert!(["the", "of", "der", "la"].iter().all(|word| is_stop_word(word)));
    assert!(!is_stop_word("cell") && !is_stop_word(""));
}

#[test]
fn stems_are_folded_and_repeat() {
    let alphabets = [
        "abcdefghijklmnopqrstuvwxyz",
        "абвгдежзиклмнопрстуфхцчшщьыэюяіє",
        "αβγδεζηθικλμνξοπρστυφχψω",
        "ابتةثجحخدذرزسشصضطظعغفقكلمنهويى",
    ];
    let mut numbers = Numbers(4);
    let stemmers: Vec<Stemmer> = languages::LANGUAGES
        .iter()
        .map(|language| Stemmer::of_language(language.codes.first().copied()))
        .collect();
    for _ in 0..10_000 {
        let alphabet: Vec<char> = alphabets[numbers.below(alphabets.len())].chars().collect();
        let length = 1 + numbers.below(14);
        let word: String = (0..length).map(|_| alphabet[numbers.below(alphabet.len())]).collect();
        let all = Languages::ALL.terms(&word);
        assert!(all.is_sorted() && all.iter().any(|term| stem_of(term) == word), "{word}");
        assert!(
            all.iter().all(|term| fold::fold(stem_of(term)) == stem_of(term)),
            "{word}: {all:?}"
        );
        for stemmer in &stemmers {
            let term = stemmer.term(&word);
            assert!(!stem_of(&term).is_empty() && all.contains(&term.into_owned()), "{word}");
        }
    }
}

#[test]
fn words_with_digits_or_signs_are_their_own_stems() {
    let stemmer = Stemmer::of_language(None);
    for word in ["covid19s", "c++", ".net", "r&ds", "学习", ""] {
        assert_eq!(stemmer.term(word), word);
    }
}

#[test]
fn terms_of_two_words_are_equal_where_one_language_stems_both_alike() {
    let terms = |language: Option<&str>, words: [&str; 2]| {
        words.map(|word| Stemmer::of_language(language).term(word).into_owned())
    };
    for (language, words) in [
        (None, ["networks", "network"]),
        (Some("en-gb"), ["studies", "studying"]),
        (Some("de"), ["stadt", "stadte"]),
    ] {
        let [one, other] = terms(language, words);
        assert_eq!(one, other, "{words:?}");
    }
    // Finnish and English make one stem of these, but no language of both.
    let of_typed = Languages::ALL.terms("synovitsi");
    let found = Stemmer::of_language(None).term("synovitis");
    assert!(of_typed.iter().any(|term| stem_of(term) == found));
    assert!(!of_typed.contains(&found.into_owned()));
    // The same word has a term of its own in each language that may inflect the word.
    let count = |word: &str| Languages::ALL.terms(word).len();
    assert_eq!((count("network"), count("сети"), count("covid19"), count("网络")), (19, 3, 1, 1));
}
