"""The tables. The migrations in ``alembic/`` create them. A test compares both on each database."""

from ironic_traits.db.tables.base import metadata
from ironic_traits.db.tables.changes import change_log, change_numbers, changes
from ironic_traits.db.tables.deploy import deploy_templates, runbook_traits, runbooks, transitions, workers
from ironic_traits.db.tables.history import node_history
from ironic_traits.db.tables.holders import capacity_reservations, capacity_uses, node_allocations, reservations
from ironic_traits.db.tables.inspection import inspection_rules, inventory_refreshes, node_inventories, node_mismatches
from ironic_traits.db.tables.mirror import (
    MAX_CLOUD_NAME,
    mirror_claims,
    mirror_clouds,
    mirror_conflicts,
    mirror_inspections,
    mirror_kept_nodes,
    mirror_leftovers,
    mirror_missing_nodes,
    mirror_written_traits,
)
from ironic_traits.db.tables.nodes import node_vifs, nodes
from ironic_traits.db.tables.placement import (
    allocations,
    consumers,
    inventories,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
)
from ironic_traits.db.tables.records import chassis, portgroups, ports, volume_connectors, volume_targets
from ironic_traits.db.tables.schema import schema_compatibility
from ironic_traits.db.tables.traits import (
    node_trait_sources,
    node_trait_vetoes,
    node_traits,
    trait_notes,
    trait_writers,
    traits,
)
