/** The layers of ARCHITECTURE: imports go down only, types included, and the daemons never import each other. */
import type { Import } from './imports.js';

/** Rooms below `pkg/`, each with those that it may import. */
const below: Readonly<Record<string, readonly string[]>> = {
  apimachinery: [],
  api: ['apimachinery'],
  daemon: ['api', 'apimachinery'],
  client: ['daemon', 'api', 'apimachinery'],
  storage: ['daemon', 'api', 'apimachinery'],
  apiserver: ['storage', 'client', 'daemon', 'api', 'apimachinery'],
  controllers: ['client', 'daemon', 'api', 'apimachinery'],
  scheduler: ['client', 'daemon', 'api', 'apimachinery'],
  nodeagent: ['client', 'daemon', 'api', 'apimachinery'],
};

/** The program that composes the daemons; the others stand alone. */
const composer = 'orch';

/** Imports that go up or sideways. Tests may import what they like. */
export function upwardImports(imports: readonly Import[]): Import[] {
  return imports.filter(({ from, to }) => !from.endsWith('.test.ts') && !mayImport(from, to));
}

function mayImport(from: string, to: string): boolean {
  const [tree, room = ''] = from.split('/');
  const [toTree, toRoom = ''] = to.split('/');
  if (tree === 'pkg') return toTree === 'pkg' && (room === toRoom || below[room]?.includes(toRoom) === true);
  if (tree === 'cmd') return toTree === 'pkg' || (toTree === 'cmd' && (room === toRoom || room === composer));
  return true;
}
