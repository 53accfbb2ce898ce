import { html } from '../html.js';
export function Node({ ident }) { return html`<h1>${ident}</h1>`; }
