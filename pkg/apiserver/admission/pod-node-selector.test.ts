import t from 'tap';
import { namespaces, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { nodeSelectors, PodNodeSelector } from '#apiserver/admission/pod-node-selector.js';
import { outcomeOf } from '#apiserver/admission/testing/requests.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';

const pod = (nodeSelector?: Record<string, string>): Pod => ({
  metadata: { name: 'p', namespace: 'ns' },
  spec: { containers: [], ...(nodeSelector === undefined ? {} : { nodeSelector }) },
});

function setup(dialect: typeof orchDialect, selector?: string, selectors: Record<string, string> = {}) {
  const reader = new MemoryObjectReader();
  const annotations = selector === undefined ? {} : { [dialect.annotations.nodeSelector]: selector };
  reader.put(namespaces, { metadata: { name: 'ns', annotations }, spec: {} });
  return new PodNodeSelector({ dialect, reader, selectors: new Map(Object.entries(selectors)) });
}

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`${dialect.name}: pods get the node selector of their namespace`, async (t) => {
    const cluster = { clusterDefaultNodeSelector: 'a=default' };
    for (const [name, plugin, own, expected] of [
      ['none', setup(dialect), undefined, undefined],
      ['own only', setup(dialect), { a: 'b' }, { a: 'b' }],
      ['the annotation', setup(dialect, 'a=b, c = d'), undefined, { a: 'b', c: 'd' }],
      ['both', setup(dialect, 'a=b'), { c: 'd' }, { a: 'b', c: 'd' }],
      ['an empty value', setup(dialect, 'a='), undefined, { a: '' }],
      ['the default', setup(dialect, undefined, cluster), undefined, { a: 'default' }],
      ['an annotation before the default', setup(dialect, 'b=c', cluster), undefined, { b: 'c' }],
      ['an empty annotation', setup(dialect, '', cluster), undefined, undefined],
    ] as const) {
      const object = pod(own);
      t.equal(await outcomeOf(plugin, pods, { object }), 'admitted', name);
      t.strictSame(object.spec.nodeSelector, expected, name);
    }
  });
}

t.test('pods are refused that contradict their namespace or use other labels', async (t) => {
  const refused = (why: string) => `403 pods "p" is forbidden: ${why}`;
  const conflict = refused('pod node label selector conflicts with its namespace node label selector');
  const unlisted = refused('pod node label selector labels conflict with its namespace whitelist');
  for (const [name, plugin, own, expected] of [
    ['same value', setup(orchDialect, 'a=b'), { a: 'b' }, 'admitted'],
    ['another value', setup(orchDialect, 'a=b'), { a: 'c' }, conflict],
    ['listed', setup(orchDialect, undefined, { ns: 'a=b,c=d' }), { a: 'b' }, 'admitted'],
    ['not listed', setup(orchDialect, undefined, { ns: 'a=b' }), { x: 'y' }, unlisted],
    ['listed with another value', setup(orchDialect, undefined, { ns: 'a=b' }), { a: 'c' }, unlisted],
    ['given but not listed', setup(orchDialect, 'x=y', { ns: 'a=b' }), undefined, unlisted],
    ['an empty list', setup(orchDialect, undefined, { ns: '' }), { x: 'y' }, 'admitted'],
    ['a list of another namespace', setup(orchDialect, undefined, { other: 'a=b' }), { x: 'y' }, 'admitted'],
    ['malformed', setup(orchDialect, 'a'), undefined, '500 invalid selector: [a]'],
    ['malformed', setup(orchDialect, 'a=b=c'), undefined, '500 invalid selector: [a b c]'],
    ['malformed', setup(orchDialect, 'a=b,'), undefined, '500 invalid selector: []'],
  ] as const)
    t.equal(await outcomeOf(plugin, pods, { object: pod(own) }), expected, name);
  t.match(await outcomeOf(setup(orchDialect, '-a=b'), pods, { object: pod() }), '500 <nil>: Invalid value: "-a": name');
  t.match(
    await outcomeOf(setup(orchDialect, 'a=b c'), pods, { object: pod() }),
    '500 [a]: Invalid value: "b c": a valid',
  );
  const lost = new PodNodeSelector({ dialect: orchDialect, reader: new MemoryObjectReader(), selectors: new Map() });
  const missing = '500 Internal error occurred: namespace ns does not exist';
  t.equal(await outcomeOf(lost, pods, { object: pod() }), missing, 'a missing namespace');
  const update = { operation: 'UPDATE', object: pod({ a: 'c' }), oldObject: pod() } as const;
  t.equal(await outcomeOf(setup(orchDialect, 'a=b'), pods, update), 'admitted', 'updates');
});

t.test('a malformed configuration is refused', (t) => {
  const read = (value: unknown) => nodeSelectors({ path: '/f', value });
  const at = '--admission-control-config-file: /f: ';
  t.strictSame([...read({ podNodeSelectorPluginConfig: { ns: 'a=b' } })], [['ns', 'a=b']]);
  t.strictSame([...read({ podNodeSelectorPluginConfig: null })], []);
  t.strictSame([...read({ podNodeSelectorPluginConfig: { ns: null } })], [['ns', '']]);
  for (const [value, message] of [
    ['x', 'must be an object'],
    [{ other: 1 }, 'unknown field "other"'],
    [{ podNodeSelectorPluginConfig: [] }, 'podNodeSelectorPluginConfig: Invalid value: []: must be an object'],
    [{ podNodeSelectorPluginConfig: { ns: 1 } }, 'podNodeSelectorPluginConfig[ns]: Invalid value: 1: must be a string'],
    [{ podNodeSelectorPluginConfig: { ns: 'a' } }, 'podNodeSelectorPluginConfig[ns]: invalid selector: [a]'],
  ] as const)
    t.throws(() => read(value), { message: `${at}${message}` }, message);
  t.end();
});
