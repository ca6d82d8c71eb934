/** Patches (specification 1, 4.1.6): JSON patch, merge patch, and strategic merge patch with all its directives. */
import t from 'tap';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import {
  jsonPatch,
  mergePatch,
  startSpec,
  strategicPatch,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

const path = '/apis/apps/v1/namespaces/patches/deployments';
const labels = { app: 'd' };
const containers = [
  {
    name: 'one',
    image: 'i1',
    env: [
      { name: 'A', value: '1' },
      { name: 'B', value: '2' },
    ],
    ports: [{ containerPort: 80 }],
  },
  { name: 'two', image: 'i2', args: ['x', 'y'] },
];
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', labels, annotations: { a: '1' }, finalizers: ['example.com/a', 'example.com/b'] },
  spec: {
    selector: { matchLabels: labels },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: { metadata: { labels }, spec: { containers, nodeSelector: { disk: 'ssd', zone: 'a' } } },
  },
};

interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value: string }[];
}

t.test('patches', withEtcd, async (t) => {
  const { client } = await startSpec(t);
  const url = `${path}/d`;
  const fresh = async () => {
    await client.patch(url, mergePatch, { metadata: { finalizers: null } });
    await client.delete(url);
    await client.make(path, deployment);
  };
  const inPod = (spec: object) => ({ spec: { template: { spec } } });
  const patched = async (body: unknown, headers = strategicPatch) => {
    const answer = await client.patch(url, headers, body);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.json;
  };
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  const names = ({ spec }: any): string[] => spec.template.spec.containers.map(({ name }: Container) => name);

  await covers(t, ['4.1.6'], 'strategic: elements are merged by their key', async (t) => {
    await fresh();
    const merged = await patched(inPod({ containers: [{ name: 'two', image: 'new' }] }));
    t.match(merged.spec.template.spec.containers, [
      { name: 'one', image: 'i1' },
      { name: 'two', image: 'new', args: ['x', 'y'] },
    ]);
    const added = await patched(inPod({ containers: [{ name: 'three', image: 'i3' }] }));
    t.same(names(added).sort(), ['one', 'three', 'two']);
    const nested = await patched(
      inPod({
        containers: [
          {
            name: 'one',
            env: [
              { name: 'B', value: '3' },
              { name: 'C', value: '4' },
            ],
          },
        ],
      }),
    );
    const one = nested.spec.template.spec.containers.find(({ name }: Container) => name === 'one');
    t.same(
      new Map(one.env.map(({ name, value }: { name: string; value: string }) => [name, value])),
      new Map([
        ['A', '1'],
        ['B', '3'],
        ['C', '4'],
      ]),
    );
    t.equal(
      (await client.patch(url, strategicPatch, inPod({ containers: [{ image: 'x' }] }))).status >= 400,
      true,
      'a key is needed',
    );
  });

  await covers(t, ['4.1.6'], 'strategic: $patch', async (t) => {
    await fresh();
    const deleted = await patched(inPod({ containers: [{ name: 'two', $patch: 'delete' }] }));
    t.same(names(deleted), ['one']);
    const replaced = await patched(inPod({ containers: [{ name: 'only', image: 'x' }, { $patch: 'replace' }] }));
    t.same(names(replaced), ['only']);
    const map = await patched(inPod({ nodeSelector: { $patch: 'replace', disk: 'hdd' } }));
    t.same(map.spec.template.spec.nodeSelector, { disk: 'hdd' });
    const none = await patched(inPod({ nodeSelector: { $patch: 'delete' } }));
    t.equal(none.spec.template.spec.nodeSelector, undefined);
    for (const directive of ['merge', 'odd']) {
      const { json } = await client.patch(url, strategicPatch, { metadata: { annotations: { $patch: directive } } });
      const message = `unknown patch type: ${directive} in map: map[$patch:${directive}]`;
      t.match(json, { status: 'Failure', code: 500, message });
    }
  });

  await covers(t, ['4.1.6'], 'strategic: $retainKeys', async (t) => {
    await fresh();
    const strategy = { $retainKeys: ['type'], type: 'Recreate' };
    t.strictSame((await patched({ spec: { strategy } })).spec.strategy, { type: 'Recreate' });
    const wrong = await client.patch(url, strategicPatch, {
      spec: { strategy: { $retainKeys: [], type: 'Recreate' } },
    });
    t.ok(wrong.status >= 400 && wrong.status < 500, 'set fields must be retained');
  });

  await covers(t, ['4.1.6'], 'strategic: $deleteFromPrimitiveList', async (t) => {
    await fresh();
    const { metadata } = await patched({ metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] } });
    t.same(metadata.finalizers, ['example.com/b']);
    const merged = await patched({ metadata: { finalizers: ['example.com/c'] } });
    t.same(
      [...merged.metadata.finalizers].sort(),
      ['example.com/b', 'example.com/c'],
      'lists of primitives are merged',
    );
  });

  await covers(t, ['4.1.6'], 'strategic: $setElementOrder', async (t) => {
    await fresh();
    const ordered = await patched(
      inPod({
        '$setElementOrder/containers': [{ name: 'two' }, { name: 'new' }, { name: 'one' }],
        containers: [{ name: 'new', image: 'n' }],
      }),
    );
    t.same(names(ordered), ['two', 'new', 'one']);
    const finalizers = await patched({
      metadata: { '$setElementOrder/finalizers': ['example.com/b', 'example.com/a'], finalizers: [] },
    });
    t.same(finalizers.metadata.finalizers, ['example.com/b', 'example.com/a']);
  });

  await covers(t, ['4.1.6'], 'merge: lists are replaced, null removes', async (t) => {
    await fresh();
    const replaced = await patched(
      inPod({ containers: [{ name: 'only', image: 'x' }], nodeSelector: { zone: null } }),
      mergePatch,
    );
    t.same(names(replaced), ['only']);
    t.same(replaced.spec.template.spec.nodeSelector, { disk: 'ssd' });
    const none = await patched({ metadata: { annotations: null } }, mergePatch);
    t.equal(none.metadata.annotations, undefined);
    const same = await patched({}, mergePatch);
    t.equal(same.metadata.resourceVersion, none.metadata.resourceVersion, 'an empty patch changes nothing');
  });

  await covers(t, ['4.1.6'], 'JSON: every operation', async (t) => {
    await fresh();
    const pod = '/spec/template/spec';
    const result = await patched(
      [
        { op: 'test', path: `${pod}/containers/0/name`, value: 'one' },
        { op: 'replace', path: `${pod}/containers/0/image`, value: 'new' },
        { op: 'add', path: `${pod}/containers/-`, value: { name: 'last', image: 'l' } },
        { op: 'add', path: `${pod}/containers/0`, value: { name: 'first', image: 'f' } },
        { op: 'remove', path: `${pod}/containers/2` },
        { op: 'copy', from: '/metadata/annotations/a', path: '/metadata/annotations/example.com~1b' },
        { op: 'move', from: '/metadata/annotations/a', path: '/metadata/annotations/c' },
      ],
      jsonPatch,
    );
    t.same(names(result), ['first', 'one', 'last']);
    t.equal(result.spec.template.spec.containers[1].image, 'new');
    t.same(result.metadata.annotations, { 'example.com/b': '1', c: '1' });
    const rows: [unknown, number][] = [
      [[{ op: 'test', path: '/kind', value: 'Pod' }], 422],
      [[{ op: 'remove', path: '/metadata/annotations/none' }], 422],
      [[{ op: 'replace', path: '/metadata/none/x', value: '1' }], 422],
      [[{ op: 'odd', path: '/kind' }], 422],
      [{ op: 'test', path: '/kind' }, 400],
      ['{', 400],
    ];
    for (const [body, status] of rows) {
      const answer = await client.patch(url, jsonPatch, body);
      t.equal(answer.status, status, `${JSON.stringify(body)}: ${answer.text}`);
    }
    t.equal(
      (await client.get(url)).json.metadata.resourceVersion,
      result.metadata.resourceVersion,
      'a failed patch changes nothing',
    );
  });
});
