//! What a replay knows of the trace and of the query.

use crate::analysis::reference::counting_plan::CountingPlan;
use crate::analysis::reference::series::TimelinePlan;
use crate::analysis::reference::wpa_observer::WpaNeeds;
use crate::load::history::History;
use crate::model::process_timeline::ProcessTimeline;
use crate::model::rundown::Rundowns;

/// What all shards share.
#[derive(Debug)]
pub struct ReplayContext<'h> {
    /// All events of the trace but the page events.
    pub history: &'h History,
    /// Which of them are rundowns.
    pub rundowns: &'h Rundowns,
    /// Process lifetimes.
    pub lifetimes: &'h ProcessTimeline<'h>,
    /// What is counted.
    pub plan: &'h CountingPlan<'h>,
    /// The timeline, if there is one.
    pub timeline: Option<&'h TimelinePlan>,
    /// What WPA's rules need.
    pub needs: WpaNeeds,
}
