import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { conversionFailure } from '#apimachinery/patch/conversion-failure.js';
import { jsonPatch } from '#apimachinery/patch/json-patch.js';
import { mergePatch } from '#apimachinery/patch/merge-patch.js';
import { strategicMergePatch } from '#apimachinery/patch/strategic-merge-patch.js';

const scheme = schemeFor(kubernetesDialect);
const pod = scheme.type('core.v1.Pod');

/** Freezes the value, so that a patch that modifies its input throws. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) frozen(part);
    Object.freeze(value);
  }
  return value;
}

t.test('JSON patches have the results and errors of 1.24', async (t) => {
  const rows: [string, unknown, unknown[], unknown][] = [
    ['add a member', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    ['add replaces', { a: 1 }, [{ op: 'add', path: '/a', value: null }], { a: null }],
    ['insert', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    ['append', { a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    ['negative index', { a: [1, 2] }, [{ op: 'remove', path: '/a/-1' }], { a: [1] }],
    ['escapes', { 'a/b': { 'c~d': 1 } }, [{ op: 'replace', path: '/a~1b/c~0d', value: 2 }], { 'a/b': { 'c~d': 2 } }],
    ['remove', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    ['move', { a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
    [
      'copy',
      { a: { b: 1 } },
      [
        { op: 'copy', from: '/a', path: '/c' },
        { op: 'replace', path: '/c/b', value: 2 },
      ],
      { a: { b: 1 }, c: { b: 2 } },
    ],
    ['test', { a: { b: 1, c: [2] } }, [{ op: 'test', path: '/a', value: { c: [2], b: 1 } }], { a: { b: 1, c: [2] } }],
    ['test of nothing', {}, [{ op: 'test', path: '/a', value: null }], {}],
    ['replace what is not there', { a: 1 }, [{ op: 'replace', path: '/b', value: 2 }], { a: 1, b: 2 }],
    ['add without a value', { a: 1 }, [{ op: 'add', path: '/b' }], { a: 1, b: null }],
    ['a path without its slash', { a: 1 }, [{ op: 'add', path: 'x/b', value: 2 }], { a: 1, b: 2 }],
    ['copy nothing', { a: 1 }, [{ op: 'copy', from: '/x', path: '/b' }], { a: 1, b: null }],
    ['an index with zeros', { a: [1, 3] }, [{ op: 'add', path: '/a/+01', value: 2 }], { a: [1, 2, 3] }],
    ['the whole by a scalar', { a: 1 }, [{ op: 'replace', path: '', value: 'x' }], { a: 1 }],
    ['the whole', { a: 1 }, [{ op: 'replace', path: '', value: { b: 1 } }], { b: 1 }],
  ];
  for (const [name, target, patch, want] of rows) t.strictSame(jsonPatch(frozen(target), frozen(patch)), want, name);
  const refusals: [string, unknown, number][] = [
    ['a missing member', [{ op: 'remove', path: '/x' }], 422],
    ['a failed test', [{ op: 'test', path: '/a', value: 2 }], 422],
    ['a path through a scalar', [{ op: 'add', path: '/a/b', value: 2 }], 422],
    ['an index out of bounds', [{ op: 'add', path: '/l/5', value: 2 }], 422],
    ['no index', [{ op: 'add', path: '/l/1x', value: 2 }], 422],
    ['a value into itself', [{ op: 'move', from: '/o', path: '/o/p' }], 422],
    ['what every object has', [{ op: 'add', path: '/constructor/prototype/x', value: 1 }], 422],
    ['an unknown operation', [{ op: 'spam', path: '/a' }], 422],
    ['an operation that is no object', ['spam'], 400],
    ['no path', [{ op: 'remove' }], 422],
    ['no value to test', [{ op: 'test', path: '/a' }], 422],
    ['no value for the whole', [{ op: 'replace', path: '' }], 422],
    ['no step', [{ op: 'add', path: 'a', value: 1 }], 422],
    ['no list', { op: 'add' }, 400],
    ['too much', Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: 1 })), 413],
  ];
  const words: [unknown, string][] = [
    [{ op: 'add', path: '/x/y' }, 'add operation does not apply: doc is missing path: "/x/y": missing value'],
    [{ op: 'add' }, 'add operation failed to decode path: missing value'],
    [
      { op: 'add', path: 5 },
      'add operation failed to decode path: json: cannot unmarshal number into Go value of type string',
    ],
    [
      { op: 'add', path: '/l/5' },
      "error in add for path: '/l/5': Unable to access invalid index: 5: invalid index referenced",
    ],
    [
      { op: 'remove', path: '/x' },
      "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
    ],
    [{ op: 'remove', path: '/l/x' }, `error in remove for path: '/l/x': strconv.Atoi: parsing "x": invalid syntax`],
    [{ op: 'replace', path: '/x/y' }, 'replace operation does not apply: doc is missing path: /x/y: missing value'],
    [{ op: 'replace', path: '/l/0' }, 'replace operation does not apply: doc is missing key: /l/0: missing value'],
    [{ op: 'replace' }, 'replace operation failed to decode path: operation missing path field: missing value'],
    [
      { op: 'move', from: '/x', path: '/y' },
      "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
    ],
    [{ op: 'move', path: '/y' }, 'move operation failed to decode from: operation, missing from field: missing value'],
    [
      { op: 'move', from: '/a', path: '/x/y' },
      'move operation does not apply: doc is missing destination path: /x/y: missing value',
    ],
    [
      { op: 'copy', from: '/x/y', path: '/y' },
      'copy operation does not apply: doc is missing from path: /x/y: missing value',
    ],
    [
      { op: 'copy', from: '/l/0', path: '/y' },
      "error in copy for from: '/l/0': Unable to access invalid index: 0: invalid index referenced",
    ],
    [{ op: 'test', path: '/a', value: 2 }, 'testing value /a failed: test failed'],
    [{ op: 'test', path: '/x/y', value: 2 }, 'test operation does not apply: is missing path: /x/y: missing value'],
    [{ op: 5 }, 'Unexpected kind: unknown'],
  ];
  const target = frozen({ a: 1, l: [], o: {} });
  for (const [operation, cause] of words) {
    try {
      jsonPatch(target, [operation]);
      t.fail(cause);
    } catch (error) {
      t.equal((error as Error).cause, cause);
    }
  }
  for (const [name, patch, code] of refusals) t.throws(() => jsonPatch(target, patch), { code }, name);
  const doubling = Array.from({ length: 40 }, () => ({ op: 'copy', from: '/o', path: '/o/x' }));
  t.throws(
    () => jsonPatch({ o: { y: 'x'.repeat(10_000) } }, doubling),
    { code: 422 },
    'copies cannot multiply the document',
  );
  const deep: unknown = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  t.throws(() => jsonPatch({}, [{ op: 'add', path: '/a', value: deep }]), { code: 400 });
});

t.test('merge patches have the results of 1.24', async (t) => {
  const rows: [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [['a'], ['c'], ['c']],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    // The library of 1.24 removes nulls of objects in lists, unless a list replaces an object.
    [{ a: [1] }, { a: [null, { b: null, c: [{ d: null }] }] }, { a: [null, { c: [{}] }] }],
    [{}, { a: [{ b: null }] }, { a: [{}] }],
    [{ a: {} }, { a: [{ b: null }] }, { a: [{ b: null }] }],
  ];
  for (const [target, patch, want] of rows) t.strictSame(mergePatch(frozen(target), frozen(patch)), want);
  const hostile = mergePatch({}, JSON.parse('{"__proto__":{"polluted":1}}')) as { polluted?: number };
  t.equal(hostile.polluted, undefined);
  t.equal(({} as { polluted?: number }).polluted, undefined);
  t.throws(() => mergePatch({}, JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`)), { code: 400 });
});

t.test('strategic merge patches have the results and errors of 1.24', async (t) => {
  const base = frozen({
    metadata: { labels: { a: '1', b: '2' }, finalizers: ['x', 'y'] },
    spec: {
      containers: [
        { name: 'a', image: 'a:1', env: [{ name: 'E', value: '1' }], args: ['x'] },
        { name: 'b', image: 'b:1' },
      ],
      volumes: [{ name: 'v', emptyDir: {} }],
      tolerations: [{ key: 'k' }],
    },
  });
  const names = (value: unknown) =>
    (value as { spec: { containers: { name: string }[] } }).spec.containers.map((c) => c.name);
  const run = (patch: unknown) => strategicMergePatch(base, patch, pod);
  t.match(run({ spec: { containers: [{ name: 'a', image: 'a:2' }] } }), {
    spec: {
      containers: [
        { name: 'a', image: 'a:2', env: [{ value: '1' }] },
        { name: 'b', image: 'b:1' },
      ],
    },
  });
  t.match(run({ spec: { containers: [{ name: 'a', env: [{ name: 'F', value: '2' }] }] } }), {
    spec: { containers: [{ env: [{ name: 'F' }, { name: 'E' }] }, {}] },
  });
  t.strictSame(
    names(run({ spec: { containers: [{ name: 'c', image: 'c' }] } })),
    ['c', 'a', 'b'],
    'new ones come first',
  );
  t.strictSame(names(run({ spec: { containers: [{ name: 'a', $patch: 'delete' }] } })), ['b']);
  t.strictSame(names(run({ spec: { containers: [{ $patch: 'replace' }, { name: 'z' }] } })), ['z']);
  const twice = [{ $patch: 'replace' }, { name: 'z' }, { name: 'z' }];
  t.strictSame(names(run({ spec: { containers: twice } })), ['z', 'z'], 'a replacement of a list is not merged');
  t.strictSame(names(run({ spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] } })), ['b', 'a']);
  t.strictSame(
    names(
      run({
        spec: {
          '$setElementOrder/containers': [{ name: 'a' }, { name: 'n' }, { name: 'b' }],
          containers: [{ name: 'n', image: 'n' }],
        },
      }),
    ),
    ['a', 'n', 'b'],
  );
  t.match(
    run({ spec: { containers: [{ name: 'a', args: ['y'] }] } }),
    { spec: { containers: [{ args: ['y'] }] } },
    'atomic',
  );
  t.match(
    run({ spec: { tolerations: [{ key: 'z' }] } }),
    { spec: { tolerations: [{ key: 'z' }] } },
    'no key: replaced',
  );
  t.strictSame((run({ metadata: { finalizers: ['z', 'x'] } }) as typeof base).metadata.finalizers, ['z', 'x', 'y']);
  t.strictSame(
    (run({ metadata: { '$deleteFromPrimitiveList/finalizers': ['x'] } }) as typeof base).metadata.finalizers,
    ['y'],
  );
  t.strictSame((run({ metadata: { labels: { a: null, c: '3' } } }) as typeof base).metadata.labels, { b: '2', c: '3' });
  t.strictSame((run({ metadata: { labels: { $patch: 'replace', c: '3' } } }) as typeof base).metadata.labels, {
    c: '3',
  });
  t.strictSame((run({ metadata: { labels: { $patch: 'delete' } } }) as typeof base).metadata.labels, {});
  t.strictSame(
    (
      run({
        spec: { volumes: [{ $retainKeys: ['name', 'secret'], name: 'v', secret: { secretName: 's' } }] },
      }) as typeof base
    ).spec.volumes,
    [{ name: 'v', secret: { secretName: 's' } }],
  );
  t.strictSame(
    strategicMergePatch(
      {},
      {
        spec: {
          containers: [
            { name: 'x', $patch: 'delete' },
            { name: 'y', tty: null },
          ],
        },
      },
      pod,
    ),
    { spec: { containers: [{ name: 'x', $patch: 'delete' }, { name: 'y' }] } },
    'what is new is taken as it is, without nulls',
  );
  t.strictSame(
    strategicMergePatch({ a: [1] }, { a: [2] }, undefined),
    { a: [2] },
    'without a schema lists are replaced',
  );
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`);
  t.throws(() => run(deep), { code: 400 });
  const refusals: [unknown, number][] = [
    [{ spec: { containers: [{ image: 'x' }] } }, 500],
    [{ spec: { containers: ['x'] } }, 500],
    [{ spec: { $patch: 'spam' } }, 500],
    [{ spec: { containers: [{ name: 'a', $patch: 'merge' }] } }, 500],
    [{ spec: { $retainKeys: 'x' } }, 400],
    [{ spec: { $retainKeys: ['a'], nodeName: 'x' } }, 400],
    [{ spec: { '$setElementOrder/containers': {} } }, 500],
    [{ spec: { '$setElementOrder/containers': [{ image: 'b' }] } }, 500],
    [{ spec: { '$setElementOrder/containers': [{ name: 'b' }], containers: [{ name: 'a' }] } }, 500],
    [[], 400],
  ];
  for (const [patch, code] of refusals) t.throws(() => run(patch), { code }, JSON.stringify(patch));
});

t.test('a message with the strategy replace is not merged', async (t) => {
  const selector = { matchLabels: { app: 'a' } };
  const patch = { spec: { selector: { matchExpressions: [] } } };
  const outcome = (version: string) =>
    strategicMergePatch({ spec: { selector } }, patch, scheme.type(`policy.${version}.PodDisruptionBudget`));
  t.strictSame(outcome('v1'), patch);
  t.strictSame(outcome('v1beta1'), { spec: { selector: { ...selector, matchExpressions: [] } } });
});

t.test('invalid base64 in a patch is refused', async (t) => {
  const why = conversionFailure(scheme.type('core.v1.Secret'), { data: { a: 'YQ==', b: 'Bad_Value!' } });
  t.equal(why, 'error decoding from json: illegal base64 data at input byte 3');
});
