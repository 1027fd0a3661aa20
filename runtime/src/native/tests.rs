//! Native workflows beside the interpreter.
