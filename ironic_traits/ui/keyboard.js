// The keys of the page: / goes to the search, j and k go through the rows, ? lists them.
import { html } from './html.js';
import { store, stored } from './stored.js';
import { useEffect, useState } from './vendor/hooks.js';
import { Dialog } from './widgets.js';

const KEYS = [
  ['/', 'go to the search or the first field'],
  ['j', 'go to the next row'],
  ['k', 'go to the row before'],
  ['Enter', 'open the row'],
  ['?', 'show this list'],
];
/** Where the browser remembers that the keys are off. */
const OFF = 'keys-off';

/** What counts as a row: those of tables and charts, tiles, and the entries of lists. */
const ROWS = 'main tbody tr, main [role="row"], main .tile, main :is(.waiting, .entries, .timeline) > li';

/** Go to the link of the next row that is shown, or with -1 to that of the row before. */
function goToRow(step) {
  const linkOf = (/** @type {Element} */ row) => /** @type {HTMLElement | null} */ (row.querySelector(':not(th) > a'));
  // A row of a chart has no box of its own.
  const rows = [...document.querySelectorAll(ROWS)].filter((row) => linkOf(row)?.getClientRects().length);
  const present = rows.findIndex((row) => row.contains(document.activeElement));
  const next = present < 0 ? 0 : Math.min(Math.max(present + step, 0), rows.length - 1);
  if (rows[next]) linkOf(rows[next])?.focus();
}

function goToSearch() {
  const shown = (/** @type {string} */ selector) => [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(selector))].find((field) => field.getClientRects().length);
  (shown('main [role="search"] input') ?? shown('main input:not([type="checkbox"])'))?.focus();
}

/** A button that lists the keys. They work while it is on the page, and nowhere where text is entered. */
export function Keyboard() {
  const [isOpen, setOpen] = useState(false);
  const [off, setOff] = useState(() => stored(OFF) !== null);
  useEffect(() => {
    const press = (event) => {
      if (off || event.ctrlKey || event.altKey || event.metaKey || document.querySelector('.login') || event.target.closest('input:not([type="checkbox"]), textarea, select, dialog')) return;
      const action = { '/': goToSearch, j: () => goToRow(1), k: () => goToRow(-1), '?': () => setOpen(true) }[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [off]);
  const change = () => {
    setOff(!off);
    store(OFF, off ? null : '1');
  };
  return html`<button type="button" class="small keys" onClick=${() => setOpen(true)} title="Keys" aria-label="Keys">?</button>
    ${isOpen && html`<${List} off=${off} onChange=${change} onClose=${() => setOpen(false)} />`}`;
}

function List({ off, onChange, onClose }) {
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <dl class="fields">${KEYS.map(([key, words]) => html`<dt key=${key}><kbd>${key}</kbd></dt><dd>${words}</dd>`)}</dl>
    <p><label class="check"><input type="checkbox" checked=${!off} onChange=${onChange} /> Use these keys</label></p>
  <//>`;
}
