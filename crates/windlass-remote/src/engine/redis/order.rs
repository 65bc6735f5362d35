//! Has a server send the messages of a script before its answer.

use redis::{Connection, ConnectionLike, RedisResult, Value};

const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

/// A connection for a call whose messages somebody waits for more than for its answer.
///
/// A server sends what it has written for its connections in the opposite order of the first write to each: the answer of a script, written
/// last, is sent first, and wakes its caller before those that the messages are for. With a `PING` before the call, in the same packet, the
/// caller's connection is the first that is written to. It is a matter of time only: the answers are the same in any order.
pub(super) struct MessagesFirst<'a>(pub(super) &'a mut Connection);

impl ConnectionLike for MessagesFirst<'_> {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        self.0.send_packed_command(&[PING, command].concat())?;
        // What the server says to the first does not matter: if something is wrong, it says so to the second too.
        self.0.recv_response()?;
        self.0.recv_response()
    }

    fn req_packed_commands(
        &mut self,
        commands: &[u8],
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        self.0.req_packed_commands(commands, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.0.get_db()
    }

    fn check_connection(&mut self) -> bool {
        self.0.check_connection()
    }

    fn is_open(&self) -> bool {
        self.0.is_open()
    }
}
