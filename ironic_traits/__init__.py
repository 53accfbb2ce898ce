"""ironic-traits: a bare-metal node inventory in which every node carries traits."""
