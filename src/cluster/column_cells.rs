//! Arrow columns as cells: numbers, and truth values as 0 and 1. Missing cells are NaN.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// From this size on, not every integer is an f64.
const IMPRECISE: f64 = 9_007_199_254_740_992.0;

/// Whether a column of this type holds truth values instead of numbers; none if no pass can read it.
pub(super) fn is_boolean(kind: &DataType) -> Option<bool> {
    match kind {
        DataType::Boolean => Some(true),
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64 => Some(false),
        _ => None,
    }
}

/// Writes a column into every `width`-th of the cells. An error is the row and what is wrong with it.
pub(super) fn write_cells(array: &ArrayRef, cells: &mut [f64], width: usize) -> Result<(), (usize, String)> {
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean();
            for (row, cell) in cells.iter_mut().step_by(width).take(values.len()).enumerate() {
                *cell = if values.is_null(row) { f64::NAN } else { f64::from(u8::from(values.value(row))) };
            }
            Ok(())
        }
        DataType::Int8 => write::<Int8Type>(array, cells, width, f64::from),
        DataType::Int16 => write::<Int16Type>(array, cells, width, f64::from),
        DataType::Int32 => write::<Int32Type>(array, cells, width, f64::from),
        DataType::Int64 => write::<Int64Type>(array, cells, width, |value| value as f64),
        DataType::UInt8 => write::<UInt8Type>(array, cells, width, f64::from),
        DataType::UInt16 => write::<UInt16Type>(array, cells, width, f64::from),
        DataType::UInt32 => write::<UInt32Type>(array, cells, width, f64::from),
        DataType::UInt64 => write::<UInt64Type>(array, cells, width, |value| value as f64),
        DataType::Float32 => write::<Float32Type>(array, cells, width, f64::from),
        DataType::Float64 => write::<Float64Type>(array, cells, width, |value| value),
        other => Err((0, format!("holds values of type {other}, which no pass can read"))),
    }
}

fn write<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    cells: &mut [f64],
    width: usize,
    number: impl Fn(T::Native) -> f64,
) -> Result<(), (usize, String)> {
    let values = array.as_primitive::<T>();
    let integers = T::DATA_TYPE.is_integer();
    for (row, cell) in cells.iter_mut().step_by(width).take(values.len()).enumerate() {
        if values.is_null(row) {
            *cell = f64::NAN;
            continue;
        }
        *cell = number(values.value(row));
        if !cell.is_finite() {
            return Err((row, "is not a finite number; write null if the value is missing".into()));
        }
        if integers && cell.abs() >= IMPRECISE {
            return Err((
                row,
                "is an integer of 2^53 or above, which loses precision; write it as a floating-point number \
                 if it is a measurement, or leave the column out with --ignore"
                    .into(),
            ));
        }
    }
    Ok(())
}
