"""The inventory as a document: what a service has, and what it shall have.

A document is what ``baremetal create`` takes, and more: ``nodes``, each with its ``traits``, ``ports``, ``portgroups``
(and their ``ports``), ``volume_connectors`` and ``volume_targets``, and ``chassis``, which may have ``nodes`` in them::

    {"nodes": [{"name": "rack1-1", "driver": "fake-hardware", "resource_class": "gold",
                "traits": ["CUSTOM_FAST"], "ports": [{"address": "52:54:00:cf:2d:31"}]}]}

Importing is idempotent: what a document says of something is made so, and what it does not name stays as it is; nothing
is deleted but the traits of a node that are not in its ``traits``.
"""
