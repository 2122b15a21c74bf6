//! Metric families whose values are read at each request for metrics.
//!
//! The `prometheus` crate expects metrics that live as long as the process. [`Families`] builds a registry of
//! short-lived metrics instead, with one call for each family.

use prometheus::{CounterVec, GaugeVec, Opts, Registry, proto::MetricFamily};

const VALID: &str = "names and labels are constants, each used once";

/// Collects metric families for one reply.
#[derive(Debug, Default)]
pub struct Families(Registry);

impl Families {
    /// Adds a gauge.
    pub fn gauge(&self, name: &str, help: &str, value: f64) {
        self.add_gauges(name, help, [], [([], value)]);
    }

    /// Adds one gauge for each value of a label.
    pub fn gauges<'a>(
        &self,
        name: &str,
        help: &str,
        label: &str,
        samples: impl IntoIterator<Item = (&'a str, f64)>,
    ) {
        let samples = samples.into_iter().map(|(label, value)| ([label], value));
        self.add_gauges(name, help, [label], samples);
    }

    /// Adds a gauge with the value 1 that states facts as labels.
    pub fn info<const N: usize>(&self, name: &str, help: &str, labels: [(&str, &str); N]) {
        self.add_gauges(
            name,
            help,
            labels.map(|label| label.0),
            [(labels.map(|label| label.1), 1.0)],
        );
    }

    /// Adds a counter.
    pub fn counter(&self, name: &str, help: &str, value: f64) {
        self.add_counters(name, help, [], [([], value)]);
    }

    /// Adds one counter for each value of a label.
    pub fn counters<'a>(
        &self,
        name: &str,
        help: &str,
        label: &str,
        samples: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        let samples = samples.into_iter().map(|(label, value)| ([label], value as f64));
        self.add_counters(name, help, [label], samples);
    }

    /// Returns these families and `others`, ordered by name.
    pub fn with(self, others: Vec<MetricFamily>) -> Vec<MetricFamily> {
        let mut all = self.0.gather();
        all.extend(others);
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }

    fn add_gauges<'a, const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
        samples: impl IntoIterator<Item = ([&'a str; N], f64)>,
    ) {
        let family = GaugeVec::new(Opts::new(name, help), &labels).expect(VALID);
        for (values, value) in samples {
            family.with_label_values(&values).set(value);
        }
        self.0.register(Box::new(family)).expect(VALID);
    }

    fn add_counters<'a, const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
        samples: impl IntoIterator<Item = ([&'a str; N], f64)>,
    ) {
        let family = CounterVec::new(Opts::new(name, help), &labels).expect(VALID);
        for (values, value) in samples {
            family.with_label_values(&values).inc_by(value);
        }
        self.0.register(Box::new(family)).expect(VALID);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use prometheus::TextEncoder;

    use super::*;

    #[test]
    fn families_are_ordered_by_name_and_empty_families_are_left_out() {
        let families = Families::default();
        families.gauge("test_open", "Open.", 2.5);
        families.counters("test_ends_total", "Ends.", "kind", [("b", 1), ("a", 0)]);
        families.info("test_info", "Info.", [("id", "x"), ("date", "y")]);
        families.gauges("test_empty", "Empty.", "kind", []);
        families.counter("test_starts_total", "Starts.", 3.0);
        let expected = "\
# HELP test_ends_total Ends.
# TYPE test_ends_total counter
test_ends_total{kind=\"a\"} 0
test_ends_total{kind=\"b\"} 1
# HELP test_info Info.
# TYPE test_info gauge
test_info{date=\"y\",id=\"x\"} 1
# HELP test_open Open.
# TYPE test_open gauge
test_open 2.5
# HELP test_starts_total Starts.
# TYPE test_starts_total counter
test_starts_total 3
";
        let all = families.with(Vec::new());
        assert_eq!(TextEncoder::new().encode_to_string(&all).unwrap(), expected);
    }
}
