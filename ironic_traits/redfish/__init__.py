"""What BMCs show of machines by Redfish, as facts for rules. Nothing here opens a connection or writes."""
