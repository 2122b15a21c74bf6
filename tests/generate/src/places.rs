//! A small gazetteer of countries with one city each.

use crate::random::Random;

/// A country and a city in it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) code: &'static str,
    pub(crate) country: &'static str,
    pub(crate) city: &'static str,
    /// Ten-thousandths of a degree, north positive.
    pub(crate) latitude: i64,
    /// Ten-thousandths of a degree, east positive.
    pub(crate) longitude: i64,
}

const fn place(
    code: &'static str,
    country: &'static str,
    city: &'static str,
    latitude: i64,
    longitude: i64,
) -> Place {
    Place { code, country, city, latitude, longitude }
}

/// By descending number of institutions.
const PLACES: [Place; 32] = [
    place("US", "United States", "Boston", 423_584, -710_598),
    place("CN", "China", "Beijing", 399_075, 1_163_972),
    place("GB", "United Kingdom", "London", 515_085, -1_257),
    place("DE", "Germany", "Berlin", 525_244, 134_105),
    place("JP", "Japan", "Tokyo", 356_895, 1_396_917),
    place("FR", "France", "Paris", 488_534, 23_488),
    place("IN", "India", "New Delhi", 286_358, 772_244),
    place("BR", "Brazil", "São Paulo", -235_475, -466_361),
    place("IT", "Italy", "Milan", 454_643, 91_895),
    place("CA", "Canada", "Toronto", 437_001, -794_163),
    place("ES", "Spain", "Madrid", 404_165, -37_026),
    place("KR", "South Korea", "Seoul", 375_660, 1_269_784),
    place("AU", "Australia", "Melbourne", -378_140, 1_449_633),
    place("RU", "Russia", "Moscow", 557_522, 376_156),
    place("NL", "Netherlands", "Amsterdam", 523_740, 48_897),
    place("ID", "Indonesia", "Jakarta", -62_146, 1_068_451),
    place("TR", "Türkiye", "Ankara", 399_199, 328_543),
    place("IR", "Iran", "Tehran", 356_944, 514_215),
    place("PL", "Poland", "Warsaw", 522_298, 210_118),
    place("SE", "Sweden", "Stockholm", 593_294, 180_687),
    place("CH", "Switzerland", "Zurich", 473_667, 85_500),
    place("MX", "Mexico", "Mexico City", 194_285, -991_277),
    place("EG", "Egypt", "Cairo", 300_626, 312_497),
    place("GR", "Greece", "Athens", 379_838, 237_275),
    place("TH", "Thailand", "Bangkok", 137_540, 1_005_014),
    place("ZA", "South Africa", "Cape Town", -339_258, 184_232),
    place("NG", "Nigeria", "Lagos", 64_541, 33_947),
    place("SA", "Saudi Arabia", "Riyadh", 246_877, 467_219),
    place("CZ", "Czechia", "Prague", 500_880, 144_208),
    place("AR", "Argentina", "Buenos Aires", -346_131, -583_772),
    place("CO", "Colombia", "Bogotá", 46_097, -740_817),
    place("NZ", "New Zealand", "Auckland", -368_485, 1_747_635),
];

/// A place, the first ones more often.
pub(crate) fn draw(random: &mut Random) -> &'static Place {
    &PLACES[random.skewed(PLACES.len() as u64, 2) as usize]
}
