"""Pure rules about traits: no database, no HTTP."""
