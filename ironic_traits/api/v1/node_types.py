"""WSME types of nodes in requests and responses."""

import wsme.types

from ironic_traits.api import types
from ironic_traits.api.v1 import trait_sources
from ironic_traits.resources.nodes import NODES


class Settable(types.Base):
    """The fields of a node that clients may set."""

    _resource = NODES

    uuid = types.UUID
    name = types.TEXT
    driver = types.TEXT_255
    driver_info = types.OBJECT
    properties = types.OBJECT
    extra = types.OBJECT
    instance_info = types.OBJECT
    instance_uuid = types.UUID
    chassis_uuid = types.UUID
    maintenance = types.BOOLEAN
    resource_class = types.Text(maximum=80)
    conductor_group = types.ConductorGroup()
    automated_clean = types.BOOLEAN
    protected = types.BOOLEAN
    protected_reason = types.TEXT
    retired = types.BOOLEAN
    retired_reason = types.TEXT
    description = types.Text(maximum=4096)
    owner = types.TEXT_255
    lessee = types.TEXT_255
    shard = types.TEXT_255
    network_data = types.OBJECT
    parent_node = types.Text(minimum=1, maximum=36)
    disable_power_off = types.BOOLEAN
    instance_name = types.Text(minimum=1, maximum=255)
    console_enabled = types.BOOLEAN
    bios_interface = types.TEXT_255
    boot_interface = types.TEXT_255
    console_interface = types.TEXT_255
    deploy_interface = types.TEXT_255
    firmware_interface = types.TEXT_255
    inspect_interface = types.TEXT_255
    management_interface = types.TEXT_255
    network_interface = types.TEXT_255
    power_interface = types.TEXT_255
    raid_interface = types.TEXT_255
    rescue_interface = types.TEXT_255
    storage_interface = types.TEXT_255
    vendor_interface = types.TEXT_255


class NodeBody(Settable):
    """A node in a POST, and the result of a PATCH."""

    driver = wsme.types.wsattr(types.TEXT_255, mandatory=True)


class Node(types.Stored, Settable):
    """A node in a response, with the fields of all versions."""

    provision_state = str
    target_provision_state = str
    provision_updated_at = types.MOMENT
    power_state = str
    target_power_state = str
    maintenance_reason = str
    last_error = str
    reservation = str
    reservation_uuid = types.UUID
    inspection_started_at = types.MOMENT
    inspection_finished_at = types.MOMENT
    driver_internal_info = types.OBJECT
    clean_step = types.OBJECT
    deploy_step = types.OBJECT
    service_step = types.OBJECT
    fault = str
    health = str
    origin = str
    boot_mode = str
    secure_boot = types.BOOLEAN
    conductor = str
    allocation_uuid = types.UUID
    raid_config = types.OBJECT
    target_raid_config = types.OBJECT
    traits = [str]
    trait_sources = trait_sources.TraitSources
    ports = types.LINKS
    states = types.LINKS
    portgroups = types.LINKS
    volume = types.LINKS


class Nodes(types.Base):
    """A page of nodes; ``next`` is missing on the last one. ``token`` and ``removed`` are those of changed nodes."""

    nodes = [Node]
    next = str
    removed = [types.UUID]
    token = str
