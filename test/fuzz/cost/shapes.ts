/** Requests that are small except for one part of any size. */
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { encodeYAML } from '#apimachinery/codec/yaml.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { type GrowthPoint, growthPoints } from '#test/fuzz/cost/growth.js';
import type { CostRequest } from '#test/fuzz/cost/meter.js';
import type { AnyCase } from '#test/integration/apiserver/resources/resource-case.js';

export interface Shape {
  readonly name: string;
  /** A size at which quadratic growth takes several times as long as all other work. */
  readonly size: number;
  /** Small objects that must exist before. */
  readonly needs?: AnyCase;
  /** Creates prerequisites of the same size; not measured. */
  prepare?(size: number): unknown;
  /** Number of requests to send; default: once. */
  readonly times?: number;
  /** The size belongs to other users' data: the cost of the request must not grow with it. */
  readonly flat?: boolean;
  request(size: number): CostRequest;
}

const listSize = 5000;
const textSize = 60_000;

type Language = (point: GrowthPoint, codec: ObjectCodec) => Pick<Shape, 'request' | 'needs'>;

/** The path of a kind's objects. */
export function pathOf({ resource }: AnyCase, dialect: Dialect): string {
  const apiVersion = dialect.apiVersion(resource.group, resource.version);
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${root}${resource.namespaced ? '/namespaces/default' : ''}/${resource.resource}`;
}

function languages(dialect: Dialect): Readonly<Record<string, Language>> {
  const post =
    (type: string, encode: (object: Record<string, unknown>, codec: ObjectCodec) => Buffer): Language =>
    (point, codec) => ({
      request: (size) => ({
        method: 'POST',
        url: `${pathOf(point.case, dialect)}?dryRun=All`,
        headers: { 'content-type': type },
        body: encode(point.object(size), codec),
      }),
    });
  const change =
    (method: string, type: string, query = ''): Language =>
    (point) => ({
      needs: point.case,
      request: (size) => {
        const object = point.object(size);
        return {
          method,
          url: `${pathOf(point.case, dialect)}/${object.metadata.name}?dryRun=All${query}`,
          headers: { 'content-type': type },
          body: Buffer.from(JSON.stringify(object)),
        };
      },
    });
  const kindOf = (codec: ObjectCodec, object: Record<string, unknown>) => {
    const kind = codec.scheme.kind(String(object['apiVersion']), String(object['kind']));
    if (kind === undefined) throw new Error(`no kind ${String(object['kind'])}`);
    return kind;
  };
  return {
    JSON: post('application/json', (object) => Buffer.from(JSON.stringify(object))),
    YAML: post('application/yaml', (object) => encodeYAML(object)),
    Protobuf: post(dialect.protobufMediaType, (object, codec) => {
      // Canonical, as encoders require. An object without canonical form is sent unchanged.
      const kind = kindOf(codec, object);
      const text = Buffer.from(JSON.stringify(object));
      try {
        const { object: canonical } = codec.decode(text, { encoding: 'json', expected: kind });
        return codec.encode(canonical, kind, 'protobuf');
      } catch (error) {
        if (statusOf(error)?.code === 400) return text;
        throw error;
      }
    }),
    PUT: change('PUT', 'application/json'),
    'merge patch': change('PATCH', 'application/merge-patch+json'),
    'strategic merge patch': change('PATCH', 'application/strategic-merge-patch+json'),
    apply: change('PATCH', 'application/apply-patch+yaml', '&fieldManager=cost&force=true'),
  };
}

/** Every field of every kind in every encoding. */
export function bodyShapes(scheme: Scheme, dialect: Dialect): Shape[] {
  const codec = new ObjectCodec(scheme);
  const all = Object.entries(languages(dialect));
  return growthPoints(scheme, dialect).flatMap((point) =>
    all.map(([language, shape]) => ({
      name: `${language} ${point.case.resource.resource} ${point.path} ${point.text === undefined ? point.filling : JSON.stringify(point.text)}`,
      size: point.text === undefined ? listSize : textSize,
      ...shape(point, codec),
    })),
  );
}

const maps = '/api/v1/namespaces/default/configmaps';
const json = { 'content-type': 'application/json' };
const patchTypes = {
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;
const repeat = (size: number, part: (i: number) => string, separator = '') =>
  Array.from({ length: size }, (_, i) => part(i)).join(separator);

function query(name: string, part: (i: number) => string, separator = ''): Shape {
  return {
    name: `query ${name}`,
    size: 2000,
    request: (size) => ({ method: 'GET', url: `${maps}?${name}=${repeat(size, part, separator)}` }),
  };
}

function patch(needs: AnyCase, name: string, type: keyof typeof patchTypes, body: (size: number) => unknown): Shape {
  const own = type === 'apply' ? '&fieldManager=cost' : '';
  return {
    name,
    size: listSize,
    needs,
    request: (size) => ({
      method: 'PATCH',
      url: `${maps}/example?dryRun=All${own}`,
      headers: { 'content-type': patchTypes[type] },
      body: Buffer.from(JSON.stringify(body(size))),
    }),
  };
}

const counted = <T>(size: number, part: (i: number) => T): T[] => Array.from({ length: size }, (_, i) => part(i));

/** Hostile requests. `map`: the case of config maps. */
export function ownShapes(map: AnyCase): Shape[] {
  const writes = (name: string, part: (i: number) => string): Shape => ({
    name: `write ${name}`,
    size: 2000,
    request: (size) => ({
      method: 'POST',
      url: `${maps}?dryRun=All&${name}=${repeat(size, part)}`,
      headers: json,
      body: Buffer.from('{"metadata":{"name":"a"}}'),
    }),
  });
  const header = (name: string, part: (i: number) => string, separator = ','): Shape => ({
    name: `header ${name}`,
    size: 4000,
    request: (size) => ({ method: 'GET', url: maps, headers: { [name]: repeat(size, part, separator) } }),
  });
  const list = (size: number) => ({ op: 'add', path: '/x', value: counted(size, (i) => i) });
  const yaml = (name: string, text: (size: number) => string): Shape => ({
    name: `YAML ${name}`,
    size: 4000,
    request: (size) => ({
      method: 'POST',
      url: `${maps}?dryRun=All`,
      headers: { 'content-type': 'application/yaml' },
      body: Buffer.from(`metadata: {name: a}\n${text(size)}`),
    }),
  });
  return [
    query('labelSelector', (i) => `a${i}`, ','),
    query('labelSelector', (i) => `a${i}!=b`, ','),
    query('labelSelector', () => '('),
    query('fieldSelector', (i) => `metadata.name!=a${i}`, ','),
    query('fieldSelector', () => '%5C%3D'),
    query('continue', () => 'e'),
    query('resourceVersion', () => '9'),
    query('limit', () => '9'),
    query('timeoutSeconds', () => '9'),
    query('timeout', () => '1h'),
    query('x', (i) => `1&x${i}=`),
    writes('fieldManager', () => '%00'),
    writes('fieldManager', () => 'a'),
    writes('fieldValidation', () => 'a'),
    writes('dryRun', () => 'x&dryRun='),
    header('accept', () => 'application/json;as=Table;v=v1;g=x'),
    header('accept', () => 'a/b'),
    header('accept', () => ';', ''),
    header('accept-encoding', () => 'gzip;q=0'),
    header('accept-encoding', () => ' ', ''),
    header('user-agent', () => 'a/', ''),
    header('authorization', () => 'Bearer ', ''),
    header('content-type', () => ';a=b', ''),
    {
      name: 'a long path',
      size: 5000,
      request: (size) => ({ method: 'GET', url: `/api/v1${repeat(size, () => '/a')}` }),
    },
    { name: 'a long name', size: 5000, request: (size) => ({ method: 'GET', url: `${maps}/${'%61'.repeat(size)}` }) },
    patch(map, 'JSON patch: moves in a list', 'json', (size) => [
      list(size),
      ...counted(size, () => ({ op: 'move', from: '/x/0', path: '/x/-' })),
    ]),
    patch(map, 'JSON patch: puts first', 'json', (size) => [
      list(1),
      ...counted(size, () => ({ op: 'add', path: '/x/0', value: 1 })),
    ]),
    patch(map, 'JSON patch: tests a list', 'json', (size) => [
      list(size),
      ...counted(size, () => ({ op: 'test', path: '/x/0', value: 0 })),
    ]),
    patch(map, 'JSON patch: copies', 'json', (size) => [
      { op: 'add', path: '/x', value: {} },
      ...counted(size, (i) => ({ op: 'copy', from: '/metadata', path: `/x/a${i}` })),
    ]),
    patch(map, 'JSON patch: a long pointer', 'json', (size) => [{ op: 'remove', path: '/a'.repeat(size * 10) }]),
    patch(map, 'strategic merge patch: finalizers', 'strategic', (size) => ({
      metadata: { finalizers: counted(size, (i) => `example.com/a${i}`) },
    })),
    patch(map, 'strategic merge patch: deletions', 'strategic', (size) => ({
      metadata: {
        finalizers: counted(size, (i) => `example.com/a${i}`),
        '$deleteFromPrimitiveList/finalizers': counted(size, (i) => `example.com/b${i}`),
      },
    })),
    patch(map, 'strategic merge patch: an order', 'strategic', (size) => ({
      metadata: {
        finalizers: counted(size, (i) => `example.com/a${i}`),
        '$setElementOrder/finalizers': counted(size, (i) => `example.com/a${i}`),
      },
    })),
    patch(map, 'strategic merge patch: keyed elements', 'strategic', (size) => ({
      metadata: {
        ownerReferences: counted(size, (i) => ({ uid: `a${i}`, $patch: i % 2 === 0 ? 'delete' : undefined })),
      },
    })),
    yaml('keys', (size) => repeat(size, (i) => `k${i}: v\n`)),
    yaml('a flow', (size) => `data: {${repeat(size, (i) => `k${i}: v, `)}}`),
    yaml('anchors', (size) => repeat(size, (i) => `k${i}: &a${i} v\n`)),
    yaml('merges', (size) => `a: &a {${repeat(size, (i) => `k${i}: v, `)}}\nb:\n${repeat(90, () => '- {<<: *a}\n')}`),
    yaml('errors', (size) => repeat(size, () => '- ]\n')),
    yaml('blank lines', (size) => `a:${'\n'.repeat(size * 10)} b`),
    yaml('dashes', (size) => '- '.repeat(size)),
  ];
}
