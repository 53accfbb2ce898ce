import { html } from '../html.js'; export function Rules() { return html`<h1>Rules</h1>`; }
