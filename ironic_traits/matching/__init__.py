"""Rules about traits and allocation candidates, as pure functions: no database, no HTTP."""
