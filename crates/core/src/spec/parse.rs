//! The parser of the grammar. Every error names what stands at the place and what was expected there.

use std::collections::HashSet;

use winnow::Parser;
use winnow::combinator::{opt, preceded, separated};
use winnow::error::{ErrMode, ModalResult, ParserError};
use winnow::stream::{LocatingSlice, Location, Stream};
use winnow::token::take_while;

use super::error::quote;
use super::syntax::{Arg, At, Spec, Term};
use super::{SpecError, Value};

/// Parentheses may nest this deep. Far beyond any use; it keeps hostile input off the stack's end.
pub const DEPTH_LIMIT: u32 = 32;

type Input<'a> = LocatingSlice<&'a str>;
type Parsed<T> = ModalResult<T, SpecError>;

impl Spec {
    /// Reads one spec.
    pub fn parse(text: &str) -> Result<Spec, SpecError> {
        whole(text, |input| spec(input, 0), "the end of the spec")
    }

    /// Reads specs separated by commas; commas in parentheses do not separate.
    pub fn parse_list(text: &str) -> Result<Vec<Spec>, SpecError> {
        let specs = |input: &mut Input<'_>| {
            separated(1.., |input: &mut Input<'_>| spec(input, 0), token(',')).parse_next(input)
        };
        whole(text, specs, "a comma or the end of the list")
    }
}

/// Parses all of `text`.
fn whole<T>(text: &str, mut parser: impl FnMut(&mut Input<'_>) -> Parsed<T>, end: &str) -> Result<T, SpecError> {
    let mut input = LocatingSlice::new(text);
    let parsed = parser(&mut input).and_then(|parsed| {
        space(&mut input)?;
        if input.is_empty() { Ok(parsed) } else { Err(expected(end, &input)) }
    });
    parsed.map_err(|error| error.into_inner().unwrap_or_else(|error| SpecError::new(error.to_string())))
}

fn spec(input: &mut Input<'_>, depth: u32) -> Parsed<Spec> {
    space(input)?;
    let start = input.current_token_start();
    let name = name(input, "the name of a policy")?;
    let args = opt_args(input, depth)?.unwrap_or_default();
    Ok(Spec { name, args, at: since(start, input) })
}

/// The content of parentheses, if any follow.
fn opt_args(input: &mut Input<'_>, depth: u32) -> Parsed<Option<Vec<Arg>>> {
    if opt(token('(')).parse_next(input)?.is_none() {
        return Ok(None);
    }
    if depth == DEPTH_LIMIT {
        return Err(fail(
            format!("parentheses nest deeper than {DEPTH_LIMIT}"),
            &since(input.current_token_start() - 1, input),
        ));
    }
    if opt(token(')')).parse_next(input)?.is_some() {
        return Ok(Some(Vec::new()));
    }
    let args: Vec<Arg> = separated(1.., |input: &mut Input<'_>| arg(input, depth + 1), token(',')).parse_next(input)?;
    space(input)?;
    if opt(token(')')).parse_next(input)?.is_none() {
        return Err(expected("a comma or a closing parenthesis", input));
    }
    no_key_twice(&args)?;
    Ok(Some(args))
}

fn no_key_twice(args: &[Arg]) -> Parsed<()> {
    let mut seen = HashSet::new();
    for arg in args {
        let Some(key) = &arg.key else { continue };
        if !seen.insert(key) {
            return Err(fail(format!("{} is given twice: expected each key once", quote(key)), &At(arg.key_at())));
        }
    }
    Ok(())
}

fn arg(input: &mut Input<'_>, depth: u32) -> Parsed<Arg> {
    space(input)?;
    let start = input.current_token_start();
    let key = opt(key).parse_next(input)?;
    let term = term(input, depth)?;
    Ok(Arg { key, term, at: since(start, input) })
}

/// A name with `=` behind it.
fn key(input: &mut Input<'_>) -> Parsed<String> {
    let start = input.checkpoint();
    // A quoted text may contain a sign of equality.
    let found = !input.starts_with('"') && (atom, token('=')).parse_next(input).is_ok();
    input.reset(&start);
    if !found {
        return Err(ErrMode::Backtrack(SpecError::from_input(input)));
    }
    let key = name(input, "a key")?;
    token('=').parse_next(input)?;
    Ok(key)
}

fn term(input: &mut Input<'_>, depth: u32) -> Parsed<Term> {
    space(input)?;
    let start = input.current_token_start();
    let size = value(input)?;
    if opt(token('/')).parse_next(input)?.is_some() {
        return clause(input, size);
    }
    let Value::Word(name) = size else { return Ok(Term::Value(size)) };
    match opt_args(input, depth)? {
        Some(args) if !args.is_empty() => Ok(Term::Spec(Spec { name, args, at: since(start, input) })),
        _ => Ok(Term::Value(Value::Word(name))),
    }
}

/// The rest of `64K/128 id` or `2000/app`, from behind the slash.
fn clause(input: &mut Input<'_>, size: Value) -> Parsed<Term> {
    space(input)?;
    let block = value(input)?;
    if let (Value::Number(number), true) = (&size, block == Value::Word("app".to_owned())) {
        return Ok(Term::Value(Value::PerApp(*number)));
    }
    space(input)?;
    let class = name(input, "the class of blocks that this part is for, as in 64K/128 id")?;
    Ok(Term::Clause { size, block, class })
}

/// A literal. Digits with letters behind them that are not a unit, as in `2q`, are a word.
fn value(input: &mut Input<'_>) -> Parsed<Value> {
    let start = input.current_token_start();
    if opt(token('"')).parse_next(input)?.is_some() {
        return quoted(input);
    }
    let text = opt(atom).parse_next(input)?.ok_or_else(|| expected("a value or a name", input))?;
    let read = match Value::literal(text) {
        Ok(Some(Value::Word(word))) if !is_name(&word) => Err(no_name(&word)),
        Ok(Some(value)) => Ok(value),
        Ok(None) if is_name(text) => Ok(Value::Word(text.to_owned())),
        Ok(None) => Err(Value::unknown_unit(text)),
        Err(error) => Err(error),
    };
    read.map_err(|error| fail(error.message, &since(start, input)))
}

/// The rest of a text in quotes, from behind the first one.
fn quoted(input: &mut Input<'_>) -> Parsed<Value> {
    let text: &str = take_while(0.., |c: char| c != '"').parse_next(input)?;
    if text.is_empty() {
        return Err(expected("a text in quotes", input));
    }
    match opt('"').parse_next(input)? {
        Some(_) => Ok(Value::Quoted(text.to_owned())),
        None => Err(expected("a closing quote", input)),
    }
}

/// A name: ASCII letters, digits, `-`, `_`, `.` and `+`, starting with a letter or digit.
fn name(input: &mut Input<'_>, what: &str) -> Parsed<String> {
    let start = input.current_token_start();
    let text = opt(atom).parse_next(input)?.ok_or_else(|| expected(what, input))?;
    if is_name(text) {
        return Ok(text.to_owned());
    }
    Err(fail(no_name(text).message, &since(start, input)))
}

fn no_name(text: &str) -> SpecError {
    SpecError::new(format!("{} cannot be a name: expected letters, digits, '-', '_', '.' and '+'", quote(text)))
}

fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    starts && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+'))
}

/// Everything up to a space or a sign of the grammar.
fn atom<'a>(input: &mut Input<'a>) -> Parsed<&'a str> {
    take_while(1.., |c: char| !c.is_whitespace() && !matches!(c, ',' | '(' | ')' | '=' | '/')).parse_next(input)
}

/// One sign, with spaces before it.
fn token<'a>(sign: char) -> impl Parser<Input<'a>, char, ErrMode<SpecError>> {
    preceded(space, sign)
}

fn space(input: &mut Input<'_>) -> Parsed<()> {
    take_while(0.., char::is_whitespace).void().parse_next(input)
}

fn since(start: usize, input: &Input<'_>) -> At {
    At(start..input.current_token_start())
}

/// Stops parsing: `expected` was not found at the place reached.
fn expected(expected: &str, input: &Input<'_>) -> ErrMode<SpecError> {
    let start = input.current_token_start();
    let (found, end) = match input.chars().next() {
        Some(sign) => (format!("found {}", quote(&sign.to_string())), start + sign.len_utf8()),
        None => ("the text ends".to_owned(), start),
    };
    fail(format!("expected {expected}, but {found}"), &At(start..end))
}

/// Stops parsing with an error at a place.
fn fail(message: String, at: &At) -> ErrMode<SpecError> {
    ErrMode::Cut(SpecError::new(message).at(at.0.clone()))
}

/// For the tokens, whose failure only says that another branch is to be tried.
impl<'a> ParserError<Input<'a>> for SpecError {
    type Inner = SpecError;

    fn from_input(input: &Input<'a>) -> SpecError {
        let start = input.current_token_start();
        SpecError::new("not understood").at(start..start)
    }

    fn into_inner(self) -> Result<SpecError, SpecError> {
        Ok(self)
    }
}
