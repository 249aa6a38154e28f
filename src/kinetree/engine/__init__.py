"""From a declared quantity to a callable: trace, compile, call, export."""
