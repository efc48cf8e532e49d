//! What a running process serves: its control socket, its metrics and its pages.
