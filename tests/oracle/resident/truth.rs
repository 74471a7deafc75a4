//! Snapshots of the made-up machine, and what each of their pages must be called: the rules of the specification, one
//! by one, on plain arrays.

use crate::category_by_use;
use etl_writer::machine::{DATABASE_PAGES, IMAGE_PAGES, Keys, Machine, PAGE, PAGES};
use etl_writer::payloads::file::ViewKind;
use etl_writer::payloads::pages::{Identity, list};

/// A label that can be anything.
pub const ANY: &str = "*";

/// What the labels of a page must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    pub pfn: u64,
    pub category: String,
    pub wpa: String,
    pub process: String,
    pub file: String,
    pub detail: String,
}

/// What a page of a snapshot is.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Page of a life's address space.
    Private(usize, usize),
    /// Its key names a life, its address nothing.
    Owned(usize),
    /// Its key names nobody.
    Stray,
    /// By its use alone.
    Plain,
    /// Of a file slot.
    File(usize),
    /// In a kernel image slot.
    Driver(usize),
    Database,
    /// In a session image slot.
    Session(usize),
    /// In a pool slot.
    Pool(usize),
}

/// The machine at one moment.
pub struct Snap {
    machine: Machine,
    pages: Vec<(Identity, What)>,
}

/// Takes a snapshot: writes its page records, keeps what is true now.
pub fn take(machine: &mut Machine) -> Snap {
    let mut pages: Vec<(Identity, What)> = Vec::new();
    let is_used = |key: u64| machine.alive().iter().any(|&life| machine.lives[life].key(&machine.setup) == key);
    let mut put = |identity: Identity, what: What| pages.push((identity, what));
    for (life, process) in machine.lives.iter().enumerate() {
        let key = process.key(&machine.setup);
        if process.is_alive() {
            for page in 0..PAGES {
                put(Identity::private(0, key, machine.address(page)), What::Private(life, page));
            }
            put(Identity::private(0, key, 0), What::Owned(life));
            put(Identity::new(3, 0, key, machine.image_base(7)), What::Owned(life));
            put(Identity::new(12, 0, key, machine.image_base(8)), What::Owned(life));
            if machine.setup.keys == Keys::Pid {
                put(Identity::new(9, 0, key, 0), What::Owned(life));
                put(Identity::new(13, 0, key, machine.address(3)), What::Owned(life));
            }
        } else if !machine.setup.lossy && !is_used(key) {
            put(Identity::private(0, key, machine.address(5)), What::Stray);
        }
    }
    put(Identity::private(0, 0xfffc, machine.address(1)), What::Stray);
    put(Identity::private(0, 0, machine.address(1)), What::Plain);
    if machine.setup.keys != Keys::Pid {
        put(Identity::new(9, 0, 0x1234_5678, 0), What::Plain);
        put(Identity::new(13, 0, 0, machine.address(3)), What::Plain);
    }
    for page_use in [4, 5, 10, 11, 14, 15] {
        put(Identity::new(page_use, 0, 0, machine.image_base(9)), What::Plain);
    }
    put(Identity::new(2, 0, 2, machine.image_base(9) | 1), What::Plain);
    put(Identity::new(2, 0, 0, machine.image_base(9)), What::Plain);
    for slot in 0..machine.files.len() {
        let key = machine.file_key(slot);
        if machine.setup.lossy && machine.files[slot].thing.is_none() {
            continue; // its end may be lost, but then no page has its key
        }
        for low in 0..4 {
            put(Identity::new(1, 0, 8 * low, key | low), What::File(slot));
        }
        put(Identity::new(8, 0, 16, key), What::File(slot));
    }
    for page in 0..DATABASE_PAGES {
        put(Identity::new(6, 0, 0, machine.database() + page * PAGE), What::Database);
    }
    // The pages of each slot, and the one after it.
    let mut in_slots =
        |slots: usize, page_use: fn(usize) -> u8, key: u64, base: &dyn Fn(usize) -> u64, what: fn(usize) -> What| {
            for (slot, page) in (0..slots).flat_map(|slot| (0..=IMAGE_PAGES).map(move |page| (slot, page))) {
                put(Identity::new(page_use(slot), 0, key, base(slot) + page * PAGE), what(slot));
            }
        };
    in_slots(machine.images.len(), |_| 6, 0, &|slot| machine.image_base(slot), What::Driver);
    in_slots(machine.sessions.len(), |_| 7, 77, &|slot| machine.session_base(slot), What::Session);
    in_slots(machine.pool.len(), |slot| 4 + (slot % 2) as u8, 0, &|slot| machine.pool_base(slot), What::Pool);
    let mut pfn = machine.rng.between(1, 3);
    for (identity, _) in &mut pages {
        pfn += 1 + if machine.rng.percent(4) { machine.rng.below(5) } else { 0 };
        identity.pfn = pfn;
        // Most pages are active: how owner keys are read is decided by those.
        identity.list = if machine.rng.percent(85) { list::ACTIVE } else { machine.rng.below(8) as u8 };
        identity.priority = machine.rng.below(8) as u8;
    }
    machine.log_sequence(pages.iter().map(|(identity, _)| *identity));
    machine.usage();
    Snap { machine: machine.clone(), pages }
}

/// What the pages of a snapshot must be called, in their order.
pub fn labels(machine: &Machine, snap: &Snap) -> Vec<Labels> {
    snap.pages.iter().map(|(identity, what)| label(machine, snap, identity, *what)).collect()
}

fn label(machine: &Machine, snap: &Snap, identity: &Identity, what: What) -> Labels {
    let known = |thing: Option<usize>| thing.filter(|&thing| machine.things[thing].known());
    let inside = |base: u64, thing| known(thing).filter(|_| identity.u2 < base + IMAGE_PAGES * PAGE);
    let file_name = |slot: usize| {
        // Where events are lost, a file can be gone without a word: then its name is anyone's guess.
        let unknown = || match machine.setup.lossy {
            true => ANY.to_owned(),
            false => format!("Unknown (0x{:x})", machine.file_key(slot)),
        };
        known(snap.machine.files[slot].thing).map_or_else(unknown, |thing| machine.names[&thing].clone())
    };
    let unknown_owner = || match machine.setup.keys {
        Keys::Pid => format!("Unknown ({})", identity.key),
        _ => format!("Unknown (0x{:x})", identity.key),
    };
    let mut file = "n/a".to_owned();
    let mut detail = "n/a".to_owned();
    let mut process = "n/a".to_owned();
    let (mut category, mut wpa) = (category_by_use(identity), category_by_use(identity));
    if let What::Private(life, _) | What::Owned(life) = what {
        let life = &snap.machine.lives[life];
        let named = machine.things[life.thing].known();
        process = if named { format!("{} ({})", life.name(), life.pid) } else { unknown_owner() };
    }
    match what {
        What::Private(life, page) => {
            let owner = &snap.machine.lives[life];
            // Owner keys that are addresses need a process event; process ids do not.
            if machine.things[owner.thing].known() || machine.setup.keys == Keys::Pid {
                (category, wpa) = private(machine, snap, life, page);
                if category.starts_with("CopyOnWrite") {
                    let view = machine.views[&owner.cells[page].view.unwrap()];
                    detail = if view.kind == ViewKind::PageFile { "n/a".into() } else { file_name(view.file) };
                }
            }
        }
        What::Stray => process = unknown_owner(),
        What::File(slot) => {
            (file, detail) = (file_name(slot), file_name(slot));
            (category, wpa) = by_file(identity, &file);
        }
        What::Driver(slot) => {
            if let Some(thing) = inside(machine.image_base(slot), snap.machine.images[slot]) {
                (category, wpa, detail) = ("Driver", "Driver", machine.names[&thing].clone());
            }
        }
        What::Pool(slot) => {
            if let Some(thing) = inside(machine.pool_base(slot), snap.machine.pool[slot].map(|(thing, _)| thing)) {
                detail = machine.names[&thing].clone();
            }
        }
        What::Database => category = "PfnDatabase",
        What::Session(slot) => {
            if let Some(thing) = inside(machine.session_base(slot), snap.machine.sessions[slot])
                && matches!(machine.views[&thing].kind, ViewKind::Image | ViewKind::ImageOther)
            {
                (category, wpa) = ("SessionCopyOnWriteImage", "SessionCopyOnWriteImage");
                detail = file_name(machine.views[&thing].file);
            }
        }
        What::Plain if identity.page_use == 2 && identity.u2 & 1 == 1 => detail = "CombinedPage".into(),
        What::Plain | What::Owned(_) => {}
    }
    if matches!(identity.page_use, 1 | 2 | 8) {
        process = "Unknown (-1)".into();
    }
    let by_list = match identity.list {
        list::TRANSITION => Some("StraggleIOPage"),
        list::ZERO | list::FREE => Some("Unused"),
        list::BAD => Some("BadPage"),
        _ => None,
    };
    if let Some(name) = by_list {
        (category, detail) = (name, "n/a".into());
        if identity.list == list::TRANSITION {
            wpa = name;
        }
        if matches!(identity.list, list::ZERO | list::FREE) {
            process = "n/a".into();
        }
    }
    Labels { pfn: identity.pfn, category: category.into(), wpa: wpa.into(), process, file, detail }
}

fn by_file(identity: &Identity, name: &str) -> (&'static str, &'static str) {
    let lower = name.to_lowercase();
    let hive = lower.ends_with("\\windows\\system32\\config\\software");
    let last = lower.rsplit('\\').next().unwrap();
    match identity.page_use {
        8 if last == "software" || last == "system" => ("MetaFile", "RegistryFile"),
        8 => ("MetaFile", "MetaFile"),
        _ if identity.u2 & 1 == 1 => ("Image", "Image"),
        _ if lower.ends_with(".sys") => ("DriverFile", "DriverFile"),
        _ if lower.ends_with(".pf") => ("Prefetcher", "Prefetcher"),
        _ if hive => ("RegistryFile", "MapFile"),
        _ => ("MapFile", "MapFile"),
    }
}

/// Category of a private page by both rule sets.
fn private(machine: &Machine, snap: &Snap, life: usize, page: usize) -> (&'static str, &'static str) {
    let known = |thing: Option<usize>| thing.filter(|&thing| machine.things[thing].known());
    let cells = &snap.machine.lives[life].cells;
    let cell = &cells[page];
    let view = known(cell.view).map(|thing| match machine.views[&thing].kind {
        ViewKind::Data => "CopyOnWriteMapFile",
        ViewKind::Image | ViewKind::ImageOther => "CopyOnWriteImage",
        ViewKind::PageFile => "CopyOnWritePageFileMappedSection",
    });
    let is_known = |thread: usize| machine.things[machine.threads[thread].thing].known();
    let stacks: Vec<_> = snap.machine.stacks_of(life).into_iter().filter(|(thread, _)| is_known(*thread)).collect();
    // From the base of the region that holds the last page of the stack up to the stack's base.
    let reserved = stacks.iter().any(|(_, stack)| match known(cells[stack.base - 1].region) {
        Some(region) => page < stack.base && cells[page].region == Some(region),
        None => (stack.limit..stack.base).contains(&page),
    });
    let committed = stacks.iter().any(|(_, stack)| (stack.limit..stack.base).contains(&page));
    let corrected = match () {
        () if known(cell.heap).is_some() => "Win32Heap",
        () if reserved => "UserStack",
        // A commit tells of a region, even if nothing else does.
        () if view.is_none() && (known(cell.region).is_some() || cell.traced) => "VirtualAlloc",
        () => view.unwrap_or("VirtualAlloc_PreTrace"),
    };
    let wpa = match () {
        () if cell.traced_heap => "Win32Heap",
        () if committed => "UserStack",
        () => view.unwrap_or(if cell.traced { "VirtualAlloc" } else { "VirtualAlloc_PreTrace" }),
    };
    (corrected, wpa)
}

/// A page for a failure's message.
pub fn show(snap: &Snap, number: usize) -> String {
    snap.pages.get(number).map_or_else(String::new, |(identity, what)| format!("{what:?} {identity:x?}"))
}
