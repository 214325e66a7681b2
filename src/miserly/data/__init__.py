"""The boundary between tables and numbers: the encoder, frames, rows as users give them, kinds of labels."""
