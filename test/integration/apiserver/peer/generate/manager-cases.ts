/** Sequences of three writes by two managers, including server-side apply. */
import type { Case, Step } from '#test/integration/apiserver/peer/case.js';
import { type FieldPlace, FieldWalk, valueAt } from '#test/integration/apiserver/peer/generate/fields.js';
import { fractionOf, pick } from '#test/integration/apiserver/peer/generate/hash.js';
import type { JsonObject, KindUnderTest } from '#test/integration/apiserver/peer/generate/kind.js';
import { patchBody } from '#test/integration/apiserver/peer/generate/patch-bodies.js';
import { plausibleField, type Unions } from '#test/integration/apiserver/peer/generate/plausible.js';

const sequencesPerKind = 14;
const longestPath = 5;
const managers = ['one', 'two'];

type Write = 'apply all' | 'apply less' | 'apply forced' | 'apply' | 'put' | 'merge' | 'strategic' | 'json';

const firstWrites: readonly Write[] = ['apply all', 'apply all', 'put', 'apply less'];
const laterWrites: readonly Write[] = [
  'apply all',
  'apply less',
  'apply forced',
  'apply',
  'put',
  'merge',
  'strategic',
  'json',
];

export function managerCases(kind: KindUnderTest, unions: Unions): Case[] {
  const { verbs } = kind.info.declaration;
  if (!verbs.includes('patch')) return [];
  const walk = new FieldWalk(unions);
  const places = walk
    .places(kind.info.type, kind.object('example', 1))
    .filter(
      ({ path, field }) =>
        field !== undefined && path.length <= longestPath && path[0] !== 'metadata' && path[0] !== 'status',
    );
  if (places.length === 0) return [];
  return Array.from({ length: sequencesPerKind }, (_, i) => {
    const id = `managers ${i}`;
    return kind.case(id, (name) => {
      const writer = new Writer(kind, walk, unions, name);
      return [0, 1, 2].map((at) => {
        const seed = `${kind.file} ${id} ${at}`;
        return writer.step(at === 0, seed, pick(`${seed} place`, places));
      });
    });
  });
}

class Writer {
  readonly #kind: KindUnderTest;
  readonly #walk: FieldWalk;
  readonly #unions: Unions;
  readonly #before: JsonObject & { metadata: JsonObject };
  readonly #path: string;

  constructor(kind: KindUnderTest, walk: FieldWalk, unions: Unions, name: string) {
    this.#kind = kind;
    this.#walk = walk;
    this.#unions = unions;
    this.#before = kind.object(name, 1);
    this.#path = kind.pathOf(this.#before);
  }

  step(isFirst: boolean, seed: string, place: FieldPlace): Step {
    const kind = this.#kind;
    const before = this.#before;
    const manager = `?fieldManager=${pick(`${seed} manager`, managers)}`;
    const write = pick(`${seed} write`, isFirst ? firstWrites : laterWrites);
    const after = this.#changed(seed, place);
    const change = { type: kind.info.type, before, after, path: place.path };
    switch (write) {
      case 'apply all':
        return kind.patch(
          `${this.#path}${manager}${fractionOf(seed) < 0.4 ? '&force=true' : ''}`,
          'apply',
          isFirst ? before : after,
        );
      case 'apply less':
        return kind.patch(
          `${this.#path}${manager}&force=true`,
          'apply',
          kind.object(String(before.metadata['name']), 0),
        );
      case 'apply':
      case 'apply forced': {
        const body = { ...this.#named(), ...(patchBody(change, 'apply') as JsonObject) };
        return kind.patch(`${this.#path}${manager}${write === 'apply' ? '' : '&force=true'}`, 'apply', body);
      }
      case 'put':
        return isFirst ? kind.post(before, manager) : kind.put(`${this.#path}${manager}`, after);
      default:
        return kind.patch(`${this.#path}${manager}`, write, patchBody(change, write));
    }
  }

  #named(): JsonObject {
    const { apiVersion, kind, metadata } = this.#before;
    return { apiVersion, kind, metadata: { name: metadata['name'] } };
  }

  /** The sample without the field at that place, or with another plausible value. */
  #changed(seed: string, { path, field }: FieldPlace): JsonObject {
    const present = valueAt(this.#before, path);
    const gone = present !== undefined && fractionOf(`${seed} gone`) < 0.3;
    const value = gone || field === undefined ? undefined : another(plausibleField(field, this.#unions), present);
    return this.#walk.placed(this.#kind.info.type, this.#before, path, value) as JsonObject;
  }
}

/** Differs from `present` if that is easy. */
function another(value: unknown, present: unknown): unknown {
  if (typeof present === 'number') return present + 1;
  if (typeof present === 'boolean') return !present;
  return value;
}
