/** Tolerations in annotations of namespaces, decoded like 1.24's JSON decoder does. */
import type { Toleration } from '#api/core/v1/types.gen.js';
import { jsonSyntaxError } from '#apimachinery/codec/json/syntax-error.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { jsonName } from '#apimachinery/errors/go-value.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { unclassified } from '#apimachinery/errors/status.js';

interface Member {
  readonly name: keyof Toleration;
  /** In Go, for messages. */
  readonly type: string;
}

const members: readonly Member[] = [
  { name: 'key', type: 'string' },
  { name: 'operator', type: 'v1.TolerationOperator' },
  { name: 'value', type: 'string' },
  { name: 'effect', type: 'v1.TaintEffect' },
  { name: 'tolerationSeconds', type: 'int64' },
];
/** Go compares names without regard to case. */
const byLowerName = new Map(members.map((member) => [member.name.toLowerCase(), member]));

/** The tolerations of the text; none for an empty one. Throws 500 with 1.24's message for a malformed text. */
export function tolerationsIn(text: string): readonly Toleration[] {
  if (text === '') return [];
  const list = parsed(text);
  if (list === null) return [];
  if (!Array.isArray(list)) throw mismatch(list, 'Go value of type []v1.Toleration');
  return list.map(tolerationOf);
}

function parsed(text: string): unknown {
  try {
    return parseJSONText(text);
  } catch (error) {
    throw unclassified(jsonSyntaxError(Buffer.from(text)) ?? messageOf(error), error);
  }
}

function tolerationOf(item: unknown): Toleration {
  if (item === null) return {};
  if (typeof item !== 'object' || Array.isArray(item)) throw mismatch(item, 'Go value of type v1.Toleration');
  const toleration: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(item)) {
    const member = byLowerName.get(key.toLowerCase());
    if (member === undefined || value === null) continue;
    const { name, type } = member;
    if (!fits(value, type)) throw mismatch(value, `Go struct field Toleration.${name} of type ${type}`);
    toleration[name] = value;
  }
  return toleration;
}

const int64Limit = 2n ** 63n;

function fits(value: unknown, type: string): boolean {
  if (type !== 'int64') return typeof value === 'string';
  return Number.isSafeInteger(value) || (typeof value === 'bigint' && value < int64Limit && value >= -int64Limit);
}

function mismatch(value: unknown, target: string): Error {
  const shown = typeof value === 'number' || typeof value === 'bigint' ? numberName(value) : jsonName(value);
  return unclassified(`json: cannot unmarshal ${shown} into ${target}`);
}

/** Go shows numbers that only their range or fraction excludes. */
function numberName(value: number | bigint): string {
  return Number.isInteger(value) ? 'number' : `number ${value}`;
}
