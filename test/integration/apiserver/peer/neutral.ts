/** Removes identities, times, versions and other generated values from objects and texts. */

/** Values sent by a case are kept. */
export interface Given {
  /** Name of the case's object. */
  readonly name: string;
  /** Everything that was sent. */
  readonly sent: string;
  /** In milliseconds since 1970: times nearby come from the server's clock. */
  readonly now: number;
}

type JsonObject = Record<string, unknown>;

export interface NeutralObject {
  readonly object: JsonObject;
  /** Managed fields of the object, or of a list's objects. */
  readonly managers: readonly unknown[];
}

const dayMs = 86_400_000;
const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const time = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC( m=\+[\d.]+)?|[+-]\d\d:\d\d)?/g;
/** A stored object quoted in a message. */
const wholeObject = /"\{\\"(?:apiVersion|kind|metadata)\\".*\}"/g;
/** The difference of two specs, in a form that is implementation-specific. */
const specDifference = /\n(?:[ \u00a0]{2}[\w.&*[\]]+\{[\s\S]*?\n[ \u00a0]{2}\}|changed: .*)\n?/g;
/** Ages of samples created years ago; shorter durations are the samples' own. */
const years = /\b\d+y(\d+d)?\b/g;
const token = /\beyJ[\w-]+\.[\w-]+\.[\w-]+/g;

/** Common to the forms above; most texts contain none of them. */
const sign = /[\d"\n]|eyJ/;

/** Pure. */
export function neutralText(text: string, given: Given): string {
  if (!sign.test(text)) return text.includes(given.name) ? text.replaceAll(given.name, '{name}') : text;
  return text
    .replaceAll(uuid, (id) => (given.sent.includes(id) ? id : '<uid>'))
    .replaceAll(time, (at) => (isNow(at, given) ? '<now>' : at))
    .replaceAll(token, '<token>')
    .replaceAll(/(resource ?version:? (?:is )?"?)(\d+)/gi, (all, words: string, digits: string) =>
      given.sent.includes(digits) ? all : `${words}<version>`,
    )
    .replaceAll(wholeObject, '"<object>"')
    .replaceAll(specDifference, '')
    .replaceAll(given.name, '{name}');
}

function isNow(at: string, { sent, now }: Given): boolean {
  if (sent.includes(at)) return false;
  const ms = Date.parse(at.replace(/ \+0000 UTC.*/, 'Z').replace(' ', 'T'));
  return Number.isNaN(ms) || Math.abs(ms - now) < 2 * dayMs;
}

/** Pure. */
export function neutralObject(object: JsonObject, given: Given): NeutralObject {
  const managers: unknown[] = [];
  return { object: neutralMembers(object, given, managers) as JsonObject, managers };
}

function neutralMembers(value: unknown, given: Given, managers: unknown[]): unknown {
  if (typeof value === 'string') return neutralText(value, given);
  if (Array.isArray(value)) return value.map((part: unknown) => neutralMembers(part, given, managers));
  if (typeof value !== 'object' || value === null) return value;
  const result: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    const name = neutralText(key, given);
    if (name === 'managedFields' && Array.isArray(member)) {
      managers.push(...member.map((entry: unknown) => neutralMembers(without(entry, 'time'), given, [])));
    } else result[name] = madeUp(name, member, value as JsonObject, given) ?? neutralMembers(member, given, managers);
  }
  return result;
}

/** The placeholder of a member set by the server; undefined for other members. */
function madeUp(name: string, member: unknown, parent: JsonObject, given: Given): unknown {
  const { sent } = given;
  const isSent = (value: unknown) => sent.includes(JSON.stringify(value));
  switch (name) {
    case 'resourceVersion':
      return typeof member === 'string' && member !== '' && !isSent(member) ? '<version>' : undefined;
    case 'continue':
      return typeof member === 'string' && member !== '' ? '<continue>' : undefined;
    case 'clusterIP':
      return typeof member === 'string' && /^[\d.:a-f]+$/.test(member) && !isSent(member) ? '<address>' : undefined;
    case 'clusterIPs':
      return Array.isArray(member) && member.every((ip) => ip !== 'None' && ip !== '' && !isSent(ip))
        ? ['<address>']
        : undefined;
    case 'nodePort':
    case 'healthCheckNodePort':
      return typeof member === 'number' && member >= 30_000 && !sent.includes(String(member)) ? '<port>' : undefined;
    case 'description':
      // Columns' descriptions, which differ between implementations.
      return 'priority' in parent && 'format' in parent ? '<words>' : undefined;
    case 'cells':
      return Array.isArray(member) ? member.map((cell: unknown) => neutralCell(cell, given)) : undefined;
    case 'name':
      return typeof parent['generateName'] === 'string' && typeof member === 'string' && !isSent(member)
        ? '<generated>'
        : undefined;
    default:
      return undefined;
  }
}

function neutralCell(cell: unknown, given: Given): unknown {
  if (typeof cell !== 'string') return cell;
  return /^\d+s$/.test(cell) ? '<age>' : neutralText(cell, given).replaceAll(years, '<age>');
}

function without(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
}
