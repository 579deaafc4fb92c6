"""Images run on the emulated core: emulate, arguments of guests, where runs begin and end."""
