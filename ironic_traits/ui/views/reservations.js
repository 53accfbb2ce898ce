import { html } from '../html.js'; export function Reservations() { return html`<h1>Reservations</h1>`; }
