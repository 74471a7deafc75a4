//! The fold: each page of a snapshot is judged and counted once, by the cheapest table that answers the query.

use crate::analysis::category::Category;
use crate::analysis::resident::checks::BaseCounts;
use crate::analysis::resident::count::{Counter, Cube, Filter};
use crate::analysis::resident::dimension::{Code, Dimension};
use crate::analysis::resident::judge::{Joined, Owner};
use crate::analysis::resident::query::{Classification, Query};
use crate::analysis::resident::scene::Scene;
use crate::etl::EtlFile;
use crate::model::snapshot::{BATCH, Snapshot};
use std::collections::BTreeMap;

/// Groups by their codes, with pages.
type Groups = BTreeMap<Vec<Code>, u64>;

/// What has to be counted for a query.
#[derive(Debug)]
pub(super) struct Plan {
    /// Dimensions of the query by the rules that it wants, and the list.
    main: Vec<Dimension>,
    /// The same with WPA's category in the place of ours.
    wpa: Vec<Dimension>,
    /// True when rows are counted by both rule sets.
    pub compares: bool,
    /// Place of the list in the codes of `Counted::groups`.
    pub list_at: usize,
}

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// By the query's dimensions and the list.
    pub groups: Groups,
    /// By the query's dimensions with WPA's category in the place of ours.
    pub groups_wpa: Groups,
    /// By process.
    pub processes: Groups,
    /// For the checks.
    pub base: BaseCounts,
}

/// What one thread counts.
struct Tally<'q> {
    cube: Option<Cube>,
    main: Option<Counter<'q>>,
    wpa: Option<Counter<'q>>,
    processes: Option<Counter<'q>>,
    filter: Filter<'q>,
    base: BaseCounts,
}

const PROCESS: [Dimension; 1] = [Dimension::Process];

impl Plan {
    /// The plan for a query.
    pub fn new(query: &Query) -> Plan {
        let swap = |&d: &Dimension| if d == Dimension::Category { Dimension::CategoryWpa } else { d };
        let wpa: Vec<Dimension> = query.group_by.iter().map(swap).collect();
        let by_wpa = query.classification == Classification::Wpa;
        let mut main = if by_wpa { wpa.clone() } else { query.group_by.clone() };
        let list_at = main.iter().position(|&d| d == Dimension::List).unwrap_or_else(|| {
            main.push(Dimension::List);
            main.len() - 1
        });
        let compares = query.classification == Classification::Both && wpa != query.group_by;
        Plan { main, wpa, compares, list_at }
    }

    /// Judges and counts all pages, in parallel.
    pub fn count(&self, etl: &EtlFile, scene: &Scene<'_>, snapshot: &Snapshot, query: &Query) -> Counted {
        let by_cube = Cube::holds(&self.main);
        let tally = || Tally {
            cube: by_cube.then(Cube::default),
            main: (!by_cube).then(|| Counter::new(&self.main, scene)),
            wpa: (!by_cube && self.compares).then(|| Counter::new(&self.wpa, scene)),
            processes: (query.processes > 0).then(|| Counter::new(&PROCESS, scene)),
            filter: Filter::new(&query.conditions),
            base: BaseCounts::default(),
        };
        let tallies = snapshot.fold(etl, tally, |tally, pages| {
            let mut joined = [Joined::EMPTY; BATCH];
            scene.join(pages, &mut joined);
            for (page, joined) in pages.iter().zip(&joined) {
                let verdict = scene.verdict(page, joined);
                let in_database = verdict.category == Category::PfnDatabase;
                tally.base.add(page, in_database, matches!(verdict.owner, Owner::Unknown(_)));
                if !query.conditions.is_empty() && !tally.filter.passes(scene, page, &verdict) {
                    continue;
                }
                if let Some(cube) = &mut tally.cube {
                    cube.add(page, &verdict);
                }
                for counter in [&mut tally.main, &mut tally.wpa, &mut tally.processes].into_iter().flatten() {
                    counter.add(scene, page, &verdict);
                }
            }
        });
        let mut all = tally();
        for part in tallies {
            all.base.merge(&part.base);
            all.cube.as_mut().zip(part.cube).into_iter().for_each(|(all, part)| all.merge(&part));
            let counters = [(&mut all.main, part.main), (&mut all.wpa, part.wpa), (&mut all.processes, part.processes)];
            counters
                .into_iter()
                .filter_map(|(all, part)| all.as_mut().zip(part))
                .for_each(|(all, part)| all.merge(part));
        }
        let groups = |counter: &Option<Counter<'_>>, dimensions: &[Dimension]| match (counter, &all.cube) {
            (Some(counter), _) => counter.groups(scene),
            (None, Some(cube)) => cube.groups(dimensions),
            (None, None) => Groups::new(),
        };
        Counted {
            groups: groups(&all.main, &self.main),
            groups_wpa: if self.compares { groups(&all.wpa, &self.wpa) } else { Groups::new() },
            processes: all.processes.as_ref().map(|counter| counter.groups(scene)).unwrap_or_default(),
            base: all.base,
        }
    }
}
