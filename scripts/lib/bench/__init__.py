"""The parts of scripts/bench. Each has `run(bench)`, which yields its tables."""
