/** Bodies of the maximum size, each full of one construct. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { CostRequest } from '#test/fuzz/cost/meter.js';

/** Slightly below the limit of a body. */
const bytes = 3 * 1024 * 1024 - 1024;

/** As many parts between head and tail as fit, at most `most`. */
function full(head: string, part: (i: number) => string, tail: string, most = Number.POSITIVE_INFINITY): Buffer {
  const parts: string[] = [];
  let left = bytes - head.length - tail.length;
  for (let i = 0; i < most; i++) {
    const next = part(i);
    left -= next.length + 1;
    if (left < 0) break;
    parts.push(next);
  }
  return Buffer.from(`${head}${parts.join()}${tail}`);
}

/** The maximum numbers of messages and of members of a map. */
const messages = 99_000;
const entries = 64_000;
const schemas = 31_000;
const filling = 'v'.repeat(30);

export function largestBodies(dialect: Dialect): Readonly<Record<string, CostRequest>> {
  const json = (path: string, body: Buffer): CostRequest => ({
    method: 'POST',
    url: `${path}?dryRun=All`,
    headers: { 'content-type': 'application/json' },
    body,
  });
  const core = '/api/v1/namespaces/default';
  const group = (key: 'rbac' | 'apiextensions', rest: string) => `/apis/${dialect.groupName(key)}/v1/${rest}`;
  const map = `${core}/configmaps`;
  const meta = '{"metadata":{"name":"a"}';
  const pod = `${meta},"spec":{"containers":[{"name":"a","image":"a"`;
  const crd = `{"metadata":{"name":"as.b.c"},"spec":{"group":"b.c","scope":"Namespaced","names":{"plural":"as","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",`;
  const yaml = full('{"a":"', () => 'b', '"}')
    .toString()
    .replaceAll(',', '\n ');
  return {
    'one long text': json(
      map,
      full(`${meta},"data":{"a":"`, () => 'x', '"}}'),
    ),
    'keys of a map': json(
      map,
      full(`${meta},"data":{`, (i) => `"k${i}":"${filling}"`, '}}', entries),
    ),
    'too many keys': json(
      map,
      full(`${meta},"data":{`, (i) => `"k${i}":""`, '}}'),
    ),
    'wrong keys': json(
      map,
      full(`${meta},"data":{`, (i) => `"k ${i}":""`, '}}', entries),
    ),
    labels: json(
      map,
      full('{"metadata":{"name":"a","labels":{', (i) => `"k${i}":"v"`, '}}}', entries),
    ),
    finalizers: json(
      map,
      full('{"metadata":{"name":"a","finalizers":[', (i) => `"a.b/k${i}"`, ']}}', entries),
    ),
    'unknown members': json(
      map,
      full(`${meta},"x":{`, (i) => `"k${i}":1`, '}}', entries),
    ),
    'a member again and again': json(
      map,
      full(`${meta},"data":{`, () => '"a":""', '}}', entries),
    ),
    numbers: json(
      map,
      full(`${meta},"x":[`, () => '1', ']}'),
    ),
    depth: json(map, Buffer.from(`${meta},"x":${'['.repeat(bytes / 2)}`)),
    'broken JSON': json(
      map,
      full(`${meta},"x":[`, () => '1', ',]}'),
    ),
    owners: json(
      map,
      full('{"metadata":{"name":"a","ownerReferences":[', () => '{}', ']}}', messages),
    ),
    arguments: json(
      `${core}/pods`,
      full(`${pod},"args":[`, () => '""', ']}]}}'),
    ),
    containers: json(
      `${core}/pods`,
      full(`${pod}},`, (i) => `{"name":"a${i}","image":"a"}`, ']}}', entries),
    ),
    tolerations: json(
      `${core}/pods`,
      full(`${pod}}],"tolerations":[{},`, () => '{}', ']}}', messages),
    ),
    addresses: json(
      `${core}/endpoints`,
      full(
        `${meta},"subsets":[{"ports":[{"port":1}],"addresses":[`,
        (i) => `{"ip":"10.0.${(i >> 8) & 255}.${i & 255}"}`,
        ']}]}',
        messages,
      ),
    ),
    'names of a role': json(
      group('rbac', 'clusterroles'),
      full(
        `${meta},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":[`,
        () => '"a"',
        ']}]}',
      ),
    ),
    rules: json(
      group('rbac', 'clusterroles'),
      full(`${meta},"rules":[`, () => '{}', ']}', messages),
    ),
    'properties of a schema': json(
      group('apiextensions', 'customresourcedefinitions'),
      full(`${crd}"properties":{`, (i) => `"k${i}":{"type":"string"}`, '}}}}]}}', schemas),
    ),
    YAML: {
      method: 'POST',
      url: `${map}?dryRun=All`,
      headers: { 'content-type': 'application/yaml' },
      body: Buffer.from(`metadata: {name: a}\ndata:\n${yaml}`),
    },
  };
}
