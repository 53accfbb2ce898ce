"""Export and import of the inventory as a document.

The format extends that of ``baremetal create``. A document has ``nodes``, each with its ``traits``, ``ports``,
``portgroups`` (and their ``ports``), ``volume_connectors`` and ``volume_targets``. It also has ``chassis``, which may
contain ``nodes``, and ``traits``: what operators say about traits (``transfer.catalogue``)::

    {"nodes": [{"name": "rack1-1", "driver": "fake-hardware", "resource_class": "gold",
                "traits": ["CUSTOM_FAST"], "ports": [{"address": "52:54:00:cf:2d:31"}]}]}

An import is idempotent. It creates what does not exist, and updates the fields that the document states. Everything
else stays unchanged. It deletes nothing but traits: a node loses those that are not in its ``traits``.

``trait_sources`` of a node has the sources that hold its traits (``transfer.sources``)::

    {"traits": ["CUSTOM_FAST", "CUSTOM_RACK_7"], "trait_sources": {"cmdb": ["CUSTOM_RACK_7"]}}
"""
