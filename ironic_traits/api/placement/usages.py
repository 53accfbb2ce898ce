"""/placement/resource_providers/{uuid}/usages"""

from ironic_traits.api.placement.expose import Answer, expose, now
from ironic_traits.api.resource import Resource
from ironic_traits.placement import usages


class ProviderUsagesController(Resource):
    """What is used of a provider."""

    @expose('placement:resource_providers:usages')
    def get_all(self, context, uuid, /):
        provider, used = usages.of_provider(context, uuid)
        return Answer({'resource_provider_generation': provider.generation, 'usages': used}, now())
