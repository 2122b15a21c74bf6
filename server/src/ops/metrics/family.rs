//! Families of samples, as they are looked at: a name, what it is, and its numbers.

use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};

/// Families under way.
#[derive(Debug, Default)]
pub struct Families(Vec<MetricFamily>);

/// What a family's numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They only grow.
    Counter,
    /// They come and go.
    Gauge,
}

/// A label's name and value.
type Label<'a> = (&'a str, &'a str);

impl Families {
    /// A family of samples, each of some labels.
    pub fn many<'a>(
        &mut self,
        name: &str,
        help: &str,
        kind: Kind,
        samples: impl IntoIterator<Item = (Vec<Label<'a>>, f64)>,
    ) {
        let metrics: Vec<Metric> =
            samples.into_iter().map(|(labels, value)| sample(kind, &labels, value)).collect();
        // One without samples has nothing to say.
        if metrics.is_empty() {
            return;
        }
        let mut family = MetricFamily::default();
        family.set_name(name.to_owned());
        family.set_help(help.to_owned());
        family.set_field_type(match kind {
            Kind::Counter => MetricType::COUNTER,
            Kind::Gauge => MetricType::GAUGE,
        });
        family.set_metric(metrics);
        self.0.push(family);
    }

    /// A family of one sample.
    pub fn one(&mut self, name: &str, help: &str, kind: Kind, labels: &[Label<'_>], value: f64) {
        self.many(name, help, kind, [(labels.to_vec(), value)]);
    }

    /// A number that comes and goes.
    pub fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.one(name, help, Kind::Gauge, &[], value);
    }

    /// A number that grows.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.one(name, help, Kind::Counter, &[], value as f64);
    }

    /// Numbers that come and go, by one label.
    pub fn gauges<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &'a str,
        samples: impl IntoIterator<Item = (&'a str, f64)>,
    ) {
        let samples = samples.into_iter().map(|(value, number)| (vec![(label, value)], number));
        self.many(name, help, Kind::Gauge, samples);
    }

    /// Numbers that grow, by one label.
    pub fn counters<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &'a str,
        samples: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        let samples =
            samples.into_iter().map(|(value, number)| (vec![(label, value)], number as f64));
        self.many(name, help, Kind::Counter, samples);
    }

    /// These and others, by name.
    pub fn with(self, others: Vec<MetricFamily>) -> Vec<MetricFamily> {
        let mut all = self.0;
        all.extend(others);
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }
}

fn sample(kind: Kind, labels: &[Label<'_>], value: f64) -> Metric {
    let pair = |(name, value): &Label<'_>| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    };
    let mut metric = Metric::from_label(labels.iter().map(pair).collect());
    match kind {
        Kind::Counter => {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
        }
        Kind::Gauge => {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        }
    }
    metric
}
