/**
 * Parses extender answers in the wire format of `extender/v1` of release 1.24. Field names are Go field names (`NodeNames`)
 * and match case-insensitively, as in Go. Answers are untrusted: each is validated completely before it is used.
 */
import { isPlain } from '#daemon/options/config-decode.js';
import type { ExtenderVerdict } from '#scheduler/framework/extender.js';

type Fields = Readonly<Record<string, unknown>>;

/** Longest text of an extender that is shown. */
const maxTextLength = 1024;
/** Longest reason; shorter since conditions and events list many of them. */
const maxReasonLength = 256;

/** The verdict on the requested nodes. Throws an Error with the problem. */
export function readVerdict(answer: unknown, extender: string, requestedNodes: ReadonlySet<string>): ExtenderVerdict {
  const fields = objectOf(answer, 'the answer');
  throwError(fields);
  const failed = reasonsOf(fields, 'FailedNodes');
  const unresolvable = reasonsOf(fields, 'FailedAndUnresolvableNodes');
  const passed = new Set<string>();
  for (const name of nodeNames(fields)) {
    if (!requestedNodes.has(name)) {
      throw new Error(
        `extender ${quoted(extender)} claims a filtered node ${quoted(name)} which is not found in the input node list`,
      );
    }
    if (passed.has(name)) throw new Error(`node ${quoted(name)} appears twice`);
    passed.add(name);
  }
  return { passed, failed, unresolvable };
}

/** The names if present, else the names of whole nodes. */
function nodeNames(fields: Fields): readonly string[] {
  const names = field(fields, 'NodeNames');
  if (names !== undefined) return listOf(names, 'NodeNames').map((name, i) => stringOf(name, `NodeNames[${i}]`));
  const nodes = field(fields, 'Nodes');
  if (nodes === undefined) return [];
  const items = field(objectOf(nodes, 'Nodes'), 'items');
  return listOf(items ?? [], 'Nodes.items').map((node, i) => {
    const at = `Nodes.items[${i}].metadata`;
    const metadata = objectOf(field(objectOf(node, `Nodes.items[${i}]`), 'metadata'), at);
    return stringOf(field(metadata, 'name'), `${at}.name`);
  });
}

function reasonsOf(fields: Fields, name: string): ReadonlyMap<string, string> {
  const value = field(fields, name);
  if (value === undefined) return new Map();
  const entries = Object.entries(objectOf(value, name));
  return new Map(
    entries.map(([node, reason]) => [node, sanitize(stringOf(reason, `${name}[${quoted(node)}]`), maxReasonLength)]),
  );
}

/** Node → score, for the requested nodes. Throws an Error with the problem. */
export function readScores(answer: unknown, requestedNodes: ReadonlySet<string>): ReadonlyMap<string, number> {
  const scores = new Map<string, number>();
  for (const [i, item] of listOf(answer ?? [], 'the answer').entries()) {
    const fields = objectOf(item, `[${i}]`);
    const host = stringOf(field(fields, 'Host'), `[${i}].Host`);
    const score = field(fields, 'Score') ?? 0;
    // Extenders should score up to 10, but release 1.24 accepts more, and some score up to 100.
    if (!Number.isSafeInteger(score) || Number(score) < 0 || Number(score) > maxScore) {
      throw new Error(
        `the score of ${quoted(host)} is ${sanitize(String(score))}; expected an integer from 0 to ${maxScore}`,
      );
    }
    if (scores.has(host)) throw new Error(`node ${quoted(host)} appears twice`);
    // Extenders that cache all nodes may score more nodes than requested.
    if (requestedNodes.has(host)) scores.set(host, Number(score));
  }
  return scores;
}

/** Keeps sums of weighted scores exact. */
const maxScore = 1_000_000;

export interface MetaVictims {
  readonly uids: readonly string[];
  readonly violations: number;
}

/** Node → its victims. Throws an Error with the problem. */
export function readVictims(answer: unknown): ReadonlyMap<string, MetaVictims> {
  const value = field(objectOf(answer, 'the answer'), 'NodeNameToMetaVictims');
  if (value === undefined) return new Map();
  return new Map(
    Object.entries(objectOf(value, 'NodeNameToMetaVictims')).map(([node, victims]) => {
      const at = `NodeNameToMetaVictims[${quoted(node)}]`;
      const fields = objectOf(victims ?? {}, at);
      const uids = listOf(field(fields, 'Pods') ?? [], `${at}.Pods`).map((pod, i) =>
        stringOf(field(objectOf(pod, `${at}.Pods[${i}]`), 'UID'), `${at}.Pods[${i}].UID`),
      );
      const violations = field(fields, 'NumPDBViolations') ?? 0;
      if (!Number.isSafeInteger(violations) || Number(violations) < 0) {
        throw new Error(`${at}.NumPDBViolations must be a number of pods`);
      }
      return [node, { uids, violations: Number(violations) }];
    }),
  );
}

/** Throws the error that the extender reports. */
export function throwError(answer: unknown): void {
  const error = field(objectOf(answer, 'the answer'), 'Error') ?? '';
  if (stringOf(error, 'Error') !== '') throw new Error(sanitize(stringOf(error, 'Error')));
}

/** The field's value; undefined for null. */
function field(fields: Fields, name: string): unknown {
  if (Object.hasOwn(fields, name)) return fields[name] ?? undefined;
  const lower = name.toLowerCase();
  const match = Object.keys(fields).find((key) => key.toLowerCase() === lower);
  return match === undefined ? undefined : (fields[match] ?? undefined);
}

function objectOf(value: unknown, what: string): Fields {
  if (!isPlain(value)) throw new Error(`${what} must be an object`);
  return value;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${what} must be a list`);
  return value;
}

function stringOf(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new Error(`${what} must be a string`);
  return value;
}

const quoted = (text: string): string => JSON.stringify(sanitize(text));

/** One line without control characters, of bounded length. */
function sanitize(text: string, maxLength = maxTextLength): string {
  const short = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return short.replace(/\p{Cc}+/gu, ' ').replace(/\p{Cs}/gu, '\ufffd');
}
