//! Services of a running process: a socket for control, metrics, pages of results, and replays for pages.
//!
//! [`control`] answers `hotset ctl` and `hotset top` for a mount or for steering, [`steering`] publishes the state of a
//! session and has a policy decide about the pages of a mount, [`report`] makes pages of results, [`view`] serves
//! pages and directories, over [`http`].
//!
//! ```
//! use hotset_serve::http::Server;
//! use hotset_serve::{report, view};
//! use hotset_results::Results;
//! use std::io::{Read, Write};
//!
//! let rows = Results::default();
//! let html = report::of_results("hotset view none.jsonl", &[], &[], &rows, Vec::new())?;
//! let server = Server::bind(("127.0.0.1", 0))?;
//! let to = server.address();
//! let address = view::serve_page(server, &view::secret()?, html)?;
//!
//! let path = address.strip_prefix(&format!("http://{to}")).expect("the address of the server");
//! let mut stream = std::net::TcpStream::connect(to)?;
//! write!(stream, "GET {path} HTTP/1.1\r\nHost: {to}\r\n\r\n")?;
//! let mut answer = String::new();
//! stream.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("hotset view none.jsonl"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod control;
#[cfg_attr(not(feature = "view"), path = "http/absent.rs")]
pub mod http;
pub mod report;
pub mod steering;
pub mod view;
