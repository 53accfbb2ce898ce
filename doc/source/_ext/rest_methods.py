"""The directives of the API reference, as pages of this site.

os-api-ref makes the tables of parameters. Its routes are for a theme with bootstrap, and the search does not find them.
"""

import re

from docutils import nodes
from os_api_ref import RestParametersDirective
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective


class route(nodes.General, nodes.Element):
    """A route with its description, which the reader opens: the HTML element ``details``."""


class route_line(nodes.Part, nodes.TextElement):
    """The method and the path of a route, always visible: the HTML element ``summary``."""


class RestMethod(SphinxDirective):
    """``.. rest_method:: GET /v1/nodes`` begins the description of a route, which is the rest of the section."""

    required_arguments = 2

    def run(self):
        method, path = self.arguments
        # os-api-ref warns of path parameters that have no description.
        self.env.path_params = re.findall(r'{\w+}', path)
        label = nodes.inline('', method, classes=['method', f'method-{method.lower()}'])
        return [
            _index(self.state.parent, [f'{method} {path}']),
            route('', route_line('', '', label, nodes.Text(' '), nodes.literal('', path))),
        ]


class RestParameters(RestParametersDirective):
    """A table of parameters. The search splits a name like ``not-traits-any``: query parameters are index entries."""

    def run(self):
        section = self.state.parent.parent
        table = super().run()
        return [_index(section, [name for name, values in self.yaml if values['in'] == 'query']), *table]


def _index(section, entries):
    """Return index entries of a section, which the search ranks above pages that merely have the words."""
    return addnodes.index(entries=[('single', entry, section['ids'][0], 'main', None) for entry in entries])


def complete(app, doctree):
    """Move the rest of its section into each route."""
    for node in list(doctree.findall(route)):
        section = node.parent
        end = section.index(node) + 1
        node.extend(section[end:])
        section[end:] = []
        # "Request" and "Response" are below each route: the menus and the search leave them out.
        for part in list(node.findall(nodes.section)):
            part.replace_self([nodes.rubric('', part[0].astext()), *part[1:]])


def _element(tag, **attributes):
    def visit(self, node):
        self.body.append(self.starttag(node, tag, **attributes))

    def depart(self, node):
        self.body.append(f'</{tag}>\n')

    return visit, depart


def setup(app):
    app.add_node(route, html=_element('details', CLASS='route'))
    app.add_node(route_line, html=_element('summary'))
    app.add_directive('rest_method', RestMethod)
    app.add_directive('rest_parameters', RestParameters)
    # Before Sphinx collects the sections for its menus, at 500.
    app.connect('doctree-read', complete, priority=400)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
