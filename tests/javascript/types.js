// Check the types of the page with tsc: node types.js
//
// tsc would read the libraries in ironic_traits/ui/vendor, which are minified, and takes a declaration of types only from
// the same folder. So it reads the page through links, in build/ui, with declarations in place of these libraries.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const HERE = import.meta.dirname;
const PAGE = join(HERE, '../../ironic_traits/ui');
const LINKS = join(HERE, 'build/ui');
const LIBRARIES = {
  'preact.d.ts': "export * from 'preact';",
  // A state or a reference that begins as null, or as an empty list, may become anything.
  'hooks.d.ts': `
    import { useState as state } from 'preact/hooks';
    export * from 'preact/hooks';
    export const useRef: { (initial: null): { current: any }; <T>(initial: T): { current: T } };
    export const useState: { (initial: null | never[]): [any, (next: any) => void] } & typeof state;`,
  'htm.d.ts': "import htm from 'htm';\nexport default htm;",
};

rmSync(LINKS, { recursive: true, force: true });
mkdirSync(join(LINKS, 'vendor'), { recursive: true });
for (const name of readdirSync(PAGE).filter((each) => each.endsWith('.js') || each === 'views')) {
  symlinkSync(relative(LINKS, join(PAGE, name)), join(LINKS, name));
}
for (const [name, text] of Object.entries(LIBRARIES)) writeFileSync(join(LINKS, 'vendor', name), `${text}\n`);

const results = ['tsconfig.json', 'tsconfig.views.json'].map((project) => spawnSync('tsc', ['--project', project], { cwd: HERE, stdio: 'inherit' }));
process.exitCode = results.every(({ status }) => status === 0) ? 0 : 1;
