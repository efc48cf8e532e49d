use hotset_core::request::Op;

use super::{
    super::testing::{offsets, opened, read, read_with, refused, skipping},
    *,
};
use crate::batch::UNKNOWN_SIZE;

const FULL: &str = "time_s,pid,op,file,offset,bytes,filesize,kind\n";

fn full(rows: &str) -> Vec<u8> {
    format!("{FULL}{rows}").into_bytes()
}

#[test]
fn the_full_set_keeps_all_fields() {
    let whole = read(
        &FORMAT,
        &full(
            "0.001138,2174,M,a,10,62671,62671,lib\n0.5,7,S,b,,-1,,dir\r\n1,2174,D,b,0,208,,dir\n2,7,W,a,1,2,9,lib\n\
            3,7,T,c,9,0,,scene",
        ),
    );
    assert_eq!(
        whole.requests[0],
        Request {
            time: 1_138_000,
            offset: 10,
            length: 62_671,
            op: Op::Map as u8,
            kind: Kind::Executable as u8,
            ..Request::default()
        }
    );
    let stat = whole.requests[1];
    assert_eq!((stat.op(), stat.kind(), stat.file, stat.app), (Op::Stat, Kind::Inode, 1, 1));
    assert!(stat.failed());
    let kinds = whole.requests[2..].iter().map(|request| (request.kind(), request.file, request.app));
    assert_eq!(kinds.collect::<Vec<_>>(), [(Kind::Directory, 1, 0), (Kind::Executable, 0, 1), (Kind::Datafile, 2, 1)]);
    assert_eq!(whole.file_sizes, [62_671, UNKNOWN_SIZE, UNKNOWN_SIZE, 9, UNKNOWN_SIZE]);
    assert_eq!(whole.tables.apps, ["2174", "7"]);
    let files = whole.tables.files.iter().map(|file| (file.path.as_str(), file.label.as_str(), file.size, file.kind));
    assert_eq!(
        files.collect::<Vec<_>>(),
        [
            ("a", "lib", Some(9), Kind::Executable),
            ("b", "dir", None, Kind::Directory),
            ("c", "scene", None, Kind::Datafile)
        ]
    );
}

#[test]
fn a_subset_with_an_id_is_addressed_by_object() {
    let whole = read(&FORMAT, b"time,obj_id,size\n1,5,100\n2,5,100\n");
    assert_eq!((whole.requests[1].time, whole.requests[1].offset, whole.requests[1].length), (2_000_000_000, 5, 100));
    assert_eq!(offsets(&FORMAT, b"key\nx\ny\nx\n").len(), 3);
    assert_eq!(offsets(&FORMAT, b"op,path\nR,/a\nR,/b\nW,/a\n"), [0, 1, 0]);
    let trace = opened(None, b"id\n7\n", &OpenOptions::default()).unwrap();
    assert_eq!(
        *trace.meta(),
        Meta { format: "csv", addressing: Addressing::Objects, has_time: false, has_ops: false, sample: None }
    );
}

#[test]
fn other_separators_quotes_and_units_are_read() {
    let tabs = read(&FORMAT, b"Time-ms\tLBA\tSectors\tis_write\n1.5\t3\t2\t1\n");
    let request = tabs.requests[0];
    assert_eq!((request.time, request.offset, request.length, request.op()), (1_500_000, 1536, 1024, Op::Write));
    let quoted = read(&FORMAT, b"path;offset\n\"a;\"\"b\"\"\";1\nc;2\n");
    let names = quoted.tables.files.iter().map(|file| file.path.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["a;\"b\"", "c"]);
    assert_eq!(offsets(&FORMAT, b" offset , size \n 4096 , 1 \n"), [4096]);
}

#[test]
fn columns_may_be_named_by_the_user() {
    let options = OpenOptions { columns: Some("time,_,id".to_owned()), ..OpenOptions::default() };
    let rows = read_with(&FORMAT, b"1,x,7\n2,y,8\n", &options).unwrap();
    assert_eq!(rows.requests.iter().map(|request| request.offset).collect::<Vec<_>>(), [7, 8]);
    let header_too = read_with(&FORMAT, b"a,b,offset\n1,x,7\n", &options).unwrap();
    assert_eq!(header_too.requests.len(), 1);
    let options = OpenOptions { columns: Some("tme,id".to_owned()), ..OpenOptions::default() };
    let error = read_with(&FORMAT, b"1,7\n", &options).err().unwrap().to_string();
    assert!(error.starts_with("t, line 1: unknown column `tme`; expected one of: time_s, "), "{error}");
}

#[test]
fn errors_name_the_line() {
    let cases = [
        ("-1,1,R,a,0,1,,", "found `-1`; expected the time in seconds, below 2^64 nanoseconds"),
        ("99999999999,1,R,a,0,1,,", "found `99999999999`; expected the time in seconds, below 2^64 nanoseconds"),
        ("1,1,Q,a,0,1,,", "found `Q`; expected the operation, such as R, W, read or write"),
        ("1,1,1,a,0,1,,", "found `1`; expected R or W (columns of 0 and 1 are named is_write or is_read"),
        ("1,1,R,a,-1,1,,", "found `-1`; expected the offset, a whole number below 2^64"),
        ("1,1,R,a,0,-2,,", "found `-2`; expected the length, a whole number below 2^64"),
        ("1,1,R,a,0,1,x,", "found `x`; expected the file's size, a whole number below 2^64"),
        ("1,1,R,a,0", "found 5 fields; expected 8"),
        ("1,1,R,a,0,1,,,9", "found more than 8 fields; expected 8"),
        ("1,1,R,\"a,0,1,,", "found a quotation mark that is not closed; expected quoted fields to end on their line"),
        (
            "1,1,R,a,18446744073709551615,2,,",
            "found 2 bytes from byte 18446744073709551615; expected at most 16 GiB, ending below 2^64",
        ),
    ];
    for (line, message) in cases {
        let bytes = full(&format!("1,1,R,a,0,1,,\n{line}\n2,1,R,a,0,1,,\n"));
        let error = refused(&FORMAT, &bytes);
        assert!(error.starts_with(&format!("t, line 3: {message}")), "{error}");
        let whole = skipping(&FORMAT, &bytes);
        assert_eq!((whole.requests.len(), whole.skipped), (2, 1), "{line}");
    }
    assert_eq!(
        refused(&FORMAT, b"id,size\n7,4294967296\n"),
        "t, line 2: found an object of 4294967296 bytes; expected less than 4 GiB"
    );
    assert!(
        refused(&FORMAT, b"lba\n36028797018963968\n")
            .contains("found 36028797018963968; expected the offset, below 2^64")
    );
}

#[test]
fn a_file_without_names_for_its_columns_is_refused() {
    assert_eq!(
        refused(&FORMAT, b"1,2,3\n"),
        "t, line 1: found `1,2,3`; expected a line of column names such as time,op,offset,size, or the names with `columns`"
    );
}

#[test]
fn columns_that_tell_the_same_are_remarked_or_refused() {
    let whole = read(&FORMAT, b"time,ts,offset\n1,2,6\n");
    assert_eq!((whole.requests[0].time, whole.remarks.len()), (1_000_000_000, 1));
    assert!(refused(&FORMAT, b"offset,lba\n5,6\n").contains("accept the loss of one with `ignore_columns=lba`"));
    let options = OpenOptions { ignore_columns: Some("LBA".to_owned()), ..OpenOptions::default() };
    assert_eq!(read_with(&FORMAT, b"offset,lba\n5,6\n", &options).unwrap().requests[0].offset, 5);
}

#[test]
fn layouts_of_researchers_are_read_by_their_headers() {
    let systor =
        b"Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.1,R,0,512,1024\n2,,W,1,512,1024\n3,0.2,W,0,512,1024\n";
    let whole = read(&FORMAT, systor);
    let ops = whole.requests.iter().map(|request| (request.op(), request.file, request.offset, request.length));
    let expected = [(Op::Read, 0), (Op::Write, 1), (Op::Write, 0)].map(|(op, file)| (op, file, 512, 1024));
    assert_eq!((ops.collect::<Vec<_>>(), whole.remarks.len()), (expected.to_vec(), 0));

    let kv = b"key,op,size,op_count,key_size\n7,SET,82,1,40\n7,GET,0,3,40\n7,GET_LEASE,82,2,40\n7,DELETE,0,1,40\n";
    let whole = read(&FORMAT, kv);
    let rows: Vec<(Op, u32)> = whole.requests.iter().map(|request| (request.op(), request.length)).collect();
    let gets = [(Op::Read, 0); 3];
    let leases = [(Op::Read, 122); 2];
    assert_eq!(rows, [&[(Op::Write, 122)], &gets[..], &leases, &[(Op::Unlink, 0)]].concat());
}

#[test]
fn lengths_beside_sectors_are_not_taken_for_bytes() {
    let whole = read(&FORMAT, b"lba,size\n8,4096\n9,0\n");
    assert_eq!((whole.requests[0].offset, whole.requests[0].length), (4096, 4096));
    let error = refused(&FORMAT, b"time,lba,size,rw\n1,8,4096,R\n2,8,8,W\n");
    assert!(error.starts_with("t, line 3: found 8 bytes beside a sector; expected a multiple of 512"), "{error}");
    assert_eq!(read(&FORMAT, b"lba,sectors\n8,8\n").requests[0].length, 4096);
}

#[test]
fn repetitions_go_on_over_batches() {
    let whole = read(&FORMAT, b"id,repeat\n1,10000\n2,1\n3,5000\n");
    let ids: Vec<u64> = whole.requests.iter().map(|request| request.offset).collect();
    assert_eq!(ids, [&[1; 10_000][..], &[2], &[3; 5000]].concat());
    assert!(refused(&FORMAT, b"id,repeat\n1,0\n").starts_with("t, line 2: found 0; expected how often"));
    assert!(refused(&FORMAT, b"id,repeat\n1,4294967296\n").starts_with("t, line 2: found 4294967296; "));
}

#[test]
fn users_name_columns_separators_and_headers() {
    let with = |columns: &str, separator: Option<&str>, header| OpenOptions {
        columns: Some(columns.to_owned()),
        separator: separator.map(str::to_owned),
        header,
        ..OpenOptions::default()
    };
    let rows = |bytes: &[u8], options: &OpenOptions| {
        let whole = read_with(&FORMAT, bytes, options).unwrap_or_else(|error| panic!("{error}"));
        whole.requests.iter().map(|request| (request.offset, request.length)).collect::<Vec<_>>()
    };
    assert_eq!(rows(b"0 2 100\n1  5\t70\n", &with("time,id,size", None, None)), [(2, 100), (5, 70)]);
    assert_eq!(rows(b"0 2 100\n", &with("time,id,size", Some(" "), None)), [(2, 100)]);
    assert_eq!(rows(b"when,what,bulk\n1,5,70\n", &with("time,id,size", None, None)), [(5, 70)]);
    assert_eq!(rows(b"2,100\n5,70\n", &with("id,size", None, Some(true))), [(5, 70)]);
    assert_eq!(rows(b"5,100,30\n", &with("id,value+,key+", None, None)), [(5, 130)]);
    let names = rows(b"12,1\n7,1\n12,1\n", &with("key:name,size", None, None));
    assert!(names[0] == names[2] && names[0] != names[1] && names[0].0 != 12);
    let ttl = read_with(&FORMAT, b"5,100,30\n", &with("id,size,ttl", None, None)).unwrap();
    assert!(ttl.remarks.is_empty(), "{:?}", ttl.remarks);
    let error = read_with(&FORMAT, b"1,2\n", &with("id,size", Some("ab"), None)).err().unwrap().to_string();
    assert!(error.starts_with("t, line 1: `ab` cannot separate fields; expected one character"), "{error}");
}

#[test]
fn numbers_of_other_programs_are_read() {
    let pandas = read(&FORMAT, b"time,id,size\n1577808144.360767,10.0,4096.0\n1.6E+03,-7,1e3\n2,10,-1.0\n");
    let rows: Vec<(u64, u64, u32)> =
        pandas.requests.iter().map(|request| (request.time, request.offset, request.length)).collect();
    assert_eq!(
        rows,
        [(1_577_808_144_360_767_000, 10, 4096), (1_600_000_000_000, (-7i64) as u64, 1000), (2_000_000_000, 10, 0)]
    );
    assert!(pandas.requests[2].failed());
    assert!(refused(&FORMAT, b"id,size\n1,1.5\n").contains("found `1.5`; expected the length, a whole number"));
    assert!(refused(&FORMAT, b"id,size\n1,-100\n").contains("found `-100`; expected the length"));
}

#[test]
fn a_broken_table_of_files_is_named() {
    let folder = std::env::temp_dir().join(format!("hotset-files-csv-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let trace = folder.join("x.csv");
    std::fs::write(&trace, full("1,1,R,7,0,1,,\n")).unwrap();
    std::fs::write(folder.join("x.files.csv"), "id,kind,size,path\n7,lib,12,\"/a,b\"\n8,lib,twelve,/c\n").unwrap();
    let open = |skip_bad| super::super::open(&trace, &[FORMAT], &OpenOptions { skip_bad, ..OpenOptions::default() });
    let error = open(false).err().unwrap().to_string();
    let skipping = open(true).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(error.ends_with("x.files.csv, line 3: found `twelve`; expected a size in bytes"), "{error}");
    assert_eq!(skipping.reader.tables().files.len(), 1);
    assert_eq!(skipping.reader.tables().files[0].path, "/a,b");
    assert!(skipping.reader.remarks()[0].ends_with("x.files.csv: 1 malformed lines were skipped"));
}
