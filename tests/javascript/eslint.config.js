// The rules of the page's JavaScript: those that find mistakes. How code is formatted is not checked.
import js from '@eslint/js';
import hooks from 'eslint-plugin-react-hooks';
import globals from 'globals';

/** What recommended leaves out, and has shown a mistake somewhere. */
const MISTAKES = {
  'array-callback-return': 'error',
  'consistent-return': 'error',
  'default-case-last': 'error',
  'default-param-last': 'error',
  eqeqeq: 'error',
  'guard-for-in': 'error',
  'no-constructor-return': 'error',
  'no-duplicate-imports': 'error',
  'no-implicit-globals': 'error',
  'no-loop-func': 'error',
  'no-param-reassign': 'error',
  'no-return-assign': 'error',
  'no-self-compare': 'error',
  'no-sequences': 'error',
  'no-shadow': 'error',
  'no-template-curly-in-string': 'error',
  'no-throw-literal': 'error',
  'no-unmodified-loop-condition': 'error',
  'no-unreachable-loop': 'error',
  'no-unused-expressions': 'error',
  'no-unused-vars': ['error', { args: 'all', argsIgnorePattern: '^_$', caughtErrors: 'all' }],
  'no-use-before-define': ['error', { functions: false, variables: false }],
  'no-useless-assignment': 'error',
  'no-var': 'error',
  'prefer-const': 'error',
  'prefer-promise-reject-errors': 'error',
};

/** What tests/javascript/browser.js makes. */
const PAGE = Object.fromEntries(
  ['addEventListener', 'dispatchEvent', 'location', 'removeEventListener', 'sessionStorage'].map((name) => [name, 'readonly']),
);

export default [
  { ignores: ['**/vendor/', '**/build/'] },
  js.configs.recommended,
  { linterOptions: { reportUnusedDisableDirectives: 'error' }, rules: MISTAKES },
  {
    files: ['ironic_traits/ui/**/*.js'],
    languageOptions: { globals: globals.browser },
    // Preact has the rules of React: a hook is called in each render, and only by components and other hooks.
    plugins: { hooks },
    rules: { 'hooks/rules-of-hooks': 'error' },
  },
  { files: ['tests/javascript/**/*.js'], languageOptions: { globals: { ...globals.node, ...globals['shared-node-browser'], ...PAGE } } },
];
