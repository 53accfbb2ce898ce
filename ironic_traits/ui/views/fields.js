// Fields of forms that offer what the service knows.
import { get, request } from '../api.js';
import { useData } from '../data.js';
import { number, plural } from '../format.js';
import { html } from '../html.js';
import { TraitInput } from '../trait_input.js';
import { useState } from '../vendor/hooks.js';
import { Busy } from '../widgets.js';

/** Load the values of a field of nodes if they are needed: {data: [{value, nodes}, …], error, …} of useData. */
export function useValues(name, isNeeded) {
  const path = `/v1/facets?by=${name}&limit=1000`;
  return useData(isNeeded ? path : null, async (signal) => {
    const { facets } = await get(path, { signal });
    return (facets[name] ?? []).filter(({ value }) => value !== null && value !== '').map((each) => ({ ...each, value: String(each.value) }));
  });
}

/** The field for a value of a field of nodes, such as resource_class. It offers those of the nodes. */
export function ValueOfNodes({ name, label, ...attributes }) {
  const [isUsed, setUsed] = useState(false);
  const { data } = useValues(name, isUsed);
  const id = `values-of-${name}`;
  return html`<label>${label} <input name=${name} list=${id} autocomplete="off" ...${attributes} onFocus=${() => setUsed(true)} /></label>
    <datalist id=${id}>${(data ?? []).map(({ value, nodes }) => html`<option value=${value}>${plural(nodes, 'node')}</option>`)}</datalist>`;
}

/** A field for names of flavors of nova. It offers those that are for nodes. */
export function NovaFlavor({ label, ...attributes }) {
  const [isUsed, setUsed] = useState(false);
  const body = { nova_flavors: true };
  const { data, error, loading } = useData(isUsed ? 'flavors' : null, (signal) => request('POST', '/v1/capacity', body, { signal }));
  return html`<label>${label} <input list="nova-flavors" autocomplete="off" ...${attributes} onFocus=${() => setUsed(true)} /></label>
    <datalist id="nova-flavors">${(data?.flavors ?? []).map(({ name, free, matching }) => html`<option value=${name}>${number(free)} of ${plural(matching, 'node')} free</option>`)}</datalist>
    ${isUsed && loading && !data && html`<${Busy}>Reading the flavors of nova …<//>`}
    ${error && html`<p class="note warn" role="status">There is no list of flavors: ${error.message}</p>`}
    ${data && !data.flavors.length && html`<p class="note warn" role="status">nova has no flavor for nodes that you may see.</p>`}`;
}

/** A field for names of traits that may be wrong; error: a FieldError, or none. */
export function TraitField({ name, error, ...attributes }) {
  return html`<${TraitInput} name=${name} ...${attributes} ...${marks(error, name)} />
    <${Wrong} error=${error} field=${name} />`;
}

/** Return the attributes of a field that may be wrong; help: the id of its help. */
export function marks(error, field, help) {
  const isWrong = error?.field === field;
  return { 'aria-invalid': isWrong ? 'true' : undefined, 'aria-describedby': isWrong ? `wrong-${field}` : help };
}

/** What is wrong with a field; error: a FieldError, or none. */
export function Wrong({ error, field }) {
  return error?.field === field && html`<p class="wrong" id=${`wrong-${field}`} role="alert">${error.message}</p>`;
}
