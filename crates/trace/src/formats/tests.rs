use super::{
    testing::{opened, read, read_with},
    *,
};

fn recognised(bytes: &[u8]) -> Result<&'static str, String> {
    opened(None, bytes, &OpenOptions::default()).map(|trace| trace.format).map_err(|error| error.to_string())
}

#[test]
fn names_are_unique_and_samples_are_recognised_and_sound() {
    for (number, format) in BUILTIN.iter().enumerate() {
        assert!(BUILTIN[..number].iter().all(|other| other.name != format.name), "{}", format.name);
        assert!(!format.summary.ends_with('.') && !format.summary.contains('\n'), "{}", format.name);
        let name = format!("sample.{}", format.name);
        let sample = Input::from_reader(Path::new(&name), std::io::Cursor::new(format.sample), None).unwrap();
        let taken_for = open_input(sample, None, BUILTIN, &OpenOptions::default()).map(|trace| trace.format);
        assert_eq!(taken_for.unwrap_or_else(|error| panic!("{error}")), format.name);
        if format.name != "pgt" {
            assert!(read(format, format.sample).requests.len() > 1, "{}", format.name);
        }
    }
}

#[test]
fn examples_of_text_formats_are_recognised() {
    // One number on a line is an id as well as a block of the LIRS paper: both read it alike.
    let expected = |name: &'static str| if name == "lirs" { "ids" } else { name };
    for format in BUILTIN.iter().filter(|format| format.sample.is_ascii() && !["csv", "pgt"].contains(&format.name)) {
        if std::str::from_utf8(format.sample).is_ok_and(|text| text.contains('\n')) {
            if OF_INTEGERS.contains(&format.name) {
                assert!(recognised(format.example.as_bytes()).is_err_and(|error| error.contains("`format=")));
                continue;
            }
            assert_eq!(recognised(format.example.as_bytes()), Ok(expected(format.name)), "{}", format.example);
        }
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let options = OpenOptions { format: Some("lisr".to_owned()), ..OpenOptions::default() };
    let error = open(Path::new("x"), BUILTIN, &options).err().unwrap().to_string();
    assert!(error.starts_with("x: unknown format `lisr`; expected one of: "), "{error}");
    assert_eq!(by_name("oracleGeneral", BUILTIN).map(|format| format.name), Ok("oracle-general"));
    assert!(BUILTIN.iter().all(|format| error.contains(format.name)), "{error}");
}

#[test]
fn what_no_format_fits_is_described() {
    assert_eq!(
        recognised(b"Dear reader,\nhello\n"),
        Err("t: no known format fits: found text that begins with `Dear reader,`; expected a trace, or its format named with \
             `format`"
            .to_owned())
    );
    let binary = recognised(&[0xff, 1, 2]).unwrap_err();
    assert!(binary.contains(r"found binary data that begins with `\xff\x01\x02`"), "{binary}");
    let packed = recognised(&zstd::encode_all(&b"hello\n"[..], 1).unwrap()).unwrap_err();
    assert!(packed.contains("found zstd data that unpacks to text that begins with `hello`"), "{packed}");
}

#[test]
fn an_empty_file_is_refused_in_every_format() {
    assert_eq!(recognised(b"").unwrap_err(), "t: the file is empty; expected a trace");
    for format in BUILTIN {
        let error = read_with(format, b"", &OpenOptions::default()).err().unwrap().to_string();
        assert_eq!(error, "t: the file is empty; expected a trace", "{}", format.name);
    }
}

#[test]
fn a_format_may_stand_before_the_path() {
    let path = std::env::temp_dir().join(format!("hotset-prefix-{}", std::process::id()));
    std::fs::write(&path, "9 2 3 4\n1 2 3 5\n").unwrap();
    let prefixed = PathBuf::from(format!("lirs:{}", path.display()));
    let open_it = |path: &Path| open(path, BUILTIN, &OpenOptions::default()).map(|trace| trace.format);
    let formats = (open_it(&path).unwrap(), open_it(&prefixed).unwrap());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(formats, ("arc", "lirs"));
    let missing = open_it(Path::new("/nowhere:x")).unwrap_err().to_string();
    assert!(missing.starts_with("/nowhere:x: no such file"), "{missing}");
}

#[test]
fn skipping_goes_on_to_where_packed_bytes_break() {
    let text: String = (0..100_000u32).map(|n| format!("{}\n", n.wrapping_mul(2_654_435_761))).collect();
    let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let cut = &packed[..packed.len() / 2];
    let ids = by_name("ids", BUILTIN).unwrap();
    let error = read_with(ids, cut, &OpenOptions::default()).err().unwrap();
    assert!(
        matches!(error.place, Place::Byte(_)) && error.to_string().contains("the zstd data is truncated"),
        "{error}"
    );
    let options = OpenOptions { skip_bad: true, ..OpenOptions::default() };
    let whole = read_with(ids, cut, &options).unwrap();
    let sound = (0..100_000u32).map(|n| u64::from(n.wrapping_mul(2_654_435_761)));
    assert!(
        whole.requests.len() > 1000
            && whole.requests.iter().map(|request| request.offset).eq(sound.take(whole.requests.len()))
    );
    assert_eq!(whole.skipped, 1);
    assert!(whole.remarks[0].contains("the zstd data is truncated or corrupt"), "{:?}", whole.remarks);
}

#[test]
fn bare_integers_are_told_apart_by_what_columns_do() {
    let objects = |feature: &str| {
        let row = |time: u64| format!("{time} {} {}{feature}\n", time * 7 % 5, 100 + time * 7 % 5);
        (0..40).map(row).collect::<String>()
    };
    for feature in ["", " 7", " 1 0", " 1 1 1 1"] {
        assert_eq!(recognised(objects(feature).as_bytes()), Ok("webcachesim"), "{feature}");
    }
    let disks: String = (0..40u64).map(|n| format!("{n} {} {} 8 {}\n", n % 3, n * 7919 % 1000, n % 2)).collect();
    assert_eq!(recognised(disks.as_bytes()), Ok("disksim"));
    let blocks: String = (0..40u64).map(|n| format!("{} 8 0 {n}\n", n * 7919 % 1000)).collect();
    assert_eq!(recognised(blocks.as_bytes()), Ok("arc"));

    let refused = |text: &str, formats: &[&str]| {
        let error = recognised(text.as_bytes()).unwrap_err();
        assert!(formats.iter().all(|format| error.contains(&format!("`format={format}` "))), "{error}");
        assert!(error.contains("`columns=time,id,size"), "{error}");
    };
    let both: String = (0..40u64).map(|n| format!("{n} {} 1 {n}\n", 1000 + n)).collect();
    refused(&both, &["arc", "webcachesim"]);
    refused("5 1 0 1\n3 8 0 1\n", &["arc", "webcachesim"]);
    refused("1 2 3 4 0\n", &["disksim", "webcachesim"]);
    refused("9 8 7\n3 2 1\n", &["webcachesim"]);
}

/// Archives and compressed data that are not read are refused with the command that unpacks them, also where the format
/// is named: blanks and zeros of a tar archive would be taken for bad lines.
#[test]
fn archives_are_refused_with_the_command_that_unpacks_them() {
    let mut tar = vec![0; 1024];
    tar[..5].copy_from_slice(b"t.csv");
    tar[257..262].copy_from_slice(b"ustar");
    let cases: [(&[u8], &str); 7] = [
        (b"PK\x03\x04\n", "a zip archive, which is not read here; unpack it first, e.g. unzip -p t MEMBER | "),
        (b"7z\xbc\xaf\x27\x1c\0", "7z x -so t MEMBER | hotset simulate -"),
        (b"Rar!\x1a\x07\0", "unrar p -inul t MEMBER | "),
        (b"BZh91AY&SY", "bzip2 data, which is not read here; unpack it first, e.g. bzip2 -dc t | "),
        (b"\x04\x22\x4d\x18d@", "lz4 -dc t | "),
        (b"PAR1\x15", "write it as CSV with a header first"),
        (&tar, "tar -xOf t MEMBER | hotset simulate -"),
    ];
    for (bytes, expected) in cases {
        for named in [None, by_name("csv", BUILTIN).ok()] {
            let input = Input::from_reader(Path::new("t"), std::io::Cursor::new(bytes.to_vec()), None).unwrap();
            let options = OpenOptions { columns: Some("time,key".to_owned()), ..OpenOptions::default() };
            let message = open_input(input, named, BUILTIN, &options).err().unwrap().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
