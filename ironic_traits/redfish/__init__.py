"""BMCs that speak Redfish: connections to them, and what they show of machines, as facts for rules."""
