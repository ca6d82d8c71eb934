/** Layers of ARCHITECTURE: imports go down only, the daemons never import each other, no cycles. */
const layers = [
  ['apimachinery', []],
  ['api', ['apimachinery']],
  ['daemon', ['api', 'apimachinery']],
  ['client', ['daemon', 'api', 'apimachinery']],
  ['storage', ['daemon', 'api', 'apimachinery']],
  ['apiserver', ['storage', 'client', 'daemon', 'api', 'apimachinery']],
  ['controllers', ['client', 'daemon', 'api', 'apimachinery']],
  ['scheduler', ['client', 'daemon', 'api', 'apimachinery']],
  ['nodeagent', ['client', 'daemon', 'api', 'apimachinery']],
];

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...layers.map(([layer, below]) => ({
      name: `${layer}-imports-downwards`,
      severity: 'error',
      comment: `pkg/${layer} may import only: ${[layer, ...below].join(', ')}`,
      from: { path: `^(dist/)?pkg/${layer}/`, pathNot: '\\.test\\.(ts|js)$' },
      to: {
        path: '^(dist/)?(pkg|cmd|test|hack)/',
        pathNot: `^(dist/)?pkg/(${[layer, ...below].join('|')})/`,
      },
    })),
    {
      name: 'programs-do-not-import-each-other',
      severity: 'error',
      comment: 'cmd/orch composes the daemons; the other programs stand alone',
      from: { path: '^(dist/)?cmd/([^/]+)/', pathNot: '^(dist/)?cmd/orch/' },
      to: { path: '^(dist/)?cmd/', pathNot: '^(dist/)?cmd/$2/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    exclude: { path: '\\.gen\\.' },
  },
};
