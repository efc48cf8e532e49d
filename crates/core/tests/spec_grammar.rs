//! The grammar as the design states it, and what hostile text gets: always a sentence, never a panic.

use hotset_core::policy::PolicySpec;
use hotset_core::spec::{DEPTH_LIMIT, SizeSpec, Spec, SpecError, Term, Value};

/// Every form of spec that the design names, with its canonical text.
const FORMS: [(&str, &str); 17] = [
    ("lru", "lru"),
    (" lru ( ) ", "lru"),
    ("belady", "belady"),
    ("lru-k(k=2)", "lru-k(k=2)"),
    ("2q(kin=25%, kout=50.0%)", "2q(kin=25%,kout=50%)"),
    ("bypass(lru, output)", "bypass(lru,output)"),
    ("bypass(2q, output)", "bypass(2q,output)"),
    ("demote(lru, lru, client=64m)", "demote(lru,lru,client=64M)"),
    (
        "attribute(64K/128 id, x/4K temporal, 64K/64K sequential)",
        "attribute(64K/128 id,x/4K temporal,64K/64K sequential)",
    ),
    ("attribute(64K / 128\n id)", "attribute(64K/128 id)"),
    ("render(texture=90%,random=64K,shadow=dedupe)", "render(texture=90%,random=64K,shadow=dedupe)"),
    (
        "virtual(arc, alpha=0.95, quantum=2000, fragments=2, queue=1G)",
        "virtual(arc,alpha=0.95,quantum=2000,fragments=2,queue=1G)",
    ),
    ("virtual(lru-k(k=3), alpha=.5)", "virtual(lru-k(k=3),alpha=0.5)"),
    ("apr(decay=0.7)", "apr(decay=0.7)"),
    ("qos(lru, interval=2000ms, lu=70%, tpch=94%)", "qos(lru,interval=2s,lu=70%,tpch=94%)"),
    ("qos(lru, interval=10%, profile= \"my curves/lu.json\" )", "qos(lru,interval=10%,profile=\"my curves/lu.json\")"),
    ("equal(equal(lru()))", "equal(equal(lru))"),
];

#[test]
fn every_form_of_the_design_is_read_and_printed() {
    for (text, canonical) in FORMS {
        let spec = Spec::parse(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
        assert_eq!(spec.to_string(), canonical);
        assert_eq!(Spec::parse(canonical).unwrap(), spec);
    }
}

#[test]
fn places_are_those_of_the_text() {
    let text = "lru, virtual( arc(x=1), alpha = 0.95 )";
    let specs = Spec::parse_list(text).unwrap();
    let [nested, keyed] = specs[1].args.as_slice() else { panic!("two arguments") };
    assert_eq!(&text[specs[1].at.0.clone()], "virtual( arc(x=1), alpha = 0.95 )");
    assert_eq!(&text[nested.at.0.clone()], "arc(x=1)");
    assert_eq!((&text[keyed.at.0.clone()], &text[keyed.key_at()]), ("alpha = 0.95", "alpha"));
    assert_eq!(keyed.term, Term::Value(Value::Number(0.95)));
}

#[test]
fn nonsense_is_refused_where_it_stands() {
    let cases = [
        ("", 0..0, "expected the name of a policy, but the text ends"),
        (" \t", 2..2, "but the text ends"),
        ("lru,", 4..4, "expected the name of a policy, but the text ends"),
        (",lru", 0..1, "expected the name of a policy, but found \",\""),
        ("lru,,arc", 4..5, "but found \",\""),
        ("lru(", 4..4, "expected a value or a name, but the text ends"),
        ("lru(a", 5..5, "expected a comma or a closing parenthesis, but the text ends"),
        ("lru(a,)", 6..7, "expected a value or a name, but found \")\""),
        ("lru)", 3..4, "expected a comma or the end of the list, but found \")\""),
        ("lru arc", 4..5, "but found \"a\""),
        ("lru(a b)", 6..7, "but found \"b\""),
        ("lru(=1)", 4..5, "but found \"=\""),
        ("lru(a=)", 6..7, "but found \")\""),
        ("lru(a=1=2)", 7..8, "but found \"=\""),
        ("p(a=1,b=2,a=3)", 10..11, "\"a\" is given twice"),
        ("p(64K/)", 6..7, "expected a value or a name"),
        ("p(64K/128)", 9..10, "expected the class of blocks"),
        ("p(64K/128 =)", 10..11, "expected the class of blocks"),
        ("p(-1)", 2..4, "out of range"),
        ("p(1e999)", 2..7, "out of range"),
        ("p(3.5parsecs%)", 2..13, "unknown unit"),
        ("p(x=1.2.3)", 4..9, "is not a number"),
        ("p(x=\"\")", 5..6, "expected a text in quotes, but found \"\\\"\""),
        ("p(x=\"a", 6..6, "expected a closing quote, but the text ends"),
        ("größe", 0..7, "cannot be a name"),
        ("p(größe)", 2..9, "cannot be a name"),
        ("p(größe=1)", 2..9, "cannot be a name"),
        ("-lru", 0..4, "cannot be a name"),
        ("lru\u{0}", 0..4, "cannot be a name"),
    ];
    for (text, place, words) in cases {
        let error = Spec::parse_list(text).expect_err(text);
        assert!(error.message.contains(words), "{text:?}: {error}");
        assert_eq!(error.at, Some(place), "{text:?}: {error}");
    }
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| format!("{}x{}", "a(".repeat(depth), ")".repeat(depth));
    let limit = DEPTH_LIMIT as usize;
    assert!(Spec::parse(&nested(limit)).is_ok());
    let error = Spec::parse(&nested(limit + 1)).unwrap_err();
    assert_eq!(error.message, "parentheses nest deeper than 32");
    assert_eq!(error.at, Some(limit * 2 + 1..limit * 2 + 2));
    assert!(Spec::parse(&"a(".repeat(500_000)).is_err());
    assert!(Spec::parse(&"(".repeat(1_000_000)).is_err());
}

#[test]
fn a_megabyte_gets_a_short_sentence() {
    let texts = [
        "x".repeat(1 << 20),
        "9".repeat(1 << 20),
        format!("p({}", "9".repeat(1 << 20)),
        format!("p(k={}%%)", "9".repeat(1 << 20)),
        "lru,".repeat(1 << 18),
        format!("p({}", "a=1,".repeat(1 << 18)),
        "é".repeat(1 << 19),
        " ".repeat(1 << 20),
        "..".repeat(1 << 19),
    ];
    for text in &texts {
        let errors = [
            PolicySpec::parse_list(text).map(drop).unwrap_err(),
            SizeSpec::parse(text).and_then(|sizes| sizes.resolve(1000, None)).map(drop).unwrap_err(),
        ];
        for error in errors {
            assert_sentence(&error, text);
        }
    }
}

/// Pieces that reach every branch of the two grammars when they are strung together at random.
const PIECES: [&str; 40] = [
    "lru",
    "2q",
    "all",
    "x",
    "kin",
    "(",
    ")",
    "(",
    ")",
    ",",
    ",",
    "=",
    "/",
    " ",
    "..",
    "*",
    "%",
    "1",
    "0",
    "64K",
    "-",
    "+",
    "1e",
    "999",
    ".5",
    "NaN",
    "inf",
    "id",
    "\t",
    "\n",
    "\u{0}",
    "é",
    "缓",
    "\u{202e}",
    "\u{feff}",
    "😀",
    "18446744073709551616",
    "T",
    "\"",
    "\\",
];

#[test]
fn random_texts_never_panic() {
    let mut random = Xorshift(0x9E37_79B9_7F4A_7C15);
    for _ in 0..100_000 {
        let pieces = random.below(12);
        let text: String = (0..pieces).map(|_| PIECES[random.below(PIECES.len())]).collect();
        if let Err(error) = PolicySpec::parse_list(&text) {
            assert_sentence(&error, &text);
        }
        if let Ok(specs) = Spec::parse_list(&text) {
            let canonical = specs.iter().map(Spec::to_string).collect::<Vec<_>>().join(",");
            assert_eq!(Spec::parse_list(&canonical).unwrap(), specs, "{text:?}");
        }
        let footprint = random.below(1000) as u64;
        match SizeSpec::parse(&text).and_then(|sizes| sizes.resolve(footprint, Some(4096))) {
            Ok(sizes) => assert!(sizes.iter().all(|size| *size > 0), "{text:?}"),
            Err(error) => assert_sentence(&error, &text),
        }
    }
}

/// The error says something, in a few words, and its place is one that the text has.
fn assert_sentence(error: &SpecError, text: &str) {
    assert!(error.message.split(' ').count() >= 4, "{text:?}: {error}");
    assert!(error.message.len() < 400, "{error}");
    let at = error.at.clone().unwrap_or_else(|| panic!("{error} has no place"));
    assert!(text.get(at.clone()).is_some(), "{at:?} is outside of the text");
    let shown = error.render(text);
    assert_eq!(shown.lines().count(), 3, "{shown}");
    assert!(shown.len() < 1200, "{shown}");
}

/// A small generator, so that a failure repeats.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}
