//! How many requests each peer may make: a token bucket per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many peers are remembered. One that is forgotten starts with a full bucket, so the limit only
/// helps against peers that are fewer than this.
const REMEMBERED: usize = 4096;

/// A burst is what this many seconds of the rate allow: the page asks for all its files and for the
/// figures of the pools when it starts.
const BURST_SECONDS: f64 = 5.0;

/// What a request takes from the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    /// A file, which is in memory and always the same. The page is some forty of them, and one that is refused leaves it
    /// blank: whoever loads it again and again is not to get there.
    File,
    Request,
}

impl Cost {
    const fn tokens(self) -> f64 {
        match self {
            Self::File => 0.02,
            Self::Request => 1.0,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Peers {
    per_second: f64,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Peers {
    pub(crate) fn new(per_second: u32) -> Self {
        Self {
            per_second: f64::from(per_second),
            buckets: Mutex::default(),
        }
    }

    /// Counts one request of a peer.
    ///
    /// # Errors
    ///
    /// How long the peer has to wait for the next one.
    pub(crate) fn admit(&self, peer: IpAddr, cost: Cost, now: Instant) -> Result<(), Duration> {
        let full = self.per_second * BURST_SECONDS;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= REMEMBERED {
            self.forget(&mut buckets, now);
        }
        let bucket = buckets.entry(network(peer)).or_insert(Bucket {
            tokens: full,
            at: now,
        });
        bucket.tokens = self.refilled(*bucket, now);
        bucket.at = now;
        let missing = cost.tokens() - bucket.tokens;
        if missing > 0.0 {
            return Err(Duration::from_secs_f64(missing / self.per_second));
        }
        bucket.tokens = -missing;
        Ok(())
    }

    fn refilled(&self, bucket: Bucket, now: Instant) -> f64 {
        let earned = now.saturating_duration_since(bucket.at).as_secs_f64() * self.per_second;
        (bucket.tokens + earned).min(self.per_second * BURST_SECONDS)
    }

    /// Forgets the peers whose buckets are full again; if there are none, everybody.
    fn forget(&self, buckets: &mut HashMap<IpAddr, Bucket>, now: Instant) {
        let full = self.per_second * BURST_SECONDS;
        buckets.retain(|_, bucket| self.refilled(*bucket, now) < full);
        if buckets.len() >= REMEMBERED {
            buckets.clear();
        }
    }
}

/// Returns what one peer can be taken to have for itself: an IPv4 address, or a network of 64 bits.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => {
            let [a, b, c, d, ..] = ip.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, Peers, REMEMBERED};
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::{Duration, Instant};

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn a_burst_is_admitted_and_then_the_rate() {
        let peers = Peers::new(20);
        let start = Instant::now();
        for request in 0..100 {
            assert_eq!(
                peers.admit(PEER, Cost::Request, start),
                Ok(()),
                "request {request}"
            );
        }
        let wait = peers.admit(PEER, Cost::Request, start).unwrap_err();
        assert!(wait <= Duration::from_millis(51), "{wait:?}");
        assert_eq!(peers.admit(PEER, Cost::Request, start + wait), Ok(()));
        assert!(peers.admit(PEER, Cost::Request, start + wait).is_err());
        let admitted = (0..100)
            .filter(|_| {
                peers
                    .admit(PEER, Cost::Request, start + Duration::from_secs(2))
                    .is_ok()
            })
            .count();
        assert!((38..=40).contains(&admitted), "{admitted}");
    }

    #[test]
    fn a_file_costs_less_than_a_request() {
        let peers = Peers::new(1);
        let now = Instant::now();
        let files = (0..1_000)
            .filter(|_| peers.admit(PEER, Cost::File, now).is_ok())
            .count();
        assert!((249..=250).contains(&files), "{files}");
    }

    #[test]
    fn one_peer_does_not_use_up_the_requests_of_another() {
        let peers = Peers::new(1);
        let now = Instant::now();
        while peers.admit(PEER, Cost::Request, now).is_ok() {}
        assert_eq!(
            peers.admit(IpAddr::from([192, 0, 2, 1]), Cost::Request, now),
            Ok(())
        );
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_bucket() {
        let peers = Peers::new(1);
        let now = Instant::now();
        while peers
            .admit("2001:db8::1".parse().unwrap(), Cost::Request, now)
            .is_ok()
        {}
        assert!(
            peers
                .admit("2001:db8::2".parse().unwrap(), Cost::Request, now)
                .is_err()
        );
        assert!(
            peers
                .admit("2001:db8:0:1::1".parse().unwrap(), Cost::Request, now)
                .is_ok()
        );
    }

    #[test]
    fn the_memory_for_peers_is_bounded() {
        let peers = Peers::new(1);
        let now = Instant::now();
        for peer in 0..3 * u32::try_from(REMEMBERED).unwrap() {
            assert_eq!(
                peers.admit(IpAddr::V4(peer.into()), Cost::Request, now),
                Ok(())
            );
        }
        assert!(peers.buckets.lock().unwrap().len() <= REMEMBERED);
    }
}
