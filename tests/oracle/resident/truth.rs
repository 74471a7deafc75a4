//! Snapshots of the made-up machine, and what each of their pages must be called: the rules of the specification, one
//! by one, on plain arrays.

use crate::resident::world::{DATABASE_PAGES, Keys, Life, PAGE, PAGES, SLOT_PAGES, World};
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
    Private {
        life: usize,
        page: usize,
    },
    /// Its key names a life, its address nothing.
    Owned {
        life: usize,
    },
    /// Its key names nobody.
    Stray,
    /// By its use alone.
    Plain,
    /// Of a file slot.
    File {
        slot: usize,
    },
    /// In a kernel image slot.
    Driver {
        slot: usize,
    },
    Database,
    /// In a session image slot.
    Session {
        slot: usize,
    },
    /// In a pool slot.
    Pool {
        slot: usize,
    },
}

/// The machine at one moment.
#[derive(Clone, Debug)]
pub struct Snap {
    lives: Vec<Life>,
    files: Vec<Option<usize>>,
    images: Vec<Option<usize>>,
    sessions: Vec<Option<usize>>,
    pool: Vec<Option<usize>>,
    pages: Vec<(Identity, What)>,
}

/// Takes a snapshot: writes its page records, keeps what is true now.
pub fn take(world: &mut World) -> Snap {
    let mut pages: Vec<(Identity, What)> = Vec::new();
    let mut put = |identity: Identity, what: What| pages.push((identity, what));
    for (life, process) in world.lives.iter().enumerate() {
        let key = world.owner_key(process);
        if process.alive {
            for page in 0..PAGES {
                put(Identity::private(0, key, world.address(page)), What::Private { life, page });
            }
            put(Identity::private(0, key, 0), What::Owned { life });
            put(Identity::new(3, 0, key, world.image_base(7)), What::Owned { life });
            put(Identity::new(12, 0, key, world.image_base(8)), What::Owned { life });
            if world.setup.keys == Keys::Pid {
                put(Identity::new(9, 0, key, 0), What::Owned { life });
                put(Identity::new(13, 0, key, world.address(3)), What::Owned { life });
            }
        } else if !world.setup.lossy && !world.lives.iter().any(|other| other.alive && world.owner_key(other) == key) {
            put(Identity::private(0, key, world.address(5)), What::Stray);
        }
    }
    put(Identity::private(0, 0xfffc, world.address(1)), What::Stray);
    put(Identity::private(0, 0, world.address(1)), What::Plain);
    if world.setup.keys != Keys::Pid {
        put(Identity::new(9, 0, 0x1234_5678, 0), What::Plain);
        put(Identity::new(13, 0, 0, world.address(3)), What::Plain);
    }
    for page_use in [4, 5, 10, 11, 14, 15] {
        put(Identity::new(page_use, 0, 0, world.image_base(9)), What::Plain);
    }
    put(Identity::new(2, 0, 2, world.image_base(9) | 1), What::Plain);
    put(Identity::new(2, 0, 0, world.image_base(9)), What::Plain);
    for slot in 0..world.files.len() {
        let key = world.file_key(slot);
        if world.setup.lossy && world.files[slot].is_none() {
            continue; // its end may be lost, but then no page has its key
        }
        for low in 0..4 {
            put(Identity::new(1, 0, 8 * low, key | low), What::File { slot });
        }
        put(Identity::new(8, 0, 16, key), What::File { slot });
    }
    for slot in 0..world.images.len() {
        for page in 0..SLOT_PAGES + 1 {
            put(Identity::new(6, 0, 0, world.image_base(slot) + page * PAGE), What::Driver { slot });
        }
    }
    for page in 0..DATABASE_PAGES {
        put(Identity::new(6, 0, 0, world.database() + page * PAGE), What::Database);
    }
    for slot in 0..world.sessions.len() {
        for page in 0..SLOT_PAGES + 1 {
            put(Identity::new(7, 0, 77, world.session_base(slot) + page * PAGE), What::Session { slot });
        }
    }
    for slot in 0..world.pool.len() {
        for page in 0..SLOT_PAGES + 1 {
            let address = world.pool_base(slot) + page * PAGE;
            put(Identity::new(4 + (slot % 2) as u8, 0, 0, address), What::Pool { slot });
        }
    }
    let mut pfn = world.rng.between(1, 3);
    for (identity, _) in &mut pages {
        pfn += 1 + if world.rng.percent(4) { world.rng.below(5) } else { 0 };
        identity.pfn = pfn;
        // Most pages are active: how owner keys are read is decided by those.
        identity.list = if world.rng.percent(85) { list::ACTIVE } else { world.rng.below(8) as u8 };
        identity.priority = world.rng.below(8) as u8;
    }
    world.time += 5;
    let (p, version, hook) = (world.setup.p, world.setup.version(), world.setup.hook);
    let mut processor = 0;
    for (identity, _) in &pages {
        world.log_page(identity.rec(p, version, hook), &mut processor);
    }
    world.time += 5;
    world.usage();
    Snap {
        lives: world.lives.clone(),
        files: world.files.clone(),
        images: world.images.clone(),
        sessions: world.sessions.clone(),
        pool: world.pool.clone(),
        pages,
    }
}

/// What the pages of a snapshot must be called, in their order.
pub fn labels(world: &World, snap: &Snap) -> Vec<Labels> {
    snap.pages.iter().map(|(identity, what)| label(world, snap, identity, *what)).collect()
}

fn label(world: &World, snap: &Snap, identity: &Identity, what: What) -> Labels {
    let known = |thing: &Option<usize>| thing.filter(|&thing| world.things[thing].known());
    let file_name = |slot: usize| {
        // Where events are lost, a file can be gone without a word: then its name is anyone's guess.
        let unknown = || match world.setup.lossy {
            true => ANY.to_owned(),
            false => format!("Unknown (0x{:x})", world.file_key(slot)),
        };
        known(&snap.files[slot]).map_or_else(unknown, |thing| world.names[&thing].clone())
    };
    let unknown_owner = || match world.setup.keys {
        Keys::Pid => format!("Unknown ({})", identity.key),
        _ => format!("Unknown (0x{:x})", identity.key),
    };
    let mut file = "n/a".to_owned();
    let mut detail = "n/a".to_owned();
    let mut process = "n/a".to_owned();
    let (mut category, mut wpa) = (by_use(identity), by_use(identity));
    if let What::Private { life, .. } | What::Owned { life } = what {
        let life = &snap.lives[life];
        let named = world.things[life.thing].known();
        process = if named { format!("{} ({})", World::name(life), life.pid) } else { unknown_owner() };
    }
    match what {
        What::Private { life, page } => {
            let life = &snap.lives[life];
            // Owner keys that are addresses need a process event; process ids do not.
            if world.things[life.thing].known() || world.setup.keys == Keys::Pid {
                (category, wpa) = private(world, life, page);
                if category.starts_with("CopyOnWrite") {
                    let (kind, slot) = world.views[&life.cells[page].view.unwrap()];
                    detail = if kind == ViewKind::PageFile { "n/a".into() } else { file_name(slot) };
                }
            }
        }
        What::Stray => process = unknown_owner(),
        What::File { slot } => {
            (file, detail) = (file_name(slot), file_name(slot));
            (category, wpa) = by_file(identity, &file);
        }
        What::Driver { slot } => {
            let inside = identity.u2 < world.image_base(slot) + SLOT_PAGES * PAGE;
            if let Some(thing) = known(&snap.images[slot]).filter(|_| inside) {
                (category, wpa, detail) = ("Driver", "Driver", world.names[&thing].clone());
            }
        }
        What::Pool { slot } => {
            let inside = identity.u2 < world.pool_base(slot) + SLOT_PAGES * PAGE;
            if let Some(thing) = known(&snap.pool[slot]).filter(|_| inside) {
                detail = world.names[&thing].clone();
            }
        }
        What::Database => category = "PfnDatabase",
        What::Session { slot } => {
            let inside = identity.u2 < world.session_base(slot) + SLOT_PAGES * PAGE;
            if let Some(thing) = known(&snap.sessions[slot]).filter(|_| inside)
                && let (ViewKind::Image | ViewKind::ImageOther, file) = world.views[&thing]
            {
                (category, wpa) = ("SessionCopyOnWriteImage", "SessionCopyOnWriteImage");
                detail = file_name(file);
            }
        }
        What::Plain if identity.page_use == 2 && identity.u2 & 1 == 1 => detail = "CombinedPage".into(),
        What::Plain | What::Owned { .. } => {}
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

fn by_use(identity: &Identity) -> &'static str {
    match identity.page_use {
        0 => "VirtualAlloc_PreTrace",
        1 if identity.u2 & 1 == 1 => "Image",
        1 => "MapFile",
        2 => "PageFileMappedSection",
        3 => "PageTable",
        4 => "PagedPool",
        5 => "NonPagedPool",
        6 => "SystemPage",
        7 => "SessionPrivate",
        8 => "MetaFile",
        9 => "AddressingWindowExtensionsPage",
        10 => "DriverLockedSystemPage",
        11 => "KernelStack",
        12 => "WsMetaData",
        13 => "LargePage",
        14 => "Use14",
        _ => "Use15",
    }
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
fn private(world: &World, life: &Life, page: usize) -> (&'static str, &'static str) {
    let known = |thing: Option<usize>| thing.filter(|&thing| world.things[thing].known());
    let cell = &life.cells[page];
    let view = known(cell.view).map(|thing| match world.views[&thing].0 {
        ViewKind::Data => "CopyOnWriteMapFile",
        ViewKind::Image | ViewKind::ImageOther => "CopyOnWriteImage",
        ViewKind::PageFile => "CopyOnWritePageFileMappedSection",
    });
    let stacks = || life.stacks.iter().filter(|stack| world.things[stack.thing].known());
    // From the base of the region that holds the last page of the stack up to the stack's base.
    let reserved = stacks().any(|stack| match known(life.cells[stack.base - 1].region) {
        Some(region) => page < stack.base && life.cells[page].region == Some(region),
        None => (stack.limit..stack.base).contains(&page),
    });
    let committed = stacks().any(|stack| (stack.limit..stack.base).contains(&page));
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
