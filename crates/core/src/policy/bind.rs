//! Binding: finds the parameter of each argument and checks that it accepts the value.

use std::ops::Range;

use super::entry::Catalog;
use super::param::{by_app, find_param};
use super::{Argument, Param, ParamKind, Part, PolicySpec};
use crate::spec::{Arg, At, Spec, SpecError, Term, Value, quote};

/// Finds the parameter of each argument and checks its value.
pub(crate) fn bind(
    params: &[Param],
    args: &[Arg],
    catalog: &'static Catalog,
) -> Result<Vec<(usize, Argument)>, SpecError> {
    let mut given: Vec<(usize, Argument)> = Vec::new();
    for arg in args {
        let (index, value) = bind_one(params, arg, &given, catalog)?;
        match (given.iter_mut().find(|(other, _)| *other == index), value) {
            (Some((_, Argument::Parts(parts))), Argument::Parts(more)) => parts.extend(more),
            (Some((_, Argument::Apps(apps))), Argument::Apps(more)) => apps.extend(more),
            (Some(_), _) => {
                let error = SpecError::new(format!("{} is given twice: expected it once", quote(params[index].key)));
                return Err(error.at(arg.at.0.clone()));
            }
            (None, value) => given.push((index, value)),
        }
    }
    given.sort_by_key(|(index, _)| *index);
    for (_, value) in &mut given {
        if let Argument::Apps(apps) = value {
            apps.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
    }
    Ok(given)
}

/// Returns the parameter and value of one argument. `given` are the arguments bound earlier.
fn bind_one(
    params: &[Param],
    arg: &Arg,
    given: &[(usize, Argument)],
    catalog: &'static Catalog,
) -> Result<(usize, Argument), SpecError> {
    let index = match &arg.key {
        Some(key) => match (find_param(params, key), by_app(params)) {
            (Ok(index), _) | (Err(_), Some(index)) => index,
            (Err(error), None) => return Err(error.at(arg.key_at())),
        },
        None => next_positional(params, given).ok_or_else(|| needs_key(params, arg))?,
    };
    let place = |error: SpecError| if error.at.is_some() { error } else { error.at(arg.at.0.clone()) };
    Ok((index, argument_of(&params[index], arg, catalog).map_err(place)?))
}

/// Returns the first parameter that needs no key and is not bound, or that accepts any number of arguments.
fn next_positional(params: &[Param], given: &[(usize, Argument)]) -> Option<usize> {
    let is_open = |index: usize| {
        let bound = given.iter().any(|(other, _)| *other == index);
        params[index].kind == ParamKind::Parts || params[index].kind.is_positional() && !bound
    };
    (0..params.len()).find(|&index| is_open(index))
}

fn argument_of(param: &Param, arg: &Arg, catalog: &'static Catalog) -> Result<Argument, SpecError> {
    if param.kind.is_by_app() {
        return of_app(param, arg, catalog);
    }
    if param.kind == ParamKind::Policy
        && let Some(policy) = policy_of(arg, catalog)?
    {
        return Ok(Argument::Policy(Box::new(policy)));
    }
    Ok(match (param.kind, &arg.term) {
        (ParamKind::Parts, Term::Clause { size, block, class }) => Argument::Parts(vec![part(size, block, class)?]),
        (_, Term::Value(value)) => {
            param.check(value)?;
            Argument::Value(value.clone())
        }
        (_, other) => return Err(param.refuse(other)),
    })
}

/// Returns the policy that an argument names; `None` if it cannot be a policy.
fn policy_of(arg: &Arg, catalog: &'static Catalog) -> Result<Option<PolicySpec>, SpecError> {
    match &arg.term {
        Term::Spec(spec) => PolicySpec::resolve(spec, catalog).map(Some),
        Term::Value(value @ Value::Word(name)) => {
            let spec = Spec { name: name.clone(), args: Vec::new(), at: At(value_at(arg, value)) };
            PolicySpec::resolve(&spec, catalog).map(Some)
        }
        _ => Ok(None),
    }
}

/// Returns the value that is given for one application.
fn of_app(param: &Param, arg: &Arg, catalog: &'static Catalog) -> Result<Argument, SpecError> {
    let name = arg.key.clone().unwrap_or_default();
    let refuse = || SpecError::new(format!("{} is not allowed: expected {}", quote(&arg.to_string()), param.kind));
    let said = match (param.kind, &arg.term) {
        (ParamKind::Goals, Term::Value(value)) if param.check(value).is_ok() => Argument::Value(value.clone()),
        (ParamKind::Goals, _) => return Err(refuse()),
        _ => Argument::Policy(Box::new(policy_of(arg, catalog)?.ok_or_else(refuse)?)),
    };
    Ok(Argument::Apps(vec![(name, said)]))
}

/// Returns the position of an argument's value, after its key.
fn value_at(arg: &Arg, value: &Value) -> Range<usize> {
    let end = arg.at.0.end;
    end - value.to_string().len()..end
}

fn part(size: &Value, block: &Value, class: &str) -> Result<Part, SpecError> {
    let bytes = |value: &Value| match value {
        Value::Size(bytes) if *bytes > 0 => Some(*bytes),
        Value::Number(bytes) if *bytes >= 1.0 && bytes.fract() == 0.0 => Some(*bytes as u64),
        _ => None,
    };
    let size_bytes = match size {
        Value::Word(x) if x == "x" => None,
        size => Some(
            bytes(size)
                .ok_or_else(|| wrong_part(size, "bytes such as 64K, or x for the space that the others leave"))?,
        ),
    };
    let block = bytes(block).ok_or_else(|| wrong_part(block, "the bytes of a block, such as 128 or 4K"))?;
    Ok(Part { size: size_bytes, block, class: class.to_owned() })
}

fn wrong_part(found: &Value, expected: &str) -> SpecError {
    SpecError::new(format!("{} is not allowed in a partition: expected {expected}", quote(&found.to_string())))
}

fn needs_key(params: &[Param], arg: &Arg) -> SpecError {
    let keys: Vec<String> = params.iter().map(|param| format!("{}={}", param.key, param.default)).collect();
    let expected = match keys.as_slice() {
        [] => "no arguments, this policy has no parameters".to_owned(),
        keys => format!("key=value, as in {}", keys.join(", ")),
    };
    SpecError::new(format!("{} has no key: expected {expected}", quote(&arg.to_string()))).at(arg.at.0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: [Param; 3] = [
        Param { key: "kin", kind: ParamKind::Share, default: "25%", doc: "" },
        Param { key: "k", kind: ParamKind::Count { min: 1, max: 9 }, default: "2", doc: "" },
        Param { key: "ghosts", kind: ParamKind::Switch, default: "on", doc: "" },
    ];

    fn bound(text: &str) -> Result<Vec<(usize, Argument)>, SpecError> {
        bind(&PARAMS, &Spec::parse(text)?.args, Catalog::EMPTY)
    }

    /// The rendered error of `text`, without the repeated text itself.
    fn refused(text: &str) -> (String, String) {
        let rendered = bound(text).unwrap_err().render(text);
        let mut lines = rendered.lines();
        (lines.next().unwrap().to_owned(), lines.nth(1).unwrap().trim_start_matches("  ").to_owned())
    }

    #[test]
    fn arguments_come_in_declared_order_whatever_the_user_wrote() {
        let given = bound("p(ghosts=off, k=3.0, kin=64k)").unwrap();
        let values = [Value::Size(65536), Value::Number(3.0), Value::Word("off".into())].map(Argument::Value);
        assert_eq!(given, values.into_iter().enumerate().collect::<Vec<_>>());
        assert_eq!(given, bound("p(kin=64KiB,k=3,ghosts=off)").unwrap());
    }

    #[test]
    fn errors_say_what_is_expected_where() {
        let (message, _) = refused("p(kout=1)");
        assert_eq!(message, "unknown parameter \"kout\": known are kin, k, ghosts");
        let (message, _) = refused("p(k=10)");
        assert_eq!(message, "\"k=10\" is not allowed: expected a whole number from 1 to 9");
        let (message, _) = refused("p(kin=lru(k=2))");
        assert!(message.starts_with("\"kin=lru(k=2)\" is not allowed: expected a share"), "{message}");
        let (message, _) = refused("p(50%)");
        assert_eq!(message, "\"50%\" has no key: expected key=value, as in kin=25%, k=2, ghosts=on");
        let text = "p(k=2, kout=1)";
        assert_eq!(bound(text).unwrap_err().at, Some(7..11));
        assert_eq!(bound("p(k=2, kin=200%)").unwrap_err().at, Some(7..15));
    }
}
