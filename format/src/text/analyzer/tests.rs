use super::*;

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
    check("state-of-the-art", "state of the art=stateoftheart");
}
