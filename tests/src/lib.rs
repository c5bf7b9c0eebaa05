//! Nothing but a home for `tests/`: whole deployments of real parts, judged.
