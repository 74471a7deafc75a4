//! What a session cannot hold or tell (`pfnset info`): events larger than its buffers, exact times.
//!
//! An event must fit into one buffer, and ETW logs none above 64 KiB. Larger events are refused when they are written, and the
//! session may not count them as lost.

use crate::etl::EtlFile;
use crate::etl::clock::ClockKind;
use crate::etl::log_file_header::LARGEST_EVENT;
use crate::load::survey::Survey;
use crate::units::{count, counted};

/// From this size on a buffer holds each event.
const ROOMY_BUFFER: u32 = 128 << 10;

/// Lines on the limits of this session.
pub(crate) fn limits(etl: &EtlFile, survey: &Survey) -> Vec<String> {
    [size_limit(etl, survey), clock_limit(etl), backwards(etl, survey)].into_iter().flatten().collect()
}

/// True when the largest event takes nine tenths of the room: one with another name, path or list would not have fitted.
fn is_at_size_limit(etl: &EtlFile, survey: &Survey) -> bool {
    let room = etl.header.largest_record();
    room > 0 && u64::from(survey.largest_record) * 10 >= u64::from(room) * 9
}

/// `60,010 of the 65,464 bytes that fit into a buffer of 64 KiB`.
fn of_room(etl: &EtlFile, survey: &Survey) -> String {
    let (room, kib) = (etl.header.largest_record(), etl.header.buffer_size_bytes / 1024);
    let largest = count(survey.largest_record.into());
    format!("{largest} of the {} bytes that fit into a buffer of {kib} KiB", count(room.into()))
}

/// The doubt of a session whose events are as large as can be.
pub(super) fn at_size_limit(etl: &EtlFile, survey: &Survey) -> Option<String> {
    let (room, largest) = (etl.header.largest_record(), survey.largest_record);
    is_at_size_limit(etl, survey).then(|| match room {
        LARGEST_EVENT => format!(
            "the largest event takes {} of the {} bytes that an event can have: larger ones would not be recorded, \
             perhaps without being counted as lost",
            count(largest.into()),
            count(room.into())
        ),
        _ => format!(
            "the largest event takes {}: larger ones would not be recorded, perhaps without being counted as lost; \
             record with buffers of 128 KiB or more",
            of_room(etl, survey)
        ),
    })
}

fn size_limit(etl: &EtlFile, survey: &Survey) -> Option<String> {
    let buffer = etl.header.buffer_size_bytes;
    let room = etl.header.largest_record();
    let (kib, largest) = (buffer / 1024, survey.largest_record);
    match () {
        () if room == 0 || is_at_size_limit(etl, survey) => None,
        () if buffer < ROOMY_BUFFER => Some(format!(
            "buffers of {kib} KiB hold no event above {} bytes: long lists (working sets of many processes, deep stacks) can be \
             missing, perhaps without being counted as lost; from 128 KiB on each event fits. The largest event here takes {} bytes",
            count(room.into()),
            count(largest.into())
        )),
        () => None,
    }
}

fn clock_limit(etl: &EtlFile) -> Option<String> {
    let step_ms = f64::from(etl.header.timer_resolution_100ns) / 10_000.0;
    match etl.clock.kind {
        ClockKind::Qpc => None,
        ClockKind::SystemTime => {
            let step = if step_ms > 0.0 { format!("{step_ms:.1} ms by the log-file header") } else { "assumed: 15.6 ms".into() };
            Some(format!(
                "the clock is the system time, which goes on in steps of the timer ({step}): events of one step have the same \
                 time, and their order on different processors is unknown"
            ))
        }
        ClockKind::CpuCycle => Some(
            "the clock counts processor cycles: their rate is known in whole MHz, so times can be off by up to a thousandth, and \
             the counters of processors can differ"
                .into(),
        ),
    }
}

/// Where time runs backwards: the first buffers whose records are not in the order of their times.
fn backwards(etl: &EtlFile, survey: &Survey) -> Option<String> {
    let all = survey.spans.iter().zip(&etl.buffers).enumerate();
    let places: Vec<String> = all
        .filter_map(|(index, (span, buffer))| {
            let span = span.filter(|span| !span.sorted)?;
            let (first, last) = (etl.clock.nanos(span.first).seconds(), etl.clock.nanos(span.last).seconds());
            let processor = buffer.processor;
            Some(format!("buffer {index} at {} (processor {processor}, {first:.6} s to {last:.6} s)", buffer.offset))
        })
        .collect();
    let more = if places.len() > 3 { format!(" and {} more", count(places.len() as u64 - 3)) } else { String::new() };
    let shown = places.get(..3).unwrap_or(&places).join(", ");
    (!places.is_empty())
        .then(|| format!("time runs backwards in {}: {shown}{more}", counted(places.len() as u64, "buffer", "buffers")))
}
