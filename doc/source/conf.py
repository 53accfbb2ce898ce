"""Sphinx configuration of the guides."""

extensions = [
    'cliff.sphinxext',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'reno.sphinxext',
    'sphinx.ext.autodoc',
]
project = 'ironic-traits'
copyright = 'the ironic-traits developers'
html_theme = 'furo'
html_title = 'ironic-traits'
html_static_path = ['_static']
autoprogram_cliff_application = 'openstack'
root_doc = 'index'
