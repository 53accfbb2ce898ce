import { html } from '../html.js'; export function Changes() { return html`<h1>Changes</h1>`; }
