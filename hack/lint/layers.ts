/** The layers of ARCHITECTURE: imports go down only, types included, and the daemons never import each other. */
import type { Import } from './imports.js';
import type { Subpaths } from './unused-exports.js';

/** What clusters are composed of. */
const composed: readonly string[] = [
  ...['apiserver', 'controllers', 'scheduler', 'nodeagent', 'proxy', 'ingress', 'podnetwork', 'dns', 'containerd'],
  ...[
    'storage',
    'etcd-admin',
    'control-loop',
    'client',
    'cloud',
    'observe',
    'http',
    'daemon',
    'pki',
    'api',
    'apimachinery',
  ],
];

/** Rooms below `pkg/`, each with the rooms that it may import. */
export const below: Readonly<Record<string, readonly string[]>> = {
  apimachinery: [],
  api: ['apimachinery'],
  pki: ['apimachinery'],
  observe: ['apimachinery'],
  insight: ['api', 'apimachinery'],
  dashboard: ['insight', 'api', 'apimachinery'],
  quota: ['api', 'apimachinery'],
  daemon: ['pki', 'api', 'apimachinery'],
  http: ['daemon', 'apimachinery'],
  cloud: ['daemon', 'api', 'apimachinery'],
  client: ['http', 'daemon', 'pki', 'api', 'apimachinery'],
  'control-loop': ['client', 'http', 'daemon', 'api', 'apimachinery'],
  storage: ['http', 'daemon', 'api', 'apimachinery'],
  'etcd-admin': ['storage', 'daemon', 'apimachinery'],
  apiserver: ['dashboard', 'insight', 'storage', 'client', 'http', 'daemon', 'quota', 'pki', 'api', 'apimachinery'],
  controllers: ['control-loop', 'client', 'cloud', 'daemon', 'quota', 'pki', 'api', 'apimachinery'],
  scheduler: ['control-loop', 'client', 'http', 'daemon', 'api', 'apimachinery'],
  nodeagent: ['client', 'http', 'cloud', 'daemon', 'pki', 'api', 'apimachinery'],
  proxy: ['client', 'daemon', 'api', 'apimachinery'],
  ingress: ['client', 'daemon', 'pki', 'api', 'apimachinery'],
  podnetwork: ['client', 'daemon', 'api', 'apimachinery'],
  dns: ['client', 'daemon', 'api', 'apimachinery'],
  containerd: ['nodeagent', 'client', 'pki', 'api', 'apimachinery'],
  // Composes the daemons to clusters.
  cluster: composed,
  testcluster: ['cluster', ...composed],
};

/** Folders of which each must be free of cycles: the rooms, and the programs in these folders of `cmd/`. */
export function untangled(programs: readonly string[]): string[] {
  return [...Object.keys(below).map((room) => `pkg/${room}`), ...programs.map((program) => `cmd/${program}`)];
}

/** Faults of `imports` in package.json: each room needs its `#room/*`, for sources and for compiled files. */
export function wrongSubpaths(subpaths: Subpaths): string[] {
  const wrong: string[] = [];
  const expected = [...Object.keys(below).map((room) => [room, `pkg/${room}`]), ['cmd', 'cmd'], ['test', 'test']];
  for (const [name, folder] of expected) {
    const { source, default: compiled } = subpaths[`#${name}/*.js`] ?? {};
    if (source !== `./${folder}/*.ts` || compiled !== `./dist/${folder}/*.js`) wrong.push(`#${name}/*.js`);
  }
  const names = new Set(expected.map(([name]) => `#${name}/*.js`));
  return [...wrong, ...Object.keys(subpaths).filter((name) => !names.has(name))];
}

/** Folders of which other rooms may import only one file. */
const secrets: Readonly<Record<string, string>> = { 'pkg/storage/packing/': 'pkg/storage/packing/packing.ts' };

/** The program that may use code of other programs. */
const composer = 'orch';

/** Imports that go up or sideways. Tests may import what they like. */
export function upwardImports(imports: readonly Import[]): Import[] {
  return imports.filter(({ from, to }) => !from.endsWith('.test.ts') && !mayImport(from, to));
}

function mayImport(from: string, to: string): boolean {
  const [tree, room = ''] = from.split('/');
  const [toTree, toRoom = ''] = to.split('/');
  if ((tree === 'pkg' || tree === 'cmd') && room !== toRoom && isSecret(to)) return false;
  if (tree === 'pkg') return toTree === 'pkg' && (room === toRoom || below[room]?.includes(toRoom) === true);
  if (tree === 'cmd') return toTree === 'pkg' || (toTree === 'cmd' && (room === toRoom || room === composer));
  return true;
}

function isSecret(file: string): boolean {
  return Object.entries(secrets).some(([folder, shown]) => file.startsWith(folder) && file !== shown);
}
