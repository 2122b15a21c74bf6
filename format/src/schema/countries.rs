//! Groups of countries: the continents, and the Global South.
//!
//! A key of a continent follows from a key of country codes, so a snapshot holds no continents.

/// Some codes with a name of their own.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Class {
    /// The name, a code in lower case.
    pub name: &'static str,
    /// The codes, in upper case.
    pub codes: &'static [&'static str],
}

impl Class {
    /// Whether a code is of the class, in either case.
    pub fn has(&self, code: &str) -> bool {
        self.codes.iter().any(|known| known.eq_ignore_ascii_case(code))
    }
}

/// The continents. Each country has one: Cyprus, Turkey and the states of the Caucasus are in Asia, Russia in Europe.
#[rustfmt::skip]
pub static CONTINENTS: [Class; 7] = [
    Class { name: "africa", codes: &[
        "AO", "BF", "BI", "BJ", "BW", "CD", "CF", "CG", "CI", "CM", "CV", "DJ", "DZ", "EG", "EH", "ER", "ET", "GA", "GH",
        "GM", "GN", "GQ", "GW", "KE", "KM", "LR", "LS", "LY", "MA", "MG", "ML", "MR", "MU", "MW", "MZ", "NA", "NE", "NG",
        "RE", "RW", "SC", "SD", "SH", "SL", "SN", "SO", "SS", "ST", "SZ", "TD", "TG", "TN", "TZ", "UG", "YT", "ZA", "ZM",
        "ZW",
    ] },
    Class { name: "antarctica", codes: &["AQ", "BV", "HM", "TF"] },
    Class { name: "asia", codes: &[
        "AE", "AF", "AM", "AZ", "BD", "BH", "BN", "BT", "CC", "CN", "CX", "CY", "GE", "HK", "ID", "IL", "IN", "IO", "IQ",
        "IR", "JO", "JP", "KG", "KH", "KP", "KR", "KW", "KZ", "LA", "LB", "LK", "MM", "MN", "MO", "MV", "MY", "NP", "OM",
        "PH", "PK", "PS", "QA", "SA", "SG", "SY", "TH", "TJ", "TL", "TM", "TR", "TW", "UZ", "VN", "YE",
    ] },
    Class { name: "europe", codes: &[
        "AD", "AL", "AT", "AX", "BA", "BE", "BG", "BY", "CH", "CZ", "DE", "DK", "EE", "ES", "FI", "FO", "FR", "GB", "GG",
        "GI", "GR", "HR", "HU", "IE", "IM", "IS", "IT", "JE", "LI", "LT", "LU", "LV", "MC", "MD", "ME", "MK", "MT", "NL",
        "NO", "PL", "PT", "RO", "RS", "RU", "SE", "SI", "SJ", "SK", "SM", "UA", "VA", "XK",
    ] },
    Class { name: "north-america", codes: &[
        "AG", "AI", "AW", "BB", "BL", "BM", "BQ", "BS", "BZ", "CA", "CR", "CU", "CW", "DM", "DO", "GD", "GL", "GP", "GT",
        "HN", "HT", "JM", "KN", "KY", "LC", "MF", "MQ", "MS", "MX", "NI", "PA", "PM", "PR", "SV", "SX", "TC", "TT", "US",
        "VC", "VG", "VI",
    ] },
    Class { name: "oceania", codes: &[
        "AS", "AU", "CK", "FJ", "FM", "GU", "KI", "MH", "MP", "NC", "NF", "NR", "NU", "NZ", "PF", "PG", "PN", "PW", "SB",
        "TK", "TO", "TV", "UM", "VU", "WF", "WS",
    ] },
    Class { name: "south-america", codes: &[
        "AR", "BO", "BR", "CL", "CO", "EC", "FK", "GF", "GS", "GY", "PE", "PY", "SR", "UY", "VE",
    ] },
];

/// The countries of the Global South: China, and the members of the Group of 77.
#[rustfmt::skip]
pub static GLOBAL_SOUTH: [&str; 134] = [
    "AE", "AF", "AG", "AO", "AR", "BA", "BB", "BD", "BF", "BH", "BI", "BJ", "BN", "BO", "BR", "BS", "BT", "BW", "BZ",
    "CD", "CF", "CG", "CI", "CL", "CM", "CN", "CO", "CR", "CU", "CV", "DJ", "DM", "DO", "DZ", "EC", "EG", "ER", "ET",
    "FJ", "FM", "GA", "GD", "GH", "GM", "GN", "GQ", "GT", "GW", "GY", "HN", "HT", "ID", "IN", "IQ", "IR", "JM", "JO",
    "KE", "KH", "KI", "KM", "KN", "KP", "KW", "LA", "LB", "LC", "LK", "LR", "LS", "LY", "MA", "MG", "MH", "ML", "MM",
    "MN", "MR", "MU", "MV", "MW", "MY", "MZ", "NA", "NE", "NG", "NI", "NP", "NR", "OM", "PA", "PE", "PG", "PH", "PK",
    "PS", "PY", "QA", "RW", "SA", "SB", "SC", "SD", "SG", "SL", "SN", "SO", "SR", "SS", "ST", "SV", "SY", "SZ", "TD",
    "TG", "TH", "TJ", "TL", "TM", "TN", "TO", "TT", "TZ", "UG", "UY", "VC", "VE", "VN", "VU", "WS", "YE", "ZA", "ZM",
    "ZW",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn continent_of(code: &str) -> Option<&'static str> {
        CONTINENTS.iter().find(|class| class.has(code)).map(|class| class.name)
    }

    #[test]
    fn a_country_is_on_one_continent_and_the_south_is_of_known_countries() {
        let mut all: Vec<&str> = CONTINENTS.iter().flat_map(|class| class.codes).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), count), (250, 250));
        assert!(GLOBAL_SOUTH.is_sorted());
        assert!(GLOBAL_SOUTH.iter().all(|code| continent_of(code).is_some()));
        assert_eq!(continent_of("FR"), Some("europe"));
        assert_eq!(continent_of("ZZ"), None);
    }
}
