/** Subresources with their own form: scale, eviction, binding, token, approval, connections. */
import type { Case, Step } from '#test/integration/apiserver/peer/case.js';
import { jsonText } from '#test/integration/apiserver/peer/generate/big-numbers.js';
import {
  type JsonObject,
  jsonType,
  type KindUnderTest,
  patchTypes,
} from '#test/integration/apiserver/peer/generate/kind.js';

type Bodies = Readonly<Record<string, unknown>>;

/** By name of the subresource. */
export function subresourceCases(kind: KindUnderTest): Case[] {
  return (kind.info.declaration.subresources ?? []).flatMap(({ name }) => [
    ...plainCases(kind, name),
    ...postCases(kind, name, posted(kind)[name] ?? {}),
    ...(name === 'scale' ? scaleCases(kind) : []),
    ...(putForms[name] === undefined ? [] : putCases(kind, name, putForms[name])),
  ]);
}

/** Each method without a body, on an existing and on a missing object. */
function plainCases(kind: KindUnderTest, part: string): Case[] {
  const methods = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'];
  return methods.flatMap((method) => {
    const step = (path: string): Step => ({
      method,
      path,
      ...(method === 'GET' || method === 'DELETE'
        ? {}
        : { contentType: method === 'PATCH' ? patchTypes.merge : jsonType, body: '{}' }),
    });
    return [
      kind.case(`${method} ${part} of what is there`, (name) => {
        // The smallest sample, since a node without an address is not contacted.
        const object = kind.object(name, 0);
        return [kind.post(object), step(kind.pathOf(object, `/${part}`))];
      }),
      kind.case(`${method} ${part} of what is not there`, (name) => [step(`${kind.collection()}/${name}/${part}`)]),
    ];
  });
}

function postCases(kind: KindUnderTest, part: string, bodies: Bodies): Case[] {
  return Object.entries(bodies).map(([id, body]) =>
    kind.case(`post ${part} ${id}`, (name) => {
      const object = kind.object(name, 0);
      const text = jsonText(body).replaceAll('{name}', name);
      const path = kind.pathOf(object, `/${part}`);
      return [
        kind.post(object),
        { method: 'POST', path, contentType: jsonType, body: text },
        { method: 'POST', path, contentType: jsonType, body: text },
        { method: 'GET', path: kind.pathOf(object) },
      ];
    }),
  );
}

function posted({ dialect }: KindUnderTest): Readonly<Record<string, Bodies>> {
  const policy = (version: string) => ({ apiVersion: dialect.apiVersion('policy', version), kind: 'Eviction' });
  const request = { apiVersion: dialect.apiVersion('authentication', 'v1'), kind: 'TokenRequest' };
  const binding = { apiVersion: 'v1', kind: 'Binding' };
  const metadata = { name: '{name}' };
  return {
    eviction: {
      plain: { ...policy('v1'), metadata },
      'of v1beta1': { ...policy('v1beta1'), metadata },
      'of another name': { ...policy('v1'), metadata: { name: 'other' } },
      'without a name': { ...policy('v1'), metadata: {} },
      'as a dry run': { ...policy('v1'), metadata, deleteOptions: { dryRun: ['All'] } },
      'of another version of the pod': { ...policy('v1'), metadata, deleteOptions: { preconditions: { uid: 'x' } } },
      'at once': { ...policy('v1'), metadata, deleteOptions: { gracePeriodSeconds: 0 } },
      'of another kind': { ...binding, metadata },
      'with odd options': { ...policy('v1'), metadata, deleteOptions: { propagationPolicy: 'Odd' } },
    },
    binding: {
      plain: { ...binding, metadata, target: { kind: 'Node', name: 'n1' } },
      'without a kind': { ...binding, metadata, target: { name: 'n1' } },
      'of another kind': { ...binding, metadata, target: { kind: 'Pod', name: 'n1' } },
      'without a name': { ...binding, metadata, target: { kind: 'Node' } },
      'without a target': { ...binding, metadata },
      'with a bad name': { ...binding, metadata, target: { kind: 'Node', name: 'Bad_Name' } },
      'of another name': { ...binding, metadata: { name: 'other' }, target: { kind: 'Node', name: 'n1' } },
      'with another uid': { ...binding, metadata: { ...metadata, uid: 'x' }, target: { kind: 'Node', name: 'n1' } },
      'with annotations': {
        ...binding,
        metadata: { ...metadata, annotations: { a: 'b' }, labels: { c: 'd' } },
        target: { name: 'n1' },
      },
    },
    token: {
      plain: { ...request, spec: { audiences: ['a'], expirationSeconds: 3600 } },
      'without audiences': { ...request, spec: {} },
      'for too short': { ...request, spec: { expirationSeconds: 1 } },
      'for a negative time': { ...request, spec: { expirationSeconds: -1 } },
      'for too long': { ...request, spec: { expirationSeconds: 2 ** 33 } },
      'for long': { ...request, spec: { expirationSeconds: 2 ** 30 } },
      'bound to a pod': { ...request, spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'a' } } },
      'bound to a secret': { ...request, spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 'a' } } },
      'bound to another kind': { ...request, spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Odd', name: 'a' } } },
      'of another name': { ...request, metadata: { name: 'other' }, spec: {} },
      'of another namespace': { ...request, metadata: { namespace: 'other' }, spec: {} },
    },
  };
}

function scaleCases(kind: KindUnderTest): Case[] {
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale' };
  const write = (id: string, make: (metadata: JsonObject) => unknown) =>
    kind.case(`put scale ${id}`, (name) => {
      const object = kind.object(name, 1);
      const path = kind.pathOf(object, '/scale');
      const metadata = { name, namespace: object.metadata['namespace'] };
      return [kind.post(object), kind.put(path, make(metadata)), { method: 'GET', path: kind.pathOf(object) }];
    });
  const patch = (id: string, type: 'merge' | 'strategic' | 'json' | 'apply', body: unknown) =>
    kind.case(`patch scale ${id}`, (name) => {
      const object = kind.object(name, 1);
      const query = type === 'apply' ? '?fieldManager=two' : '';
      return [
        kind.post(object),
        kind.patch(kind.pathOf(object, `/scale${query}`), type, body),
        { method: 'GET', path: kind.pathOf(object) },
      ];
    });
  return [
    write('up', (metadata) => ({ ...scale, metadata, spec: { replicas: 7 } })),
    write('to none', (metadata) => ({ ...scale, metadata, spec: { replicas: 0 } })),
    write('without a number', (metadata) => ({ ...scale, metadata, spec: {} })),
    write('without a spec', (metadata) => ({ ...scale, metadata })),
    write('below none', (metadata) => ({ ...scale, metadata, spec: { replicas: -1 } })),
    write('too far', (metadata) => ({ ...scale, metadata, spec: { replicas: 2 ** 31 } })),
    write('with a text', (metadata) => ({ ...scale, metadata, spec: { replicas: 'x' } })),
    write('with its version', (metadata) => ({
      ...scale,
      metadata: { ...metadata, resourceVersion: '$rv' },
      spec: { replicas: 2 },
    })),
    write('with an old version', (metadata) => ({
      ...scale,
      metadata: { ...metadata, resourceVersion: '1' },
      spec: { replicas: 2 },
    })),
    write('with another uid', (metadata) => ({ ...scale, metadata: { ...metadata, uid: 'x' }, spec: { replicas: 2 } })),
    write('of another name', (metadata) => ({
      ...scale,
      metadata: { ...metadata, name: 'other' },
      spec: { replicas: 2 },
    })),
    write('of another kind', (metadata) => ({ ...scale, kind: 'Odd', metadata, spec: { replicas: 2 } })),
    write('of an older version', (metadata) => ({
      ...scale,
      apiVersion: 'extensions/v1beta1',
      metadata,
      spec: { replicas: 2 },
    })),
    patch('merge', 'merge', { spec: { replicas: 5 } }),
    patch('strategic', 'strategic', { spec: { replicas: 5 } }),
    patch('json', 'json', [{ op: 'replace', path: '/spec/replicas', value: 5 }]),
    patch('apply', 'apply', { ...scale, spec: { replicas: 5 } }),
    patch('below none', 'merge', { spec: { replicas: -1 } }),
  ];
}

const conditions = (type: string, status: string) => ({
  status: { conditions: [{ type, status, reason: 'Tests', message: 'a message' }] },
});

/** By subresource: members added to its form. */
const putForms: Readonly<Record<string, Readonly<Record<string, JsonObject>>>> = {
  approval: {
    approved: conditions('Approved', 'True'),
    denied: conditions('Denied', 'True'),
    'approved not': conditions('Approved', 'False'),
    odd: conditions('Odd', 'True'),
    failed: conditions('Failed', 'True'),
    'without a type': conditions('', 'True'),
    'with a certificate': { status: { certificate: 'YQ==' } },
  },
  status: {
    empty: { status: {} },
    null: { status: null },
    'of a wrong type': { status: 'x' },
    'with a spec': { status: {}, spec: {} },
    'with conditions': conditions('Ready', 'True'),
  },
  finalize: {
    'without any': { spec: { finalizers: [] } },
    'with another': { spec: { finalizers: ['example.com/a'] } },
    'with a bad one': { spec: { finalizers: ['a b'] } },
  },
  ephemeralcontainers: {
    one: { spec: { ephemeralContainers: [{ name: 'debug', image: 'example/debug:1.0' }] } },
    'of a taken name': { spec: { ephemeralContainers: [{ name: 'main', image: 'example/debug:1.0' }] } },
    'without an image': { spec: { ephemeralContainers: [{ name: 'debug' }] } },
    'with ports': { spec: { ephemeralContainers: [{ name: 'debug', image: 'a', ports: [{ containerPort: 1 }] }] } },
    'with resources': {
      spec: { ephemeralContainers: [{ name: 'debug', image: 'a', resources: { limits: { cpu: '1' } } }] },
    },
    'with a target': { spec: { ephemeralContainers: [{ name: 'debug', image: 'a', targetContainerName: 'main' }] } },
    'with an unknown target': {
      spec: { ephemeralContainers: [{ name: 'debug', image: 'a', targetContainerName: 'x' }] },
    },
    twice: {
      spec: {
        ephemeralContainers: [
          { name: 'debug', image: 'a' },
          { name: 'debug', image: 'a' },
        ],
      },
    },
  },
};

function putCases(kind: KindUnderTest, part: string, forms: Readonly<Record<string, JsonObject>>): Case[] {
  return Object.entries(forms).flatMap(([id, form]) => {
    const combined = (object: JsonObject) => {
      const spec = object['spec'];
      const both =
        part === 'status' || spec === undefined
          ? {}
          : { spec: { ...(spec as JsonObject), ...(form['spec'] as JsonObject | undefined) } };
      return { ...object, ...form, ...both };
    };
    return [
      kind.case(`put ${part} ${id}`, (name) => {
        const object = kind.object(name, 1);
        const changed = { ...combined(object), metadata: { ...object.metadata, resourceVersion: '$rv' } };
        const read: Step = { method: 'GET', path: kind.pathOf(object) };
        return [kind.post(object), kind.put(kind.pathOf(object, `/${part}`), changed), read];
      }),
      kind.case(`patch ${part} ${id}`, (name) => {
        const object = kind.object(name, 1);
        return [kind.post(object), kind.patch(kind.pathOf(object, `/${part}`), 'merge', form)];
      }),
    ];
  });
}
