//! Labels of the frames of stacks, each made once: stacks share most of their frames.

use super::frame_names::{Label as Frame, Names};
use crate::facets::Label;
use crate::load::stacks::frame_lists::ListId;
use foldhash::HashMap as FastMap;

/// By frame, the labels of its function and of its module.
#[derive(Debug, Default)]
pub(crate) struct FrameLabels(FastMap<Frame, (Label, Label)>);

impl FrameLabels {
    /// Of all frames that have names.
    pub fn new(names: &Names) -> FrameLabels {
        let lists = (0..names.labels.len() as u32).flat_map(|list| names.labels.get(ListId(list)));
        let mut labels = FastMap::default();
        for &frame in lists.chain([&Frame::NoStack]) {
            labels.entry(frame).or_insert_with(|| labels_of(names, frame));
        }
        FrameLabels(labels)
    }

    /// The label of the function.
    pub fn function(&self, frame: Frame) -> Option<&Label> {
        self.0.get(&frame).map(|(function, _)| function)
    }

    /// The label of the module.
    pub fn module(&self, frame: Frame) -> Option<&Label> {
        self.0.get(&frame).map(|(_, module)| module)
    }
}

fn labels_of(names: &Names, frame: Frame) -> (Label, Label) {
    let text = names.text(frame);
    match (frame, names.module(frame)) {
        (Frame::NoStack, _) => (Label::unknown(&*text), Label::unknown(&*text)),
        (_, Some(module)) => (Label::name(text), Label::name(module)),
        (_, None) => (Label::name(text), Label::nothing().shown_as("no module")),
    }
}
