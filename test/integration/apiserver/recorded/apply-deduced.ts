/** Server-side apply without a schema. */
import { applied, type Case, defined, definition, merged } from '#test/integration/apiserver/recorded/step.js';

const group = 'deduced.example.com';
const objects = `/apis/${group}/v1/namespaces/default/loose`;
const open = { 'x-kubernetes-preserve-unknown-fields': true };

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      ...open,
      properties: { named: { type: 'object', properties: { x: { type: 'string' } } } },
    },
    any: open,
    map: { type: 'object', additionalProperties: open },
    list: { type: 'array', items: { type: 'object', ...open } },
    keyed: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: { type: 'object', ...open, required: ['k'], properties: { k: { type: 'string' } } },
    },
    whole: { type: 'object', ...open, 'x-kubernetes-map-type': 'atomic' },
    inner: { type: 'object', ...open, 'x-kubernetes-embedded-resource': true },
    port: { 'x-kubernetes-int-or-string': true },
  },
};

function loose(name: string, members: object): object {
  return { apiVersion: `${group}/v1`, kind: 'Loose', metadata: { name }, ...members };
}

const apply = (name: string, manager: string, members: object, force = false) =>
  applied(`${objects}/${name}`, manager, loose(name, members), force);

const inner = { apiVersion: 'v1', kind: 'Inner', metadata: { name: 'inner', labels: { a: 'b' } } };

export const applyDeduced: Case = {
  name: 'apply-deduced',
  steps: [
    ...defined(group, 'loose', definition(group, 'loose', 'Loose', [{ schema }])),
    apply('a', 'm1', {
      spec: { a: 1, b: { x: { y: 1 }, e: {}, n: null, l: [1, 2] }, named: { x: 's' } },
      any: { q: { z: 1 } },
      map: { one: { t: 1 } },
    }),
    apply('a', 'm2', { spec: { c: 3 } }, true),
    apply('a', 'm2', { spec: { b: { x: { w: 1 } }, c: 3 }, any: { q: { y: 2 } }, map: { one: { s: 1 } } }),
    apply('a', 'm2', { spec: { b: { x: { y: 2 } }, a: 2 } }),
    apply('a', 'm2', { spec: { b: { x: 'scalar' } } }),
    apply('a', 'm2', { spec: { b: { x: 'scalar' } } }, true),
    apply('a', 'm3', { spec: { b: { x: { y: { z: 1 } } } } }, true),
    apply('a', 'm3', { spec: { b: null } }, true),
    apply('a', 'm3', { spec: { b: { x: { y: { z: 1 } } } } }, true),
    apply('a', 'm3', { spec: { b: [1, 2] } }, true),
    apply('a', 'm4', { spec: { b: [1, 2, 3] } }, true),
    apply('a', 'm4', { spec: { b: {} } }, true),
    apply('a', 'm5', { spec: { b: { f: 1 } } }, true),
    apply('a', 'm5', { spec: { b: null } }, true),
    apply('a', 'm1', { spec: {} }, true),
    merged(`${objects}/a`, 'u1', { spec: { b: { g: { h: 1 } }, z: { y: { x: 1 } } } }),
    merged(`${objects}/a`, 'u2', { spec: { b: { g: 1 }, z: { y: { x: 2 } } } }),
    merged(`${objects}/a`, 'u3', { spec: { b: [1], z: { y: { x: null } } } }),
    apply('b', 'm1', {
      list: [{ a: 1 }],
      keyed: [{ k: 'x', f: { g: 1 } }],
      whole: { a: { b: 1 } },
      inner: { ...inner, spec: { r: 1 } },
      port: 5,
    }),
    apply('b', 'm2', {
      list: [{ a: 1 }, { b: 2 }],
      keyed: [{ k: 'x', f: { h: 1 } }],
      whole: { c: 1 },
      inner: { ...inner, metadata: { labels: { c: 'd' } }, spec: { t: 1 } },
      port: 'x',
    }),
    apply(
      'b',
      'm2',
      {
        list: [{ a: 1 }, { b: 2 }],
        keyed: [{ k: 'x', f: { h: 1 } }],
        whole: { c: 1 },
        inner: { ...inner, metadata: { labels: { c: 'd' } }, spec: { t: 1 } },
        port: 'x',
      },
      true,
    ),
    apply('b', 'm1', { keyed: [{ k: 'x' }] }),
    apply('c', 'm1', { any: 5 }),
    apply('c', 'm2', { any: null }, true),
    apply('c', 'm2', { any: { a: { b: {} } } }, true),
    apply('c', 'm2', { any: { a: { b: { c: [{ d: 1 }] } } } }),
    apply('c', 'm2', { any: { a: {} } }),
  ],
};
