// Saved views: names of places of the page, which the browser remembers.
import { html } from './html.js';
import { all, link, place as parsed, placeWithoutPage } from './router.js';
import { COLUMNS, SIZE, store, stored } from './stored.js';
import { useState } from './vendor/hooks.js';
import { CopyButton, Dialog } from './widgets.js';

const STORED = 'views';
/** What the list of nodes takes from the browser if its place does not say it: {parameter: name in the store}. */
const REMEMBERED = { columns: COLUMNS, limit: SIZE };

/**
 * Return the saved views: [{name, place}, …], sorted by name.
 *
 * @returns {{name: string, place: string}[]}
 */
export function savedViews() {
  try {
    const views = JSON.parse(stored(STORED) ?? '[]');
    return views.filter(({ name, place }) => typeof name === 'string' && place.startsWith('#/'));
  } catch {
    // Another program wrote it.
    return [];
  }
}

/** Save a place under a name, in the place of a view that has the name. A place that is null removes it. */
export function saveView(name, place) {
  const others = savedViews().filter((view) => view.name !== name);
  const views = place === null ? others : [...others, { name, place }];
  store(STORED, JSON.stringify(views.sort((one, other) => one.name.localeCompare(other.name))));
}

/** Return the present place, with what the browser remembers for it. */
export function presentPlace() {
  const { path, parameters } = parsed({ hash: placeWithoutPage() });
  const remembered = path.join('/') === 'nodes' ? Object.entries(REMEMBERED).map(([name, key]) => [name, stored(key)]) : [];
  return link(path, { ...Object.fromEntries(remembered), ...all(parameters) });
}

/** A button that lists the saved views, and saves the present one. */
export function SavedViews() {
  const [isOpen, setOpen] = useState(false);
  return html`<button type="button" class="small" onClick=${() => setOpen(true)}>Saved</button>
    ${isOpen && html`<${List} onClose=${() => setOpen(false)} />`}`;
}

function List({ onClose }) {
  const [views, setViews] = useState(savedViews);
  const change = (name, place) => {
    saveView(name, place);
    setViews(savedViews());
  };
  const submit = (event) => {
    event.preventDefault();
    const name = String(new FormData(event.target).get('name')).trim();
    if (!name) return;
    change(name, presentPlace());
    event.target.reset();
  };
  return html`<${Dialog} title="Saved views" onClose=${onClose}>
    ${!views.length && html`<p class="muted">There is none yet. A view keeps its filters, columns, rows and order.</p>`}
    <ul class="saved">${views.map(
      ({ name, place }) => html`<li key=${name}>
        <a href=${place} onClick=${onClose}>${name}</a>
        <${CopyButton} text=${new URL(place, location.href).href} label=${`Copy the link of ${name}`}>Copy link<//>
        <button type="button" class="small" aria-label=${`Remove ${name}`} onClick=${() => change(name, null)}>Remove</button>
      </li>`,
    )}</ul>
    <form class="row" onSubmit=${submit}>
      <label>Save this view as <input name="name" required maxlength="100" placeholder="Free nodes with a GPU" /></label>
      <button type="submit">Save</button>
    </form>
  <//>`;
}
