//! Columns that mean one thing in some traces and another thing in others. Such a header is refused with both readings,
//! each as the setting `columns` that chooses it.

use super::roles::{Role, plain_name, role, split_unit, squeezed};
use hotset_core::setting::SettingName;

/// Columns of a place that may have separate objects.
const PLACES: [&str; 5] = ["host", "hostname", "namespace", "tenant", "tenantid"];

/// Sizes that are those of the object in some traces, and of a part of it in others.
const PARTIAL_SIZES: [&str; 2] = ["responsesize", "responseheadersize"];

/// Refuses columns with two readings. A name with a type, such as `host:app`, has one.
pub(super) fn check(names: &[String], roles: &[Role]) -> Result<(), String> {
    check_places(names, roles)?;
    check_blocks(names, roles)?;
    check_sizes(names, roles)
}

/// Objects of two hosts, tenants or address spaces may have the same name.
fn check_places(names: &[String], roles: &[Role]) -> Result<(), String> {
    let has_addresses = names.iter().any(|name| ["addr", "address"].contains(&squeezed(name).as_str()));
    let is_place = |name: &String, role: &Role| {
        *role == Role::App && (PLACES.contains(&squeezed(name).as_str()) || has_addresses && plain_name(name))
    };
    let Some(place) = names.iter().zip(roles).position(|(name, role)| is_place(name, role)) else { return Ok(()) };
    let is_id = |role: &Role| matches!(role, Role::Id | Role::Name | Role::File);
    let shared = with(names, roles, |at, name| (at == place).then(|| format!("{name}:app")));
    let own = with(names, roles, |at, name| (at == place || is_id(&roles[at])).then(|| format!("{name}:part")));
    let [shared, own] = [shared, own].map(|columns| SettingName("columns").of(columns));
    Err(format!(
        "column `{0}` has two readings: equal names under two values of `{0}` are one object ({shared}), or \
         two objects ({own})",
        names[place]
    ))
}

/// Numbers of blocks count from the start of the file or of the device.
fn check_blocks(names: &[String], roles: &[Role]) -> Result<(), String> {
    let has_offset = roles.iter().any(|role| matches!(role, Role::Offset { .. }));
    let file = roles.iter().position(|role| *role == Role::File);
    let id = (0..names.len()).find(|&at| roles[at] == Role::Id && plain_name(&names[at]));
    let (false, Some(file), Some(id)) = (has_offset, file, id) else { return Ok(()) };
    let alone = with(names, roles, |at, name| (at == id).then(|| format!("{name}:number")));
    let both = with(names, roles, |at, name| (at == id || at == file).then(|| format!("{name}:part")));
    let [alone, both] = [alone, both].map(|columns| SettingName("columns").of(columns));
    Err(format!(
        "columns `{}` and `{id}` have two readings: `{id}` names an object alone ({alone}), or within its `{}` \
         ({both})",
        names[file],
        names[file],
        id = names[id]
    ))
}

/// The size of a response may be less than that of the object.
fn check_sizes(names: &[String], roles: &[Role]) -> Result<(), String> {
    if roles.iter().any(|role| matches!(role, Role::Length { .. })) {
        return Ok(());
    }
    let Some(at) = names.iter().position(|name| PARTIAL_SIZES.contains(&squeezed(name).as_str())) else {
        return Ok(());
    };
    let used = with(names, roles, |other, _| (other == at).then(|| "size".to_owned()));
    Err(format!(
        "column `{0}` has two readings: it is the size of the object ({1}), or of a part of it \
         ({2}: objects of one size)",
        names[at],
        SettingName("columns").of(used),
        SettingName("ignore_columns").of(&names[at])
    ))
}

/// What to do about a name that is not understood, by its unit: the types that choose a reading.
pub(super) fn remedy(name: &str, candidates: &str) -> String {
    match split_unit(name) {
        Some((front, unit)) if matches!(role(front), Some(Role::Offset { .. } | Role::Length { .. })) => {
            let factor = match unit.as_str() {
                "k" | "kb" => Some((1000, "kib")),
                "m" | "mb" => Some((1_000_000, "mib")),
                "g" | "gb" => Some((1_000_000_000, "gib")),
                _ => None,
            };
            if let Some((decimal, binary)) = factor {
                return format!(
                    "has two readings; choose the unit with {}, as {front}:{binary} or {front}:{decimal} (bytes)",
                    SettingName("columns")
                );
            }
        }
        _ => {}
    }
    format!(
        "is not understood, and may decide what is cached; rename it with {} (known: {candidates}), or accept the \
         loss with {}",
        SettingName("columns"),
        SettingName("ignore_columns").of(name)
    )
}

/// The columns as the setting `columns` takes them, some of them in another way.
fn with(names: &[String], roles: &[Role], other: impl Fn(usize, &String) -> Option<String>) -> String {
    let column = |at: usize| match other(at, &names[at]) {
        Some(name) => name,
        None if roles[at] == Role::Ignored => "_".to_owned(),
        None => names[at].clone(),
    };
    (0..names.len()).map(column).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::{
        super::columns::{Columns, Separator},
        *,
    };

    fn refusal(header: &str) -> String {
        Columns::from_header(header.as_bytes(), Separator::Byte(b','), &[]).map(|_| ()).unwrap_err()
    }

    /// The columns that a refusal proposes.
    fn proposed(message: &str) -> Vec<Columns> {
        let names = message.split("`columns=").skip(1).map(|rest| rest.split('`').next().unwrap_or_default());
        names.map(|names| Columns::from_user(names, Separator::Byte(b','), &[]).unwrap()).collect()
    }

    #[test]
    fn places_share_objects_or_have_their_own() {
        let refused = refusal("time,host,disk,offset,size");
        assert_eq!(
            refused,
            "column `host` has two readings: equal names under two values of `host` are one object \
             (`columns=time,host:app,disk,offset,size`), or two objects \
             (`columns=time,host:part,disk:part,offset,size`)"
        );
        let [shared, own] = &proposed(&refused)[..] else { panic!("{refused}") };
        assert_eq!((shared.roles[1], shared.roles[2]), (Role::App, Role::File));
        assert_eq!((own.roles[1], own.roles[2]), (Role::FilePart, Role::FilePart));
        assert_eq!(proposed(&refusal("tenant,key,size"))[1].roles[..2], [Role::Part, Role::Part]);
        assert_eq!(proposed(&refusal("tenant,offset"))[1].roles[0], Role::FilePart);
        assert!(refusal("pid,address,rw").starts_with("column `pid` has two readings"));
        let fine = Columns::from_header(b"pid,file,offset", Separator::Byte(b','), &[]).unwrap();
        assert_eq!(fine.roles[0], Role::App);
        assert!(Columns::from_user("tenant,key", Separator::Byte(b','), &[]).is_err());
    }

    #[test]
    fn blocks_are_numbered_in_a_file_or_alone() {
        let refused = refusal("time,file,block,size");
        let [alone, both] = &proposed(&refused)[..] else { panic!("{refused}") };
        assert_eq!((alone.roles[1], alone.roles[2]), (Role::File, Role::Id));
        assert_eq!((both.roles[1], both.roles[2]), (Role::Part, Role::Part));
    }

    #[test]
    fn the_size_of_a_response_is_not_dropped() {
        let refused = refusal("time,url,response_size");
        assert_eq!(proposed(&refused)[0].roles[2], Role::Length { unit: 1 });
        let ignored = [squeezed("response_size")];
        assert!(Columns::from_header(b"time,url,response_size", Separator::Byte(b','), &ignored).is_ok());
        assert!(Columns::from_header(b"time,url,size,response_size", Separator::Byte(b','), &[]).is_ok());
    }

    #[test]
    fn a_kilobyte_has_two_sizes() {
        let refused = refusal("time,id,size_kb");
        assert_eq!(
            refused,
            "column `size_kb` has two readings; choose the unit with `columns`, as size:kib or size:1000 (bytes)"
        );
    }
}
