//! The cells of an Arrow array as text: numbers exactly, dates and times as ISO 8601.

use super::ReadFailure;
use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_datetime, as_time};
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTemporalType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use std::fmt::{Display, Write};

/// Appends the text of the cell in a row that is not null.
pub(super) type CellText<'a> = Box<dyn Fn(usize, &mut String) -> Result<(), ReadFailure> + 'a>;

/// Whether a column of this type can be read; else what it holds, for the error.
pub(super) fn check_type(data_type: &DataType) -> Result<(), String> {
    match data_type {
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float16
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View => Ok(()),
        DataType::Dictionary(_, values) => check_type(values),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_) => Err("lists; write one column for each value".into()),
        DataType::Struct(_) => Err("structs; write one column for each of their fields".into()),
        DataType::Map(..) => Err("maps; write one column for each key".into()),
        DataType::Union(..) => Err("values of several types; write one column for each type".into()),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Err("bytes; write text as strings, or remove the column".into())
        }
        DataType::Duration(_) | DataType::Interval(_) => Err("durations; write them as numbers".into()),
        DataType::RunEndEncoded(..) => Err("run-end encoded values; write them plainly".into()),
    }
}

/// How to write the cells of an array.
pub(super) fn cell_text(array: &dyn Array) -> Result<CellText<'_>, ReadFailure> {
    Ok(match array.data_type() {
        DataType::Null => Box::new(|_, _| Ok(())),
        DataType::Boolean => {
            let values = array.as_boolean();
            Box::new(|row, text| show(text, values.value(row)))
        }
        DataType::Int8 => whole(array.as_primitive::<Int8Type>()),
        DataType::Int16 => whole(array.as_primitive::<Int16Type>()),
        DataType::Int32 => whole(array.as_primitive::<Int32Type>()),
        DataType::Int64 => whole(array.as_primitive::<Int64Type>()),
        DataType::UInt8 => whole(array.as_primitive::<UInt8Type>()),
        DataType::UInt16 => whole(array.as_primitive::<UInt16Type>()),
        DataType::UInt32 => whole(array.as_primitive::<UInt32Type>()),
        DataType::UInt64 => whole(array.as_primitive::<UInt64Type>()),
        DataType::Float16 => float(array.as_primitive::<Float16Type>(), f64::from),
        DataType::Float32 => float(array.as_primitive::<Float32Type>(), f64::from),
        DataType::Float64 => float(array.as_primitive::<Float64Type>(), |number| number),
        DataType::Decimal32(..) => decimal(array.as_primitive::<Decimal32Type>()),
        DataType::Decimal64(..) => decimal(array.as_primitive::<Decimal64Type>()),
        DataType::Decimal128(..) => decimal(array.as_primitive::<Decimal128Type>()),
        DataType::Decimal256(..) => decimal(array.as_primitive::<Decimal256Type>()),
        DataType::Date32 => date(array.as_primitive::<Date32Type>()),
        DataType::Date64 => date(array.as_primitive::<Date64Type>()),
        DataType::Time32(TimeUnit::Second) => time(array.as_primitive::<Time32SecondType>()),
        DataType::Time32(_) => time(array.as_primitive::<Time32MillisecondType>()),
        DataType::Time64(TimeUnit::Microsecond) => time(array.as_primitive::<Time64MicrosecondType>()),
        DataType::Time64(_) => time(array.as_primitive::<Time64NanosecondType>()),
        DataType::Timestamp(unit, zone) => {
            let end = if zone.is_some() { "Z" } else { "" };
            match unit {
                TimeUnit::Second => timestamp(array.as_primitive::<TimestampSecondType>(), end),
                TimeUnit::Millisecond => timestamp(array.as_primitive::<TimestampMillisecondType>(), end),
                TimeUnit::Microsecond => timestamp(array.as_primitive::<TimestampMicrosecondType>(), end),
                TimeUnit::Nanosecond => timestamp(array.as_primitive::<TimestampNanosecondType>(), end),
            }
        }
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            Box::new(|row, text| show(text, values.value(row)))
        }
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>();
            Box::new(|row, text| show(text, values.value(row)))
        }
        DataType::Utf8View => {
            let values = array.as_string_view();
            Box::new(|row, text| show(text, values.value(row)))
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            if dictionary.values().is_empty() {
                return Ok(Box::new(|_, _| Ok(()))); // every key is null
            }
            let (keys, values) = (dictionary.normalized_keys(), cell_text(dictionary.values().as_ref())?);
            let all = dictionary.values().as_ref();
            Box::new(move |row, text| if all.is_null(keys[row]) { Ok(()) } else { values(keys[row], text) })
        }
        other => return Err(ReadFailure::Refused(format!("type {other} is not supported"))),
    })
}

fn show(text: &mut String, value: impl Display) -> Result<(), ReadFailure> {
    write!(text, "{value}").map_err(|_| ReadFailure::Refused("a value cannot be written as text".into()))
}

fn whole<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> CellText<'_>
where
    T::Native: Display,
{
    Box::new(|row, text| show(text, array.value(row)))
}

/// The shortest text that reads back to the same number.
fn float<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, widen: fn(T::Native) -> f64) -> CellText<'_> {
    Box::new(move |row, text| {
        text.push_str(zmij::Buffer::new().format(widen(array.value(row))));
        Ok(())
    })
}

fn decimal<T: arrow_array::types::DecimalType>(array: &PrimitiveArray<T>) -> CellText<'_> {
    Box::new(|row, text| show(text, array.value_as_string(row)))
}

fn out_of_range() -> ReadFailure {
    ReadFailure::Refused("a date or time is out of range".into())
}

fn date<T: ArrowTemporalType>(array: &PrimitiveArray<T>) -> CellText<'_>
where
    i64: From<T::Native>,
{
    Box::new(|row, text| show(text, as_datetime::<T>(array.value(row).into()).ok_or_else(out_of_range)?.date()))
}

fn time<T: ArrowTemporalType>(array: &PrimitiveArray<T>) -> CellText<'_>
where
    i64: From<T::Native>,
{
    Box::new(|row, text| show(text, as_time::<T>(array.value(row).into()).ok_or_else(out_of_range)?))
}

/// An instant is written in UTC; a time without a zone stays without.
fn timestamp<'a, T: ArrowTemporalType>(array: &'a PrimitiveArray<T>, end: &'static str) -> CellText<'a>
where
    i64: From<T::Native>,
{
    Box::new(move |row, text| {
        let instant = as_datetime::<T>(array.value(row).into()).ok_or_else(out_of_range)?;
        // The Debug form of a date with a time is ISO 8601.
        show(text, format_args!("{instant:?}{end}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int64Array, StringArray,
        TimestampMillisecondArray, UInt64Array,
    };
    use std::sync::Arc;

    fn texts(array: ArrayRef) -> Vec<String> {
        let cells = cell_text(array.as_ref()).unwrap();
        let one = |row: usize| {
            let mut text = String::new();
            if !array.is_null(row) {
                cells(row, &mut text).unwrap();
            }
            text
        };
        (0..array.len()).map(one).collect()
    }

    #[test]
    fn values_become_exact_text() {
        let floats = [0.1, -0.0, 1.0, 1e300, 5e-324, f64::MAX, 1.0 / 3.0];
        for (text, number) in texts(Arc::new(Float64Array::from(floats.to_vec()))).iter().zip(floats) {
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.to_bits(), "{text}");
        }
        assert_eq!(texts(Arc::new(Float32Array::from(vec![0.1_f32])))[0].parse::<f64>().unwrap(), f64::from(0.1_f32));
        assert_eq!(texts(Arc::new(Int64Array::from(vec![Some(i64::MIN), None]))), ["-9223372036854775808", ""]);
        assert_eq!(texts(Arc::new(UInt64Array::from(vec![u64::MAX]))), ["18446744073709551615"]);
        let decimals = Decimal128Array::from(vec![-5, 123_456]).with_precision_and_scale(10, 3).unwrap();
        assert_eq!(texts(Arc::new(decimals)), ["-0.005", "123.456"]);
    }

    #[test]
    fn dates_and_instants_are_iso_8601() {
        assert_eq!(texts(Arc::new(Date32Array::from(vec![0, -1, 20_000]))), ["1970-01-01", "1969-12-31", "2024-10-04"]);
        let local = TimestampMillisecondArray::from(vec![1_500, -1]);
        assert_eq!(texts(Arc::new(local.clone())), ["1970-01-01T00:00:01.500", "1969-12-31T23:59:59.999"]);
        assert_eq!(texts(Arc::new(local.with_timezone("Europe/Paris")))[0], "1970-01-01T00:00:01.500Z");
    }

    #[test]
    fn dictionaries_stand_for_their_values() {
        let array: DictionaryArray<Int32Type> = [Some("b"), None, Some("a")].into_iter().collect();
        assert_eq!(texts(Arc::new(array)), ["b", "", "a"]);
        let empty =
            DictionaryArray::<Int32Type>::new(vec![None].into(), Arc::new(StringArray::from(Vec::<&str>::new())));
        assert_eq!(texts(Arc::new(empty)), [""]);
    }

    #[test]
    fn what_cannot_be_a_cell_is_named() {
        let list = DataType::new_list(DataType::Float64, true);
        assert!(check_type(&list).unwrap_err().starts_with("lists"));
        assert!(check_type(&DataType::Dictionary(DataType::Int32.into(), list.into())).is_err());
        assert!(check_type(&DataType::Binary).unwrap_err().starts_with("bytes"));
    }
}
