//! Experiments: figures of papers, repeated with traces at hand.
