//! Payloads: (hook id, version, pointer size, bytes) to typed events.
