/**
 * What extenders answer, in the wire form of `extender/v1` of release 1.24: its fields have the names of their Go fields
 * (`NodeNames`), and are found whatever their case, as Go reads them. Answers come from outside: each is checked whole
 * before anything of it counts.
 */
import { isPlain } from '#daemon/options/config-decode.js';
import type { ExtenderVerdict } from '#scheduler/framework/extender.js';

type Fields = Readonly<Record<string, unknown>>;

/** More of an extender's text is not shown. */
const maxTextLength = 1024;
/** Of a reason less, since a pod's condition and events have many of them. */
const maxReasonLength = 256;

/** The nodes that pass, out of those asked about. Throws with what is wrong. */
export function readVerdict(answer: unknown, extender: string, asked: ReadonlySet<string>): ExtenderVerdict {
  const fields = objectOf(answer, 'the answer');
  throwError(fields);
  const failed = reasonsOf(fields, 'FailedNodes');
  const unresolvable = reasonsOf(fields, 'FailedAndUnresolvableNodes');
  const passed = new Set<string>();
  for (const name of nodeNames(fields)) {
    if (!asked.has(name)) {
      throw new Error(
        `extender ${quoted(extender)} claims a filtered node ${quoted(name)} which is not found in the input node list`,
      );
    }
    if (passed.has(name)) throw new Error(`node ${quoted(name)} is there twice`);
    passed.add(name);
  }
  return { passed, failed, unresolvable };
}

/** Names where there are any, otherwise those of whole nodes. */
function nodeNames(fields: Fields): readonly string[] {
  const names = field(fields, 'NodeNames');
  if (names !== undefined) return listOf(names, 'NodeNames').map((name, i) => textOf(name, `NodeNames[${i}]`));
  const nodes = field(fields, 'Nodes');
  if (nodes === undefined) return [];
  const items = field(objectOf(nodes, 'Nodes'), 'items');
  return listOf(items ?? [], 'Nodes.items').map((node, i) => {
    const at = `Nodes.items[${i}].metadata`;
    const metadata = objectOf(field(objectOf(node, `Nodes.items[${i}]`), 'metadata'), at);
    return textOf(field(metadata, 'name'), `${at}.name`);
  });
}

function reasonsOf(fields: Fields, name: string): ReadonlyMap<string, string> {
  const value = field(fields, name);
  if (value === undefined) return new Map();
  const entries = Object.entries(objectOf(value, name));
  return new Map(
    entries.map(([node, reason]) => [node, shown(textOf(reason, `${name}[${quoted(node)}]`), maxReasonLength)]),
  );
}

/** Node → score, of the nodes asked about. Throws with what is wrong. */
export function readScores(answer: unknown, asked: ReadonlySet<string>): ReadonlyMap<string, number> {
  const scores = new Map<string, number>();
  for (const [i, item] of listOf(answer ?? [], 'the answer').entries()) {
    const fields = objectOf(item, `[${i}]`);
    const host = textOf(field(fields, 'Host'), `[${i}].Host`);
    const score = field(fields, 'Score') ?? 0;
    // Up to 10 is what extenders should give; release 1.24 takes more, and there are some that give up to 100.
    if (!Number.isSafeInteger(score) || Number(score) < 0 || Number(score) > maxScore) {
      throw new Error(
        `the score of ${quoted(host)} is ${shown(String(score))}, which is no integer from 0 to ${maxScore}`,
      );
    }
    if (scores.has(host)) throw new Error(`node ${quoted(host)} is there twice`);
    // Extenders that know all nodes may rank more of them than they were asked about.
    if (asked.has(host)) scores.set(host, Number(score));
  }
  return scores;
}

/** So that sums of weighted scores stay exact. */
const maxScore = 1_000_000;

export interface MetaVictims {
  readonly uids: readonly string[];
  readonly violations: number;
}

/** Node → its victims. Throws with what is wrong. */
export function readVictims(answer: unknown): ReadonlyMap<string, MetaVictims> {
  const value = field(objectOf(answer, 'the answer'), 'NodeNameToMetaVictims');
  if (value === undefined) return new Map();
  return new Map(
    Object.entries(objectOf(value, 'NodeNameToMetaVictims')).map(([node, victims]) => {
      const at = `NodeNameToMetaVictims[${quoted(node)}]`;
      const fields = objectOf(victims ?? {}, at);
      const uids = listOf(field(fields, 'Pods') ?? [], `${at}.Pods`).map((pod, i) =>
        textOf(field(objectOf(pod, `${at}.Pods[${i}]`), 'UID'), `${at}.Pods[${i}].UID`),
      );
      const violations = field(fields, 'NumPDBViolations') ?? 0;
      if (!Number.isSafeInteger(violations) || Number(violations) < 0) {
        throw new Error(`${at}.NumPDBViolations is no number of pods`);
      }
      return [node, { uids, violations: Number(violations) }];
    }),
  );
}

/** Throws what the extender reports itself. */
export function throwError(answer: unknown): void {
  const error = field(objectOf(answer, 'the answer'), 'Error') ?? '';
  if (textOf(error, 'Error') !== '') throw new Error(shown(textOf(error, 'Error')));
}

/** Undefined for nulls. */
function field(fields: Fields, name: string): unknown {
  if (Object.hasOwn(fields, name)) return fields[name] ?? undefined;
  const lower = name.toLowerCase();
  const found = Object.keys(fields).find((key) => key.toLowerCase() === lower);
  return found === undefined ? undefined : (fields[found] ?? undefined);
}

function objectOf(value: unknown, what: string): Fields {
  if (!isPlain(value)) throw new Error(`${what} is no object`);
  return value;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${what} is no list`);
  return value;
}

function textOf(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new Error(`${what} is no text`);
  return value;
}

const quoted = (text: string): string => JSON.stringify(shown(text));

/** In one line, without what would move a terminal's cursor, and of bounded length. */
function shown(text: string, maxLength = maxTextLength): string {
  const short = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return short.replace(/\p{Cc}+/gu, ' ').replace(/\p{Cs}/gu, '\ufffd');
}
