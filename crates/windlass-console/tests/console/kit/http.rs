//! A plain HTTP client: one request, one connection, every header as the test wants it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

use super::PATIENCE;

/// A request in the making.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    address: SocketAddr,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(address: SocketAddr, method: &str, path: &str) -> Self {
        Self {
            address,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![("Host".to_owned(), address.to_string())],
            body: None,
        }
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Replaces the host.
    pub(crate) fn host(self, host: &str) -> Self {
        self.without("Host").header("Host", host)
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Sets a body of JSON.
    pub(crate) fn json(self, body: &str) -> Self {
        self.header("Content-Type", "application/json")
            .body(body.as_bytes())
    }

    pub(crate) fn body(mut self, body: &[u8]) -> Self {
        self.body = Some(body.to_vec());
        self
    }

    /// Returns the request as it goes over the network.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut text = format!(
            "{} {} HTTP/1.1\r\nConnection: close\r\n",
            self.method, self.path
        );
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        let mut bytes = (text + "\r\n").into_bytes();
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// Sends the request and reads the response.
    #[track_caller]
    pub(crate) fn send(&self) -> Response {
        exchange(self.address, &self.bytes()).expect("an HTTP response")
    }
}

impl Request {
    /// Sends the request from another loopback address.
    #[track_caller]
    pub(crate) fn send_from(&self, source: [u8; 4]) -> Response {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((source, 0)).into()).unwrap();
        socket.connect(&self.address.into()).unwrap();
        converse(socket.into(), &self.bytes()).expect("an HTTP response")
    }
}

/// Sends bytes and reads what comes back, if it is a response.
pub(crate) fn exchange(address: SocketAddr, bytes: &[u8]) -> Option<Response> {
    converse(connect(address), bytes)
}

fn converse(mut stream: TcpStream, bytes: &[u8]) -> Option<Response> {
    // The other end may close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Response::parse(&answer)
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

impl Response {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Some(Self {
            status,
            headers,
            body: bytes[end + 4..].to_vec(),
        })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| &**value)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the code of an error.
    #[track_caller]
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Checks the status; the body says why it is another one.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}

/// One event of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    /// Opens a stream.
    ///
    /// # Errors
    ///
    /// The response that refuses it.
    pub(crate) fn open(address: SocketAddr, last: Option<u64>) -> Result<Self, Response> {
        let mut stream = connect(address);
        // In version 1.0 the body comes without chunks around it.
        let mut head = format!("GET /events HTTP/1.0\r\nHost: {address}\r\n");
        if let Some(last) = last {
            head.push_str(&format!("Last-Event-ID: {last}\r\n"));
        }
        stream.write_all((head + "\r\n").as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            assert_ne!(reader.read_until(b'\n', &mut head).unwrap(), 0, "closed");
        }
        let response = Response::parse(&head).unwrap();
        if response.status == 200 {
            Ok(Self(reader))
        } else {
            Err(response)
        }
    }

    /// Reads the next event; none if the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let (mut id, mut name, mut data) = (None, String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end_matches('\n').split_once(": ") {
                Some(("id", value)) => id = value.parse().ok(),
                Some(("event", value)) => value.clone_into(&mut name),
                Some(("data", value)) => data.push_str(value),
                None if line == "\n" && !data.is_empty() => {
                    let data = serde_json::from_str(&data).unwrap();
                    return Some(Event {
                        id: id.unwrap(),
                        name,
                        data,
                    });
                }
                _ => {}
            }
        }
    }

    /// Reads on to the next event of a name.
    #[track_caller]
    pub(crate) fn next_of(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().expect("the stream has ended");
            if event.name == name {
                return event;
            }
        }
    }
}
