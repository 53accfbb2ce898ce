"""Sphinx configuration of the API reference."""

extensions = ['openstackdocstheme', 'os_api_ref', 'sphinx.ext.autodoc']
project = 'ironic-traits API Reference'
copyright = 'the ironic-traits developers'
html_theme = 'openstackdocs'
html_theme_options = {'sidebar_mode': 'toc'}
openstackdocs_auto_name = False
openstackdocs_auto_version = False
root_doc = 'index'
