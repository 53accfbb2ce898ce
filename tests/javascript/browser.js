// What the modules of the page need of a browser. Import it before them.
import { options as preact } from '../../ironic_traits/ui/vendor/preact.js';

const events = new EventTarget();

function storage() {
  const entries = new Map();
  return {
    getItem: (key) => entries.get(key) ?? null,
    setItem: (key, value) => entries.set(key, value),
    removeItem: (key) => entries.delete(key),
  };
}

// Effects run in the next turn of the event loop, not after a frame.
preact.requestAnimationFrame = setImmediate;
process.env.TZ = 'Europe/Berlin';
Object.assign(globalThis, {
  addEventListener: events.addEventListener.bind(events),
  removeEventListener: events.removeEventListener.bind(events),
  dispatchEvent: events.dispatchEvent.bind(events),
  sessionStorage: storage(),
  localStorage: storage(),
  location: {
    url: new URL('https://cloud.example/inventory/ui/#/overview'),
    get href() {
      return this.url.href;
    },
    get hash() {
      return this.url.hash;
    },
    set hash(value) {
      this.url.hash = value;
      dispatchEvent(Object.assign(new Event('hashchange'), { newURL: this.href }));
    },
    replace(value) {
      this.hash = value;
    },
  },
});

/** What fetch gets: the last [URL, options]. */
export const sent = [];

/**
 * Have fetch return responses, in this order.
 *
 * @param {(Response | Error)[]} responses an Error is thrown.
 */
export function answer(...responses) {
  sent.length = 0;
  globalThis.fetch = async (url, options) => {
    sent.push([String(url), options]);
    const response = responses.shift();
    if (!(response instanceof Response)) throw response ?? new Error(`no response to ${url}`);
    return response;
  };
}

/** Return a response with a document. */
export function json(document, { status = 200, headers = {} } = {}) {
  return new Response(JSON.stringify(document), { status, headers });
}

/** Return once preact has rendered, has run effects, and has rendered what these have changed. */
export async function rendered() {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
}
