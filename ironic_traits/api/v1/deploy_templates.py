"""/v1/deploy_templates"""

from typing import Any

import wsme.types

from ironic_traits.api import types
from ironic_traits.api.responses import Response
from ironic_traits.api.v1.record_controllers import RecordsController
from ironic_traits.api.v1.records import Records
from ironic_traits.api.v1.stored_steps import Steps
from ironic_traits.context import Context, Grant
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


class Template(types.Stored, TemplateBody):
    """A deploy template in a response."""


TEMPLATES = Records(
    kind=KIND,
    rule='baremetal:deploy_template',
    returns=Template,
    body=TemplateBody,
    new_body=NewTemplate,
    list_action='get',
    before=405,
)


class DeployTemplatesController(RecordsController):
    """Deploy templates: steps for the deploys of instances that require a trait."""

    records = TEMPLATES

    def post(self, context: Context, grant: Grant, /, *, body: Any) -> Response:
        body.description = wsme.types.Unset
        return super().post(context, grant, body=body)
