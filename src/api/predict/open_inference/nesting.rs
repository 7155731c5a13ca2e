//! The nesting of lists in the JSON data of a tensor. Data is either flat, or nested as the shape says: otherwise cells
//! would end up in other rows.

/// The lists seen so far, by depth.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    /// The length of the lists at each depth; none while the first is open.
    lengths: Vec<Option<usize>>,
    /// The depth of the elements that are not lists.
    leaves: Option<usize>,
    ragged: bool,
}

impl Nesting {
    /// Begins a list.
    pub(crate) fn open(&mut self, depth: usize) {
        if self.lengths.len() == depth {
            self.lengths.push(None);
        }
        self.ragged |= self.leaves.is_some_and(|leaves| leaves <= depth);
    }

    /// Ends a list.
    pub(crate) fn close(&mut self, depth: usize, length: usize) {
        self.ragged |= *self.lengths[depth].get_or_insert(length) != length;
    }

    /// Adds an element that is not a list.
    pub(crate) fn element(&mut self, depth: usize) {
        self.ragged |= *self.leaves.get_or_insert(depth) != depth || self.lengths.len() != depth;
    }

    /// Whether lists of the same depth differ in length or kind.
    pub(crate) fn is_ragged(&self) -> bool {
        self.ragged
    }

    /// The shape of the lists if they are nested and their shape differs from this one. Dimensions of length 1 are
    /// ignored, because they change no order.
    pub(crate) fn differs_from(&self, shape: &[usize]) -> Option<Vec<usize>> {
        let found: Vec<usize> = self.lengths.iter().copied().flatten().collect();
        let longer = |shape: &[usize]| shape.iter().copied().filter(|length| *length != 1).collect::<Vec<_>>();
        (found.len() > 1 && longer(&found) != longer(shape)).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn walk(nesting: &mut Nesting, value: &Value, depth: usize) {
        match value {
            Value::Array(list) => {
                nesting.open(depth);
                for value in list {
                    walk(nesting, value, depth + 1);
                }
                nesting.close(depth, list.len());
            }
            _ => nesting.element(depth),
        }
    }

    fn fits(data: &Value, shape: &[usize]) -> bool {
        let mut nesting = Nesting::default();
        walk(&mut nesting, data, 0);
        !nesting.is_ragged() && nesting.differs_from(shape).is_none()
    }

    #[test]
    fn lists_are_flat_or_the_shape() {
        assert!(fits(&json!([1, 2, 3, 4, 5, 6]), &[2, 3]));
        assert!(fits(&json!([[1, 2, 3], [4, 5, 6]]), &[2, 3]));
        assert!(fits(&json!([[[1], [2]]]), &[1, 2, 1]) && fits(&json!([[[1], [2]]]), &[2]));
        assert!(fits(&json!([]), &[0]) && fits(&json!([[], []]), &[2, 0]));
        for data in [
            json!([[1, 2, 3, 4], [5, 6]]),
            json!([[1, 2], [3, 4], [5, 6]]),
            json!([[1, 2, 3, 4, 5, 6]]),
            json!([[1, 2, 3], 4, 5, 6]),
            json!([1, 2, 3, [4, 5, 6]]),
            json!([[], 1, 2, 3, 4, 5, 6]),
            json!([1, 2, 3, 4, 5, 6, []]),
            json!([[[1, 2, 3]], [4, 5, 6]]),
        ] {
            assert!(!fits(&data, &[2, 3]), "{data}");
        }
    }
}
