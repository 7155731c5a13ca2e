//! What a key lets its holder do.

use std::fmt;
use std::str::FromStr;

/// One kind of things to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Look at datasets, jobs, models and guarantees, and export models.
    Read,
    /// Ask for predictions.
    Predict,
    /// Upload and delete datasets; submit, cancel and delete jobs; update models.
    Train,
    /// All of the others, and: import, delete, load and unload models, and point aliases.
    Admin,
}

impl Scope {
    /// Every scope, in the order of the declaration.
    pub const ALL: [Self; 4] = [Self::Read, Self::Predict, Self::Train, Self::Admin];

    /// The word in a key file and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Predict => "predict",
            Self::Train => "train",
            Self::Admin => "admin",
        }
    }

    /// What it lets its holder do, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Read => "look at datasets, jobs, models and guarantees, and export models",
            Self::Predict => "ask for predictions",
            Self::Train => "upload and delete datasets, submit, cancel and delete jobs, update models",
            Self::Admin => "everything: also import, delete, load and unload models, and point aliases",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == text);
        found.ok_or_else(|| format!("'{text}' is not a scope; use {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Some scopes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// These scopes.
    pub const fn of(scopes: &[Scope]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < scopes.len() {
            bits |= scopes[index].bit();
            index += 1;
        }
        Self(bits)
    }

    /// Whether they allow what `scope` allows: it is among them, or `admin` is.
    pub const fn allow(self, scope: Scope) -> bool {
        self.0 & (scope.bit() | Scope::Admin.bit()) != 0
    }

    /// Whether they allow what one of these scopes allows.
    pub const fn allow_one_of(self, others: Self) -> bool {
        self.0 & (others.0 | Scope::Admin.bit()) != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes one by one.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & scope.bit() != 0)
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Scope::name).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admin_allows_everything_and_no_other_scope_allows_another() {
        for scope in Scope::ALL {
            assert_eq!(scope.name().parse(), Ok(scope));
            for other in Scope::ALL {
                let allowed = Scopes::of(&[scope]).allow(other);
                assert_eq!(allowed, scope == other || scope == Scope::Admin, "{scope:?} {other:?}");
                assert_eq!(Scopes::of(&[scope]).allow_one_of(Scopes::of(&[other])), allowed);
            }
            assert!(!Scopes::default().allow(scope));
        }
        assert_eq!(Scopes::of(&[Scope::Train, Scope::Read]).to_string(), "read,train");
        assert_eq!(
            [Scope::Read, Scope::Train].into_iter().collect::<Scopes>(),
            Scopes::of(&[Scope::Train, Scope::Read])
        );
        assert!("Read".parse::<Scope>().is_err());
    }
}
