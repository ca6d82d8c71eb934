/**
 * Formats any object as text: names as titles, nesting as indentation, conditions as a table. Works for every kind,
 * including custom ones.
 */
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiObject } from '#client/client.js';
import { ageOf } from '#cmd/orchctl/print/age.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';

const titleWidth = 16;
/** Metadata omitted because it describes API machinery or is printed separately. */
const hiddenMetadata = new Set(['managedFields', 'name', 'namespace', 'labels', 'annotations', 'creationTimestamp']);
/** Words written in capitals. */
const capitals = new Map(
  ['ip', 'ips', 'uid', 'id', 'cpu', 'dns', 'api', 'url', 'os', 'ca', 'tls', 'http', 'tcp', 'qos'].map((word) => [
    word,
    word === 'ips' ? 'IPs' : word === 'qos' ? 'QoS' : word.toUpperCase(),
  ]),
);

/** Fields with user-defined keys, which are printed unchanged. */
const mapFields = new Set(
  ['data', 'binaryData', 'stringData', 'nodeSelector', 'matchLabels', 'selector', 'capacity', 'allocatable', 'requests']
    .concat(['limits', 'labels', 'annotations', 'overhead', 'hard', 'used', 'parameters'])
    .map(titleOf),
);
/** The whole text, ending with a newline. */
export function descriptionOf(object: ApiObject, nowMs: number): string {
  const { metadata, apiVersion: _apiVersion, kind: _kind, ...rest } = object;
  const lines: string[] = [];
  const add = (title: string, value: unknown) => lines.push(...entry(title, value, 0));
  add('Name', metadata.name);
  if (metadata.namespace !== undefined) add('Namespace', metadata.namespace);
  lines.push(...pairs('Labels', metadata.labels, '='));
  lines.push(...pairs('Annotations', annotationsOf(metadata.annotations), ': '));
  add('Created', `${metadata.creationTimestamp ?? '<unset>'} (${ageOf(metadata.creationTimestamp, nowMs)} ago)`);
  for (const [key, value] of Object.entries(metadata)) if (!hiddenMetadata.has(key)) add(titleOf(key), value);
  for (const [key, value] of Object.entries(rest)) {
    // Fields of spec and status are not indented.
    const flat = (key === 'spec' || key === 'status') && typeof value === 'object' && value !== null;
    if (!flat) {
      add(titleOf(key), object.kind === 'Secret' && key === 'data' ? sizes(value) : value);
      continue;
    }
    for (const [name, part] of Object.entries(value)) {
      lines.push(...(name === 'conditions' ? conditions(part) : entry(titleOf(name), part, 0)));
    }
  }
  return `${lines.join('\n')}\n`;
}

/** A pod template alone. */
export function describedTemplate({ metadata, spec }: PodTemplateSpec): string {
  const fields = { labels: metadata?.labels, annotations: metadata?.annotations, ...spec };
  return `${entry('Pod Template', fields, 0).join('\n')}\n`;
}

/** Without the last-applied annotation, which repeats the object. */
function annotationsOf(annotations: Record<string, string> | undefined): Record<string, string> {
  const hidden = new Set([orchDialect.annotations.lastApplied, kubernetesDialect.annotations.lastApplied]);
  return Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => !hidden.has(key)));
}

function entry(title: string, value: unknown, depth: number): string[] {
  const indent = '  '.repeat(depth);
  const head = `${indent}${title}:`;
  if (isEmpty(value)) return [`${head.padEnd(titleWidth)}<none>`];
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item !== 'object')) {
      return [`${head.padEnd(titleWidth)}${value.map(String).join(', ')}`];
    }
    return [head, ...value.flatMap((item: unknown) => listItem(item, depth + 1))];
  }
  if (typeof value === 'object' && value !== null) {
    const isMap = mapFields.has(title) && !('matchLabels' in value || 'matchExpressions' in value);
    const name = isMap ? (key: string) => key : titleOf;
    return [head, ...Object.entries(value).flatMap(([key, part]) => entry(name(key), part, depth + 1))];
  }
  const [first = '', ...more] = String(value).split('\n');
  const gap = head.length >= titleWidth ? ' ' : '';
  return [`${head.padEnd(titleWidth)}${gap}${first}`, ...more.map((line) => `${indent}  ${line}`)];
}

/** An item of a list of objects: headed by its name (or type), the rest below. */
function listItem(item: unknown, depth: number): string[] {
  if (typeof item !== 'object' || item === null) return [`${'  '.repeat(depth)}${String(item)}`];
  const fields = Object.entries(item);
  const at = fields.findIndex(([key]) => key === 'name' || key === 'type' || key === 'key');
  const [head] = at < 0 ? [undefined] : fields.splice(at, 1);
  if (head === undefined) {
    const [first, ...rest] = fields.flatMap(([key, part]) => entry(titleOf(key), part, depth));
    return [`${'  '.repeat(depth - 1)}- ${(first ?? '').trimStart()}`, ...rest];
  }
  return [`${'  '.repeat(depth)}${String(head[1])}:`, ...fields.flatMap(([k, v]) => entry(titleOf(k), v, depth + 1))];
}

function conditions(value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0) return [];
  const items = value as Record<string, string | undefined>[];
  const rows = items.map((c) => [`  ${c['type']}`, c['status'] ?? '', c['reason'] ?? '', c['message'] ?? '']);
  return ['Conditions:', ...alignColumns([['  Type', 'Status', 'Reason', 'Message'], ...rows])];
}

function pairs(title: string, map: Record<string, string> | undefined, separator: string): string[] {
  const texts = Object.entries(map ?? {}).map(([key, value]) => `${key}${separator}${value}`);
  const [first = '<none>', ...more] = texts;
  return [`${`${title}:`.padEnd(titleWidth)}${first}`, ...more.map((text) => `${' '.repeat(titleWidth)}${text}`)];
}

/** The sizes of a secret's values instead of the values. */
function sizes(data: unknown): Record<string, string> {
  const entries = Object.entries((data ?? {}) as Record<string, string>);
  return Object.fromEntries(entries.map(([key, text]) => [key, `${Buffer.from(text, 'base64').length} bytes`]));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** `restartPolicy` → `Restart Policy`, `podIP` → `Pod IP`; other keys stay unchanged. */
function titleOf(key: string): string {
  if (!/^[a-z][a-zA-Z]*$/.test(key)) return key;
  return key
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .split(' ')
    .map((word) => capitals.get(word.toLowerCase()) ?? word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');
}
