//! Texts by number, each distinct one once.

use foldhash::HashMap as FastMap;
use std::sync::Arc;

/// Distinct texts.
#[derive(Debug, Default)]
pub struct Texts {
    texts: Vec<Arc<str>>,
    numbers: FastMap<Arc<str>, u32>,
}

impl Texts {
    /// The number of a text.
    pub fn id(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.numbers.get(text) {
            return id;
        }
        let id = self.texts.len() as u32;
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, id);
        id
    }

    /// A text by its number.
    pub fn get(&self, id: u32) -> &str {
        self.texts.get(id as usize).map_or("", |text| text)
    }
}
