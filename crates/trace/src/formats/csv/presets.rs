//! Tables of known layouts, most of them without a header: what their columns are, and how they are recognised.

use memchr::memchr_iter;

use super::{
    Csv, Files,
    columns::{Columns, Separator},
    columns_of, first_line, open as open_table,
    operations::parse_op,
    quotes::UNIT_SEPARATOR,
    roles::squeezed,
    take_line,
};
use crate::{
    TraceError,
    error::Place,
    formats::{Confidence, Format, Head, OpenOptions, Opened},
    input::Input,
    runner::{
        lines::Lines,
        number::{scaled, whole},
        text,
    },
};

/// A layout of a table.
pub(super) struct Layout {
    /// Its columns, as the setting `columns` takes them; absent where the header names them.
    columns: Option<&'static str>,
    separator: Separator,
    /// The headers that it may begin with: names in lower case, without underscores and blanks.
    headers: &'static [&'static str],
    /// The column whose values may hold the separator.
    holds_separator: Option<usize>,
    /// A sentence about the units that the layout implies, or about columns that are not used.
    remark: Option<&'static str>,
}

const COMMAS: Layout =
    Layout { columns: None, separator: Separator::Byte(b','), headers: &[], holds_separator: None, remark: None };

const META_KV: Layout = Layout {
    headers: &[
        "key,op,size,opcount,keysize",
        "optime,key,keysize,op,opcount,size,cachehits,ttl",
        "key,op,size,opcount,keysize,ttl",
        "optime,key,keysize,op,opcount,size,cachehits,ttl,usecase,subusecase",
    ],
    ..COMMAS
};

const META_CDN: Layout = Layout {
    columns: Some("time_s,key,_,size,_,_,_,_,ttl,_,_,_,_,_,_"),
    headers: &["timestamp,cachekey,optype,objectsize,responsesize,responseheadersize,rangestart,rangeend,ttl,\
                samplingrate,cachehit,itemvalue,requesthandler,cdncontenttypeid,viptype"],
    remark: Some("ranges are not used: a request is for the whole object"),
    ..COMMAS
};

const TWITTER: Layout =
    Layout { columns: Some("time_s,key:name,key+,size,client,op,ttl"), holds_separator: Some(1), ..COMMAS };

const SYSTOR17: Layout = Layout { headers: &["timestamp,response,iotype,lun,offset,size"], ..COMMAS };

const TENCENT_CBS: Layout = Layout {
    columns: Some("time_s,offset:sectors,size:sectors,op:is_write,volume"),
    headers: &["timestamp,offset,size,iotype,volumeid"],
    remark: Some(
        "offsets and sizes count sectors of 512 bytes, as Tencent publishes them (a copy with offsets in bytes needs \
         the columns time,offset,size:sectors,op:is_write,volume)",
    ),
    ..COMMAS
};

const TENCENT_PHOTO: Layout =
    Layout { columns: Some("time:date,key:part,key:part,key:part,size,_,_,_"), separator: Separator::Blanks, ..COMMAS };

const ALIBABA: Layout = Layout {
    columns: Some("device,op,offset,bytes,time_us"),
    headers: &["deviceid,opcode,offset,length,timestamp"],
    ..COMMAS
};

const CLOUD_PHYSICS: Layout =
    Layout { columns: Some("time_us,lba,sectors,op,_"), headers: &["timestamp,lbn,len,cmd,ver"], ..COMMAS };

pub(in super::super) const META_KV_FORMAT: Format = Format {
    name: "meta-kv",
    summary: "key-value traces of Meta's CacheLib, 2022 to 2024: op_count repeats, keys count as bytes",
    example: "key,op,size,op_count,key_size",
    sample: b"op_time,key,key_size,op,op_count,size,cache_hits,ttl\n1,5,40,SET,1,82,0,60\n2,5,40,GET_LEASE,3,0,1,0\n\
        70,5,40,DELETE,1,0,0,0\n",
    detect: |head| detect(head, &META_KV, |_| false),
    open: |input, options| open(input, options, &META_KV, "meta-kv"),
};

pub(in super::super) const META_CDN_FORMAT: Format = Format {
    name: "meta-cdn",
    summary: "CDN traces of Meta's CacheLib, 2023: whole objects, which expire",
    example: "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart,rangeEnd,TTL,\
        SamplingRate,cache_hit,item_value,RequestHandler,cdn_content_type_id,vip_type",
    sample: b"timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart,rangeEnd,TTL,\
        SamplingRate,cache_hit,item_value,RequestHandler,cdn_content_type_id,vip_type\n\
        1,a1,1,100,10,3,0,9,60,1,1,0,img,,v\n2,b2,1,50,50,3,-1,-1,0,1,0,0,img,-,v\n",
    detect: |head| detect(head, &META_CDN, |_| false),
    open: |input, options| open(input, options, &META_CDN, "meta-cdn"),
};

pub(in super::super) const TWITTER_FORMAT: Format = Format {
    name: "twitter",
    summary: "time, key, key bytes, value bytes, client, operation, time to live (Twitter's cache clusters)",
    example: "0,q:q:1:8WTfjZU14ee,17,213,4,get,0",
    sample: b"0,a:1,17,213,4,get,0\n1,b,,2,3,40,4,set,60\n1,17,2,9,5,delete,0\n",
    detect: |head| detect(head, &TWITTER, is_twitter),
    open: |input, options| open(input, options, &TWITTER, "twitter"),
};

pub(in super::super) const SYSTOR17_FORMAT: Format = Format {
    name: "systor17",
    summary: "time, response time, R|W, device, offset, bytes under a header (SNIA, SYSTOR'17)",
    example: "Timestamp,Response,IOType,LUN,Offset,Size",
    sample: b"Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.1,R,0,512,1024\n2,,W,1,512,1024\n",
    detect: |head| detect(head, &SYSTOR17, |_| false),
    open: |input, options| open(input, options, &SYSTOR17, "systor17"),
};

pub(in super::super) const TENCENT_CBS_FORMAT: Format = Format {
    name: "tencent-cbs",
    summary: "seconds, sector, sectors, 0|1 (write), volume (Tencent's block storage)",
    example: "1538323200,12910952,128,0,1063",
    sample: b"1538323200,12910952,128,0,1063\n1538323201,8,16,1,1283\n",
    detect: |head| if has_offsets_in_bytes(head) { Confidence::No } else { detect(head, &TENCENT_CBS, is_cbs) },
    open: |input, options| open(input, options, &TENCENT_CBS, "tencent-cbs"),
};

pub(in super::super) const TENCENT_PHOTO_FORMAT: Format = Format {
    name: "tencent-photo",
    summary: "YYYYMMDDhhmmss, photo, format, size class, bytes, ...; the three name the object (QQPhoto)",
    example: "20160201000003 6380e5f0b4dd9c2f 5 b 45352 1 PHONE 0",
    sample: b"20160201000003 6380e5f0b4dd9c2f 5 b 45352 1 PHONE 0\n20160201000004 6380e5f0b4dd9c2f 0 l 452 0 PC 12\n",
    detect: |head| detect(head, &TENCENT_PHOTO, is_photo),
    open: |input, options| open(input, options, &TENCENT_PHOTO, "tencent-photo"),
};

pub(in super::super) const ALIBABA_FORMAT: Format = Format {
    name: "alibaba",
    summary: "device, R|W, offset, bytes, microseconds (Alibaba's block storage)",
    example: "419,W,8792731648,16384,1577808144360767",
    sample: b"419,W,8792731648,16384,1577808144360767\n725,R,0,4096,1577808144360869\n",
    detect: |head| detect(head, &ALIBABA, is_alibaba),
    open: |input, options| open(input, options, &ALIBABA, "alibaba"),
};

pub(in super::super) const CLOUD_PHYSICS_FORMAT: Format = Format {
    name: "cloud-physics",
    summary: "microseconds, sector, sectors, SCSI command, version (CloudPhysics as text)",
    example: "5633898611441,42932745,64,42,2",
    sample: b"5633898611441,42932745,64,42,2\n5633898611450,8,16,40,2\n",
    detect: |head| detect(head, &CLOUD_PHYSICS, is_cloud_physics),
    open: |input, options| open(input, options, &CLOUD_PHYSICS, "cloud-physics"),
};

/// True if a line is a header of the layout.
fn is_header_of(line: &[u8], layout: &Layout) -> bool {
    let names = text(line).trim_start_matches('\u{feff}').trim().replace('"', "").replace(',', "\u{1f}");
    let squeezed = squeezed(&names).replace('\u{1f}', ",");
    layout.headers.contains(&squeezed.as_str())
}

fn detect(head: &Head, layout: &Layout, fits: impl Fn(&[&[u8]]) -> bool) -> Confidence {
    let mut lines = head.lines(50).enumerate().peekable();
    let is_row = |line: &[u8]| {
        let fields: Vec<&[u8]> = match layout.separator {
            Separator::Byte(byte) => line.split(|&found| found == byte).map(<[u8]>::trim_ascii).collect(),
            Separator::Blanks => line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect(),
        };
        fits(&fields)
    };
    let has_header = lines.peek().is_some_and(|(_, line)| is_header_of(line, layout));
    let fits_all = lines.peek().is_some() && lines.all(|(_, line)| is_row(line));
    if has_header || fits_all { Confidence::Sure } else { Confidence::No }
}

fn open(mut input: Input, options: &OpenOptions, layout: &Layout, format: &'static str) -> Opened {
    // The user's choice of columns takes precedence over the known layout.
    let is_described = options.columns.is_some() || options.separator.is_some() || options.header.is_some();
    if is_described || options.ignore_columns.is_some() {
        return open_table(input, options);
    }
    let first = first_line(&mut input)?;
    let has_header = is_header_of(&first, layout);
    let columns = match layout.columns {
        Some(names) => Columns::from_user(names, layout.separator, &[]),
        None => columns_of(&first, options).map(|(columns, _)| columns),
    };
    let mut columns = columns.map_err(|message| TraceError::new(input.path(), Place::Line(1), message))?;
    columns.remarks.extend(layout.remark.map(str::to_owned));
    let starts_with_header = has_header || layout.columns.is_none();
    if starts_with_header {
        take_line(&mut input)?;
    }
    let mut csv = Csv::new(columns, Files::default());
    csv.meta.format = format;
    csv.holds_separator = layout.holds_separator;
    let first_row = if starts_with_header { 2 } else { 1 };
    Ok(Box::new(Lines::new(input, csv, first_row, options.skip_bad)))
}

/// Writes a line with more separators than `columns` need to `plain`: those that the column `holding` holds stay, the
/// others become [`UNIT_SEPARATOR`]. False if the line does not have more.
pub(super) fn rejoin(line: &[u8], separator: u8, columns: usize, holding: usize, plain: &mut Vec<u8>) -> bool {
    let count = memchr_iter(separator, line).count();
    if count < columns {
        return false;
    }
    plain.clear();
    plain.extend_from_slice(line);
    let held = holding..holding + count + 1 - columns;
    let others = memchr_iter(separator, line).enumerate().filter(|(number, _)| !held.contains(number));
    others.for_each(|(_, at)| plain[at] = UNIT_SEPARATOR);
    true
}

fn is_twitter(fields: &[&[u8]]) -> bool {
    let [time, _, .., key, value, client, op, ttl] = fields else { return false };
    const OPS: [&[u8]; 11] =
        [b"get", b"gets", b"set", b"add", b"replace", b"cas", b"append", b"prepend", b"delete", b"incr", b"decr"];
    OPS.contains(op) && [time, key, value, client, ttl].iter().all(|number| whole(number).is_some())
}

/// Unix time, sector, sectors, 0 or 1, volume.
fn is_cbs(fields: &[&[u8]]) -> bool {
    let [time, offset, sectors, op, volume] = fields else { return false };
    whole(time).is_some_and(|time| (1_400_000_000..2_000_000_000).contains(&time))
        && whole(offset).is_some()
        && whole(sectors).is_some_and(|sectors| sectors < 1 << 20)
        && (*op == b"0" || *op == b"1")
        && whole(volume).is_some()
}

/// True for a copy of the trace without a header whose offsets are in bytes: sectors are not all multiples of 512.
fn has_offsets_in_bytes(head: &Head) -> bool {
    let offset = |line: &[u8]| line.split(|&byte| byte == b',').nth(1).and_then(whole);
    head.lines(50).count() >= 20 && head.lines(50).all(|line| offset(line).is_some_and(|at| at.is_multiple_of(512)))
}

fn is_photo(fields: &[&[u8]]) -> bool {
    let [time, photo, format, class, bytes, _, device, _] = fields else { return false };
    time.len() == 14
        && whole(time).is_some()
        && photo.iter().all(u8::is_ascii_hexdigit)
        && whole(format).is_some()
        && class.len() == 1
        && whole(bytes).is_some()
        && device.iter().all(u8::is_ascii_alphabetic)
}

fn is_alibaba(fields: &[&[u8]]) -> bool {
    let [device, op, offset, bytes, time] = fields else { return false };
    (*op == b"R" || *op == b"W") && [device, offset, bytes, time].iter().all(|number| whole(number).is_some())
}

fn is_cloud_physics(fields: &[&[u8]]) -> bool {
    let [time, sector, sectors, command, version] = fields else { return false };
    let numbers = [sector, sectors].iter().all(|number| whole(number).is_some()) && scaled(time, 3).is_some();
    numbers && command.len() > 1 && parse_op(command).is_some() && (*version == b"1" || *version == b"2")
}

#[cfg(test)]
mod tests {
    use hotset_core::request::{Op, Request};

    use super::{
        super::super::testing::{opened, read, read_with, refused},
        *,
    };

    fn rows(format: &Format, bytes: &[u8]) -> Vec<(u64, Op, u32, u64, u32)> {
        let row = |request: &Request| (request.time, request.op(), request.file, request.offset, request.length);
        read(format, bytes).requests.iter().map(row).collect()
    }

    fn recognised(bytes: &[u8]) -> &'static str {
        opened(None, bytes, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}")).format
    }

    #[test]
    fn twitter_keys_may_hold_commas() {
        let bytes = b"0,a,b,17,213,4,get,0\n1,17,2,9,5,set,60\n2,17,2,0,5,get,0\n3,17,2,0,5,delete,0\n";
        assert_eq!(recognised(bytes), "twitter");
        let whole = read(&TWITTER_FORMAT, bytes);
        let told: Vec<(Op, u32, u32)> =
            whole.requests.iter().map(|request| (request.op(), request.length, request.app)).collect();
        assert_eq!(told, [(Op::Read, 230, 0), (Op::Write, 11, 1), (Op::Read, 0, 1), (Op::Unlink, 0, 1)]);
        let ids: Vec<u64> = whole.requests.iter().map(|request| request.offset).collect();
        assert!(ids[0] != ids[1] && ids[1] == ids[2] && ids[1] != 17);
        assert_eq!(ids[0], read(&TWITTER_FORMAT, b"5,a,b,17,213,4,get,0\n").requests[0].offset);
        assert!(refused(&TWITTER_FORMAT, b"0,a,17,213,4,peek,0\n").starts_with("t, line 1: found `peek`"));
    }

    #[test]
    fn block_layouts_have_their_units() {
        let second = 1_000_000_000;
        let cbs = b"1538323200,8,16,0,7\n1538323201,8,16,1,9\n";
        assert_eq!(recognised(cbs), "tencent-cbs");
        let headed = [&b"Timestamp,Offset,Size,IOType,VolumeID\n"[..], cbs].concat();
        assert_eq!(recognised(&headed), "tencent-cbs");
        for bytes in [&cbs[..], &headed] {
            let expected = [(1_538_323_200, Op::Read, 0), (1_538_323_201, Op::Write, 1)];
            let expected = expected.map(|(time, op, file)| (time * second, op, file, 4096, 8192));
            assert_eq!(rows(&TENCENT_CBS_FORMAT, bytes), expected);
        }
        let alibaba = b"419,W,8792731648,16384,1577808144360767\n725,R,0,4096,1577808144360869\n";
        assert_eq!(recognised(alibaba), "alibaba");
        let expected = [
            (1_577_808_144_360_767_000, Op::Write, 0, 8_792_731_648, 16_384),
            (1_577_808_144_360_869_000, Op::Read, 1, 0, 4096),
        ];
        assert_eq!(rows(&ALIBABA_FORMAT, alibaba), expected);
        let physics = b"timestamp,lbn,len,cmd,ver\n5,8,16,42,2\n6,8,16,28,1\n7,8,16,40,1\n";
        assert_eq!(recognised(physics), "cloud-physics");
        let ops = [(5000, Op::Write), (6000, Op::Read), (7000, Op::Read)];
        assert_eq!(rows(&CLOUD_PHYSICS_FORMAT, physics), ops.map(|(time, op)| (time, op, 0, 4096, 8192)));
    }

    #[test]
    fn a_photo_is_an_object_for_each_format_and_class() {
        let photo = b"20160201000003 63ab 5 b 45352 1 PHONE 0\n20160201000004 63ab 5 l 452 0 PC 12\n\
            20160201000004 63ab 5 b 45352 0 PC 12\n";
        assert_eq!(recognised(photo), "tencent-photo");
        let rows = rows(&TENCENT_PHOTO_FORMAT, photo);
        assert!(rows[0].3 == rows[2].3 && rows[0].3 != rows[1].3);
        assert_eq!((rows[0].0, rows[1].4), (1_454_284_803_000_000_000, 452));
    }

    #[test]
    fn headers_of_meta_and_systor_are_recognised() {
        let kv = b"op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
            604038471,82131353f9ddc8c6,48,SET,1,87,1,7200,366387042,3003229276\n604038471,82131353f9ddc8c6,48,GET,2,0,0,0,1,2\n";
        assert_eq!(recognised(kv), "meta-kv");
        let told = rows(&META_KV_FORMAT, kv).into_iter().map(|row| (row.1, row.4));
        assert_eq!(told.collect::<Vec<_>>(), [(Op::Write, 135), (Op::Read, 0), (Op::Read, 0)]);
        let cdn = META_CDN_FORMAT.sample;
        assert_eq!(recognised(cdn), "meta-cdn");
        assert_eq!(rows(&META_CDN_FORMAT, cdn).iter().map(|row| row.4).collect::<Vec<_>>(), [100, 50]);
        assert_eq!(recognised(SYSTOR17_FORMAT.sample), "systor17");
        assert_eq!(rows(&SYSTOR17_FORMAT, SYSTOR17_FORMAT.sample)[1].1, Op::Write);
    }

    #[test]
    fn columns_of_the_user_go_first() {
        let options = OpenOptions { columns: Some("time,id,size,_,_".to_owned()), ..OpenOptions::default() };
        let whole = read_with(&TENCENT_CBS_FORMAT, b"1538323200,8,16,0,7\n", &options).unwrap();
        assert_eq!((whole.requests[0].offset, whole.requests[0].length), (8, 16));
    }
}
