//! Set-user-id programs and device files in a mount by root, with and without `--allow-suid` and `--allow-dev`. Needs
//! /dev/fuse and root.

mod support;

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, StatVfsMountFlags, makedev, mknodat, statvfs};

use support::mounted::{Mount, can_mount};

/// A user other than root.
const USER: u32 = 12345;

/// A directory with a program that runs with root's rights, and a device file that everybody may read, mounted so. None
/// where that cannot be.
fn mounted(arguments: &[&str]) -> Option<Mount> {
    if !can_mount() {
        return None;
    }
    if !rustix::process::geteuid().is_root() {
        hotset_testkit::inputs::skip("only root makes devices and programs that run as root");
        return None;
    }
    let mount = Mount::new(&[&["--memory", "1M", "--policy", "lru"], arguments].concat());
    mount.open_to_all();
    fs::copy("/usr/bin/id", mount.source("id")).unwrap();
    fs::set_permissions(mount.source("id"), Permissions::from_mode(0o4755)).unwrap();
    // The one that is always empty.
    let made = mknodat(CWD, mount.source("null"), FileType::CharacterDevice, Mode::from_raw_mode(0o666), makedev(1, 3));
    let is_made = made.is_ok() && fs::set_permissions(mount.source("null"), Permissions::from_mode(0o666)).is_ok();
    if !is_made {
        hotset_testkit::inputs::skip("no device file can be made here");
        return None;
    }
    Some(mount)
}

/// True if what is asked for cannot be had since the file system of temporary files forbids it.
fn is_forbidden() -> bool {
    let flags = statvfs(std::env::temp_dir()).unwrap().f_flag;
    let is_forbidden = flags.intersects(StatVfsMountFlags::NOSUID | StatVfsMountFlags::NODEV);
    if is_forbidden {
        hotset_testkit::inputs::skip("temporary files lie where set-user-id programs or devices are forbidden");
    }
    is_forbidden
}

/// As whom a user runs the program, whether the user can open the device, and what the table of mounts says.
fn found(mount: &Mount) -> (u32, bool, [bool; 2]) {
    let ran = Command::new(mount.at("id")).arg("-u").uid(USER).gid(USER).output().unwrap();
    let user = String::from_utf8(ran.stdout).unwrap().trim().parse().unwrap();
    let device = match File::open(mount.at("null")) {
        Ok(mut file) => {
            assert_eq!(file.read(&mut [0; 10]).unwrap(), 0, "it is the device");
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            false
        }
    };
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let place = mount.at("");
    let place = place.to_str().unwrap().trim_end_matches('/');
    let line = table.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find(|line| line[4] == place).unwrap();
    let has = |option: &str| line[5].split(',').any(|other| other == option);
    (user, device, [has("nosuid"), has("nodev")])
}

#[test]
fn programs_and_devices_have_no_rights_that_were_not_asked_for() {
    let Some(mut mount) = mounted(&[]) else { return };
    assert_eq!(found(&mount), (USER, false, [true, true]));
    mount.stop();
}

#[test]
fn a_program_has_its_owners_rights_where_that_is_asked_for() {
    let Some(mut mount) = (!is_forbidden()).then(|| mounted(&["--allow-suid"])).flatten() else { return };
    assert_eq!(found(&mount), (0, false, [false, true]));
    mount.stop();
}

#[test]
fn a_device_is_one_where_that_is_asked_for() {
    let Some(mut mount) = (!is_forbidden()).then(|| mounted(&["--allow-dev"])).flatten() else { return };
    assert_eq!(found(&mount), (USER, true, [true, false]));
    mount.stop();
}
