//! The schema of results, written from the structures that are serialised: their fields, types and comments.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use hotset_sim::results::SCHEMA_VERSION;
use syn::{Attribute, Expr, Field, Fields, GenericArgument, Item, ItemStruct, Lit, Meta, PathArguments, Type};

/// The described structures, in order: a heading, the file and the structure, and the text about it.
const PARTS: [(&str, &str, &str, &str); 9] = [
    ("A row of `simulate` or `experiment`", "crates/sim/src/results.rs", "Row", "One a trace, policy and size."),
    (
        "Counts",
        "crates/sim/src/results.rs",
        "Counts",
        "In every such row, and in each of its applications and classes.",
    ),
    (
        "The choice",
        "crates/sim/src/results.rs",
        "Choice",
        "In every row of a cache and in every point of `curve`; `docs/reference/choosing.md` says how it is written.",
    ),
    ("An application, in `apps`", "crates/sim/src/results.rs", "AppCounts", ""),
    ("A class, in `classes`", "crates/sim/src/results.rs", "NamedClass", ""),
    (
        "A row of `simulate --series`",
        "crates/sim/src/results.rs",
        "SeriesRow",
        "One an application and stretch of time, in a separate file.",
    ),
    ("A row of a trace of memory", "crates/sim/src/paging/rows.rs", "PagingRow", "One a policy and size."),
    ("A point of `curve`", "crates/sim/src/curve/row.rs", "CurveRow", "One a policy and size."),
    ("How a point was sampled", "crates/sim/src/curve/line.rs", "Sampling", "In points of sampled curves."),
];

const HEAD: &str = "\
# Results

`simulate`, `curve` and `experiment` write rows: `--json` one JSON object a line, `--csv` a table with a header, `--parquet` a table with typed columns. The fields are the same in all, by name. What does not
apply is absent: no field in JSON, nothing between the commas in CSV, null in Parquet, which has no column for what no row has. What JSON nests (`apps`, `classes`) is left out of CSV, and JSON in a column of text in Parquet.
Whole numbers are unsigned, of 64 bits. `hotset view` reads all three, packed or not.
";

/// The page below its notice.
pub fn page(root: &Path) -> Result<String> {
    let mut page = format!(
        "{HEAD}\nEvery row has `version`, which is {SCHEMA_VERSION}. It changes when a field changes its meaning or goes away, not when one is added; \
         `hotset view` reads the versions that came before as well, and refuses others with a sentence.\n"
    );
    for (heading, path, name, said) in PARTS {
        let text = fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
        let file = syn::parse_file(&text).with_context(|| format!("{path} is not Rust"))?;
        let found = file.items.into_iter().find_map(|item| match item {
            Item::Struct(item) if item.ident == name => Some(item),
            _ => None,
        });
        let item = found.with_context(|| format!("{path} has no structure {name}"))?;
        page.push_str(&format!("\n## {heading}\n\n"));
        if !said.is_empty() {
            page.push_str(&format!("{said}\n\n"));
        }
        page.push_str(&table(&item).with_context(|| format!("{path}, {name}"))?);
    }
    Ok(page)
}

fn table(item: &ItemStruct) -> Result<String> {
    let mut lines = "| field | type | meaning |\n| --- | --- | --- |\n".to_owned();
    let Fields::Named(fields) = &item.fields else { return Ok(lines) };
    for field in &fields.named {
        let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        let said = comment(&field.attrs);
        ensure!(!said.is_empty(), "the field {name} has no comment to tell its meaning");
        let (name, kind) = match is_flattened(field) {
            true => ("*and*".to_owned(), format!("the fields of {}", shown(&field.ty))),
            false => (format!("`{name}`"), shown(&field.ty)),
        };
        lines.push_str(&format!("| {name} | {kind} | {} |\n", said.replace('|', "\\|")));
    }
    Ok(lines)
}

/// A type as a reader of results knows it.
fn shown(ty: &Type) -> String {
    if let Type::Reference(reference) = ty {
        return shown(&reference.elem);
    }
    let Type::Path(path) = ty else { return String::new() };
    let Some(last) = path.path.segments.last() else { return String::new() };
    let inner = || match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
            Some(GenericArgument::Type(ty)) => shown(ty),
            _ => String::new(),
        },
        _ => String::new(),
    };
    match last.ident.to_string().as_str() {
        "u8" | "u16" | "u32" | "u64" => "whole number".to_owned(),
        "f64" => "number".to_owned(),
        "bool" => "true or false".to_owned(),
        "String" | "str" | "Cow" => "text".to_owned(),
        "Option" => inner(),
        "Vec" => format!("array of {}", inner()),
        "Counts" => "Counts".to_owned(),
        "AppCounts" => "applications".to_owned(),
        "NamedClass" => "classes".to_owned(),
        "Sampling" => "how it was sampled, if it was".to_owned(),
        other => other.to_owned(),
    }
}

fn is_flattened(field: &Field) -> bool {
    let flattens = |attribute: &Attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("serde") && list.tokens.to_string().contains("flatten"),
        _ => false,
    };
    field.attrs.iter().any(flattens)
}

/// The text of `///` comments, in one line; names in brackets lose them.
fn comment(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        let Expr::Lit(literal) = &pair.value else { return None };
        match (&literal.lit, pair.path.is_ident("doc")) {
            (Lit::Str(text), true) => Some(text.value().trim().replace(['[', ']'], "")),
            _ => None,
        }
    });
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_by_type_and_comment() {
        let item: ItemStruct = syn::parse_str(
            "struct A<'a> {\n/// How | many.\n/// [`B`] too.\na: Option<u64>,\n/// All.\n#[serde(flatten)]\nb: Counts,\n/// Who.\nc: &'a str,\n}",
        )
        .unwrap();
        let lines: Vec<String> = table(&item).unwrap().lines().skip(2).map(str::to_owned).collect();
        assert_eq!(
            lines,
            [
                "| `a` | whole number | How \\| many. `B` too. |",
                "| *and* | the fields of Counts | All. |",
                "| `c` | text | Who. |"
            ]
        );
        let bare: ItemStruct = syn::parse_str("struct A { a: u64 }").unwrap();
        assert!(table(&bare).unwrap_err().to_string().contains("the field a has no comment"));
    }
}
