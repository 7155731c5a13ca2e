//! Warm-up: every model makes a prediction before it is served.

use crate::model::{Extras, FittedModel, Predictor};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The warm-up prediction panicked; the log has the panic.
#[derive(Debug, thiserror::Error)]
#[error("the model cannot be used: its warm-up prediction failed")]
pub struct NotReady;

/// The predictor of a model after a warm-up prediction. An artifact is foreign data: one that passes every check and
/// panics nevertheless is an error, not the end of a thread.
pub fn make_ready(model: FittedModel) -> Result<Predictor, NotReady> {
    let prepare = || {
        let predictor = Predictor::new(model);
        warm_up(&predictor);
        predictor
    };
    catch_unwind(AssertUnwindSafe(prepare)).map_err(|_| NotReady)
}

/// Predicts a row whose cells are all missing, with every output that the model keeps: code and weights are in the CPU
/// caches when the first request comes.
fn warm_up(predictor: &Predictor) {
    let row = vec![f64::NAN; predictor.model().inputs.encoding.columns.len()];
    predictor.compute(&[&row], Extras { spreads: true, error_bars: true, contributions: false });
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
