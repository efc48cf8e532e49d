//! Files that hang: the others continue to work.

mod support;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hotset_cache::{Access, FileCache, Stream};

use support::{Opened, pattern, settings};

/// Reads ahead that hang, of more files than there are threads for them in any division.
#[test]
fn files_are_read_beside_others_whose_reads_ahead_hang() {
    let cache = Arc::new(FileCache::new(&settings("lru", 8 << 20), None).unwrap());
    let files: Vec<Opened> =
        (0..80).map(|number| Opened::new(&cache, &format!("/{number}"), pattern(number, 1 << 20))).collect();
    let streams: Vec<Stream> = files.iter().map(|_| Stream::default()).collect();
    let read = |number: usize, block: u64| {
        let access = Access { stream: Some(&streams[number]), ..files[number].access(0) };
        let bytes = cache.read(&access, block * 4096, 4096).unwrap();
        assert!(bytes == files[number].store.bytes()[block as usize * 4096..][..4096]);
    };
    // The second consecutive read causes a read-ahead.
    let last = files.len() - 1;
    for (number, file) in files[..last].iter().enumerate() {
        read(number, 0);
        file.store.hang_from(8192);
        read(number, 1);
    }
    let (tell, told) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..256).for_each(|block| read(last, block));
            tell.send(()).unwrap();
        });
        let in_time = told.recv_timeout(Duration::from_secs(60));
        files.iter().for_each(|file| file.store.go_on());
        in_time.expect("the healthy file is read to its end");
    });
    cache.validate();
}
