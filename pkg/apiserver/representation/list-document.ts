/**
 * A list as text, item by item, so that no list is ever one string: compact and indented JSON, and YAML. Items come as
 * JSON and are parsed only where the form asks for it.
 */
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { encodeYAML, encodeYAMLFast } from '#apimachinery/codec/yaml.js';
import { toJSONText } from '#apimachinery/json-text.js';

export interface ListDocument {
  /** Members before the items, in their order. */
  readonly head: Readonly<Record<string, unknown>>;
  readonly itemsName: 'items' | 'rows';
  /** Each one's JSON; may be iterated more than once. */
  readonly items: Iterable<Buffer>;
}

const comma = Buffer.from(',');
const compactEnd = Buffer.from(']}\n');

function compactHead({ head, itemsName }: ListDocument): Buffer {
  return Buffer.from(`${JSON.stringify(head).slice(0, -1)},"${itemsName}":[`);
}

/** `{"kind":…,"items":[…]}`: the items' bytes as they are. */
export function* compactParts(document: ListDocument): Generator<Buffer> {
  const { items } = document;
  yield compactHead(document);
  let first = true;
  for (const item of items) {
    if (!first) yield comma;
    first = false;
    yield item;
  }
  yield compactEnd;
}

/** The same with two spaces of indentation. */
export function* prettyParts({ head, itemsName, items }: ListDocument): Generator<Buffer> {
  yield Buffer.from(`${JSON.stringify(head, null, 2).slice(0, -2)},\n  "${itemsName}": [`);
  let before = '\n    ';
  for (const item of items) {
    const text = toJSONText(parseJSONText(item.toString()), 2);
    yield Buffer.from(before + text.replaceAll('\n', '\n    '));
    before = ',\n    ';
  }
  yield Buffer.from(before.startsWith(',') ? '\n  ]\n}\n' : ']\n}\n');
}

export function* yamlParts({ head, itemsName, items }: ListDocument): Generator<Buffer> {
  yield encodeYAML(head);
  let any = false;
  for (const item of items) {
    const text = encodeYAMLFast(parseJSONText(item.toString())).toString().trimEnd();
    yield Buffer.from(`${any ? '' : `${itemsName}:\n`}- ${text.replaceAll('\n', '\n  ')}\n`);
    any = true;
  }
  if (!any) yield Buffer.from(`${itemsName}: []\n`);
}
