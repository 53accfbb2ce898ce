// The template function of all views. What ${…} puts into a template is text, never markup.
import { h } from './vendor/preact.js';
import htm from './vendor/htm.js';

export const html = htm.bind(h);
