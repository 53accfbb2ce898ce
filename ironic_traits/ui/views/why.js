import { html } from '../html.js'; export function Why() { return html`<h1>Why</h1>`; }
