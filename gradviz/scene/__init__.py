"""Layout + Frame + Theme -> shapes, once for every output."""
