"""BMCs: how to find them and to log in, and what they show of machines by Redfish, as facts for rules."""
