//! Places that all clients use, of which none may have all: uploads, and tables that are predicted.

use super::Client;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::config::share_of_one;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Some places, and who has them.
pub(crate) struct ClientSlots {
    /// What is done there, in the plural.
    what: &'static str,
    total: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    total: usize,
    by_client: HashMap<Client, usize>,
}

impl ClientSlots {
    /// So many places for something, named in the plural.
    pub(crate) fn new(what: &'static str, total: usize) -> Self {
        Self { what, total, taken: Arc::default() }
    }

    /// A place until it is dropped; refused at once if all are taken, or the client's share.
    pub(crate) fn take(&self, client: Client) -> Result<Slot, ApiError> {
        let (what, share) = (self.what, share_of_one(self.total));
        let mut taken = lock(&self.taken);
        if taken.total >= self.total {
            return Err(ApiError::new(ErrorCode::Overloaded, format!("too many {what} are running; try again later")));
        }
        let own = taken.by_client.entry(client).or_default();
        if *own >= share {
            let detail = format!("{share} {what} of this client are running, which is its share; try again later");
            return Err(ApiError::new(ErrorCode::ClientLimit, detail));
        }
        *own += 1;
        taken.total += 1;
        Ok(Slot { client, taken: Arc::clone(&self.taken) })
    }
}

/// A place that is taken.
pub(crate) struct Slot {
    client: Client,
    taken: Arc<Mutex<Taken>>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.total -= 1;
        match taken.by_client.get_mut(&self.client) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(taken.by_client.remove(&self.client)),
        }
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_leaves_places_to_others() {
        let slots = ClientSlots::new("uploads", 4);
        let client = |last: u8| Client::Address([192, 0, 2, last].into());
        let mut held: Vec<Slot> = (0..3).map(|_| slots.take(client(1)).ok().unwrap()).collect();
        assert!(slots.take(client(1)).is_err(), "its share");
        held.push(slots.take(client(2)).ok().unwrap());
        assert!(slots.take(client(2)).is_err(), "all are taken");
        held.remove(0);
        assert!(slots.take(client(2)).is_ok());
        drop(held);
        let taken = lock(&slots.taken);
        assert!(taken.total == 0 && taken.by_client.is_empty());
    }
}
