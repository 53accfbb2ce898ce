"""The callers of the Bare Metal API: check strings that policy rules combine."""

# Roles in the system, and in the project that owns or leases the node.
SYSTEM_ADMIN = 'rule:system_admin'
SYSTEM_MEMBER = 'rule:system_member'
SYSTEM_READER = 'rule:system_reader'
SERVICE = 'rule:baremetal_service'
SYSTEM_SERVICE = 'role:service and system_scope:all'
OWNER_ADMIN = 'rule:owner_admin'
OWNER_MEMBER = 'rule:owner_member'
OWNER_READER = 'rule:owner_reader'
OWNER_SERVICE = 'rule:owner_service'
LESSEE_ADMIN = 'rule:lessee_admin'
LESSEE_MEMBER = 'rule:lessee_member'
LESSEE_READER = 'rule:lessee_reader'


def any_of(*checks: str) -> str:
    """Return the check string that passes when any of these checks passes."""
    return ' or '.join(checks)


#: Who may see a node, use it (power), operate it (provisioning, maintenance), change its fields, and change its traits.
NODE_READER = any_of(SYSTEM_READER, SERVICE, OWNER_READER, LESSEE_READER, OWNER_SERVICE)
NODE_USER = any_of(SYSTEM_MEMBER, SERVICE, OWNER_MEMBER, LESSEE_MEMBER)
NODE_OPERATOR = any_of(SYSTEM_MEMBER, SERVICE, OWNER_MEMBER, LESSEE_ADMIN, OWNER_SERVICE)
NODE_OWNER = any_of(SYSTEM_MEMBER, SERVICE, OWNER_MEMBER, OWNER_SERVICE)
NODE_OWNER_ADMIN = any_of(SYSTEM_MEMBER, SERVICE, OWNER_ADMIN, OWNER_SERVICE)
#: Who may add ports and portgroups to a node, and delete them.
NODE_ADMIN = any_of(SYSTEM_ADMIN, SYSTEM_SERVICE, OWNER_ADMIN, OWNER_SERVICE)
#: Who may see the resources of all projects, and who may see those of their own project.
READER_OF_ALL = any_of(SYSTEM_READER, SERVICE)
READER = 'role:reader or role:service'
