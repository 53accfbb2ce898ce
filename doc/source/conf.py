"""Sphinx configuration of the guides."""

extensions = [
    'openstackdocstheme',
    'cliff.sphinxext',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'reno.sphinxext',
    'sphinx.ext.autodoc',
]
project = 'ironic-traits'
copyright = 'the ironic-traits developers'
html_theme = 'openstackdocs'
openstackdocs_auto_name = False
openstackdocs_auto_version = False
autoprogram_cliff_application = 'openstack'
root_doc = 'index'
