//! Asking a store of our own, which answers wrongly in every way that we could think of.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hotset_store::{Limits, Location, PART, Store, StoreError};
use hotset_testkit::s3::{Fault, S3};

const SECRETS: [&str; 3] = ["AKIAKEYOFTHETEST", "SecretOfTheTest", "TokenOfTheTest"];

const LIMITS: Limits =
    Limits { requests: 8, timeout: Duration::from_secs(4), retries: 3, hedges: false, bandwidth: None };

fn open(s3: &S3) -> Store {
    open_with(s3, LIMITS)
}

fn open_with(s3: &S3, limits: Limits) -> Store {
    let [key, secret, token] = SECRETS.map(str::to_owned);
    let told = [
        ("AWS_ENDPOINT_URL", s3.url()),
        ("AWS_ACCESS_KEY_ID", key),
        ("AWS_SECRET_ACCESS_KEY", secret),
        ("AWS_SESSION_TOKEN", token),
    ];
    let told = told.map(|(name, value)| (name.to_owned(), value));
    Store::open_with(&Location::parse("s3://bucket/data").unwrap(), limits, told).unwrap()
}

#[test]
fn nothing_that_a_store_answers_is_repeated() {
    let s3 = S3::start();
    s3.put("data/f", [1; 100]);
    let store = open(&s3);
    let object = store.head("f").unwrap();
    for status in [301, 307, 400, 401, 403, 404, 409, 412, 416, 429, 500, 503] {
        s3.fail(move |_| Some(Fault::Status(status)));
        let errors = [store.head("f").err(), store.list("", None).err(), store.read(&object, 0..10).err()];
        for error in errors.map(|error| error.expect("it fails")) {
            for told in [format!("{error}"), format!("{error:?}")] {
                assert!(!SECRETS.iter().any(|secret| told.contains(secret)) && told.len() < 250, "{status}: {told}");
            }
        }
    }
    // The server has repeated it.
    assert!(s3.take_asked().iter().any(|asked| asked.header("x-amz-security-token") == Some(SECRETS[2])));
}

/// Who answers in a store's place gets no secret by sending us elsewhere, and no change that we
/// believe to be made is made there, or nowhere.
#[test]
fn nothing_is_asked_elsewhere() {
    let (s3, elsewhere) = (S3::start(), S3::start());
    for store in [&s3, &elsewhere] {
        store.put("data/f", [1; 100]);
    }
    let store = Arc::new(open(&s3));
    let object = store.head("f").unwrap();
    for status in [301, 302, 303, 307, 308] {
        let address = elsewhere.address();
        s3.fail(move |_| Some(Fault::Elsewhere(status, address)));
        let done = [
            store.head("f").err(),
            store.read(&object, 0..10).err(),
            store.list("", None).err(),
            store.put("g", b"new".to_vec(), false).err(),
            store.delete("f").err(),
            store.upload("g").and_then(|mut upload| upload.add(vec![0; PART])).err(),
        ];
        for error in done {
            let error = error.unwrap_or_else(|| panic!("{status}: it succeeded"));
            assert!(matches!(error, StoreError::Answer(Some(told)) if told == status), "{status}: {error:?}");
        }
    }
    assert!(elsewhere.take_asked().is_empty() && elsewhere.objects().len() == 1);
}

/// Whatever setting says where the store is, and whose it is.
#[test]
fn stores_of_one_name_are_told_apart() {
    let (one, other, folder) = (S3::start(), S3::start(), tempfile::tempdir().unwrap());
    let config = |name: &str, s3: &S3| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("[default]\nendpoint_url = {}\n", s3.url())).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let identity = |location: &str, told: &[(&str, String)]| {
        let [key, secret, _] = SECRETS.map(str::to_owned);
        let keys = [("AWS_ACCESS_KEY_ID", key), ("AWS_SECRET_ACCESS_KEY", secret)];
        let told = keys.iter().chain(told).map(|(name, value)| ((*name).to_owned(), value.clone()));
        // The last one counts.
        let told: std::collections::HashMap<_, _> = told.collect();
        let store = Store::open_with(&Location::parse(location).unwrap(), LIMITS, told).unwrap();
        assert_eq!(store.identity(), None, "unknown before the first request");
        // It need not understand the question.
        let _ = store.list("", None);
        store.identity().unwrap()
    };
    let yes = || "true".to_owned();
    let s3 = |told: &[(&str, String)]| identity("s3://bucket", told);
    let of = |s3: &S3| vec![("AWS_ENDPOINT_URL", s3.url())];
    let both: [[String; 2]; 4] = [
        [&one, &other].map(|store| s3(&of(store))),
        [config("one", &one), config("other", &other)].map(|path| s3(&[("AWS_CONFIG_FILE", path)])),
        [&one, &other].map(|store| {
            let told =
                [("GOOGLE_BASE_URL", store.url()), ("GOOGLE_SKIP_SIGNATURE", yes()), ("GOOGLE_ALLOW_HTTP", yes())];
            identity("gs://bucket", &told)
        }),
        [&one, &other].map(|store| {
            let told = [
                ("AZURE_STORAGE_ACCOUNT_NAME", "account".to_owned()),
                ("AZURE_ENDPOINT", store.url()),
                ("AZURE_SKIP_SIGNATURE", yes()),
                ("AZURE_ALLOW_HTTP", yes()),
            ];
            identity("az://bucket", &told)
        }),
    ];
    for [of_one, of_other] in &both {
        assert!(of_one != of_other && of_one.contains(&one.url()) && of_other.contains(&other.url()), "{of_one}");
    }
    assert_eq!(both[0], both[1], "a server is the same by whatever setting it is found");
    // Keys that stay the same tell accounts apart; those of a session are new each time.
    let other_keys = |more: &[(&'static str, String)]| {
        s3(&[&of(&one)[..], &[("AWS_ACCESS_KEY_ID", "AKIAOTHER".to_owned())], more].concat())
    };
    assert_ne!(other_keys(&[]), both[0][0]);
    let token = [("AWS_SESSION_TOKEN", "TokenOfTheTest".to_owned())];
    assert_eq!(other_keys(&token), s3(&[&of(&one)[..], &token].concat()));
}

#[test]
fn an_answer_without_end_ends() {
    let s3 = S3::start();
    s3.put("data/f", [1; 100]);
    let store = open(&s3);
    let object = store.head("f").unwrap();
    s3.fail(|_| Some(Fault::Endless));
    let begun = Instant::now();
    assert_eq!(store.list("", None).err(), Some(StoreError::Answer(None)));
    assert_eq!(store.read(&object, 0..10), Err(StoreError::Answer(None)));
    assert!(begun.elapsed() < LIMITS.timeout, "{:?}", begun.elapsed());
}

#[test]
fn a_server_that_does_not_look_at_conditions_is_found_out() {
    let s3 = S3::start();
    s3.put("data/f", [1; 100]);
    let store = open(&s3);
    let object = store.head("f").unwrap();
    s3.put("data/f", [2; 100]);
    assert_eq!(store.read(&object, 0..10), Err(StoreError::Changed));
    s3.ignore_conditions();
    assert_eq!(store.read(&object, 0..10), Err(StoreError::Changed));
}

#[test]
fn what_is_cut_is_asked_for_again_from_there_on() {
    let s3 = S3::start();
    let bytes: Vec<u8> = (0..100_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    s3.put("data/f", bytes.clone());
    let store = open(&s3);
    let object = store.head("f").unwrap();
    for fault in [Fault::Short(30_000), Fault::Cut(30_000)] {
        s3.take_asked();
        s3.fail(move |_| Some(fault));
        assert!(store.read(&object, 100..90_100).unwrap() == bytes[100..90_100], "{fault:?}");
        let asked: Vec<_> = s3.take_asked().iter().map(|asked| asked.range.unwrap().0).collect();
        assert_eq!(asked, [100, 30_100, 60_100], "{fault:?}");
    }
    s3.fail(|_| Some(Fault::Short(10)));
    assert_eq!(store.read(&object, 0..100_000), Err(StoreError::Truncated));
}

#[test]
fn the_store_of_google_is_asked_as_that_of_amazon() {
    let s3 = S3::start();
    s3.put("data/d/f", "bytes");
    let account = format!(
        r#"{{"gcs_base_url":"{}","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}}"#,
        s3.url()
    );
    let told = [("GOOGLE_SERVICE_ACCOUNT_KEY", account), ("GOOGLE_ALLOW_HTTP", "true".to_owned())];
    let told = told.map(|(name, value)| (name.to_owned(), value));
    let store = Store::open_with(&Location::parse("gs://bucket/data").unwrap(), LIMITS, told).unwrap();
    assert_eq!(store.list("", None).unwrap().directories, ["d"]);
    let object = store.head("d/f").unwrap();
    assert_eq!(store.read(&object, 1..5).unwrap(), b"ytes");
    write(&s3, &Arc::new(store));
}

#[test]
fn objects_are_written_copied_and_deleted() {
    let s3 = S3::start();
    write(&s3, &Arc::new(open(&s3)));
}

/// Writes objects in every way.
fn write(s3: &S3, store: &Arc<Store>) {
    let bytes = |key: &str| s3.objects().into_iter().find(|(known, _)| known == key).map(|(_, bytes)| bytes);
    let put = store.put("a/b", b"one".to_vec(), true).unwrap();
    assert!(put.is_same(&store.head("a/b").unwrap()));
    assert_eq!(store.put("a/b", b"two".to_vec(), true).err(), Some(StoreError::Exists));
    store.put("a/b", b"three".to_vec(), false).unwrap();
    assert_eq!(bytes("data/a/b").unwrap(), b"three");
    // In parts, and given up.
    let (first, last) = (vec![1; PART], vec![2; 10]);
    for is_complete in [false, true] {
        let mut upload = store.upload("a/b").unwrap();
        upload.add(first.clone()).unwrap();
        upload.add(last.clone()).unwrap();
        assert_eq!((upload.parts(), s3.uploads()), (2, 1));
        if is_complete {
            let made = upload.complete(false).unwrap();
            assert!(made.is_same(&store.head("a/b").unwrap()));
        } else {
            drop(upload);
            assert_eq!(bytes("data/a/b").unwrap(), b"three");
        }
        assert_eq!(s3.uploads(), 0);
    }
    let whole = [first, last].concat();
    assert!(bytes("data/a/b").unwrap() == whole);
    let object = store.head("a/b").unwrap();
    assert_eq!(store.copy(&object, "c").unwrap().size(), whole.len() as u64);
    store.delete("a/b").unwrap();
    store.delete("a/b").unwrap();
    assert!(bytes("data/a/b").is_none() && bytes("data/c").unwrap() == whole);
    assert_eq!(store.check("a\u{1}"), Err(StoreError::Unfit));
    assert_eq!(store.check(&"n/".repeat(600)), Err(StoreError::TooLong));
}

/// The answer to what completes an object is lost, and when it is asked again the parts are gone: an object is there,
/// which may be another's.
#[test]
fn the_object_of_another_is_not_taken_for_ours() {
    for is_replaced in [false, true] {
        let (s3, mut lost) = (S3::start(), false);
        let store = Arc::new(open(&s3));
        let parts = [vec![1; PART], vec![2; 10]];
        let other = vec![3; PART + 10];
        let mut upload = store.upload("f").unwrap();
        parts.iter().for_each(|part| upload.add(part.clone()).unwrap());
        s3.fail(move |asked| match asked.method.as_str() {
            "POST" if !lost => {
                lost = true;
                Some(Fault::Closed)
            }
            // The other one comes meanwhile.
            "HEAD" => Some(Fault::Late(Duration::from_millis(300))),
            _ => None,
        });
        let done = std::thread::scope(|scope| {
            let completing = scope.spawn(|| upload.complete(false));
            while s3.objects().is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            if is_replaced {
                s3.put("data/f", other.clone());
            }
            completing.join().unwrap()
        });
        if is_replaced {
            assert_eq!(done.err(), Some(StoreError::Missing));
            assert!(s3.objects()[0].1 == other);
        } else {
            assert_eq!(done.unwrap().size(), other.len() as u64);
            assert!(s3.objects()[0].1 == parts.concat());
        }
    }
}

#[test]
fn no_more_bytes_move_a_second_than_were_allowed() {
    const MIB: u64 = 1 << 20;
    let s3 = S3::start();
    s3.put("data/f", vec![7; 6 << 20]);
    let limits = Limits { bandwidth: Some(4 * MIB), ..LIMITS };
    let store = open_with(&s3, limits);
    let object = store.head("f").unwrap();
    let begun = Instant::now();
    let read =
        |part: u64| assert_eq!(store.read(&object, part * MIB / 2..(part + 1) * MIB / 2).unwrap().len(), 1 << 19);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || (0..3).for_each(|step| read(3 * thread + step)));
        }
        scope.spawn(|| store.put("g", vec![1; 1 << 20], false).unwrap());
        // Calls without bytes do not wait.
        std::thread::sleep(Duration::from_millis(100));
        let asked = Instant::now();
        store.head("f").unwrap();
        assert!(asked.elapsed() < Duration::from_millis(400), "{:?}", asked.elapsed());
    });
    // All but the last one and what had been kept have waited for those before.
    let (took, moved) = (begun.elapsed().as_secs_f64(), store.moved());
    assert!((1.4..4.0).contains(&took), "{took}");
    assert_eq!((moved.read, moved.written), (6 * MIB, MIB));
    assert!(moved.held_back > Duration::from_secs(1), "{moved:?}");
}

/// On a line that takes half a minute for the parts.
#[test]
fn a_short_read_does_not_wait_for_parts_nor_does_their_end() {
    let s3 = S3::start();
    s3.put("data/f", vec![7; 4096]);
    let store = Arc::new(open_with(&s3, Limits { bandwidth: Some(1 << 19), ..LIMITS }));
    let object = store.head("f").unwrap();
    let mut upload = store.upload("g").unwrap();
    (0..2).for_each(|_| upload.add(vec![1; PART]).unwrap());
    let begun = Instant::now();
    assert_eq!(store.read(&object, 0..4096).unwrap().len(), 4096);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    drop(upload);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let asked = s3.take_asked();
    assert!(asked.iter().any(|asked| asked.method == "DELETE"), "a begun upload is aborted in the store");
}

#[test]
fn keys_that_cannot_be_served_hide_nothing_else() {
    let s3 = S3::start();
    for key in ["data/a/b", "data/a//c", "data/a/./d", "data//e", "data/f//", "data/g"] {
        s3.put(key, "x");
    }
    let store = open(&s3);
    let listed = |directory: &str| {
        let page = store.list(directory, None).unwrap();
        (page.directories, page.objects.iter().map(|object| object.name().to_owned()).collect::<Vec<_>>())
    };
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(listed(""), (names(&["a", "f"]), names(&["g"])));
    assert_eq!(listed("a"), (names(&[]), names(&["b"])));
    assert_eq!(listed("f"), (names(&[]), names(&[])));
}

#[test]
fn what_is_told_without_measure_is_not_kept() {
    let s3 = S3::start();
    let store = open(&s3);
    let entry = |key: &str, tag: &str| {
        format!(
            "<Contents><Key>data/{key}</Key><LastModified>2026-01-05T10:00:00.000Z</LastModified><ETag>{tag}</ETag>\
             <Size>1</Size></Contents>"
        )
    };
    let many = "x".repeat(2000);
    let directory = format!("<CommonPrefixes><Prefix>data/{many}/</Prefix></CommonPrefixes>");
    let entries = entry("f", "1") + &entry(&many, "1") + &entry("g", &many) + &directory;
    let listing = |entries: &str, behind: &str| -> Option<Fault> {
        Some(Fault::Text(format!("<ListBucketResult>{entries}{behind}</ListBucketResult>").leak()))
    };
    let short = listing(&entries, "<IsTruncated>false</IsTruncated>");
    s3.fail(move |_| short);
    let page = store.list("", None).unwrap();
    assert_eq!(page.objects.iter().map(|object| object.name()).collect::<Vec<_>>(), ["f"]);
    assert!(page.directories.is_empty());
    let token = format!("<NextContinuationToken>{}</NextContinuationToken>", "x".repeat(100_000));
    let endless = listing("", &format!("<IsTruncated>true</IsTruncated>{token}"));
    s3.fail(move |_| endless);
    assert_eq!(store.list("", None).err(), Some(StoreError::Answer(None)));
    let long = listing(&entry("f", "1").repeat(80_000), "");
    s3.fail(move |_| long);
    assert_eq!(store.list("", None).err(), Some(StoreError::Answer(None)));
}
