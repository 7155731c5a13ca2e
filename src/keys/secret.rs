//! Random bytes that live as long as a process.

/// 256 bits of the system's random numbers; none if the system has none to give.
pub fn random_secret() -> Option<[u8; 32]> {
    let mut secret = [0; 32];
    match getrandom::fill(&mut secret) {
        Ok(()) => Some(secret),
        Err(error) => {
            tracing::error!(%error, "the system gives no random numbers: forms of the console are refused");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_secrets_differ() {
        assert!(random_secret().is_some());
        assert_ne!(random_secret(), random_secret());
    }
}
