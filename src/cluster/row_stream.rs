//! Rows that come as a stream: files one after the other, each as an Arrow IPC stream with the number of its rows behind it. A
//! stream of Arrow alone that is cut between two messages reads as a shorter one; the numbers show that it was cut.

use super::file_rows::FileRows;
use crate::training::{PassSums, PassTask, TrainError};
use arrow_ipc::reader::StreamReader;
use std::io::{self, Read};

const MAGIC: &[u8; 8] = b"BOCHROWS";
const VERSION: u32 = 1;

/// Longest name of a file.
const LONGEST_NAME: usize = 4_096;

/// Adds all rows of a stream; returns how many there were. `docs/distributed.md` describes the bytes.
pub fn add_stream(mut source: impl Read, task: &PassTask, sums: &mut PassSums) -> Result<u64, TrainError> {
    let refuse = |detail: &str| TrainError::Data(format!("the stream of rows {detail}"));
    let cut = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => refuse("is cut off: what ends it is missing"),
        _ => TrainError::Rows(error),
    };
    if &bytes::<8>(&mut source).map_err(cut)? != MAGIC {
        return Err(refuse("begins with other bytes than BOCHROWS"));
    }
    let version = u32::from_le_bytes(bytes(&mut source).map_err(cut)?);
    if version != VERSION {
        return Err(refuse(&format!(
            "has version {version}; this build reads {VERSION}. Use the same release of bochner on all machines"
        )));
    }
    let mut total = 0;
    loop {
        let length = u32::from_le_bytes(bytes(&mut source).map_err(cut)?) as usize;
        if length == 0 {
            break;
        }
        if length > LONGEST_NAME {
            return Err(refuse(&format!("has a file name of {length} bytes; at most {LONGEST_NAME} are accepted")));
        }
        let mut name = vec![0; length];
        source.read_exact(&mut name).map_err(cut)?;
        let name = String::from_utf8(name).map_err(|_| refuse("has a file name that is not UTF-8"))?;
        let damaged = |reason: &dyn std::fmt::Display| refuse(&format!("is damaged in file '{name}': {reason}"));
        let reader = StreamReader::try_new(&mut source, None).map_err(|error| damaged(&error))?;
        let mut rows = FileRows::new(&name, task, sums);
        for batch in reader {
            rows.add(&batch.map_err(|error| damaged(&error))?)?;
        }
        let found = rows.finish()?;
        let stated = u64::from_le_bytes(bytes(&mut source).map_err(cut)?);
        if found != stated {
            return Err(refuse(&format!("is cut off: file '{name}' has {stated} rows and {found} have arrived")));
        }
        total += found;
    }
    let stated = u64::from_le_bytes(bytes(&mut source).map_err(cut)?);
    if total != stated {
        return Err(refuse(&format!("is cut off: it has {stated} rows and {total} have arrived")));
    }
    match source.read(&mut [0]).map_err(TrainError::Rows)? {
        0 => Ok(total),
        _ => Err(refuse("goes on behind its end")),
    }
}

fn bytes<const N: usize>(source: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    source.read_exact(&mut bytes)?;
    Ok(bytes)
}
