/** Plausible values of fields, derived from type and name. */
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** By field name, for fields whose format excludes ordinary texts. */
const texts: Readonly<Record<string, string>> = {
  ip: '10.1.2.3',
  podIP: '10.1.2.3',
  hostIP: '10.1.2.4',
  path: '/example',
  mountPath: '/example',
  devicePath: '/dev/example',
  image: 'example/image:1.0',
  url: 'https://example.com/path',
  host: 'example.com',
  driver: 'example.com',
  provisioner: 'example.com/disk',
  attacher: 'example.com',
  apiVersion: 'v1',
  fieldPath: 'metadata.name',
  key: 'example.com/key',
  topologyKey: 'example.com/zone',
  uid: '11111111-2222-4333-8444-555555555555',
  schedule: '*/5 * * * *',
  operator: 'Exists',
  server: 'example.com',
  sizeLimit: '1Gi',
  resource: 'limits.cpu',
  cidr: '10.0.0.0/8',
  podCIDR: '10.0.0.0/24',
};

const numbers: Readonly<Record<string, number>> = { port: 80, containerPort: 8080, hostPort: 8080, number: 80 };

/** Fields of which exactly one is set, by name of the message. */
export type Unions = ReadonlyMap<string, readonly string[]>;

/** A value of the whole field: a list with one element, a map with one member. */
export function plausibleField(field: FieldInfo, unions: Unions): unknown {
  const value = plausibleElement(field, unions);
  if (field.container === 'list') return [value];
  if (field.container === 'map') return { [plausibleKey(field)]: value };
  return value;
}

/** Key of a map's only member. */
export function plausibleKey({ type, name }: FieldInfo): string {
  if (type?.name === 'resource.Quantity') return name === 'hard' ? 'pods' : 'cpu';
  return 'example';
}

/** A list's or map's element, or a single value. */
export function plausibleElement(field: FieldInfo, unions: Unions): unknown {
  if (field.type !== undefined) return plausibleValue(field.type, unions);
  return field.enumValues?.[0] ?? plausibleScalar(field.scalar, field.name);
}

function plausibleScalar(scalar: Scalar | undefined, name: string): unknown {
  switch (scalar) {
    case 'string':
      return texts[name] ?? 'example';
    case 'bytes':
      return 'ZXhhbXBsZQ==';
    case 'bool':
      return true;
    default:
      return numbers[name] ?? 1;
  }
}

function plausibleValue(type: TypeInfo, unions: Unions): unknown {
  switch (type.shape) {
    case 'struct':
      return plausibleMessage(type, unions);
    case 'time':
      return '2024-05-01T10:00:00Z';
    case 'microTime':
      return '2024-05-01T10:00:00.000000Z';
    case 'duration':
      return '1h0m0s';
    case 'quantity':
      return '1';
    case 'intOrString':
      return 80;
    case 'rawJSON':
      return { a: 1 };
    case 'bareList':
      return ['example'];
    case 'schemaOrArray':
    case 'schemaOrBool':
      return { type: 'string' };
    case 'schemaOrStringArray':
      return ['example'];
  }
}

/** A message with its required fields, and one member of its union. */
function plausibleMessage(type: TypeInfo, unions: Unions): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  const [member] = unions.get(type.name) ?? [];
  for (const [name, field] of type.byName) {
    if (!field.optional || name === member) message[name] = plausibleField(field, unions);
  }
  return message;
}
