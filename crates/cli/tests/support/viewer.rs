//! `hotset view` as a process that ends with the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;

use serde_json::Value;

use super::command;

/// A server of results, which ends with the test.
pub struct Viewer {
    child: Child,
    /// Where it listens.
    pub address: String,
    /// Where its page is, below that.
    pub place: String,
}

impl Viewer {
    /// Shows these files.
    pub fn of(files: &[&str]) -> Viewer {
        let mut child = command(&[&["view", "--no-open"], files].concat()).spawn().expect("the command can be started");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let told = line.strip_prefix("http://").and_then(|rest| rest.split(' ').next());
        let (address, place) = told.and_then(|told| told.split_once('/')).unwrap_or_else(|| panic!("{line:?}"));
        assert!(address.starts_with("127.0.0.1:") && place.len() == 33, "{line}");
        Viewer { address: address.to_owned(), place: format!("/{place}"), child }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Status line and body.
    pub fn ask(&self, method: &str, path: &str, host: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // To 1.0 the answer comes in one piece.
        write!(stream, "{method} {path} HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }

    /// The page's data.
    pub fn data(&self) -> Value {
        let (status, page) = self.ask("GET", &self.place, &self.address);
        assert!(status.contains("200"), "{status}");
        data_of(&page)
    }

    /// The page's rows.
    pub fn rows(&self) -> Value {
        self.data()["rows"].clone()
    }

    /// Ends it as Ctrl-C does, and tells the status.
    pub fn interrupt(mut self) -> i32 {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap().code().expect("it ends alone")
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The data in a page.
pub fn data_of(page: &str) -> Value {
    let (_, after) = page.split_once("id=\"report\">").expect("a place for data");
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}
