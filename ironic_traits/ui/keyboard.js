// The keys of the page: / goes to the search, j and k go through the rows, ? lists them.
import { html } from './html.js';
import { useEffect, useId, useRef, useState } from './vendor/hooks.js';

const KEYS = [
  ['/', 'go to the search or the first field'],
  ['j', 'go to the next row'],
  ['k', 'go to the row before'],
  ['Enter', 'open the row'],
  ['?', 'show this list'],
];
/** Where the browser remembers that the keys are off. */
const OFF = 'ironic-traits.keys-off';

/** Go to the link of the next row of the first table, or with -1 to that of the row before. */
function goToRow(step) {
  const rows = [...document.querySelectorAll('main tbody tr')].filter((row) => row.querySelector('a'));
  const present = rows.findIndex((row) => row.contains(document.activeElement));
  const next = present < 0 ? 0 : Math.min(Math.max(present + step, 0), rows.length - 1);
  rows[next]?.querySelector('a').focus();
}

function goToSearch() {
  const fields = ['main [role="search"] input', 'main input:not([type="checkbox"])'].map((each) => document.querySelector(each));
  /** @type {HTMLInputElement | null} */ (fields.find(Boolean) ?? null)?.focus();
}

function isOff() {
  try {
    return localStorage.getItem(OFF) !== null;
  } catch {
    return false;
  }
}

/** A button that lists the keys. They work while it is on the page, and nowhere where text is entered. */
export function Keyboard() {
  const [isOpen, setOpen] = useState(false);
  const [off, setOff] = useState(isOff);
  useEffect(() => {
    const press = (event) => {
      if (off || event.ctrlKey || event.altKey || event.metaKey || event.target.closest('input:not([type="checkbox"]), textarea, select, dialog')) return;
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
    try {
      if (off) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, '1');
    } catch {
      // The browser stores nothing: the choice ends with the tab.
    }
  };
  return html`<button type="button" class="small keys" onClick=${() => setOpen(true)} title="Keys" aria-label="Keys">?</button>
    ${isOpen && html`<${List} off=${off} onChange=${change} onClose=${() => setOpen(false)} />`}`;
}

function List({ off, onChange, onClose }) {
  const dialog = useRef(null);
  const id = useId();
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby=${id}>
    <h2 id=${id}>Keys</h2>
    <dl class="fields">${KEYS.map(([key, words]) => html`<dt key=${key}><kbd>${key}</kbd></dt><dd>${words}</dd>`)}</dl>
    <p><label class="check"><input type="checkbox" checked=${!off} onChange=${onChange} /> Use these keys</label></p>
    <div class="buttons"><button type="button" class="primary" onClick=${() => dialog.current.close()}>Close</button></div>
  </dialog>`;
}
