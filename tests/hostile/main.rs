//! Hostile requests over every route of the contract, against the real process: mutated bodies, headers, methods, paths,
//! encodings, binary frames, truncated and pipelined requests. The service must answer all of them, never with an error of
//! its own but a deliberate refusal, and be as small afterwards as before.
//!
//! `BOCHNER_HOSTILE_REQUESTS` sets the number of requests, `BOCHNER_HOSTILE_SECONDS` the longest time that sending them may
//! take, `BOCHNER_HOSTILE_SEED` the seed.
#![allow(clippy::unwrap_used)] // a test may panic

mod mutation;
mod seeds;
mod service;
mod wire;

use mutation::{Draw, Message};
use seeds::Seed;
use service::Service;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wire::{Connection, Outcome};

/// Clients that send at the same time.
const CLIENTS: usize = 8;

/// What requests make is deleted, and what they delete is brought back, after so many of them.
const RESTORE: usize = 1_000;

/// Memory that may be kept after the first fifth of the requests, which fills caches and pools.
const GROWTH_KIB: usize = 64 << 10;

/// From so many requests on, memory is looked at after every fifth.
const LONG: usize = 100_000;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
}

/// What the clients have seen so far.
struct Record {
    seeds: Vec<Seed>,
    sent: AtomicUsize,
    statuses: Mutex<BTreeMap<String, usize>>,
    failures: Mutex<Vec<String>>,
}

impl Record {
    fn count(&self, outcome: &Outcome, message: &Message) {
        for status in outcome.statuses() {
            *self.statuses.lock().unwrap().entry(status.to_string()).or_default() += 1;
        }
        if let Some(wrong) = outcome.wrong() {
            let mut failures = self.failures.lock().unwrap();
            if failures.len() < 20 {
                failures.push(format!("{wrong}\n  the request: {message}"));
            }
        }
    }

    /// Sends requests until `total` were sent by all clients together, or the time is over.
    fn send_until(&self, total: usize, end: Instant, service: &Service, mut draw: Draw) {
        let mut connection = Connection::new(service.address());
        while self.failures.lock().unwrap().len() < 20 && Instant::now() < end {
            let number = self.sent.fetch_add(1, Ordering::Relaxed);
            if number >= total {
                self.sent.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            if number % RESTORE == RESTORE - 1 {
                service.restore();
            }
            let seed = &self.seeds[draw.below(self.seeds.len())];
            let message = Message::draw(seed, &mut draw);
            let outcome = connection.send(&message, &mut draw);
            self.count(&outcome, &message);
        }
    }
}

#[test]
fn hostile_requests_do_no_harm() {
    let total = setting("BOCHNER_HOSTILE_REQUESTS", 5_000) as usize;
    let seed = setting("BOCHNER_HOSTILE_SEED", 1);
    let service = Service::start();
    let record = Record {
        seeds: seeds::of_contract(),
        sent: AtomicUsize::new(0),
        statuses: Mutex::default(),
        failures: Mutex::default(),
    };
    let begin = Instant::now();
    let end = begin + Duration::from_secs(setting("BOCHNER_HOSTILE_SECONDS", 3600));
    let run = |until: usize, phase: u64| {
        std::thread::scope(|scope| {
            for client in 0..CLIENTS as u64 {
                let draw = Draw::new(seed ^ (phase << 32) ^ (client << 40));
                let (record, service) = (&record, &service);
                scope.spawn(move || record.send_until(until, end, service, draw));
            }
        });
    };
    run(total / 5, 0);
    let before = service.settled();
    // What a long run holds between is printed, to tell a level from a slope.
    let between = if total >= LONG { 2..5 } else { 5..5 };
    let between: Vec<_> = between.map(|fifths| (run(total / 5 * fifths, fifths as u64), service.settled()).1).collect();
    run(total, 1);
    let took = begin.elapsed();
    let after = service.settled();

    let statuses = record.statuses.lock().unwrap();
    let sent = record.sent.load(Ordering::Relaxed);
    let rate = sent as f64 / took.as_secs_f64();
    println!("{sent} hostile requests in {:.0} s ({rate:.0} per second)", took.as_secs_f64());
    println!("answers: {statuses:?}");
    println!("after a fifth {before}, at the end {after}");
    for (fifths, holdings) in between.iter().enumerate() {
        println!("  after {} fifths {holdings}", fifths + 2);
    }
    let failures = record.failures.lock().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(statuses.get("200").copied().unwrap_or(0) > sent / 100, "hardly a request got through: {statuses:?}");
    assert_eq!(service.panics(), Vec::<String>::new());
    assert!(after.descriptors <= before.descriptors + 2, "{before}, then {after}");
    assert!(after.memory_kib <= before.memory_kib + GROWTH_KIB, "{before}, then {after}");
    assert!(after.threads <= before.threads + 4, "{before}, then {after}");
    let (code, took) = service.terminate();
    assert!(code == 0 && took < Duration::from_secs(30), "SIGTERM: exit code {code} after {took:?}");
}
