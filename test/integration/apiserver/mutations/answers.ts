/** A server's responses to every mutation of an object, as a table. */
import { isDeepStrictEqual } from 'node:util';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import {
  type Mutation,
  mutated,
  mutationsOf,
  textOf,
  valueAt,
} from '#test/integration/apiserver/mutations/mutations.js';
import { type Answer, call } from '#test/integration/apiserver/server.js';

export interface Sample {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** Metadata rules are the same for all kinds: one kind tests them all, the others only rules for names. */
const withMetadata = 'ConfigMap';
const nameMutations: readonly Mutation[] = [
  ...Object.entries({ absent: undefined, bad: 'Bad Value!', label: 'a_b', dotted: 'a.b', long: 'a'.repeat(300) }).map(
    ([name, value]) => ({ path: ['metadata', 'name'], name, value }),
  ),
  { path: ['metadata', 'generateName'], name: 'bad', value: 'Bad Value!' },
  { path: ['metadata', 'generateName'], name: 'path', value: 'a/b' },
];

const ofDecoding: ReadonlySet<string> = new Set(['null', 'unknown', 'wrong type']);

/** Most causes in the table, and characters of a text. */
const maxCauses = 3;
const maxText = 60;

/**
 * A line per field and kind of response: `path: mutations → create | update`, where `+` adds causes to those of the create. `ok` is
 * a success, followed by the new value if it has changed. `~` stands for the path, `^` for its parent. Decoding is tested in
 * creates only, and shown only if it is unusual: an invalid value or unknown member that is accepted, or a null that differs from
 * an absent value.
 */
export async function answersTo(server: ApiServer, info: ResourceInfo, sample: Sample): Promise<string[]> {
  const collection = collectionOf(info);
  const path = `${collection}/${sample.metadata.name}`;
  const created = await call(server, 'POST', collection, { body: sample });
  if (created.status !== 201) throw new Error(`the sample of ${info.apiVersion} ${sample.kind}: ${created.text}`);
  const stored = (await call(server, 'GET', path)).json as Sample;
  const all = sample.kind === withMetadata && info.groupName === '';
  const run = (method: string, url: string, base: Sample, mutation: Mutation): Promise<string> => {
    const strict = mutation.name === 'unknown' ? '&fieldValidation=Strict' : '';
    return call(server, method, `${url}?dryRun=All${strict}`, { body: mutated(base, mutation) }).then((answer) =>
      outcome(answer, mutation),
    );
  };
  const names = new Set<string>();
  const create = new Map<string, string>();
  const update = new Map<string, string>();
  const record = async (into: Map<string, string>, mutation: Mutation, base: Sample, put: boolean): Promise<void> => {
    const row = `${textOf(mutation.path)}\t${mutation.name}`;
    const text = await (put ? run('PUT', path, base, mutation) : run('POST', collection, base, mutation));
    if (mutation.name === 'null' && text === into.get(`${textOf(mutation.path)}\tabsent`)) return;
    if (mutation.name !== 'null' && ofDecoding.has(mutation.name) && text.startsWith('400')) return;
    names.add(row);
    into.set(row, text);
  };
  const ofSample = mutationsOf(info.type, sample, all ? [] : ['metadata']);
  // Another name, so that it does not exist yet.
  const fresh = { ...sample, metadata: { ...sample.metadata, name: freshName(sample) } };
  for (const mutation of [...(all ? [] : nameMutations), ...ofSample]) await record(create, mutation, fresh, false);
  const ofStored = mutationsOf(info.type, stored, all ? [] : ['metadata', 'status']);
  for (const mutation of [...(all ? [] : nameMutations), ...ofStored]) {
    if (!ofDecoding.has(mutation.name)) await record(update, mutation, stored, true);
  }
  return collapsed([...names], create, update);
}

/** Kinds whose name has a meaning keep it; a valid create then fails because the object exists. */
function freshName({ kind, metadata }: Sample): string {
  return kind === 'CustomResourceDefinition' || kind === 'APIService' || kind === 'StorageVersion'
    ? metadata.name
    : 'fresh';
}

function collectionOf({ groupName, apiVersion, declaration }: ResourceInfo): string {
  const root = groupName === '' ? '/api/v1' : `/apis/${apiVersion}`;
  return declaration.namespaced
    ? `${root}/namespaces/default/${declaration.resource}`
    : `${root}/${declaration.resource}`;
}

function outcome({ status, json }: Answer, mutation: Mutation): string {
  if (status < 300) {
    const value = valueAt(json, mutation.path);
    const kept = isDeepStrictEqual(value ?? null, mutation.value ?? null);
    if (kept) return 'ok';
    if (mutation.path.at(-1) === 'resourceVersion' && mutation.path.length === 2) return 'ok VERSION';
    return `ok ${value === undefined ? 'absent' : shortened(JSON.stringify(value))}`;
  }
  const causes: readonly { field?: string; message?: string }[] = json.details?.causes ?? [];
  const exists = status === 409 && String(json.message).endsWith('already exists');
  if (exists) return 'ok (taken)';
  if (status !== 422 || causes.length === 0) return `${status} ${shortened(String(json.message))}`;
  const path = textOf(mutation.path);
  const shown = causes
    .slice(0, maxCauses)
    .map(({ field = '', message = '' }) => `${fieldText(field, path)}: ${detail(message)}`);
  if (causes.length > maxCauses) shown.push(`${causes.length - maxCauses} more`);
  return shown.join('; ');
}

/** The message without the shown value. */
function detail(message: string): string {
  const title =
    /^(Invalid value|Required value|Forbidden|Duplicate value|Unsupported value|Too long|Too many|Not found)/.exec(
      message,
    );
  const at = message.lastIndexOf(': ');
  const word = title?.[0].split(' ')[0] ?? '';
  return shortened(title === null || at < title[0].length ? message : `${word}: ${message.slice(at + 2)}`);
}

function fieldText(field: string, path: string): string {
  if (field.startsWith(path)) return `~${shortened(field.slice(path.length))}`;
  const outer = path.replace(/(\.[^.[\]]+|\[[^[\]]*\])$/, '');
  return field.startsWith(outer) ? `^${shortened(field.slice(outer.length))}` : shortened(field);
}

/** Removes values that differ each time. */
function shortened(text: string): string {
  const steady = text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/a{50,}/g, 'aaa…')
    .replace(/^exam-.{5}$|"exam-.{5}"/, 'exam-…')
    .replace(/^(\S+ in version "\S+" cannot be handled as a \S+): (json: )?/, '');
  return steady.length > maxText ? `${steady.slice(0, maxText)}…` : steady;
}

function collapsed(rows: readonly string[], create: Map<string, string>, update: Map<string, string>): string[] {
  const lines = new Map<string, string[]>();
  for (const row of rows) {
    const [path = '', name = ''] = row.split('\t');
    const [createAnswer, changed] = [create.get(row), update.get(row)];
    const text =
      createAnswer === changed ? `${createAnswer}` : `${createAnswer ?? '-'} | ${brief(changed, createAnswer)}`;
    const key = `${path}\t${text}`;
    lines.set(key, [...(lines.get(key) ?? []), name]);
  }
  return [...lines].map(([key, names]) => {
    const [path = '', text = ''] = key.split('\t');
    return `${path}: ${names.join(', ')} → ${text}`;
  });
}

/** Causes of an update that the create does not have. */
function brief(update: string | undefined, create: string | undefined): string {
  if (update === undefined) return '-';
  return create !== undefined && update.startsWith(`${create}; `) ? `+ ${update.slice(create.length + 2)}` : update;
}
