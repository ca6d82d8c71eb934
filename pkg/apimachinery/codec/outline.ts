/**
 * The little of an object that selectors look at, read out of its JSON without parsing the rest: every change that somebody
 * watches by a field is looked at so, and parsing all of a pod costs several times as much.
 */
import { parseJSONText } from '#apimachinery/codec/json/text.js';

/** Of what is nested deeper than that, selectors look at these only. */
const nested: ReadonlySet<string> = new Set(['metadata.labels', 'status.podIPs']);

const quote = '"'.charCodeAt(0);
const backslash = '\\'.charCodeAt(0);
const colon = ':'.charCodeAt(0);
const comma = ','.charCodeAt(0);
const openBrace = '{'.charCodeAt(0);
const closeBrace = '}'.charCodeAt(0);
const openBracket = '['.charCodeAt(0);
const closeBracket = ']'.charCodeAt(0);

type Members = Record<string, unknown>;

/** The bytes are not what this reads: whoever parses them whole knows what to make of them. */
const unclear = -1;

/**
 * Texts, numbers and truth values of the object itself and of the objects in it, and `nested`, of JSON as this project
 * writes it:
 *
 *     {"metadata":{"name":"a","labels":{"x":"y"},"managedFields":[…]},"spec":{"nodeName":"n","containers":[…]}}
 *     → { metadata: { name: 'a', labels: { x: 'y' } }, spec: { nodeName: 'n' } }
 *
 * Undefined for everything else, such as JSON with spaces: it may be right all the same.
 */
export function outlineOf(json: Buffer): Members | undefined {
  const outline: Members = {};
  const end = readMembers(json, 0, outline, undefined);
  return end === json.length ? outline : undefined;
}

/** The place behind the object that begins at `start`; its members are put into `target`. */
function readMembers(json: Buffer, start: number, target: Members, parent: string | undefined): number {
  if (json[start] !== openBrace) return unclear;
  if (json[start + 1] === closeBrace) return start + 2;
  let at = start;
  do {
    const keyEnd = stringEnd(json, at + 1);
    if (keyEnd === unclear || json[keyEnd] !== colon) return unclear;
    const key = json.toString('utf8', at + 2, keyEnd - 1);
    if (key.includes('\\') || key === '__proto__') return unclear;
    at = readValue(json, keyEnd + 1, target, { key, parent });
    if (at === unclear) return unclear;
  } while (json[at] === comma);
  return json[at] === closeBrace ? at + 1 : unclear;
}

function readValue(
  json: Buffer,
  start: number,
  target: Members,
  { key, parent }: { readonly key: string; readonly parent: string | undefined },
): number {
  const first = json[start];
  if (first === openBrace && parent === undefined) {
    const members: Members = {};
    target[key] = members;
    return readMembers(json, start, members, key);
  }
  const isNested = first === openBrace || first === openBracket;
  const end = isNested ? nestedEnd(json, start) : scalarEnd(json, start);
  if (end === unclear) return unclear;
  if (isNested && (parent === undefined || !nested.has(`${parent}.${key}`))) return end;
  const text = json.toString('utf8', start, end);
  if (first === quote && !text.includes('\\')) target[key] = text.slice(1, -1);
  else {
    try {
      target[key] = parseJSONText(text);
    } catch {
      return unclear;
    }
  }
  return end;
}

/** The place behind the string that begins at `start`. */
function stringEnd(json: Buffer, start: number): number {
  if (json[start] !== quote) return unclear;
  for (let at = start + 1; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at++;
  }
  return unclear;
}

function scalarEnd(json: Buffer, start: number): number {
  if (json[start] === quote) return stringEnd(json, start);
  let at = start;
  while (at < json.length && json[at] !== comma && json[at] !== closeBrace) at++;
  return at;
}

/** The place behind the object or array that begins at `start`. */
function nestedEnd(json: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) {
      const end = stringEnd(json, at);
      if (end === unclear) return unclear;
      at = end - 1;
    } else if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return unclear;
}
