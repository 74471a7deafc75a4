//! Chains of context switches: what a processor switches from is what it switched to before. Where it is not, records are missing, and
//! times of waiting are not what they seem.

use crate::etl::log_file_header::MODE_NO_PER_PROCESSOR;
use crate::event::hooks::COMPACT_CSWITCH;
use crate::load::stacks::stack_events::{Events, Owner};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::loss::sequence_holes;
use crate::trace::trust::warning::Warning;
use crate::units::counted;
use foldhash::HashMap as FastMap;

/// How many context switches of the window are from another thread than the one that ran on their processor. None
/// where that is known of no processor, where compact records tell only some switches, and where buffers were lost: that is told.
fn broken(trace: &Trace, events: &Events, is_inside: impl Fn(Moment) -> bool) -> u64 {
    let etl = trace.etl();
    let files = std::iter::once(etl).chain(etl.further().map(|(_, file, _)| file));
    let is_compact = trace.survey().kernel_count(COMPACT_CSWITCH) > 0;
    let has_processors = etl.header.mode & MODE_NO_PER_PROCESSOR == 0;
    if is_compact || !has_processors || files.into_iter().any(|file| !sequence_holes(file).is_empty()) {
        return 0;
    }
    let mut running: FastMap<u16, u32> = FastMap::default();
    let (mut place, mut breaks) = (0, 0);
    for stop in &events.stops {
        let (old, processor) = stop.value;
        let later = events.events.get(place..).unwrap_or_default();
        place += later.iter().take_while(|event| event.moment < stop.moment).count();
        // A switch to the idle thread is no event that counts.
        let switch = events.events.get(place).filter(|event| event.moment == stop.moment);
        let new = match switch.and_then(|event| events.chosen(&event.value)).map(|chosen| chosen.owner) {
            Some(Owner::Thread(new)) => new,
            _ => 0,
        };
        let before = running.insert(processor, new);
        breaks += u64::from(before.is_some_and(|before| before != old) && is_inside(stop.moment));
    }
    breaks
}

/// That switches are missing. `missing`: those that threads must have had.
pub(super) fn doubt(
    trace: &Trace,
    events: &Events,
    missing: u64,
    is_inside: impl Fn(Moment) -> bool,
) -> Option<Warning> {
    let broken = broken(trace, events, is_inside);
    let text = match missing {
        0 => format!(
            "{} from another thread than the one that ran; times of waiting can be too long or missing",
            counted(broken, "switch is", "switches are")
        ),
        _ => format!(
            "{} missing before threads that stop or go on twice; their times of waiting are too long or missing",
            counted(missing, "context switch is", "context switches are")
        ),
    };
    let number = if missing > 0 { missing } else { broken };
    let text = format!("the chain of context switches is broken: {text}");
    (number > 0).then(|| Warning::grave(STACK_EVENTS.name, "switches_broken", text).of(number))
}
