//! tidings-tests
