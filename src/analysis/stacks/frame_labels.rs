//! Labels of the frames of stacks.

use super::frame_names::{Label as Frame, Names};
use crate::dimensions::Label;
use foldhash::HashMap as FastMap;

/// By frame, the labels of its function: for conditions, which look at every frame of every stack. Stacks share most of them.
#[derive(Debug, Default)]
pub(crate) struct FunctionLabels(FastMap<Frame, Vec<Label>>);

impl FunctionLabels {
    /// Of all frames that have names.
    pub fn new(names: &Names) -> FunctionLabels {
        let all = names.lists().distinct().iter();
        FunctionLabels(all.map(|frame| (*frame, functions(names, *frame))).collect())
    }

    /// What a condition may call the function.
    pub fn of(&self, frame: Frame) -> impl Iterator<Item = &Label> {
        self.0.get(&frame).into_iter().flatten()
    }
}

/// The label of a frame's function, and that without its line.
pub(super) fn functions(names: &Names, frame: Frame) -> Vec<Label> {
    let (label, bare) = (function(names, frame), names.function_text(frame));
    let bare = (bare != names.text(frame)).then(|| Label::name(bare));
    [label].into_iter().chain(bare).collect()
}

/// The label of a frame's function.
pub(super) fn function(names: &Names, frame: Frame) -> Label {
    let text = names.text(frame);
    if frame == Frame::NoStack { Label::unknown(text) } else { Label::name(text) }
}

/// The label of a frame's module.
pub(super) fn module(names: &Names, frame: Frame) -> Label {
    match (frame, names.module(frame)) {
        (Frame::NoStack, _) => Label::unknown(names.text(frame)),
        (_, Some(module)) => Label::name(module),
        (_, None) => Label::nothing().shown_as("no module"),
    }
}
