//! How the lists of a tensor's `data` lie in each other: they may be left out, but where they are there they are the
//! shape. Cells would come to stand in other rows otherwise.

/// The lists seen so far, by depth.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    /// Elements of the lists at each depth; none while the first is open.
    lengths: Vec<Option<usize>>,
    /// Where elements lie that are no lists.
    leaves: Option<usize>,
    ragged: bool,
}

impl Nesting {
    /// A list begins.
    pub(crate) fn open(&mut self, depth: usize) {
        if self.lengths.len() == depth {
            self.lengths.push(None);
        }
        self.ragged |= self.leaves.is_some_and(|leaves| leaves <= depth);
    }

    /// A list ends.
    pub(crate) fn close(&mut self, depth: usize, length: usize) {
        self.ragged |= *self.lengths[depth].get_or_insert(length) != length;
    }

    /// An element that is no list.
    pub(crate) fn element(&mut self, depth: usize) {
        self.ragged |= *self.leaves.get_or_insert(depth) != depth || self.lengths.len() != depth;
    }

    /// Whether lists of the same depth differ.
    pub(crate) fn is_ragged(&self) -> bool {
        self.ragged
    }

    /// The shape that the lists have, where they are neither flat nor of this one. Lists of one element move nothing.
    pub(crate) fn other_than(&self, shape: &[usize]) -> Option<Vec<usize>> {
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
        !nesting.is_ragged() && nesting.other_than(shape).is_none()
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
