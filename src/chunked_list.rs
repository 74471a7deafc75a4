//! Lists in chunks of a fixed size, for millions of values that are kept: a vector that grows has the old and the new array at once, and
//! leaves holes behind that no larger one fits in.

use std::iter::Flatten;
use std::{slice, vec};

/// A list in chunks of `N` values. Only the last one may be shorter; alone, it grows as a vector does.
#[derive(Debug, Clone)]
pub struct Chunked<T, const N: usize> {
    chunks: Vec<Vec<T>>,
}

impl<T, const N: usize> Default for Chunked<T, N> {
    fn default() -> Self {
        Chunked { chunks: Vec::new() }
    }
}

impl<T, const N: usize> Chunked<T, N> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * N + last.len())
    }

    /// Adds a value.
    #[inline]
    pub fn push(&mut self, value: T) {
        match self.chunks.last_mut().filter(|last| last.len() < N) {
            Some(last) => last.push(value),
            None => {
                let mut next = Vec::with_capacity(if self.chunks.is_empty() { 1 } else { N });
                next.push(value);
                self.chunks.push(next);
            }
        }
    }

    /// The same with room for a few more only: there can be many lists.
    #[inline]
    pub fn push_tight(&mut self, value: T) {
        let fewest = if self.chunks.len() > 1 { N / 16 } else { 0 };
        match self.chunks.last_mut().filter(|last| last.len() < N) {
            Some(last) => {
                if last.len() == last.capacity() {
                    last.reserve_exact((last.len() / 4).max(fewest).max(1).min(N - last.len()));
                }
                last.push(value);
            }
            None => self.chunks.push(vec![value]),
        }
    }

    /// Adds a whole chunk; all before must be whole ones too.
    pub fn push_chunk(&mut self, chunk: Vec<T>) {
        debug_assert!(chunk.len() == N && self.len().is_multiple_of(N), "a chunk that is not whole");
        self.chunks.push(chunk);
    }

    /// A value by its place.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / N)?.get(at % N)
    }

    /// The same, to change it.
    #[inline(always)]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.chunks.get_mut(at / N)?.get_mut(at % N)
    }

    /// All values.
    pub fn iter(&self) -> Flatten<slice::Iter<'_, Vec<T>>> {
        self.chunks.iter().flatten()
    }

    /// Calls this with all values, chunk by chunk.
    #[inline(always)]
    pub fn each(&self, mut visit: impl FnMut(&T)) {
        self.chunks.iter().for_each(|chunk| chunk.iter().for_each(&mut visit));
    }

    /// Bytes that it takes.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        let places: usize = self.chunks.iter().map(Vec::capacity).sum();
        places * size_of::<T>() + self.chunks.capacity() * size_of::<Vec<T>>()
    }
}

impl<T: Copy, const N: usize> Chunked<T, N> {
    /// Makes it so long, with room for no more; never shorter.
    pub fn lengthen(&mut self, len: usize, value: T) {
        while self.len() < len {
            let more = len - self.len();
            match self.chunks.last_mut().filter(|last| last.len() < N) {
                Some(last) => {
                    let more = more.min(N - last.len());
                    last.reserve_exact(more);
                    last.resize(last.len() + more, value);
                }
                None => {
                    // Many lists have one chunk.
                    self.chunks.reserve_exact(usize::from(self.chunks.is_empty()));
                    self.chunks.push(Vec::new());
                }
            }
        }
    }
}

impl<T, const N: usize> IntoIterator for Chunked<T, N> {
    type Item = T;
    type IntoIter = Flatten<vec::IntoIter<Vec<T>>>;

    /// All values; each chunk is freed when its last one was taken.
    fn into_iter(self) -> Self::IntoIter {
        self.chunks.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list_that_has_little_more_than_its_values() {
        let mut list = Chunked::<u32, 64>::default();
        for number in 0..1000 {
            assert_eq!((list.len(), list.get(number as usize)), (number as usize, None));
            list.push(number);
            *list.get_mut(number as usize).unwrap() += 1;
            assert!(list.bytes() <= 4 * (2 * number as usize).clamp(4, number as usize + 64) + 24 * 16 + 16);
        }
        let mut tight = Chunked::<u32, 64>::default();
        for number in 0..200 {
            tight.push_tight(number);
            let most = 5 * number as usize / 4 + 2;
            assert!(tight.bytes() <= 4 * most + 24 * 4, "{} for {number}", tight.bytes());
        }
        assert!(tight.iter().copied().eq(0..200));
        list.lengthen(1010, 7);
        list.lengthen(1000, 8);
        let wanted: Vec<u32> = (1..=1000).chain([7; 10]).collect();
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), wanted);
        assert_eq!(list.into_iter().collect::<Vec<_>>(), wanted);
    }
}
