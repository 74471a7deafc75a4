//! The tables of an export and their columns. `docs/export.md` says what each column means; a test compares both.

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use std::str::FromStr;
use std::sync::Arc;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text, dictionary-encoded.
    Text,
    /// A count, a size or a number.
    Integer,
    /// An address or a key of the kernel: all 64 bits.
    Address,
    /// Seconds.
    Real,
    /// Yes or no.
    Flag,
    /// An instant, UTC.
    Instant,
    /// Texts by name.
    Map,
    /// Texts in their order.
    List,
}

/// Names of a map's parts, as Parquet's rules have them.
pub(crate) const MAP_PARTS: [&str; 3] = ["key_value", "key", "value"];

/// Name of a list's part, as Parquet's rules have it.
pub(crate) const LIST_PART: &str = "element";

impl Kind {
    /// Its type in Arrow.
    pub fn data_type(self) -> DataType {
        match self {
            Kind::Text => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Kind::Integer => DataType::Int64,
            Kind::Address => DataType::UInt64,
            Kind::Real => DataType::Float64,
            Kind::Flag => DataType::Boolean,
            Kind::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Kind::Map => {
                let [entry, key, value] = MAP_PARTS;
                let parts = [Field::new(key, DataType::Utf8, false), Field::new(value, DataType::Utf8, true)];
                DataType::Map(Arc::new(Field::new(entry, DataType::Struct(Fields::from_iter(parts)), false)), false)
            }
            Kind::List => DataType::List(Arc::new(Field::new(LIST_PART, DataType::Utf8, false))),
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name. Columns that mean the same have one name in all tables.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// True when it can be unknown or not apply.
    pub nullable: bool,
}

macro_rules! tables {
    ($($table:ident $name:literal: $($column:ident $kind:ident $($null:ident)?),+;)*) => {
        /// A table of an export.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Table { $(#[doc = $name] $table,)* }

        impl Table {
            /// All of them; the one that says that a trace is there comes last.
            pub const ALL: [Table; [$($name),*].len()] = [$(Table::$table),*];

            /// The name of its folder.
            pub const fn name(self) -> &'static str {
                match self { $(Table::$table => $name,)* }
            }

            /// Its columns.
            pub const fn columns(self) -> &'static [Column] {
                match self {
                    $(Table::$table => &[$(Column {
                        name: stringify!($column),
                        kind: Kind::$kind,
                        nullable: tables!(@null $($null)?),
                    }),+],)*
                }
            }
        }
    };
    (@null null) => { true };
    (@null) => { false };
}

tables! {
    Pages "pages": snapshot Integer, is_last Flag, time_s Real, pfn Integer, list Text, use Text, priority Integer, flags Text,
        category Text, category_wpa Text, class Text, rule Text, process Text null, instance Integer null,
        session Integer null, address Address null, file Text null, file_offset Integer null, detail Text null;
    Resident "resident": snapshot Integer, is_last Flag, time_s Real, list Text, use Text, priority Integer, flags Text,
        category Text, category_wpa Text, class Text, rule Text, process Text null, instance Integer null,
        session Integer null, file Text null, detail Text null, pages Integer, bytes Integer;
    Processes "processes": instance Integer, process Text, process_name Text null, pid Integer, parent Text null,
        parent_pid Integer null, session Integer null, command_line Text null, services Text null, start_s Real null,
        end_s Real null, exit_status Integer null;
    Files "files": file Text, path Text, folder Text, extension Text null, keys Integer;
    Ranges "ranges": snapshot Integer, is_last Flag, time_s Real, process Text, instance Integer, range_kind Text,
        base Address, bytes Integer, source Text, known_s Real, file Text null, heap Address null, thread Integer null;
    Refset "refset": process Text null, category Text, class Text, file Text null, detail Text null,
        access_reason Text, release_reason Text null, impact Text, pages Integer, bytes Integer,
        impact_pages Integer;
    RefsetPages "refset_pages": process Text null, category Text, class Text, pfn Integer null, use Text,
        file Text null, detail Text null, access_reason Text, release_reason Text null, start_s Real,
        end_s Real null;
    MemorySamples "memory_samples": time_s Real, in_use Integer null, standby Integer, standby_0 Integer,
        standby_1 Integer, standby_2 Integer, standby_3 Integer, standby_4 Integer, standby_5 Integer,
        standby_6 Integer, standby_7 Integer, zero Integer, free Integer, modified Integer,
        modified_pagefile Integer, modified_no_write Integer, bad Integer, paged_pool_commit Integer null,
        non_paged_pool Integer null, mdl Integer null, commit Integer null, repurposed Integer;
    WorkingSets "working_sets": time_s Real, process Text null, instance Integer null, pid Integer null,
        session Integer null, pages Integer, bytes Integer, private_pages Integer, commit_pages Integer,
        virtual_pages Integer;
    Cpu "cpu": process Text, thread Integer, from_s Real, to_s Real, cpu_s Real, with_interrupts_s Real, switches Integer,
        ready_count Integer, ready_s Real, ready_p95_s Real null, ready_max_s Real null, preempted_s Real,
        running_s Real null, waiting_s Real null, unknown_s Real null;
    CpuWaits "cpu_waits": process Text, thread Integer, reason Text, waits Integer, waiting_s Real;
    CpuInterrupts "cpu_interrupts": interrupt_kind Text, module Text null, routine Address, count Integer, inclusive_s Real,
        exclusive_s Real, max_s Real;
    Allocations "allocations": allocation_kind Text, process Text null, instance Integer null, tag Text null,
        pool Text null, is_start_known Flag, start_bytes Integer, start_count Integer, allocated_bytes Integer,
        allocated_count Integer, freed_bytes Integer, freed_count Integer, end_bytes Integer, end_count Integer, impacting_bytes Integer,
        impacting_count Integer, doubtful_bytes Integer, peak_bytes Integer, peak_s Real null, oldest_s Real null,
        lifetime_p95_s Real null, lifetime_max_s Real null;
    AllocationPieces "allocation_pieces": allocation_kind Text, piece Integer, process Text null, instance Integer null,
        thread Integer null, tag Text null, pool Text null, session Integer null, heap Address null,
        heap_source Text null, page_size Text null, address Address null, bytes Integer, opened_s Real null,
        closed_s Real null, closed_by Text null, is_doubtful Flag;
    Stacks "stacks": stack_id Integer, frames List;
    StackEvents "stack_events": event_kind Text, time_s Real, processor Integer null, process Text, thread Integer null,
        weight Integer null, weight_unit Text, stack_id Integer null;
    PieceStacks "piece_stacks": allocation_kind Text, piece Integer, stack_id Integer null, free_stack_id Integer null;
    Events "events": time_s Real, processor Integer null, process Text null, instance Integer null, pid Integer null,
        thread Integer null, provider Text, provider_guid Text null, event Text, id Text null, version Integer,
        opcode Integer null, schema Text null, fields Map null, missing Text null, stack_id Integer null;
    Warnings "warnings": analysis Text, code Text, text Text, amount Integer null, makes_doubtful Flag;
    Traces "traces": trace_file Text, digest Text null, file_bytes Integer null, program_version Text,
        schema_version Integer, tables Text, error Text null, session_name Text null, machine Text null, os_build Integer null, os_text Text null,
        processors Integer null, memory_pages Integer null, start_time Instant null, duration_s Real null,
        records Integer null, snapshots Integer null, events_lost Integer null, buffers_lost Integer null,
        missing_buffers Integer null, damaged_places Integer null, misfit_records Integer null, is_cut Flag null,
        trusted Flag null, warnings Text null;
}

/// Version of tables and columns: it rises when a query for one version would fail or answer another question with the other.
pub const SCHEMA_VERSION: u32 = 2;

/// The key of [`SCHEMA_VERSION`] in the files' metadata.
pub(crate) const SCHEMA_VERSION_KEY: &str = "pfnset.schema_version";

impl Table {
    /// True for tables with a row for each page, which are written only when asked for.
    pub const fn is_by_page(self) -> bool {
        matches!(self, Table::Pages | Table::RefsetPages)
    }

    /// True for the table with a row for each piece that was allocated, which is written only when asked for.
    pub const fn is_by_piece(self) -> bool {
        matches!(self, Table::AllocationPieces)
    }

    /// True for the tables with stacks, which are written only when asked for.
    pub const fn is_of_stacks(self) -> bool {
        matches!(self, Table::Stacks | Table::StackEvents | Table::PieceStacks)
    }

    /// True for tables that only traces with context switches have.
    pub const fn is_of_processors(self) -> bool {
        matches!(self, Table::Cpu | Table::CpuWaits | Table::CpuInterrupts)
    }

    /// True for the table whose rows stay in the order of time.
    pub(crate) const fn is_in_time_order(self) -> bool {
        matches!(self, Table::Events)
    }

    /// Place of a column.
    pub fn place(self, name: &str) -> Option<usize> {
        self.columns().iter().position(|column| column.name == name)
    }
}

impl FromStr for Table {
    type Err = String;

    fn from_str(name: &str) -> Result<Table, String> {
        let wanted = name.trim().replace('-', "_");
        Table::ALL.into_iter().find(|table| table.name() == wanted).ok_or_else(|| {
            let names: Vec<&str> = Table::ALL.iter().map(|table| table.name()).collect();
            format!("unknown table \"{name}\"; there are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn names_mean_the_same_in_all_tables() {
        let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
        for column in Table::ALL.iter().flat_map(|table| table.columns()) {
            assert_eq!(*kinds.entry(column.name).or_insert(column.kind), column.kind, "{}", column.name);
        }
        for table in Table::ALL {
            assert_eq!(table.name().parse(), Ok(table));
            let names: Vec<_> = table.columns().iter().map(|column| column.name).collect();
            assert!(names.iter().all(|name| names.iter().filter(|other| *other == name).count() == 1), "{names:?}");
        }
        assert!("x".parse::<Table>().unwrap_err().contains("refset_pages"));
    }
}
