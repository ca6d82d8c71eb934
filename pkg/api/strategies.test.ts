import { deepStrictEqual } from 'node:assert';
import t from 'tap';
import type { ApiObjectShape } from '#api/meta/object.js';
import { groupVersions } from '#api/scheme.gen.js';
import { strategyFor } from '#api/strategies.js';
import { testContext } from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { FieldDeclaration, MessageDeclaration, ResourceDeclaration } from '#apimachinery/schema/schema.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const types = new Map<string, MessageDeclaration>();
const resources: ResourceDeclaration[] = [];
for (const { group, version, kinds } of groupVersions) {
  for (const kind of kinds) {
    const prefix = version === '' ? group : `${group}.${version}`;
    for (const [name, message] of Object.entries(kind.types)) types.set(`${prefix}.${name}`, message);
    for (const resource of kind.resources ?? []) {
      resources.push({ group, version, ...resource } as ResourceDeclaration);
    }
  }
}

const strings = [
  '',
  'a',
  'web-1',
  'A b',
  '..',
  'x.io/y',
  '10.0.0.1',
  '::1',
  'TCP',
  'Always',
  'ClientIP',
  'None',
  '*.a',
  '5%',
  '/p',
];
const numbers = [0, 1, -1, 80, 65536, 2147483647];
const quantities = ['0', '1', '500m', '-1', '2Gi'];

/** A value of the type with arbitrary fields missing, as decoding may leave it: only the types are right. */
function anyOf(type: string, scope: string, random: () => number, depth: number): unknown {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  switch (type) {
    case 'string':
      return pick(strings);
    case 'bytes':
      return Buffer.from(pick(strings)).toString('base64');
    case 'bool':
      return random() < 0.5;
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
    case 'double':
    case 'float':
      return pick(numbers);
    default:
  }
  const name = type.includes('.') ? type : `${scope}.${type}`;
  if (name === 'resource.Quantity') return pick(quantities);
  if (name === 'intstr.IntOrString') return random() < 0.5 ? pick(numbers) : pick(strings);
  if (/^meta\.v1\.(Time|MicroTime)$/.test(name)) return '2024-05-31T23:00:00Z';
  if (name === 'meta.v1.Duration') return '1s';
  if (/^meta\.v1\.FieldsV1$|RawExtension$|\.JSON/.test(name)) return {};
  const message = types.get(name);
  if (message === undefined) throw new Error(`no declaration of ${name}`);
  const owner = name.slice(0, name.lastIndexOf('.'));
  if (/ExtraValue$/.test(name)) return [];
  return messageOf(message, owner, random, depth);
}

function messageOf(
  message: MessageDeclaration,
  scope: string,
  random: () => number,
  depth: number,
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [field, declaration] of Object.entries(message.fields)) {
    if (declaration.inline) Object.assign(result, anyOf(declaration.type, scope, random, depth));
    else if (random() < (depth === 0 ? 0.9 : depth < 5 ? 0.55 : 0.2)) {
      result[field] = fieldOf(declaration, scope, random, depth + 1);
    }
  }
  return result;
}

function fieldOf(field: FieldDeclaration, scope: string, random: () => number, depth: number): unknown {
  const one = (): unknown => anyOf(field.type, scope, random, depth);
  const count = Math.floor(random() * 3);
  if (field.repeated) return Array.from({ length: count }, one);
  if (field.map === undefined) return one();
  return Object.fromEntries(
    Array.from({ length: count }, () => [strings[Math.floor(random() * strings.length)], one()]),
  );
}

function anyObject(resource: ResourceDeclaration, random: () => number): ApiObjectShape {
  const scope = `${resource.group}.${resource.version}`;
  const object = anyOf(resource.kind, scope, random, 0) as Record<string, unknown>;
  object['metadata'] ??= {};
  const declared = types.get(`${scope}.${resource.kind}`)?.fields ?? {};
  if ('spec' in declared) object['spec'] ??= {};
  return object as unknown as ApiObjectShape;
}

/** Runs all steps of a request on the object. */
function run(resource: ResourceDeclaration, object: ApiObjectShape, old: ApiObjectShape): void {
  const strategy = strategyFor(resource);
  const stored = copyJson(old);
  strategy.defaults?.(stored, testContext);
  strategy.prepareForCreate?.(stored, testContext);
  strategy.completeCreate?.(stored, testContext);
  strategy.validateCreate?.(stored, testContext);
  for (const path of ['main', 'status'] as const) {
    const next = copyJson(object);
    strategy.defaults?.(next, testContext);
    const before = structuredClone(stored);
    if (path === 'main') {
      strategy.prepareForUpdate?.(next, stored, testContext);
      strategy.validateUpdate?.(next, stored, testContext);
    } else {
      strategy.prepareForStatusUpdate?.(next, stored, testContext);
      strategy.validateStatusUpdate?.(next, stored, testContext);
    }
    deepStrictEqual(stored, before, 'the stored object must be left alone');
    strategy.warnings?.(next, stored, testContext);
    strategy.selectableFields?.(next);
    strategy.defaultGracePeriodSeconds?.(next, undefined, testContext);
  }
}

const objects = resources.filter(
  (resource) => resource.verbs.includes('list') && resource.resource !== 'componentstatuses',
);

t.test('no object that decodes makes a strategy throw', (t) => {
  const seed = Number(process.env['SEED'] ?? '20240601');
  const random = seededRandom(seed);
  t.not(objects.length, 0);
  for (const resource of objects) {
    for (let round = 0; round < 60; round++) {
      const object = anyObject(resource, random);
      const old = anyObject(resource, random);
      try {
        run(resource, object, old);
      } catch (error) {
        t.fail(`${resource.group}/${resource.version} ${resource.resource}, SEED=${seed}, round ${round}`, {
          error,
          object: JSON.stringify(object),
        });
        break;
      }
    }
  }
  t.end();
});

t.test('defaults are stable', (t) => {
  const random = seededRandom(7);
  for (const resource of objects) {
    const strategy = strategyFor(resource);
    const once = copyJson(anyObject(resource, random));
    strategy.defaults?.(once, testContext);
    const twice = copyJson(once);
    strategy.defaults?.(twice, testContext);
    t.strictSame(twice, once, `${resource.resource}: defaults are idempotent`);
  }
  t.end();
});

t.test('rows have a cell for every declared column', (t) => {
  for (const resource of objects) {
    const spec = { containers: [], scaleTargetRef: {}, limits: [], drivers: [], source: {} };
    const object = {
      metadata: { name: 'n' },
      spec,
      roleRef: {},
      involvedObject: {},
      regarding: {},
    } as unknown as ApiObjectShape;
    const cells = strategyFor(resource).cells?.(object, testContext);
    const columns = resource.columns ?? [];
    if (cells === undefined) t.ok(columns.length <= 2, resource.resource);
    else t.equal(cells.length, columns.length, `${resource.group} ${resource.resource}`);
  }
  t.end();
});

t.test('strategies are frozen', (t) => {
  for (const resource of objects) t.ok(Object.isFrozen(strategyFor(resource)), resource.resource);
  t.end();
});
