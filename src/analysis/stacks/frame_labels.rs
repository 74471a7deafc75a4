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

/// The label of a frame's function, that without its line, and that with its address where addresses have one name.
pub(super) fn functions(names: &Names, frame: Frame) -> Vec<Label> {
    let (label, bare) = (function(names, frame), names.function_text(frame));
    let bare = (*bare != *label).then_some(bare);
    let others: Vec<Label> = bare.into_iter().chain(hidden_address(names, frame)).map(Label::name).collect();
    [label].into_iter().chain(others).collect()
}

/// The address of a frame whose text is that of all addresses.
fn hidden_address(names: &Names, frame: Frame) -> Option<String> {
    let Frame::Address(address) = frame else { return None };
    names.hides_addresses.then(|| format!("0x{address:x}"))
}

/// The text of a stack of these frames, innermost first, and that with all addresses where addresses have one name.
pub(super) fn stacks(names: &Names, frames: &[Frame]) -> Vec<Label> {
    let text = |name: &dyn Fn(Frame) -> String| stack_text(&names.stack(frames.iter().copied(), name));
    let shown = |frame| names.text(frame);
    let with_address = |frame| hidden_address(names, frame).unwrap_or_else(|| names.text(frame));
    let is_hidden = frames.iter().any(|frame| hidden_address(names, *frame).is_some());
    let with_addresses = is_hidden.then(|| text(&with_address));
    [text(&shown)].into_iter().chain(with_addresses).map(Label::name).collect()
}

/// Outermost first; a `;` inside a name becomes `:`.
pub(super) fn stack_text(innermost_first: &[String]) -> String {
    innermost_first.iter().rev().map(|name| name.replace(';', ":")).collect::<Vec<_>>().join(";")
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
