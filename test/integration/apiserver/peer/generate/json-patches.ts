/** Valid and invalid JSON patches, by their special property. */

const place = '/metadata/labels/patched';

export const jsonPatches: Readonly<Record<string, unknown>> = {
  'a label': [
    { op: 'add', path: '/metadata/labels', value: {} },
    { op: 'add', path: place, value: 'yes' },
  ],
  'a passing test': [{ op: 'test', path: '/metadata/namespace', value: null }],
  'a failing test': [{ op: 'test', path: '/metadata/name', value: 'other' }],
  'what is not there away': [{ op: 'remove', path: '/odd' }],
  'what is not there to another': [{ op: 'replace', path: '/odd', value: 1 }],
  'below what is not there': [{ op: 'add', path: '/odd/a', value: 1 }],
  'a copy': [{ op: 'copy', from: '/metadata/name', path: '/metadata/annotations' }],
  'a move': [{ op: 'move', from: '/metadata/labels', path: '/metadata/annotations' }],
  'an unknown operation': [{ op: 'odd', path: '/a' }],
  'without an operation': [{ path: '/a' }],
  'without a path': [{ op: 'add', value: 1 }],
  'without a value': [{ op: 'add', path: '/metadata/labels' }],
  'without a slash': [{ op: 'add', path: 'metadata/labels', value: { a: 'b' } }],
  'the whole': [{ op: 'replace', path: '', value: {} }],
  nothing: [],
  'an object': { op: 'add' },
  null: 'null',
  'half a patch': '[{"op":',
  'an empty body': '',
  'a finalizer at the end': [
    { op: 'add', path: '/metadata/finalizers', value: [] },
    { op: 'add', path: '/metadata/finalizers/-', value: 'example.com/a' },
    { op: 'add', path: '/metadata/finalizers/0', value: 'example.com/b' },
  ],
  'a finalizer behind the end': [
    { op: 'add', path: '/metadata/finalizers', value: [] },
    { op: 'add', path: '/metadata/finalizers/5', value: 'example.com/a' },
  ],
  'the version': [{ op: 'replace', path: '/metadata/resourceVersion', value: '1' }],
  'the name': [{ op: 'replace', path: '/metadata/name', value: 'other' }],
};
