//! The page of results, written from the structures that are serialised: their fields, types and comments.

use anyhow::{Context, Result, ensure};
use hotset_results::SCHEMA_VERSION;
use syn::{Attribute, Expr, Field, GenericArgument, Lit, Meta, PathArguments, Type};

use crate::rows::{self, Definition};

/// The described structures, in order: a heading, the structure, and the text about it.
const PARTS: [(&str, &str, &str); 9] = [
    (
        "A row",
        "Row",
        "One for each trace, policy and size, of blocks, objects or pages, and one for each point of `curve`.",
    ),
    ("Counts", "Counts", "In every row, and in each of its applications and classes."),
    (
        "Counts of requests",
        "RequestCounts",
        "In rows of `simulate` and `experiment` that are not of a trace of memory.",
    ),
    ("The choice", "Choice", "`docs/reference/choosing.md` says how it is written."),
    ("Faults", "Paging", "In rows of a trace of memory."),
    ("How a point was sampled", "Sampling", "In points of sampled curves."),
    ("An application, in `apps`", "AppCounts", ""),
    ("A class, in `classes`", "NamedClass", ""),
    ("A row of `simulate --series`", "SeriesRow", "One an application and stretch of time, in a separate file."),
];

const HEAD: &str = "\
# Results

`simulate`, `curve` and `experiment` write rows: `--json` one JSON object a line, `--csv` a table with a header, `--parquet` a table with typed columns. The fields are the same in all, by name. What does not
apply is absent: no field in JSON, nothing between the commas in CSV, null in Parquet, which has no column for what no row has. What JSON nests (`apps`, `classes`) is left out of CSV, and JSON in a column of text in Parquet.
Whole numbers are unsigned, of 64 bits. `hotset view` reads all three, packed or not.
";

/// The changes of version 3.
const CHANGES: &str = "\
## From version 2 to version 3

No field has another name or meaning, so readers take rows of versions 1 and 2 as they are. Version 2 had three kinds of rows, each with its own columns in CSV.
In version 3 all rows have the fields above, and all CSV files have the same columns, in the order of JSON.

| field of version 2 | in version 2 a field of | in version 3 |
| --- | --- | --- |
| `version`, `trace`, `policy`, `size_blocks`, `size_bytes`, `block_bytes`, `seed`, `references`, `hits`, `misses`, `hit_ratio`, `distinct_blocks` | all rows | the same |
| `miss_ratio`, the choice, `object_bytes` to `bound_byte_hit_ratio` | caches and curves | absent for pages |
| reads and requests, `repeats`, `repeat_hits` | caches | absent for pages and in curves |
| `extra_reads` to `policy_bytes_per_block`, `apps`, `classes`, `explained` | caches | absent where they do not apply |
| `write_backs` | caches and pages | after `distinct_blocks` |
| `repartitions` | caches, in JSON and Parquet | in CSV too |
| faults and refaults | pages | absent for blocks and objects |
| the sample | curves | absent unless the curve is sampled |
";

/// The page below its notice.
pub fn page(definition: &Definition) -> Result<String> {
    let mut page = format!(
        "{HEAD}\nEvery row has `version`, which is {SCHEMA_VERSION}. It changes when a field or a column changes its meaning or place or goes away, \
         not when one is added; `hotset view` reads the versions that came before as well, and refuses others with a sentence.\n"
    );
    for (heading, name, said) in PARTS {
        page.push_str(&format!("\n## {heading}\n\n"));
        if !said.is_empty() {
            page.push_str(&format!("{said}\n\n"));
        }
        page.push_str(&table(definition.fields(name)?).with_context(|| format!("{}, {name}", rows::SOURCE))?);
    }
    page.push_str(&format!("\n{CHANGES}"));
    Ok(page)
}

fn table(fields: &[Field]) -> Result<String> {
    let mut lines = "| field | type | meaning |\n| --- | --- | --- |\n".to_owned();
    for field in fields {
        let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        let said = comment(&field.attrs);
        ensure!(!said.is_empty(), "the field {name} has no comment to tell its meaning");
        let (name, kind) = match rows::has(field, "flatten") {
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
    if let Type::Tuple(tuple) = ty {
        return tuple.elems.iter().map(shown).collect::<Vec<_>>().join(" and ");
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
        "u8" | "u16" | "u32" | "u64" | "Version" => "whole number".to_owned(),
        "f64" => "number".to_owned(),
        "bool" => "true or false".to_owned(),
        "String" | "str" | "Cow" => "text".to_owned(),
        "Option" => inner(),
        "Vec" => format!("array of {}", inner()),
        "Counts" => "Counts".to_owned(),
        "AppCounts" => "applications".to_owned(),
        "NamedClass" => "classes".to_owned(),
        "Paging" => "Faults".to_owned(),
        "RequestCounts" => "Counts of requests".to_owned(),
        "Sampling" => "how it was sampled, if it was".to_owned(),
        "Explained" => "learnt values".to_owned(),
        other => other.to_owned(),
    }
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
    use syn::{Fields, ItemStruct};

    use super::*;

    #[test]
    fn fields_are_told_by_type_and_comment() {
        let of = |text: &str| match syn::parse_str::<ItemStruct>(text).unwrap().fields {
            Fields::Named(fields) => fields.named.into_iter().collect::<Vec<Field>>(),
            _ => Vec::new(),
        };
        let fields = of(
            "struct A<'a> {\n/// How | many.\n/// [`B`] too.\na: Option<u64>,\n/// All.\n#[serde(flatten)]\nb: Counts,\n/// Who.\nc: &'a str,\n}",
        );
        let lines: Vec<String> = table(&fields).unwrap().lines().skip(2).map(str::to_owned).collect();
        assert_eq!(
            lines,
            [
                "| `a` | whole number | How \\| many. `B` too. |",
                "| *and* | the fields of Counts | All. |",
                "| `c` | text | Who. |"
            ]
        );
        assert!(table(&of("struct A { a: u64 }")).unwrap_err().to_string().contains("the field a has no comment"));
    }
}
