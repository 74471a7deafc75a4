//! [`Logger`]: a [`Stream`] with a clock and a logging thread that moves from processor to processor.

use std::io::{self, Seek, Write};

use super::record::Rec;
use super::rng::Rng;
use super::stream::Stream;

/// Writes records in time order.
pub struct Logger<W: Write + Seek> {
    stream: Stream<W>,
    /// Raw time of the next record, session ticks.
    pub time: u64,
    /// Processor the logging thread runs on.
    pub processor: u16,
    /// Records written besides the log-file header.
    pub records: u64,
    /// Random numbers of the generator.
    pub rng: Rng,
    processors: u16,
    until_move: u64,
    stay: u64,
}

impl<W: Write + Seek> Logger<W> {
    /// Starts at the session's t0 + 1; the thread stays on a processor for `stay` to `3 × stay` records.
    pub fn new(stream: Stream<W>, seed: u64, stay: u64) -> Logger<W> {
        let (time, processors) = (stream.session().t0 + 1, stream.session().processors as u16);
        let stay = stay.max(1);
        Logger { stream, time, processor: 0, records: 0, rng: Rng::new(seed), processors, until_move: stay, stay }
    }

    /// Writes `rec` with the current time on the current processor; the clock moves on by 0–2 ticks.
    pub fn put(&mut self, rec: Rec) -> io::Result<()> {
        let mut rec = rec;
        self.put_same(&mut rec)
    }

    /// As [`Logger::put`] for a record that the caller fills again and again.
    pub fn put_same(&mut self, rec: &mut Rec) -> io::Result<()> {
        if self.until_move == 0 {
            self.until_move = self.rng.between(self.stay, 3 * self.stay);
            self.processor = self.rng.below(u64::from(self.processors)) as u16;
        }
        self.until_move -= 1;
        self.put_on(self.processor, rec)
    }

    /// Writes `rec` with the current time on another processor.
    pub fn put_on(&mut self, processor: u16, rec: &mut Rec) -> io::Result<()> {
        (rec.time, rec.processor) = (self.time, processor);
        self.time += self.rng.below(3);
        self.records += 1;
        self.stream.push(rec)
    }

    /// Lets time pass, ticks.
    pub fn wait(&mut self, ticks: u64) {
        self.time += ticks;
    }

    /// Finishes the file: output and length in bytes.
    pub fn finish(self) -> io::Result<(W, u64)> {
        self.stream.finish()
    }
}
