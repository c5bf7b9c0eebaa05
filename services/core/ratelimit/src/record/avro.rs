//! The few Avro primitives that the records and the state are made of.

use uuid::Uuid;

use super::DecodeError;

/// Appends Avro primitives.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn long(&mut self, value: i64) {
        let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
        while rest >= 0x80 {
            self.0.push((rest & 0x7F) as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }

    /// An unsigned number; what exceeds a long saturates.
    pub(crate) fn count(&mut self, value: impl TryInto<i64>) {
        self.long(value.try_into().unwrap_or(i64::MAX));
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }

    pub(crate) fn id(&mut self, id: Uuid) {
        self.0.extend_from_slice(id.as_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn array<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        if items.len() > 0 {
            self.count(items.len());
            for item in items {
                write(self, item);
            }
        }
        self.long(0);
    }

    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            None => self.long(0),
            Some(value) => {
                self.long(1);
                write(self, value);
            }
        }
    }
}

/// Reads Avro primitives; total and bounded by the bytes that it was given.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

type Result<T> = std::result::Result<T, DecodeError>;

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Everything was read.
    pub(crate) fn end(&self) -> Result<()> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(DecodeError::Malformed("bytes after the end"))
        }
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(DecodeError::Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) = self
            .0
            .split_first()
            .ok_or(DecodeError::Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(byte)
    }

    pub(crate) fn long(&mut self) -> Result<i64> {
        let mut value: u64 = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(DecodeError::Malformed("a number of more than ten bytes"))
    }

    /// A number in `0..=most`.
    pub(crate) fn count(&mut self, most: usize) -> Result<usize> {
        usize::try_from(self.long()?)
            .ok()
            .filter(|count| *count <= most)
            .ok_or(DecodeError::Malformed("a number out of its range"))
    }

    /// A number in `0..=most`.
    pub(crate) fn number(&mut self, most: u32) -> Result<u32> {
        u32::try_from(self.long()?)
            .ok()
            .filter(|number| *number <= most)
            .ok_or(DecodeError::Malformed("a number out of its range"))
    }

    pub(crate) fn bool(&mut self) -> Result<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            2..=u8::MAX => Err(DecodeError::Malformed("a boolean of neither kind")),
        }
    }

    pub(crate) fn id(&mut self) -> Result<Uuid> {
        let bytes = self.take(16)?;
        Uuid::from_slice(bytes).map_err(|_| DecodeError::Malformed("an id"))
    }

    pub(crate) fn bytes(&mut self, most: usize) -> Result<&'a [u8]> {
        let length = self.count(most)?;
        self.take(length)
    }

    pub(crate) fn string(&mut self, most: usize) -> Result<String> {
        let bytes = self.bytes(most)?;
        std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|_| DecodeError::Malformed("a text that is not UTF-8"))
    }

    /// An array of at most `most` items, in any number of blocks, with or without their sizes.
    pub(crate) fn array<T>(
        &mut self,
        most: usize,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        loop {
            let mut count = self.long()?;
            if count < 0 {
                let _block_bytes = self.long()?;
                count = count
                    .checked_neg()
                    .ok_or(DecodeError::Malformed("a block's count"))?;
            }
            if count == 0 {
                return Ok(items);
            }
            let left = most.saturating_sub(items.len());
            if usize::try_from(count).map_or(true, |count| count > left) {
                return Err(DecodeError::Malformed("too many items"));
            }
            for _ in 0..count {
                items.push(read(self)?);
            }
        }
    }

    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.long()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            i64::MIN..=-1 | 2.. => Err(DecodeError::Malformed("a branch that does not exist")),
        }
    }
}
