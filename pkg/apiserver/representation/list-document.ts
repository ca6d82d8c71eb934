/**
 * Writes a list item by item, so that it never becomes one string: compact and indented JSON, and YAML. Items come as JSON
 * and are parsed only for forms that need it.
 */
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { encodeYAML, encodeYAMLFast } from '#apimachinery/codec/yaml.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { jsonBytesOf, jsonOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry, EntryBytes } from '#storage/resource-storage.js';

export interface ListDocument {
  /** Members before the items, in order. */
  readonly head: Readonly<Record<string, unknown>>;
  readonly itemsName: 'items' | 'rows';
  /** JSON of each item; undefined where other work may run. Can be iterated several times. */
  readonly items: Iterable<Buffer | undefined>;
}

const comma = Buffer.from(',');
const compactEnd = Buffer.from(']}\n');

function compactHead({ head, itemsName }: ListDocument): Buffer {
  return Buffer.from(`${JSON.stringify(head).slice(0, -1)},"${itemsName}":[`);
}

/** `{"kind":…,"items":[…]}`: the items' bytes unchanged. Undefined where other work may run, as in all forms. */
export function* compactParts(document: ListDocument): Generator<Buffer | undefined> {
  const { items } = document;
  yield compactHead(document);
  let first = true;
  for (const item of items) {
    if (item === undefined) {
      yield undefined;
      continue;
    }
    if (!first) yield comma;
    first = false;
    yield item;
  }
  yield compactEnd;
}

/** Indented by two spaces. */
export function* prettyParts({ head, itemsName, items }: ListDocument): Generator<Buffer | undefined> {
  yield Buffer.from(`${JSON.stringify(head, null, 2).slice(0, -2)},\n  "${itemsName}": [`);
  let before = '\n    ';
  for (const item of items) {
    if (item === undefined) {
      yield undefined;
      continue;
    }
    const text = toJSONText(parseJSONText(item.toString()), 2);
    yield Buffer.from(before + text.replaceAll('\n', '\n    '));
    before = ',\n    ';
  }
  yield Buffer.from(before.startsWith(',') ? '\n  ]\n}\n' : ']\n}\n');
}

export function* yamlParts({ head, itemsName, items }: ListDocument): Generator<Buffer | undefined> {
  yield encodeYAML(head);
  let any = false;
  for (const item of items) {
    if (item === undefined) {
      yield undefined;
      continue;
    }
    const text = encodeYAMLFast(parseJSONText(item.toString())).toString().trimEnd();
    yield Buffer.from(`${any ? '' : `${itemsName}:\n`}- ${text.replaceAll('\n', '\n  ')}\n`);
    any = true;
  }
  if (!any) yield Buffer.from(`${itemsName}: []\n`);
}

/** Replaces the omitted bytes at the beginning of an item. */
const itemStart = Buffer.from('{');

export interface ListItems {
  /** Bytes to omit at the beginning of each object: the opening brace, and names that the list states. */
  readonly skipped: number;
  /** An object's JSON including those bytes, nearly always shared with the cache. */
  readonly bytesOf: (entry: Entry) => EntryBytes;
}

/**
 * Objects as JSON list items. As in 1.24, items of built-in kinds omit kind and version, which the list states once; items of
 * other kinds have them.
 */
export function jsonItems(resource: ServedResource, isBuiltIn: boolean): ListItems {
  if (!isBuiltIn) return { skipped: itemStart.length, bytesOf: (entry) => jsonBytesOf(resource, entry) };
  const { apiVersion, declaration } = resource;
  const { kind } = declaration;
  const names = Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
  const make = (entry: Entry) => normalizedItem(jsonOf(resource, entry), names);
  const name = `item:${apiVersion}`;
  const beginning = Buffer.alloc(names.length);
  return {
    skipped: names.length,
    bytesOf: (entry) => {
      const json = jsonBytesOf(resource, entry);
      return json.copy(beginning, 0) === names.length && beginning.equals(names)
        ? json
        : entry.encodedBytes(name, make);
    },
  };
}

/** An item as a complete document. */
export function itemOf(bytes: EntryBytes, skipped: number): Buffer {
  const item = Buffer.allocUnsafe(itemStart.length + bytes.length - skipped);
  item.set(itemStart);
  bytes.copy(item, itemStart.length, skipped);
  return item;
}

/** For objects laid out differently: those of other servers, and converted ones. */
function normalizedItem(json: Buffer, names: Buffer): Buffer {
  const { kind: _, apiVersion: __, ...rest } = parseJSONText(json.toString()) as Record<string, unknown>;
  return Buffer.concat([names, Buffer.from(toJSONText(rest)).subarray(itemStart.length)]);
}
