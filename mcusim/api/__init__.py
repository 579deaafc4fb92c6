"""The public functions: simulate, replay, compare, emulate, plan memory, reorder and defragment."""
