//! Services of the machine that was traced (SystemConfig group).
//!
//! Source: `SystemConfig_Services` of the Windows MOF, checked on the 157 records of a recorded trace (version 3), which has
//! two more strings than the documentation.

use crate::byte_reader::Wide;
use crate::event::outcome::{Parsed, Read};
use crate::event::payload::Payload;

crate::event::hooks_macro::hooks! {
    SERVICES = 0x0b0f, "SystemConfig: Services";
}

/// Versions before 3 have another layout and are only counted.
pub(crate) const FIRST_VERSION: u8 = 3;

/// `0x0b0f` Services: a service, 12 bytes and five strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service<'a> {
    /// The process that it runs in; 0 when it does not run.
    pub process_id: u32,
    /// State: 1 stopped, 4 running.
    pub state: u32,
    /// Its tag; threads that work for the service carry it.
    pub tag: u32,
    /// Name, as in the registry.
    pub name: Wide<'a>,
    /// Name for people.
    pub display_name: Wide<'a>,
    /// File name of the process; may be empty.
    pub process_name: Wide<'a>,
    /// Group of services that are loaded together; not documented.
    pub load_order_group: Option<Wide<'a>>,
    /// Group of services in one process; not documented.
    pub group: Option<Wide<'a>>,
}

impl<'a> Service<'a> {
    /// Decodes a record of version 3 or later.
    ///
    /// # Errors
    /// A fault when the numbers are cut or a string has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<Service<'a>> {
        let mut c = payload.cursor();
        let mut value = Service {
            process_id: c.u32("process id")?,
            state: c.u32("service state")?,
            tag: c.u32("service tag")?,
            name: c.wide("service name")?,
            display_name: c.wide("display name")?,
            process_name: c.wide("process name")?,
            load_order_group: None,
            group: None,
        };
        if c.remaining() > 0 {
            value.load_order_group = Some(c.wide("load-order group")?);
            value.group = Some(c.wide("service group")?);
        }
        Ok(Parsed::new(value, payload.ends(&c, FIRST_VERSION..=3)))
    }
}

#[cfg(test)]
mod tests {
    use crate::event::testing::*;
    use crate::event::{Decoded, Event, decode};

    #[test]
    fn a_service_and_its_process() {
        let bytes = Bytes::new(12).u32(0, 144).u32(4, 4).u32(8, 12);
        let documented = bytes.wide("BITS").wide("Background Intelligent Transfer Service").wide("svchost.exe");
        let recorded = documented.clone().wide("").wide("netsvcs");
        for bytes in [documented, recorded] {
            let Event::Service(found) = event(0x0b0f, 3, P8, &bytes) else { panic!() };
            assert_eq!((found.process_id, found.state, found.tag, found.name.to_string()), (144, 4, 12, "BITS".into()));
            assert_eq!(found.process_name.to_string(), "svchost.exe");
            assert_eq!(decode(&record(0x0b0f, 2, P8, &bytes.0)), Decoded::NotDecoded);
            for cut in [1, bytes.0.len() - 5] {
                assert!(matches!(decode(&record(0x0b0f, 3, P8, &bytes.clone().cut(cut).0)), Decoded::Malformed(_)));
            }
        }
    }
}
