//! Requests a second of one client, with the headers that tell a client where it stands
//! [draft-ietf-httpapi-ratelimit-headers].

use super::Client;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATUS: HeaderName = HeaderName::from_static("ratelimit");

/// After so many requests, clients that have been away are forgotten.
const REQUESTS_TO_REMEMBER: u32 = 4096;

/// The rates of all clients.
pub(crate) struct RateLimit {
    limiter: RateLimiter<Client, HashMapStateStore<Client>, DefaultClock, StateInformationMiddleware>,
    per_second: NonZeroU32,
    policy: HeaderValue,
    requests: AtomicU32,
}

/// Where a client stands after a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateStatus {
    per_second: NonZeroU32,
    remaining: u32,
}

impl RateLimit {
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        let policy = format!("\"client\";q={per_second};w=1");
        Self {
            limiter: RateLimiter::hashmap(Quota::per_second(per_second)).with_middleware(),
            per_second,
            policy: HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("")), // digits are always valid
            requests: AtomicU32::new(0),
        }
    }

    /// Counts a request; refused if the client has sent too many.
    pub(crate) fn count(&self, client: Client) -> Result<RateStatus, ApiError> {
        if self.requests.fetch_add(1, Ordering::Relaxed) % REQUESTS_TO_REMEMBER == REQUESTS_TO_REMEMBER - 1 {
            self.limiter.retain_recent();
        }
        match self.limiter.check_key(&client) {
            Ok(state) => Ok(RateStatus { per_second: self.per_second, remaining: state.remaining_burst_capacity() }),
            Err(early) => {
                let wait = early.wait_time_from(DefaultClock::default().now());
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                let detail = format!(
                    "more than {} requests a second, which is the limit of one client; wait {} ms",
                    self.per_second,
                    wait.as_millis() + 1
                );
                let status = HeaderValue::from_str(&format!("\"client\";r=0;t={seconds}"));
                Err(ApiError::new(ErrorCode::RateLimited, detail)
                    .with_header(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)))
                    .with_header(POLICY, self.policy.clone())
                    .with_header(STATUS, status.unwrap_or(HeaderValue::from_static(""))))
            }
        }
    }
}

impl RateStatus {
    /// Adds the headers to an answer, unless a refusal has its own.
    pub(crate) fn tell(self, headers: &mut HeaderMap) {
        if headers.contains_key(STATUS) {
            return;
        }
        let value = |text: String| HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""));
        headers.insert(POLICY, value(format!("\"client\";q={};w=1", self.per_second)));
        headers.insert(STATUS, value(format!("\"client\";r={};t=1", self.remaining)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_sends_too_much_is_told_so_and_others_are_not() {
        let limit = RateLimit::new(NonZeroU32::new(3).unwrap());
        let client = |last: u8| Client::Address([192, 0, 2, last].into());
        for expected in [2, 1, 0] {
            assert_eq!(limit.count(client(1)).unwrap().remaining, expected);
        }
        assert!(limit.count(client(1)).is_err());
        assert_eq!(limit.count(client(2)).unwrap().remaining, 2);
        std::thread::sleep(std::time::Duration::from_millis(400));
        assert!(limit.count(client(1)).is_ok(), "a third of a second earns one request");
    }

    #[test]
    fn clients_that_are_gone_are_forgotten() {
        let limit = RateLimit::new(NonZeroU32::new(1_000_000).unwrap());
        for number in 0..2 * REQUESTS_TO_REMEMBER {
            limit.count(Client::Address(std::net::IpAddr::V4(number.into()))).unwrap();
        }
        assert!(limit.limiter.len() <= REQUESTS_TO_REMEMBER as usize + 1, "{}", limit.limiter.len());
    }
}
