"""Sphinx configuration of the documentation: guides and API reference."""

import logging
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent / '_ext'))

extensions = [
    'cliff.sphinxext',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'openapi_files',
    'reno.sphinxext',
    'rest_methods',
    'sphinx.ext.autodoc',
]
# reno logs each note that it reads.
logging.getLogger('reno').setLevel(logging.WARNING)
project = 'ironic-traits'
copyright = 'the ironic-traits developers'
html_theme = 'furo'
html_title = 'ironic-traits'
html_static_path = ['_static']
html_css_files = ['routes.css']
html_js_files = ['routes.js']
autoprogram_cliff_application = 'openstack'
root_doc = 'index'
