//! A printed spec reads back as the same spec.

use hotset_core::spec::{Arg, At, DEPTH_LIMIT, SizeSpec, Spec, Term, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Names, also such as start with a digit.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["n[a-z0-9._-]{0,8}", Just("2q".to_owned()), Just("3x-y.z_0".to_owned())]
}

/// Every literal of the grammar: amounts are made by reading, as a user's are.
fn value() -> impl Strategy<Value = Value> {
    let units = prop::sample::select(vec!["", "%", "B", "K", "M", "G", "T", "ns", "us", "ms", "s"]);
    let number = prop_oneof![any::<u32>().prop_map(f64::from), 0.0..1000.0, any::<f64>().prop_map(f64::abs)];
    let literal =
        (number, units).prop_filter_map("out of range", |(number, unit)| Value::parse(&format!("{number}{unit}")).ok());
    let quoted = "[^\"]{1,9}".prop_map(Value::Quoted);
    prop_oneof![literal, name().prop_map(Value::Word), quoted]
}

fn term(inner: impl Strategy<Value = Spec>) -> impl Strategy<Value = Term> {
    // A name alone reads as a word.
    let nested = inner.prop_map(|spec| match spec.args.as_slice() {
        [] => Term::Value(Value::Word(spec.name)),
        _ => Term::Spec(spec),
    });
    let clause = (value(), value(), name()).prop_map(|(size, block, class)| Term::Clause { size, block, class });
    prop_oneof![value().prop_map(Term::Value), nested, clause]
}

fn args(inner: impl Strategy<Value = Spec>) -> impl Strategy<Value = Vec<Arg>> {
    vec((prop::option::of(name()), term(inner)), 0..4).prop_map(|pairs| {
        let mut args: Vec<Arg> = Vec::new();
        for (key, term) in pairs {
            if key.is_none() || args.iter().all(|arg| arg.key != key) {
                args.push(Arg { key, term, at: At::default() });
            }
        }
        args
    })
}

fn spec() -> impl Strategy<Value = Spec> {
    let leaf = name().prop_map(|name| Spec { name, args: Vec::new(), at: At::default() });
    leaf.prop_recursive(DEPTH_LIMIT / 4, 64, 4, |inner| {
        (name(), args(inner)).prop_map(|(name, args)| Spec { name, args, at: At::default() })
    })
}

/// The same cases in every run.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 2000, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_spec_reads_back(spec in spec()) {
        let text = spec.to_string();
        let read = Spec::parse(&text).map_err(|error| TestCaseError::fail(error.render(&text)))?;
        prop_assert_eq!(&read, &spec);
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn a_list_splits_at_its_own_commas_only(specs in vec(spec(), 1..5)) {
        let text = specs.iter().map(Spec::to_string).collect::<Vec<_>>().join(" , ");
        let read = Spec::parse_list(&text).map_err(|error| TestCaseError::fail(error.render(&text)))?;
        prop_assert_eq!(read, specs);
    }

    #[test]
    fn a_value_reads_back(value in value()) {
        let text = value.to_string();
        prop_assert_eq!(Spec::parse(&format!("p({text})")).unwrap().args[0].term.clone(), Term::Value(value));
    }

    #[test]
    fn sizes_read_back(texts in vec("[1-9][0-9]{0,6}(K|M|G|%|)", 1..5), factor in 1.5..9.0) {
        let text = format!("{},1..9000*{factor} blocks", texts.join(","));
        let sizes = SizeSpec::parse(&text).unwrap();
        prop_assert_eq!(SizeSpec::parse(&sizes.to_string()).unwrap(), sizes);
    }
}
