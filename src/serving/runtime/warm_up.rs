//! A model made ready before anyone is told that it is there.

use crate::model::{Extras, FittedModel, Predictor};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A model that cannot predict; the log has the panic.
#[derive(Debug, thiserror::Error)]
#[error("the model cannot be used: its first prediction failed")]
pub struct NotReady;

/// The predictor of a model, tried out. What a model is made of may come from a file of anyone's, so that one which
/// passed every check and panics nevertheless is an answer, not the end of a thread.
pub fn make_ready(model: FittedModel) -> Result<Predictor, NotReady> {
    let prepare = || {
        let predictor = Predictor::new(model);
        warm_up(&predictor);
        predictor
    };
    catch_unwind(AssertUnwindSafe(prepare)).map_err(|_| NotReady)
}

/// A first prediction, of a row with every cell missing and with all that the model keeps: code and weights are in
/// the caches when the first request comes.
fn warm_up(predictor: &Predictor) {
    let row = vec![f64::NAN; predictor.model().inputs.encoding.columns.len()];
    predictor.compute(&[&row], Extras { spreads: true, error_bars: true });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::decode;

    fn golden() -> FittedModel {
        decode(include_bytes!("../../../tests/fixtures/artifacts/ridge.bochner")).unwrap()
    }

    #[test]
    fn a_model_that_panics_is_an_error() {
        assert!(make_ready(golden()).is_ok());
        let mut torn = golden();
        torn.inputs.scaling.factor.pop();
        assert!(make_ready(torn).is_err());
    }
}
