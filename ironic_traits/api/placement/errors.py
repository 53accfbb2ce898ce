"""The body of a failure in the Placement format: what webob makes of it, which is what the real service sends."""

import webob
import webob.exc

from ironic_traits import failures
from ironic_traits.api.expose import CONTEXT

#: The minor version that brought error codes.
CODES_SINCE = 23


def failure(error, environ):
    """Give the body of a failure.

    :param error: ironic_traits.failures.Failure.
    :param environ: the request's.
    :returns: (bytes, their content type): JSON, unless the client accepts none.
    """
    context = environ[CONTEXT]

    def document(body, status, title, environ):
        told = {'status': error.status, 'title': title, 'detail': webob.exc.strip_tags(body)}
        if context.minor >= CODES_SINCE:
            told['code'] = error.code if error.code.startswith('placement.') else 'placement.undefined_code'
        return {'errors': [told | {'request_id': context.request_id} | error.beside]}

    sentence = str(error)
    if isinstance(error, failures.Forbidden):
        sentence = f'Policy does not allow {error.facts["rule"]} to be performed.'
    raised = webob.exc.status_map[error.status](sentence, json_formatter=document)
    accept = environ.get('HTTP_ACCEPT', '*/*')
    environ = environ | {
        'HTTP_ACCEPT': 'application/json' if accept == '*/*' else accept,
        # webob writes it into the sentence of a 415.
        'CONTENT_TYPE': environ.get('CONTENT_TYPE') or 'None',
    }
    response = webob.Request(environ).get_response(raised)
    return response.body, response.content_type
