//! How tasks and results become sealed bytes and back, within the limits of size.

use crate::codec::Codec;
use crate::envelope::{SigningKey, Subject, open, seal};
use crate::failure::{Failure, FailureKind};
use crate::future::RemoteError;
use crate::id::TaskId;
use crate::rejected::RejectedReason;
use crate::task::{OldPayload, RemoteTask};
use serde::de::DeserializeOwned;

/// The largest payload, unless set otherwise: 256 KiB.
pub const MAX_PAYLOAD: usize = 256 * 1024;
/// The largest result, unless set otherwise: 1 MiB.
pub const MAX_RESULT: usize = 1024 * 1024;

/// The settings that a client and a worker have in common.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) codec: Codec,
    pub(crate) key: Option<SigningKey>,
    pub(crate) max_payload: usize,
    pub(crate) max_result: usize,
}

impl Default for Wire {
    fn default() -> Self {
        let (max_payload, max_result) = (MAX_PAYLOAD, MAX_RESULT);
        Self {
            codec: Codec::default(),
            key: None,
            max_payload,
            max_result,
        }
    }
}

/// Why a payload could not be read.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// It is of a version that this build does not know yet.
    Newer,
    Refused(Failure),
}

/// Returns the part of an id that is signed with a payload. The tasks of a schedule have one payload and the ids
/// `cron:<schedule>:<time>`, so the time is left out.
fn signed_id(id: &TaskId) -> &str {
    let id = id.as_str();
    match id
        .strip_prefix("cron:")
        .and_then(|rest| rest.rsplit_once(':'))
    {
        Some((name, _)) => &id[.."cron:".len() + name.len()],
        None => id,
    }
}

impl Wire {
    pub(crate) fn seal_task<T: RemoteTask>(
        &self,
        id: &TaskId,
        task: &T,
    ) -> Result<Vec<u8>, RejectedReason> {
        let body = self
            .codec
            .encode(task)
            .map_err(|e| RejectedReason::Encode(e.to_string()))?;
        if body.len() > self.max_payload {
            return Err(RejectedReason::TooLarge {
                size: body.len(),
                limit: self.max_payload,
            });
        }
        let id = signed_id(id);
        let subject = Subject {
            role: "task",
            id,
            name: T::NAME,
            version: T::VERSION,
        };
        Ok(seal(self.codec, &body, subject, self.key.as_ref()))
    }

    pub(crate) fn open_task<T: RemoteTask>(
        &self,
        id: &TaskId,
        version: u16,
        sealed: &[u8],
    ) -> Result<T, OpenError> {
        if version > T::VERSION {
            return Err(OpenError::Newer);
        }
        let refused = |e: String| OpenError::Refused(Failure::new(FailureKind::Payload, e));
        let subject = Subject {
            role: "task",
            id: signed_id(id),
            name: T::NAME,
            version,
        };
        let (codec, body) =
            open(sealed, subject, self.key.as_ref()).map_err(|e| refused(e.to_string()))?;
        if body.len() > self.max_payload {
            return Err(refused(format!("{} bytes", body.len())));
        }
        if version == T::VERSION {
            codec.decode(body).map_err(|e| refused(e.to_string()))
        } else {
            let old = OldPayload { codec, bytes: body };
            T::upgrade(version, &old).map_err(|e| refused(e.to_string()))
        }
    }

    pub(crate) fn seal_result<T: RemoteTask>(
        &self,
        id: &TaskId,
        output: &T::Output,
    ) -> Result<Vec<u8>, Failure> {
        let refused = |message: String| Failure::new(FailureKind::Result, message);
        let body = self
            .codec
            .encode(output)
            .map_err(|e| refused(e.to_string()))?;
        if body.len() > self.max_result {
            let limit = self.max_result;
            return Err(refused(format!(
                "{} bytes, more than the {limit} allowed",
                body.len()
            )));
        }
        let subject = Subject {
            role: "result",
            id: id.as_str(),
            name: T::NAME,
            version: 0,
        };
        Ok(seal(self.codec, &body, subject, self.key.as_ref()))
    }

    pub(crate) fn open_result<O: DeserializeOwned>(
        &self,
        id: &TaskId,
        name: &str,
        sealed: &[u8],
    ) -> Result<O, RemoteError> {
        let subject = Subject {
            role: "result",
            id: id.as_str(),
            name,
            version: 0,
        };
        let (codec, body) = open(sealed, subject, self.key.as_ref())
            .map_err(|e| RemoteError::Decode(e.to_string()))?;
        codec
            .decode(body)
            .map_err(|e| RemoteError::Decode(e.to_string()))
    }
}
