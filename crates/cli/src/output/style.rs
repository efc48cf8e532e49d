//! How standard output is styled, and how wide it is.

use std::io::{IsTerminal, stdout};

use comfy_table::{Attribute, Cell, Color, Table};

/// Width of tables and plots without a terminal.
const USUAL_WIDTH: usize = 80;

/// True on a terminal, unless the user asked for no colour (<https://no-color.org>) or the terminal has none.
pub(crate) fn is_styled() -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    stdout().is_terminal() && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// Columns of the terminal; `None` where standard output is none.
pub(crate) fn terminal_width() -> Option<usize> {
    Table::new().width().map(usize::from).filter(|&width| width > 0)
}

/// Columns to fill.
pub(crate) fn width() -> usize {
    terminal_width().unwrap_or(USUAL_WIDTH)
}

/// The kind of a piece of output, which decides its style.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A heading, or the header of a table.
    Heading,
    /// The best of its kind.
    Best,
    /// A bound that nothing can pass.
    Bound,
    /// Anything else.
    Plain,
}

/// A table cell.
pub(crate) fn cell(text: impl ToString, role: Role) -> Cell {
    let cell = Cell::new(text);
    if !is_styled() {
        return cell;
    }
    match role {
        Role::Heading => cell.add_attribute(Attribute::Bold),
        Role::Best => cell.add_attribute(Attribute::Bold).fg(Color::Green),
        Role::Bound => cell.fg(Color::Cyan),
        Role::Plain => cell,
    }
}

/// A piece of running text.
pub(crate) fn paint(text: &str, role: Role) -> String {
    let code = match role {
        _ if !is_styled() => return text.to_owned(),
        Role::Heading => "1",
        Role::Best => "1;32",
        Role::Bound => "36",
        Role::Plain => return text.to_owned(),
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}
