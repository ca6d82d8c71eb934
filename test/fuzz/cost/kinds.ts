/** Large objects of kinds with unique constructs, also in Protobuf and in older versions. */
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import type { CostRequest } from '#test/fuzz/cost/meter.js';

const counted = <T>(size: number, part: (i: number) => T): T[] => Array.from({ length: size }, (_, i) => part(i));
const map = (size: number, prefix: string, value = 'v') =>
  Object.fromEntries(counted(size, (i) => [`${prefix}${i}`, value]));

/** Maximum entries of a map, of all maps and strings together, and bytes of a query. */
const entries = 64_000;
const mapEntries = 99_000;
const texts = 149_000;
const queryBytes = 60_000;
const container = { name: 'c', image: 'i' };
const metadata = { name: 'a' };

export function largestOfKinds(dialect: Dialect): Readonly<Record<string, CostRequest>> {
  const scheme = schemeFor(dialect);
  const codec = new ObjectCodec(scheme);
  const namespace = 'namespaces/default/';
  const core = `/api/v1/${namespace}`;
  const dryRun = '?dryRun=All';
  const group = (key: GroupKey, version: string) => `/apis/${dialect.apiVersion(key, version)}/`;
  const post = (path: string, object: object): CostRequest => ({
    method: 'POST',
    url: `${path}${dryRun}`,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(object)),
  });
  const protobuf = (resource: string, kind: string, object: object): CostRequest => {
    const expected = scheme.kind('v1', kind);
    if (expected === undefined) throw new Error(`no kind ${kind}`);
    const text = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind, ...object }));
    return {
      method: 'POST',
      url: `${core}${resource}${dryRun}`,
      headers: { 'content-type': dialect.protobufMediaType },
      body: codec.encode(codec.decode(text, { encoding: 'json', expected }).object, expected, 'protobuf'),
    };
  };
  const pod = (spec: object) => ({ metadata, spec: { containers: [container], ...spec } });
  const get = (url: string): CostRequest => ({ method: 'GET', url });
  const networkPolicy = (spec: object) =>
    post(`${group('networking', 'v1')}${namespace}networkpolicies`, { metadata, spec: { podSelector: {}, ...spec } });
  const definition = (schema: object) =>
    post(`${group('apiextensions', 'v1')}customresourcedefinitions`, {
      metadata: { name: 'as.b.c' },
      spec: {
        group: 'b.c',
        scope: 'Namespaced',
        names: { plural: 'as', kind: 'A' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    });
  const properties = (size: number, schema: object) =>
    definition({ type: 'object', properties: Object.fromEntries(counted(size, (i) => [`k${i}`, schema])) });
  const volumes = counted(49_000, (i) => ({ name: `v${i}`, emptyDir: {} }));
  const manyMaps = (size: number) => ({
    metadata: { ...metadata, labels: map(size, 'k'), annotations: map(size, 'l') },
    data: map(size, 'm'),
    binaryData: map(size, 'n', ''),
  });
  const selector = counted(queryBytes, (i) => `k${i}!=v`)
    .join()
    .slice(0, queryBytes);
  return {
    'several maps': post(`${core}configmaps`, manyMaps(mapEntries / 4)),
    'short strings': post(`${core}pods`, pod({ containers: [{ ...container, args: counted(texts, (i) => `a${i}`) }] })),
    volumes: post(`${core}pods`, pod({ volumes })),
    'the same volume': post(`${core}pods`, pod({ volumes: counted(49_000, () => ({ name: 'v', emptyDir: {} })) })),
    'mounts of volumes': post(
      `${core}pods`,
      pod({
        containers: [{ ...container, volumeMounts: counted(20_000, (i) => ({ name: `v${i}`, mountPath: `/m${i}` })) }],
        volumes: volumes.slice(0, 20_000),
      }),
    ),
    'constraints of spreading': post(
      `${core}pods`,
      pod({
        topologySpreadConstraints: counted(20_000, (i) => ({
          maxSkew: 1,
          topologyKey: `k${i}`,
          whenUnsatisfiable: 'DoNotSchedule',
        })),
      }),
    ),
    'different owners': post(`${core}configmaps`, {
      metadata: {
        ...metadata,
        ownerReferences: counted(25_000, (i) => ({ apiVersion: 'v1', kind: 'Pod', name: `p${i}`, uid: `u${i}` })),
      },
    }),
    'managers that the client sends': post(`${core}configmaps`, {
      metadata: {
        ...metadata,
        managedFields: [
          {
            manager: 'm',
            operation: 'Update',
            apiVersion: 'v1',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': Object.fromEntries(counted(entries, (i) => [`f:k${i}`, {}])) },
          },
        ],
      },
    }),
    'overhead of a runtime class': post(`${group('node', 'v1')}runtimeclasses`, {
      metadata,
      handler: 'x',
      overhead: { podFixed: map(entries, 'k', '1') },
    }),
    'an older runtime class': post(`${group('node', 'v1beta1')}runtimeclasses`, {
      metadata,
      handler: 'x',
      scheduling: { tolerations: counted(40_000, (i) => ({ key: `k${i}`, operator: 'Exists' })) },
    }),
    'peers of a network policy': networkPolicy({
      ingress: [{ from: counted(30_000, (i) => ({ podSelector: { matchLabels: { a: `b${i}` } } })) }],
    }),
    'exceptions of a network policy': networkPolicy({
      ingress: [
        {
          from: [{ ipBlock: { cidr: '10.0.0.0/8', except: counted(60_000, (i) => `10.${i >> 8}.${i & 255}.0/24`) } }],
        },
      ],
    }),
    'labels of a namespace': post('/api/v1/namespaces', { metadata: { name: 'x', labels: map(entries, 'k') } }),
    'defaults of a schema': properties(20_000, { type: 'string', default: 'abc', minLength: 1 }),
    'patterns of a schema': properties(10_000, { type: 'string', default: `${'a'.repeat(40)}!`, pattern: '^(a+)+$' }),
    'values of a schema': definition({
      type: 'object',
      properties: { a: { type: 'string', enum: counted(texts, (i) => `v${i}`), default: 'v1' } },
    }),
    'alternatives of a schema': definition({
      type: 'object',
      properties: { a: { type: 'string', anyOf: counted(30_000, (i) => ({ minLength: i })) } },
    }),
    'groups in a review': post(`${group('authorization', 'v1')}subjectaccessreviews`, {
      spec: {
        user: 'u',
        groups: counted(texts, (i) => `g${i}`),
        resourceAttributes: { verb: 'get', resource: 'pods' },
      },
    }),
    'audiences of a token': post(`${group('authentication', 'v1')}tokenreviews`, {
      spec: { token: 'a.'.repeat(100_000), audiences: counted(texts, (i) => `a${i}`) },
    }),
    'an older event': post(`${group('events', 'v1beta1')}${namespace}events`, {
      metadata: { name: 'e', namespace: 'default', labels: map(entries, 'k') },
      regarding: { namespace: 'default', name: 'a', kind: 'Pod' },
      reason: 'r',
      action: 'a',
      eventTime: '2022-01-01T00:00:00.000000Z',
      reportingController: 'a/b',
      reportingInstance: 'x',
    }),
    'an older budget': post(`${group('policy', 'v1beta1')}${namespace}poddisruptionbudgets`, {
      metadata,
      spec: { selector: { matchLabels: map(entries, 'k') } },
    }),
    'metrics in an older autoscaler': post(`${group('autoscaling', 'v2beta1')}${namespace}horizontalpodautoscalers`, {
      metadata,
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'a', apiVersion: 'apps/v1' },
        maxReplicas: 3,
        metrics: counted(10_000, (i) => ({
          type: 'Resource',
          resource: { name: `r${i}`, targetAverageUtilization: 10 },
        })),
      },
    }),
    'a long selector of labels': get(`${core}configmaps?labelSelector=${selector}`),
    'a long selector of fields': get(
      `${core}configmaps?fieldSelector=${counted(3000, (i) => `metadata.name!=v${i}`).join()}`,
    ),
    'a deletion by a long selector': { method: 'DELETE', url: `${core}secrets${dryRun}&labelSelector=${selector}` },
    'Protobuf: one long text': protobuf('configmaps', 'ConfigMap', { metadata, data: { a: 'x'.repeat(2_900_000) } }),
    'Protobuf: keys of a map': protobuf('configmaps', 'ConfigMap', { metadata, data: map(entries, 'k') }),
    'Protobuf: several maps': protobuf('configmaps', 'ConfigMap', manyMaps(entries / 4)),
    'Protobuf: as many entries as maps may have': protobuf('configmaps', 'ConfigMap', manyMaps(mapEntries / 4)),
    'Protobuf: arguments': protobuf(
      'pods',
      'Pod',
      pod({ containers: [{ ...container, args: counted(700_000, () => 'a') }] }),
    ),
    'Protobuf: volumes': protobuf('pods', 'Pod', pod({ volumes })),
  };
}
