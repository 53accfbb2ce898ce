"""/v1/deploy_templates"""

import wsme.types

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1.records import FIELDS_QUERY, Records
from ironic_traits.api.v1.stored_steps import Steps
from ironic_traits.inventory.records.deploy_templates import DEPLOY_TEMPLATES as KIND


class TemplateBody(types.Base):
    """The fields of a deploy template that clients may set."""

    _resource = KIND.resource

    uuid = types.UUID
    name = types.Trait()
    steps = Steps('template', ('interface', 'step', 'args', 'priority'))
    extra = types.OBJECT


class NewTemplate(TemplateBody):
    """The body of a request for a new deploy template. As in Ironic, the description is accepted and not stored."""

    description = types.TEXT_255


class Template(TemplateBody):
    """A deploy template in a response."""

    created_at = types.MOMENT
    updated_at = types.MOMENT
    links = types.LINKS


class Templates(types.Base):
    """A page of deploy templates."""

    deploy_templates = [Template]
    next = str


TEMPLATES = Records(kind=KIND, body=TemplateBody)
SINCE = TEMPLATES.served_since


class DeployTemplatesController(Resource):
    """Deploy templates: steps for the deploys of instances that require a trait."""

    since = SINCE

    @expose('baremetal:deploy_template:get', Templates, since=SINCE, query=TEMPLATES.query)
    def get_all(self, context, grant, /, **query):
        return TEMPLATES.page(context, grant, query)

    @expose('baremetal:deploy_template:get', Template, of=TEMPLATES.allowed, since=SINCE, query=FIELDS_QUERY)
    def get_one(self, context, grant, template_ident, /, *, fields=None):
        return TEMPLATES.show(context, grant, fields)

    @expose('baremetal:deploy_template:create', Template, since=SINCE, before=405, body=NewTemplate, statuses=(201,))
    def post(self, context, grant, /, *, body):
        body.description = wsme.types.Unset
        return TEMPLATES.create(context, grant, body)

    @expose(
        'baremetal:deploy_template:update',
        Template,
        of=TEMPLATES.allowed,
        since=SINCE,
        before=405,
        body=[types.PatchOperation],
    )
    def patch(self, context, grant, template_ident, /, *, body):
        return TEMPLATES.change(context, grant, body)

    @expose('baremetal:deploy_template:delete', of=TEMPLATES.allowed, since=SINCE, before=405)
    def delete(self, context, grant, template_ident, /):
        return TEMPLATES.delete(context, grant)
