//! The meaning of the columns of a `csv` trace: by a header, or as the user names them.

use super::{
    readings,
    roles::{Role, candidates, is_ignored, is_vital, role, role_of_user, squeezed},
};
use crate::{
    Addressing,
    runner::{quote, text},
};
use hotset_core::setting::SettingName;

/// What keeps the fields of a line apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// One byte between two fields.
    Byte(u8),
    /// Any number of blanks and tabs.
    Blanks,
}

impl Separator {
    /// The separator that a user names.
    pub(super) fn parse(text: &str) -> Result<Separator, String> {
        match text {
            " " | "space" | "blank" | "blanks" => Ok(Separator::Blanks),
            "\t" | "\\t" | "tab" => Ok(Separator::Byte(b'\t')),
            _ => match text.as_bytes() {
                [byte] if byte.is_ascii_punctuation() && !b"\"-._".contains(byte) => Ok(Separator::Byte(*byte)),
                _ => Err(format!(
                    "{} cannot separate fields; expected one character such as , ; | or the word tab or space",
                    quote(text.as_bytes())
                )),
            },
        }
    }

    /// The one that a line has most of; blanks where it has none of the others.
    pub(super) fn of(line: &[u8]) -> Separator {
        let count = |separator: u8| line.iter().filter(|&&byte| byte == separator).count();
        let most = b",;\t|".iter().copied().rev().max_by_key(|&separator| count(separator)).unwrap_or(b',');
        match count(most) {
            0 if line.trim_ascii().contains(&b' ') => Separator::Blanks,
            _ => Separator::Byte(most),
        }
    }

    /// The fields of a line of names.
    fn split(self, line: &str) -> Vec<&str> {
        match self {
            Separator::Byte(byte) => line.split(char::from(byte)).collect(),
            Separator::Blanks => line.split_ascii_whitespace().collect(),
        }
    }
}

/// The columns of a trace.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// What each column tells.
    pub(super) roles: Vec<Role>,
    /// What keeps them apart.
    pub(super) separator: Separator,
    /// What offsets mean.
    pub(super) addressing: Addressing,
    /// Sentences about columns that are not used.
    pub(super) remarks: Vec<String>,
}

impl Columns {
    /// The columns that a header names. An unknown name is an error if it may decide what is cached, unless it is among
    /// `ignored`; other unknown columns are not used, and a remark says so.
    pub(super) fn from_header(line: &[u8], separator: Separator, ignored: &[String]) -> Result<Columns, String> {
        let names = names_of(line, separator);
        let is_left_out = |name: &String| ignored.contains(&squeezed(name));
        if let Some(absent) = ignored.iter().find(|wanted| !names.iter().any(|name| squeezed(name) == **wanted)) {
            return Err(format!(
                "no column is named `{absent}`, which is to be ignored; expected one of: {}",
                names.join(", ")
            ));
        }
        let mut remarks = Vec::new();
        let mut roles = Vec::new();
        for name in &names {
            let known = if is_left_out(name) { Some(Role::Ignored) } else { role(name) };
            if known.is_none() && !is_ignored(name) && is_vital(name) {
                return Err(format!("column `{name}` {}", readings::remedy(name, &candidates())));
            }
            roles.push(known.unwrap_or(Role::Ignored));
        }
        let unknown = |name: &&String| role(name).is_none() && !is_ignored(name) && !is_left_out(name);
        remarks.extend(remark_of_unknown(&names.iter().filter(unknown).map(String::as_str).collect::<Vec<_>>()));
        // A column that the user leaves out has no reading any more.
        let names: Vec<String> =
            names.iter().map(|name| if is_left_out(name) { "_".to_owned() } else { name.clone() }).collect();
        let mut columns = Columns::new(&names, roles, separator)?;
        columns.remarks.extend(remarks);
        Ok(columns)
    }

    /// The columns that a user names, of rows that are separated so.
    pub(super) fn from_user(names: &str, separator: Separator, ignored: &[String]) -> Result<Columns, String> {
        let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
        let known = |name: &String| match role_of_user(name) {
            _ if ignored.contains(&squeezed(name)) => Ok(Role::Ignored),
            Some(role) => Ok(role),
            None if is_ignored(name) => Ok(Role::Ignored),
            None => Err(format!("unknown column `{name}`; expected one of: {}, or _ to ignore it", candidates())),
        };
        let roles = names.iter().map(known).collect::<Result<Vec<Role>, String>>()?;
        Columns::new(&names, roles, separator)
    }

    fn new(names: &[String], mut roles: Vec<Role>, separator: Separator) -> Result<Columns, String> {
        readings::check(names, &roles)?;
        let mut remarks = Vec::new();
        let kind = |role: &Role| match role {
            Role::Name | Role::Part => std::mem::discriminant(&Role::Id),
            Role::Date => std::mem::discriminant(&Role::Time { digits: 9 }),
            Role::OpBit { .. } => std::mem::discriminant(&Role::Op),
            role => std::mem::discriminant(role),
        };
        for at in 1..roles.len() {
            let Some(before) = roles[..at].iter().position(|other| kind(other) == kind(&roles[at])) else { continue };
            match roles[at] {
                Role::Ignored | Role::Extra => continue,
                Role::Part if roles[before] == Role::Part => continue,
                Role::Time { .. } | Role::Date | Role::App | Role::Kind | Role::FileSize | Role::Ttl { .. } => {
                    remarks.push(format!("column `{}` is not used: `{}` tells the same", names[at], names[before]));
                    roles[at] = Role::Ignored;
                }
                _ => {
                    return Err(format!(
                        "columns `{}` and `{}` would tell the same, and may differ; accept the loss of one with \
                         {}",
                        names[before],
                        names[at],
                        SettingName("ignore_columns").of(&names[at])
                    ));
                }
            }
        }
        let addressing = resolve(&mut roles)?;
        Ok(Columns { roles, separator, addressing, remarks })
    }

    /// True if a column tells what `told` holds for.
    pub(super) fn any(&self, told: impl Fn(&Role) -> bool) -> bool {
        self.roles.iter().any(told)
    }

    /// True if a line names these columns instead of telling about a request: what should be a number is a word.
    pub(super) fn is_named_by(&self, line: &[u8]) -> bool {
        let is_number = |role: &Role| {
            matches!(
                role,
                Role::Time { .. }
                    | Role::Offset { .. }
                    | Role::Length { .. }
                    | Role::Extra
                    | Role::FileSize
                    | Role::Repeat
                    | Role::Ttl { .. }
            )
        };
        let names = names_of(line, self.separator);
        let begins =
            |name: &String| name.starts_with(|first: char| first.is_alphabetic() || first == '_' || first == '#');
        let mut numbers = self.roles.iter().zip(&names).filter(|(role, name)| is_number(role) && !name.is_empty());
        match numbers.next() {
            Some((_, name)) => begins(name),
            None => is_header(line, self.separator),
        }
    }
}

/// What offsets mean. With an offset the object is a file; without offset and object the file is the object.
fn resolve(roles: &mut [Role]) -> Result<Addressing, String> {
    let find = |roles: &[Role], wanted: fn(&Role) -> bool| roles.iter().position(wanted);
    let id = find(roles, |role| matches!(role, Role::Id | Role::Name | Role::Part));
    let file = find(roles, |role| *role == Role::File);
    if find(roles, |role| matches!(role, Role::Offset { .. })).is_some() {
        if roles.contains(&Role::Part) {
            for role in roles.iter_mut().filter(|role| matches!(role, Role::Part | Role::File)) {
                *role = Role::FilePart;
            }
        } else if let Some(id) = id {
            roles[id] = if file.is_none() { Role::File } else { Role::Ignored };
        }
        return Ok(Addressing::Bytes { unit: None });
    }
    match id.or(file) {
        Some(_) => Ok(Addressing::Objects),
        None => {
            Err(format!("no column tells what is referenced; expected id, offset, lba or file among: {}", candidates()))
        }
    }
}

/// True if a line names columns: one of them tells what is referenced and none is a number.
pub(super) fn is_header(line: &[u8], separator: Separator) -> bool {
    let names = names_of(line, separator);
    let addresses = |name: &String| matches!(role(name), Some(Role::Id | Role::Offset { .. } | Role::File));
    names.iter().any(addresses) && !names.iter().any(|name| name.starts_with(|c: char| c.is_ascii_digit()))
}

/// The remark on columns with unknown names.
fn remark_of_unknown(unknown: &[&str]) -> Option<String> {
    let unknown: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    let (noun, verb) = if unknown.len() == 1 { ("column", "is") } else { ("columns", "are") };
    let known = format!("{} gives others of the known names", SettingName("columns"));
    (!unknown.is_empty()).then(|| format!("{noun} {} {verb} not known and not used; {known}", unknown.join(", ")))
}

/// The names of a line, without quotes.
fn names_of(line: &[u8], separator: Separator) -> Vec<String> {
    let line = text(line);
    let line = line.trim_start_matches('\u{feff}').trim_start_matches('#');
    let plain = |name: &str| name.trim().trim_matches('"').trim().to_owned();
    separator.split(line.trim_end()).into_iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_header(line: &[u8]) -> Result<Columns, String> {
        Columns::from_header(line, Separator::of(line), &[])
    }

    #[test]
    fn headers_are_read_with_synonyms_and_other_separators() {
        let columns = of_header(b"\xef\xbb\xbfTime-ms;\"Obj ID\";Size;whatever").unwrap();
        assert_eq!(columns.separator, Separator::Byte(b';'));
        assert_eq!(columns.roles, [Role::Time { digits: 6 }, Role::Id, Role::Length { unit: 1 }, Role::Ignored]);
        assert_eq!(columns.addressing, Addressing::Objects);
        let remark = "column `whatever` is not known and not used; `columns` gives others of the known names";
        assert_eq!(columns.remarks, [remark]);
        assert_eq!(of_header(b"time,key,value_size,_").unwrap().remarks, [""; 0]);
        assert_eq!(of_header(b"time key size").map(|columns| columns.roles.len()), Ok(3));
    }

    #[test]
    fn an_object_with_an_offset_is_a_file() {
        let columns = of_header(b"key,offset,len").unwrap();
        assert_eq!(columns.roles, [Role::File, Role::Offset { unit: 1 }, Role::Length { unit: 1 }]);
        assert_eq!(columns.addressing, Addressing::Bytes { unit: None });
    }

    #[test]
    fn a_second_column_of_a_kind_is_told_of_or_refused() {
        let columns = of_header(b"time,timestamp,id").unwrap();
        assert_eq!(columns.roles, [Role::Time { digits: 9 }, Role::Ignored, Role::Id]);
        assert_eq!(columns.remarks, ["column `timestamp` is not used: `time` tells the same"]);
        let refused = of_header(b"offset,lba,size").unwrap_err();
        assert!(refused.starts_with("columns `offset` and `lba` would tell the same"), "{refused}");
        assert!(of_header(b"volume,file,offset").is_err());
        assert!(of_header(b"id,op,is_write").is_err());
    }

    #[test]
    fn a_column_that_decides_what_is_cached_is_not_dropped() {
        for name in ["num_blocks", "DiskNo", "io_kind", "unit", "objCount", "status", "end"] {
            let header = format!("time,offset,{name}");
            let error = of_header(header.as_bytes()).unwrap_err();
            assert!(error.starts_with(&format!("column `{name}` is not understood")), "{error}");
            let ignored = Columns::from_header(header.as_bytes(), Separator::Byte(b','), &[squeezed(name)]).unwrap();
            assert_eq!((ignored.roles[2], ignored.remarks.len()), (Role::Ignored, 0));
        }
        let absent = Columns::from_header(b"id,size", Separator::Byte(b','), &["kind".to_owned()]).unwrap_err();
        assert!(absent.starts_with("no column is named `kind`"), "{absent}");
    }

    #[test]
    fn wrong_columns_are_named() {
        let comma = Separator::Byte(b',');
        let unknown = Columns::from_user("time,idd,_", comma, &[]).unwrap_err();
        assert!(unknown.starts_with("unknown column `idd`; expected one of: time_s, "), "{unknown}");
        let nothing = Columns::from_user("time,size", comma, &[]).unwrap_err();
        assert!(nothing.starts_with("no column tells what is referenced"), "{nothing}");
    }

    #[test]
    fn a_line_of_names_is_told_from_a_row() {
        let columns = Columns::from_user("time,key,size", Separator::Byte(b','), &[]).unwrap();
        assert!(columns.is_named_by(b"timestamp,cacheKey,objectSize"));
        assert!(!columns.is_named_by(b"1680116800,abcd01,1000"));
        assert!(!columns.is_named_by(b",abcd01,1000"));
        let words = Columns::from_user("key", Separator::Byte(b','), &[]).unwrap();
        assert!(words.is_named_by(b"key") && !words.is_named_by(b"abc"));
    }

    #[test]
    fn separators_are_characters_or_words() {
        assert_eq!(Separator::parse(" "), Ok(Separator::Blanks));
        assert_eq!(Separator::parse("tab"), Ok(Separator::Byte(b'\t')));
        assert_eq!(Separator::parse("|"), Ok(Separator::Byte(b'|')));
        assert!(Separator::parse("ab").is_err() && Separator::parse("7").is_err() && Separator::parse("").is_err());
    }
}
