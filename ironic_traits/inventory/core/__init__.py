"""What all parts of the inventory need: single nodes, filters, providers of nodes, history, paging."""
