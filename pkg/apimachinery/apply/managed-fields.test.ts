import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { compare } from '#apimachinery/apply/compare.js';
import { withoutQuestions } from '#apimachinery/apply/conversions.js';
import { type FieldSet, paths, sorted } from '#apimachinery/apply/field-set.js';
import { updateManagedFields } from '#apimachinery/apply/managed-fields.js';
import type { ManagedFieldsEntry } from '#apimachinery/apply/managers.js';
import { allSteps } from '#apimachinery/async/steps.js';
import { formatTime } from '#apimachinery/clock.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { randomChange, withoutDuplicates } from '#apimachinery/testing/random-change.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);
const scheme = schemeFor(kubernetesDialect);

const never = new Set([
  'f:apiVersion',
  'f:kind',
  'f:metadata',
  ...['name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'clusterName', 'generation'].map(ofMetadata),
  ...['managedFields', 'resourceVersion'].map(ofMetadata),
]);

function ofMetadata(name: string): string {
  return `f:metadata f:${name}`;
}

const pathsOf = (set: FieldSet) => new Set([...paths(set)].map((path) => path.join(' ')));

const setText = (fields: ReadonlySet<string> | undefined) => [...(fields ?? [])].sort().join(' | ');

/** The managers and their fields, as plain sets of paths. */
class Books {
  readonly #fields = new Map<string, Set<string>>();
  readonly #times = new Map<string, string>();
  #isNew = true;

  write(manager: string, subresource: string, changes: { touched: FieldSet; removed: FieldSet; time: string }): void {
    const untracked = !this.#isNew && this.text === '';
    this.#isNew = false;
    if (untracked) return;
    const reset = subresource === 'status' ? 'f:spec' : 'f:status';
    const counting = (set: FieldSet) => [...pathsOf(set)].filter((path) => path.split(' ')[0] !== reset);
    const touched = counting(changes.touched).filter((path) => !never.has(path));
    const self = `${manager}/${subresource}`;
    const before = setText(this.#fields.get(self));
    for (const [name, fields] of this.#fields) {
      for (const path of counting(changes.removed)) fields.delete(path);
      if (name !== self) for (const path of touched) fields.delete(path);
    }
    if (touched.length === 0) return;
    this.#fields.set(self, new Set([...(this.#fields.get(self) ?? []), ...touched]));
    if (setText(this.#fields.get(self)) !== before) this.#times.set(self, changes.time);
  }

  get text(): string {
    return [...this.#fields]
      .filter(([, fields]) => fields.size > 0)
      .map(([name, fields]) => `${name} ${this.#times.get(name)} ${setText(fields)}`)
      .sort()
      .join('\n');
  }
}

const textOf = (entries: readonly ManagedFieldsEntry[]) =>
  entries
    .map(({ manager, subresource = '', time, fieldsV1 }) => {
      const fields = [...pathsOf(fieldsV1 as FieldSet)].sort().join(' | ');
      return `${manager}/${subresource} ${time} ${fields}`;
    })
    .sort()
    .join('\n');

/** Writes an object repeatedly and compares with plain sets; returns how often several managers owned fields. */
function story(
  type: TypeInfo,
  random: () => number,
  check: (what: string, actual: unknown, expected: unknown) => void,
): number {
  const objects = new RandomObjects(random);
  const books = new Books();
  let live: JsonObject | undefined;
  let shared = 0;
  for (let step = 0; step < 8; step++) {
    const manager = `m${Math.floor(random() * 3)}`;
    const subresource = random() < 0.3 ? 'status' : '';
    const now = 1.7e12 + step * 60_000;
    const other = withoutDuplicates(type, objects.object(type));
    const next = live === undefined ? other : withoutDuplicates(type, randomChange(live, other, random));
    const before = (live?.metadata as JsonObject | undefined)?.managedFields as ManagedFieldsEntry[] | undefined;
    const given = random() < 0.5 ? before : copyJson(before);
    const updated: JsonObject = { ...next, metadata: { ...(next.metadata as object), managedFields: given } };
    const bare = (object: JsonObject) => ({
      ...object,
      metadata: { ...(object.metadata as object), managedFields: undefined },
    });
    const { touched, removed } = allSteps(compare(type, bare(live ?? {}), bare(updated)));
    books.write(manager, subresource, { touched, removed, time: formatTime(now) });
    const entries = withoutQuestions(
      updateManagedFields({ type, apiVersion: 'v1', manager, subresource, now, live, updated }),
    );
    check('fields', textOf(entries), books.text);
    for (const { fieldsV1 } of entries) check('order', sorted(fieldsV1 as FieldSet), fieldsV1);
    const earlier = [...(before ?? []), ...(given ?? [])];
    const earlierEntries = new Set(earlier.map((entry) => JSON.stringify(entry)));
    const rewritten = entries.filter((entry) => !earlier.includes(entry) && earlierEntries.has(JSON.stringify(entry)));
    check('entries that are made again as they were', rewritten.length, 0);
    if (entries.length > 1) shared++;
    live = { ...updated, metadata: { ...(updated.metadata as object), managedFields: entries } };
  }
  return shared;
}

t.test('writes of several managers agree with plain sets of paths', async (t) => {
  const random = seededRandom(seed);
  let shared = 0;
  for (const { apiVersion, declaration } of scheme.resources) {
    const kind = scheme.kind(apiVersion, declaration.kind);
    if (kind === undefined) continue;
    shared += story(kind.type, random, (what, actual, expected) => {
      if (actual !== expected) t.equal(actual, expected, `${declaration.kind}: ${what}, SEED=${seed}`);
    });
  }
  t.ok(shared > 0);
});
