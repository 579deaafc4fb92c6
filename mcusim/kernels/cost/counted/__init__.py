"""Cost profiles counted from the instructions of a binary (``cmsis-2021-gcc9``)."""
