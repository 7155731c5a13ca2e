//! A stop that is asked for reaches a training wherever it is.

use crate::tables::{RowsInMemory, Unwatched, resources, schema, spec};
use bochner::linalg::{StopSignal, stoppable};
use bochner::training::{CompareSpec, SpecLimits, compare, train};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// So many numeric columns, as a table of texts has when each text becomes an input.
const WIDE: usize = 6_000;

fn wide(rows: usize, columns: usize) -> RowsInMemory {
    let cell = |place: usize| (place as f64 * 0.618_034).fract();
    let cells = (0..rows).flat_map(|row| {
        let target = (6.0 * cell(row * 7)).sin();
        (0..columns).map(move |column| cell(row * 31 + column * 17)).chain([target])
    });
    RowsInMemory { cells: cells.collect(), columns: columns + 1 }
}

/// Nanoseconds that this thread has computed: unlike the time of day, it does not grow when others use the machine.
fn computed() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// Trains on one thread; gives the longest that was computed between two questions whether to stop.
fn longest_silence(table: &RowsInMemory, raw: &Value) -> f64 {
    let (last, longest) = (AtomicU64::new(computed()), Arc::new(AtomicU64::new(0)));
    let found = Arc::clone(&longest);
    let signal: StopSignal = Arc::new(move || {
        let now = computed();
        found.fetch_max(now - last.swap(now, Ordering::Relaxed), Ordering::Relaxed);
        false
    });
    let trained = stoppable(signal, || train(table, &schema(table), "ds", &spec(raw), resources(1), &Unwatched));
    trained.unwrap().unwrap();
    longest.load(Ordering::Relaxed) as f64 / 1e9
}

#[test]
fn a_wide_table_is_never_worked_on_for_a_second_without_asking() {
    let table = wide(1_000, WIDE);
    for raw in [
        json!({"features": {"count": 512}, "lambda": 1e-3}),
        json!({"features": {"count": 256}, "kernel": {"name": "laplace", "bandwidth": "median"}}),
        json!({"features": {"count": 256, "sampling": "orthogonal"}, "guarantees": {"exact_rows": 0}}),
        json!({"learner": "exact_krr", "lambda": 1e-3}),
    ] {
        let silence = longest_silence(&table, &raw);
        println!("{silence:.3} s: {raw}");
        assert!(silence < 1.0, "{silence} s: {raw}");
    }
}

/// As many inputs as a table of texts had on which a cancel took minutes: a few rows take seconds to multiply.
#[test]
fn nineteen_thousand_inputs_are_never_worked_on_for_a_second_without_asking() {
    let table = wide(300, 18_900);
    for raw in [
        json!({"features": {"count": 512}, "lambda": 1e-3}),
        json!({"features": {"count": 256, "sampling": "structured"}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}}),
    ] {
        let silence = longest_silence(&table, &raw);
        println!("{silence:.3} s: {raw}");
        assert!(silence < 1.0, "{silence} s: {raw}");
    }
}

/// What is searched and chosen takes long too.
#[test]
fn choices_are_never_made_for_a_second_without_asking() {
    let table = wide(1_500, 60);
    for raw in [
        json!({"features": {"count": 256, "sampling": "pooled_ridge", "pool": 4096}, "guarantees": {"exact_rows": 0}}),
        json!({"features": {"count": 256}, "kernel": {"metric": "full"}, "guarantees": {"exact_rows": 0}}),
        json!({"features": {"count": 256}, "kernel": {"metric": "diagonal"}, "explanations": true}),
    ] {
        let silence = longest_silence(&table, &raw);
        println!("{silence:.3} s: {raw}");
        assert!(silence < 1.0, "{silence} s: {raw}");
    }
}

/// A comparison trains many times, and asks in each.
#[test]
fn a_comparison_ends_at_the_first_yes() {
    let table = wide(600, 20);
    let raw = json!({"features": [64, 128], "repeats": 3});
    let spec = CompareSpec::check(&raw, SpecLimits { feature_count: 4096 }).unwrap();
    let run = |limit: usize| {
        let asked = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&asked);
        let signal: StopSignal = Arc::new(move || count.fetch_add(1, Ordering::Relaxed) >= limit as u64);
        let found = stoppable(signal, || compare(&table, &schema(&table), "ds", &spec, resources(1), &Unwatched));
        (found.is_some(), asked.load(Ordering::Relaxed))
    };
    let (ended, all) = run(usize::MAX);
    assert!(ended && all > 50, "{all}");
    for limit in [0, 10, all as usize / 4, all as usize / 2] {
        assert_eq!(run(limit), (false, limit as u64 + 1), "nothing asks again");
    }
}

#[test]
fn many_features_are_never_worked_on_for_a_second_without_asking() {
    let silence =
        longest_silence(&wide(6_000, 5), &json!({"features": {"count": 4096}, "guarantees": {"exact_rows": 0}}));
    println!("{silence:.3} s");
    assert!(silence < 1.0, "{silence} s");
}

/// At whatever question the answer is yes, the training ends there.
#[test]
fn a_training_ends_at_the_first_yes() {
    let table = wide(400, 50);
    let raw = json!({"features": {"count": 64}});
    let asked = Arc::new(Mutex::new(0));
    let run = |limit: usize| {
        *asked.lock().unwrap() = 0;
        let count = Arc::clone(&asked);
        let signal: StopSignal = Arc::new(move || {
            let mut count = count.lock().unwrap();
            *count += 1;
            *count > limit
        });
        stoppable(signal, || train(&table, &schema(&table), "ds", &spec(&raw), resources(1), &Unwatched))
    };
    assert!(run(usize::MAX).unwrap().is_ok());
    let all = *asked.lock().unwrap();
    assert!(all > 50, "{all}");
    // The last questions are those of a thread that waits for LAPACK, as often as it takes.
    for limit in (0..all / 2).step_by(all.div_ceil(60)) {
        assert!(run(limit).is_none(), "{limit} of {all}");
        assert_eq!(*asked.lock().unwrap(), limit + 1, "nothing asks again");
    }
}
