//! Asking a web server of our own by WebDAV, which answers wrongly in every way that we could think of.

use std::thread::sleep;
use std::time::{Duration, Instant, UNIX_EPOCH};

use hotset_store::{Limits, Location, Page, Store, StoreError};
use hotset_testkit::s3::{Fault, S3, Tags};
use rustix::io::Errno;

const LIMITS: Limits =
    Limits { requests: 8, timeout: Duration::from_secs(4), retries: 3, hedges: false, bandwidth: None };

fn open_with(s3: &S3, limits: Limits) -> Store {
    let location = Location::parse_served(&format!("{}/bucket/data/", s3.url())).unwrap();
    Store::open_with(&location, limits, []).unwrap()
}

fn open(s3: &S3) -> Store {
    open_with(s3, LIMITS)
}

fn names(page: &Page) -> (Vec<&str>, Vec<&str>) {
    (page.directories.iter().map(String::as_str).collect(), page.objects.iter().map(|object| object.name()).collect())
}

/// A listing of these files, and of the requested directory.
fn listing(directory: &str, hrefs: &[&str]) -> &'static str {
    let mut text = "<?xml version=\"1.0\"?><d:multistatus xmlns:d=\"DAV:\">".to_owned();
    for (href, kind) in [(directory, "<d:collection/>")].into_iter().chain(hrefs.iter().map(|href| (*href, ""))) {
        text += &format!(
            "<d:response><d:href>{href}</d:href><d:propstat><d:prop><d:resourcetype>{kind}</d:resourcetype>\
             <d:getcontentlength>3</d:getcontentlength><d:getetag>\"x\"</d:getetag></d:prop>\
             <d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
        );
    }
    (text + "</d:multistatus>").leak()
}

#[test]
fn names_of_every_kind_are_listed_and_read() {
    let s3 = S3::start();
    let odd =
        ["a b", "100%", "50%25", "ü", "x&y<z>", "#1", "q?", "a+b", "[c]", "semi;colon", "\"quoted\"", "back\\slash"];
    for name in odd {
        s3.put(&format!("data/{name}"), name);
        s3.put(&format!("data/dir {name}/{name}"), format!("in {name}"));
    }
    s3.put("database", "beside it");
    let store = open(&s3);
    let page = store.list("", None).unwrap();
    let (directories, files) = names(&page);
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let owned = |names: &[&str]| sorted(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(owned(&files), owned(&odd));
    assert_eq!(owned(&directories), sorted(odd.iter().map(|name| format!("dir {name}")).collect()));
    assert!(page.is_there && page.next.is_none());
    for object in &page.objects {
        assert_eq!(store.read(object, 0..object.size()).unwrap(), object.name().as_bytes());
        assert!(store.head(object.name()).unwrap().is_same(object));
        let directory = format!("dir {}", object.name());
        let below = store.list(&directory, None).unwrap();
        assert_eq!(names(&below), (vec![], vec![object.name()]));
        let size = below.objects[0].size();
        assert_eq!(store.read(&below.objects[0], 0..size).unwrap(), format!("in {}", object.name()).as_bytes());
        assert_eq!(store.head(&directory).err(), Some(StoreError::Missing), "a directory is not an object");
    }
    assert!(!store.list("nothing", None).unwrap().is_there);
    assert_eq!(store.head("nothing").err(), Some(StoreError::Missing));
    assert!(store.identity().unwrap().contains("/bucket/data"));
    // An answer to HEAD may be the page that a server shows for a directory.
    assert!(s3.take_asked().iter().all(|asked| matches!(asked.method.as_str(), "PROPFIND" | "GET")));
}

#[test]
fn who_does_not_speak_webdav_is_told_apart() {
    let s3 = S3::start();
    s3.put("data/f", "x");
    let store = open(&s3);
    let object = store.head("f").unwrap();
    s3.refuse_webdav();
    assert_eq!(store.list("", None).err(), Some(StoreError::NoListing(405)));
    assert_eq!(store.head("f").err(), Some(StoreError::NoListing(405)));
    for (status, root, below) in [
        (200, StoreError::NoListing(200), Some(StoreError::NoListing(200))),
        (400, StoreError::NoListing(400), Some(StoreError::NoListing(400))),
        (404, StoreError::NoListing(404), None),
        (501, StoreError::NoListing(501), Some(StoreError::NoListing(501))),
        (401, StoreError::Denied, Some(StoreError::Denied)),
        (403, StoreError::Denied, Some(StoreError::Denied)),
        (503, StoreError::Answer(Some(503)), Some(StoreError::Answer(Some(503)))),
        (301, StoreError::Answer(Some(301)), Some(StoreError::Answer(Some(301)))),
    ] {
        s3.fail(move |_| Some(Fault::Status(status)));
        assert_eq!(store.list("", None).err(), Some(root), "{status}");
        assert_eq!(store.list("below", None).err(), below, "{status}");
        let why = store.list("", None).unwrap_err().to_string();
        assert!(!why.contains("Fault") && why.len() < 250, "{why}");
    }
    assert!(StoreError::NoListing(405).to_string().starts_with("the server answers 405 to PROPFIND"));
    s3.fail(|_| Some(Fault::Text("hello")));
    for error in [store.list("", None).err(), store.head("f").err()] {
        assert_eq!(error, Some(StoreError::Answer(None)));
    }
    s3.fail(|_| None);
    assert_eq!(store.read(&object, 0..1).unwrap(), b"x");
}

#[test]
fn what_is_not_in_the_directory_is_left_out() {
    let s3 = S3::start();
    let (store, url) = (open(&s3), s3.url());
    let other = format!("http://other:{}/bucket/data/other", s3.address().port());
    let same = format!("{url}/bucket/data/same");
    let hrefs = [
        "/bucket/data/good",
        &same,
        &other,
        "https://127.0.0.1/bucket/data/secure",
        "//other/bucket/data/x",
        "/bucket/data/../up",
        "/bucket/data/%2e%2e",
        "/bucket/data/..",
        "/bucket/data/a%2fb",
        "/bucket/data//empty",
        "/bucket/data/deeper/down",
        "/bucket/elsewhere",
        "/etc/passwd",
        "relative",
        "",
        "/bucket/data/query?x=1",
        "/bucket/data/%ff",
        "/bucket/data/%00",
    ];
    let text = listing("/bucket/data/", &hrefs);
    s3.fail(move |_| Some(Fault::Text(text)));
    assert_eq!(names(&store.list("", None).unwrap()), (vec![], vec!["good", "same"]));
    // An answer about something else is none.
    for directory in ["http://other/bucket/data/", "/bucket/", "/bucket/data/other/"] {
        let text = listing(directory, &["/bucket/data/f"]);
        s3.fail(move |_| Some(Fault::Text(text)));
        assert_eq!(store.list("", None).err(), Some(StoreError::Answer(None)), "{directory}");
    }
}

#[test]
fn an_answer_without_end_ends_and_takes_bounded_memory() {
    let s3 = S3::start();
    s3.put("data/f", [1; 100]);
    // The longest listing takes some seconds, and more where much else runs.
    let limits = Limits { timeout: Duration::from_secs(240), ..LIMITS };
    let store = open_with(&s3, limits);
    let object = store.head("f").unwrap();
    s3.fail(|_| Some(Fault::Endless));
    assert_eq!(store.list("", None).err(), Some(StoreError::Answer(None)));
    assert_eq!(store.read(&object, 0..10), Err(StoreError::Answer(None)));
    let entry = listing("/bucket/data/", &["/bucket/data/file"]);
    let begin = entry.find("<d:response>").unwrap();
    let (head, entries) = entry.strip_suffix("</d:multistatus>").unwrap().split_at(begin);
    // With files and without end; elements around elements; one text.
    for (head, more, expected) in [
        (head, entries, StoreError::Long),
        (head, "<d:response><d:href>/elsewhere</d:href></d:response>\n", StoreError::Long),
        (head, "<a>", StoreError::Answer(None)),
        (head, "a", StoreError::Answer(None)),
    ] {
        let begun = Instant::now();
        s3.fail(move |_| Some(Fault::Repeated(head, more)));
        assert_eq!(store.list("", None).err(), Some(expected.clone()), "{more}");
        assert!(begun.elapsed() < limits.timeout, "{:?}", begun.elapsed());
        let error = store.head("f").unwrap_err();
        assert_eq!(error, expected, "{more}");
        assert_eq!(error.errno() == Errno::FBIG, expected == StoreError::Long);
    }
}

#[test]
fn what_is_cut_or_busy_is_asked_for_again() {
    let s3 = S3::start();
    (0..20).for_each(|number| s3.put(&format!("data/{number}"), [7; 100]));
    let store = open(&s3);
    for fault in [Fault::Status(503), Fault::Status(429), Fault::Closed, Fault::Cut(500)] {
        let mut left = 2;
        s3.fail(move |_| {
            left -= i32::from(left > 0);
            (left > 0).then_some(fault)
        });
        assert_eq!(store.list("", None).unwrap().objects.len(), 20, "{fault:?}");
        let mut left = 2;
        s3.fail(move |_| {
            left -= i32::from(left > 0);
            (left > 0).then_some(if let Fault::Cut(_) = fault { Fault::Cut(200) } else { fault })
        });
        assert_eq!(store.head("7").unwrap().size(), 100, "{fault:?}");
        s3.fail(move |_| Some(fault));
        let begun = Instant::now();
        let error = store.list("", None).unwrap_err();
        assert!(matches!(error, StoreError::Answer(Some(429 | 503)) | StoreError::Cut), "{fault:?}: {error:?}");
        assert!(begun.elapsed() < LIMITS.timeout, "{:?}", begun.elapsed());
    }
    s3.fail(|_| Some(Fault::Late(Duration::from_secs(6))));
    assert_eq!(store.list("", None).err(), Some(StoreError::Timeout));
}

#[test]
fn bytes_of_another_version_are_found_out_whatever_tells_it() {
    for tags in [Tags::Strong, Tags::Weak, Tags::WeakListings, Tags::WithBytes, Tags::None] {
        let s3 = S3::start();
        s3.set_tags(tags);
        s3.put("data/f", [1; 100]);
        let store = open(&s3);
        let page = store.list("", None).unwrap();
        let object = &page.objects[0];
        assert_eq!(object.names_bytes(), tags == Tags::Strong);
        assert_eq!(store.read(object, 0..100).unwrap(), [1; 100], "{tags:?}");
        s3.put("data/f", [2; 100]);
        assert_eq!(store.read(object, 0..100), Err(StoreError::Changed), "{tags:?}");
        assert!(!store.head("f").unwrap().is_same(object), "{tags:?}");
        s3.ignore_conditions();
        assert_eq!(store.read(object, 0..100), Err(StoreError::Changed), "{tags:?}");
        s3.put("data/f", [2; 10]);
        assert_eq!(store.read(object, 50..100), Err(StoreError::Changed), "{tags:?}: shorter");
    }
}

/// Of two versions that were written within a second the first one is never read, where nothing else tells them apart.
#[test]
fn what_is_written_twice_within_a_second_is_read_when_that_is_over() {
    let s3 = S3::start();
    s3.set_tags(Tags::Clock);
    let store = open(&s3);
    let since = UNIX_EPOCH.elapsed().unwrap();
    sleep(Duration::from_millis(1010 - u64::from(since.subsec_millis())));
    s3.put("data/f", "old");
    let object = store.head("f").unwrap();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| store.read(&object, 0..3));
        sleep(Duration::from_millis(300));
        s3.put("data/f", "new");
        assert!(store.head("f").unwrap().is_same(&object), "nothing tells them apart");
        assert_eq!(reading.join().unwrap().unwrap(), b"new");
    });
    sleep(Duration::from_millis(1000));
    s3.put("data/f", "yet");
    assert_eq!(store.read(&object, 0..3), Err(StoreError::Changed));
}

/// Another port is another origin.
#[test]
fn redirects_to_another_origin_are_refused() {
    let (s3, elsewhere) = (S3::start(), S3::start());
    [&s3, &elsewhere].iter().for_each(|server| server.put("data/f", "some bytes"));
    let store = open(&s3);
    let object = store.head("f").unwrap();
    for status in [301, 302, 303, 307, 308] {
        let address = elsewhere.address();
        s3.fail(move |_| Some(Fault::Elsewhere(status, address)));
        for done in [store.list("", None).err(), store.head("f").err(), store.read(&object, 0..4).err()] {
            let error = done.unwrap_or_else(|| panic!("{status}: it succeeded"));
            assert_eq!(error, StoreError::Elsewhere(format!("http://{address}")), "{status}");
        }
    }
    assert!(elsewhere.take_asked().is_empty(), "the other server was asked");
    // Within the origin they are followed.
    for status in [301, 302, 307, 308] {
        let (address, mut asked) = (s3.address(), 0);
        s3.fail(move |_| {
            asked += 1;
            (asked % 2 == 1).then_some(Fault::Elsewhere(status, address))
        });
        assert_eq!(store.head("f").unwrap().size(), 10, "{status}");
        assert_eq!(store.read(&object, 0..4).unwrap(), b"some", "{status}");
    }
}

#[test]
fn redirects_are_followed_to_permitted_hosts() {
    let (s3, elsewhere) = (S3::start(), S3::start());
    elsewhere.put("data/f", "there");
    elsewhere.put("data/d/g", "there");
    let permitted = |from: &S3, hosts: &[&str]| {
        let mut location = Location::parse_served(&format!("{}/bucket/data/", from.url())).unwrap();
        hosts.iter().for_each(|host| location.permit_redirect(host).unwrap());
        Store::open_with(&location, LIMITS, []).unwrap()
    };
    let (here, there) = (s3.address().to_string(), elsewhere.address().to_string());
    for status in [301, 302, 307, 308] {
        let address = elsewhere.address();
        s3.fail(move |_| Some(Fault::Elsewhere(status, address)));
        // A host without a port has the port of its scheme.
        for hosts in [&["127.0.0.1"][..], &["other.example", "127.0.0.1:1"]] {
            let refused = permitted(&s3, hosts).list("", None).err();
            assert_eq!(refused, Some(StoreError::Elsewhere(format!("http://{address}"))), "{hosts:?}");
        }
        let store = permitted(&s3, &["other.example", &there]);
        let page = store.list("", None).unwrap();
        assert_eq!(names(&page), (vec!["d"], vec!["f"]), "{status}");
        assert_eq!(store.read(&page.objects[0], 0..5).unwrap(), b"there");
        assert_eq!(store.head("d/g").unwrap().size(), 5);
    }
    // Nothing that could be a secret is sent, nor which address led there.
    for asked in elsewhere.take_asked().iter().chain(&s3.take_asked()) {
        let sent = ["authorization", "cookie", "referer"].into_iter().filter_map(|name| asked.header(name));
        assert_eq!(sent.count(), 0, "{asked:?}");
    }
    // Two that redirect to each other.
    let (one, other) = (s3.address(), elsewhere.address());
    s3.fail(move |_| Some(Fault::Elsewhere(302, other)));
    elsewhere.fail(move |_| Some(Fault::Elsewhere(302, one)));
    let store = permitted(&s3, &[&there, &here]);
    assert_eq!(store.list("", None).err(), Some(StoreError::Answer(Some(302))));
    assert_eq!(store.head("f").err(), Some(StoreError::Answer(Some(302))));
}

#[test]
fn a_permitted_host_is_a_name_with_or_without_a_port() {
    let mut location = Location::parse_served("https://host/a").unwrap();
    for host in ["cdn.example", "cdn.example:8443", "127.0.0.1:80", "[::1]:80", "[::1]"] {
        location.permit_redirect(host).unwrap();
    }
    for host in ["", "https://cdn.example", "cdn.example/a", "user@cdn.example", "a b", "cdn.example:x", "h?x", "*"] {
        assert!(location.permit_redirect(host).is_err(), "{host}");
    }
    let mut location = Location::parse_served("s3://bucket").unwrap();
    let refused = location.permit_redirect("cdn.example").unwrap_err().to_string();
    assert!(refused.contains("web server"), "{refused}");
}

#[test]
fn nothing_is_changed_there() {
    let s3 = S3::start();
    s3.put("data/f", "x");
    let store = open(&s3);
    let object = store.head("f").unwrap();
    assert!(store.put("g", b"new".to_vec(), false).is_err());
    assert!(store.delete("f").is_err());
    assert!(store.copy(&object, "g").is_err());
    assert!(s3.take_asked().iter().all(|asked| asked.method == "PROPFIND"));
    assert_eq!(s3.objects().len(), 1);
}
