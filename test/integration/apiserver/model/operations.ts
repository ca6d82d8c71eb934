/** Random requests of every verb, each with the model's check of its response. */
import {
  addsFinalizers,
  applied,
  type Change,
  type Content,
  created,
  inOrder,
  isThing,
  isUnchanged,
  type Refusal,
  readThing,
  removed,
  type State,
  type Texts,
  type Thing,
  updated,
  written,
} from '#test/integration/apiserver/model/state.js';
import { atPlace, type Subject } from '#test/integration/apiserver/model/subject.js';
import {
  applyPatch,
  jsonPatch,
  mergePatch,
  type Response,
  type SpecClient,
  strategicPatch,
} from '#test/integration/apiserver/spec/spec-server.js';

/** The state after the operation; undefined if the response is wrong for the state before. */
export type Outcome = State | undefined;

export interface Operation {
  readonly text: string;
  /** Consists of several steps, so it must run alone. */
  readonly alone?: true;
  run(client: SpecClient): Promise<Response>;
  after(state: State, answer: Response): Outcome;
}

/** Uniform in [0, 1). */
export type Random = () => number;

/** The state from which an operation is generated; concurrent operations may have changed it since. */
interface Choice {
  readonly random: Random;
  readonly state: State;
  readonly names: readonly string[];
  readonly manager: string;
  readonly subject: Subject;
}

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
const allFinalizers = ['example.com/a', 'example.com/b'];

function texts(random: Random, most: number): Texts {
  const result: Record<string, string> = {};
  for (const key of ['x', 'y', 'z']) if (random() < most / 3) result[key] = pick(random, ['1', '2', '3']);
  return result;
}

const labelTexts = (random: Random): Texts => (random() < 0.5 ? {} : { tier: pick(random, ['a', 'b']) });

function someFinalizers(random: Random): readonly string[] {
  if (random() < 0.6) return [];
  return random() < 0.7 ? [pick(random, allFinalizers)] : allFinalizers;
}

const refusals: Readonly<Record<Refusal, number>> = { AlreadyExists: 409, Conflict: 409, Invalid: 422, NotFound: 404 };

const refused = (state: State, { status, json }: Response, why: Refusal): Outcome =>
  status === refusals[why] && json?.reason === why ? state : undefined;

interface Write {
  readonly name: string;
  readonly dryRun: boolean;
}

/** The outcome of an accepted write: the response is the object, with a new version if it has changed. */
function accepted(state: State, answer: Response, { name, dryRun }: Write, { content, owners }: Change): Outcome {
  const old = state.get(name);
  if (answer.status !== (old === undefined ? 201 : 200)) return undefined;
  const read = readThing(answer.json);
  const version = read.version ?? '';
  const { uid, tracked } = read;
  const thing: Thing = { ...content, owners, tracked, uid, version, deleting: old?.deleting ?? false };
  if (!isThing(answer.json, thing, { version: false })) return undefined;
  if (old !== undefined && read.uid !== old.uid) return undefined;
  if (old === undefined && [...state.values()].some(({ uid }) => uid === read.uid)) return undefined;
  if (dryRun) return state;
  if (old !== undefined) {
    // An update without changes keeps the version; any other write increases it.
    const unchanged = isUnchanged(old, { content, owners });
    if (unchanged ? version !== old.version : BigInt(version) <= BigInt(old.version)) return undefined;
  }
  return written(state, name, thing);
}

function objectOf(subject: Subject, name: string, content: Partial<Content>, metadata: object = {}): object {
  const { apiVersion, kind } = subject;
  const { labels, finalizers, data } = content;
  return withPart({ apiVersion, kind, metadata: { name, labels, finalizers, ...metadata } }, atPlace(subject, data));
}

/** Merges the part, which may include metadata, into the object. */
function withPart<T extends { readonly metadata: object }>(
  object: T,
  part: object & { readonly metadata?: object },
): object {
  return { ...object, ...part, metadata: { ...object.metadata, ...part.metadata } };
}

const show = (value: unknown): string => JSON.stringify(value);

function create({ random, names, manager, subject }: Choice, dryRun: boolean): Operation {
  const generated = random() < 0.05;
  const base = generated ? 'g-' : '';
  const content = { labels: labelTexts(random), data: texts(random, 2), finalizers: someFinalizers(random), base };
  const name = pick(random, names);
  const metadata = generated ? { name: undefined, generateName: base } : {};
  return {
    text: `create ${generated ? 'g-…' : name} ${show(content)} dryRun=${dryRun}`,
    run: (client) =>
      client.post(`${subject.path}?fieldManager=${manager}${dry(dryRun)}`, objectOf(subject, name, content, metadata)),
    after(state, answer) {
      const createdName = generated ? String(answer.json?.metadata?.name) : name;
      if (generated && !/^g-.{5}$/.test(createdName)) return undefined;
      if (state.has(createdName)) return refused(state, answer, 'AlreadyExists');
      return accepted(state, answer, { name: createdName, dryRun }, created(content, `Update:${manager}`));
    },
  };
}

const dry = (dryRun: boolean): string => (dryRun ? '&dryRun=All' : '');

/** The version of a conditional write: the current one, an old one, or none. */
function condition({ random, state }: Choice, name: string): string | undefined {
  const draw = random();
  if (draw < 0.4) return undefined;
  return draw < 0.8 ? (state.get(name)?.version ?? '7') : '7';
}

function update(choice: Choice, dryRun: boolean): Operation {
  const { random, names, manager, subject } = choice;
  const name = pick(random, names);
  const content = { labels: labelTexts(random), data: texts(random, 2), finalizers: someFinalizers(random), base: '' };
  const version = condition(choice, name);
  const body = objectOf(subject, name, content, { resourceVersion: version });
  return {
    text: `update ${name} ${show(content)} at ${version} dryRun=${dryRun}`,
    run: (client) => client.put(`${subject.path}/${name}?fieldManager=${manager}${dry(dryRun)}`, body),
    after(state, answer) {
      const old = state.get(name);
      if (old === undefined) return refused(state, answer, 'NotFound');
      if (version === undefined && !subject.unconditional) return refused(state, answer, 'Invalid');
      if (version !== undefined && version !== old.version) return refused(state, answer, 'Conflict');
      if (addsFinalizers(old, content)) return refused(state, answer, 'Invalid');
      return accepted(state, answer, { name, dryRun }, updated(old, content, `Update:${manager}`));
    },
  };
}

/** A merge patch or a strategic one; for config maps they differ only in lists. */
function patch(choice: Choice, dryRun: boolean): Operation {
  const { random, names, manager, subject } = choice;
  const name = pick(random, names);
  const data: Record<string, string | null> = {};
  for (const key of ['x', 'y', 'z'])
    if (random() < 0.4) data[key] = random() < 0.3 ? null : pick(random, ['1', '2', '3']);
  const tier = random() < 0.3 ? { labels: { tier: random() < 0.3 ? null : pick(random, ['a', 'b']) } } : {};
  const strategic = subject.strategic && random() < 0.4;
  // The strategic form would merge lists.
  const finalizers = !strategic && random() < 0.4 ? someFinalizers(random) : undefined;
  const version = random() < 0.2 ? condition(choice, name) : undefined;
  const body = withPart({ metadata: { ...tier, finalizers, resourceVersion: version } }, atPlace(subject, data));
  return {
    text: `${strategic ? 'strategic' : 'merge'} patch ${name} ${show(body)} dryRun=${dryRun}`,
    run: (client) =>
      client.patch(
        `${subject.path}/${name}?fieldManager=${manager}${dry(dryRun)}`,
        strategic ? strategicPatch : mergePatch,
        body,
      ),
    after(state, answer) {
      const old = state.get(name);
      if (old === undefined) return refused(state, answer, 'NotFound');
      if (version !== undefined && version !== old.version) return refused(state, answer, 'Conflict');
      const content = {
        labels: merged(old.labels, tier.labels ?? {}),
        data: merged(old.data, data),
        finalizers: finalizers ?? old.finalizers,
        base: old.base,
      };
      if (addsFinalizers(old, content)) return refused(state, answer, 'Invalid');
      return accepted(state, answer, { name, dryRun }, updated(old, content, `Update:${manager}`));
    },
  };
}

function merged(old: Texts, change: Readonly<Record<string, string | null>>): Texts {
  const result: Record<string, string> = { ...old };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = value;
  }
  return result;
}

function editJson({ random, names, manager, subject }: Choice, dryRun: boolean): Operation {
  const name = pick(random, names);
  const key = pick(random, ['x', 'y', 'z']);
  const op = pick(random, ['add', 'replace', 'remove', 'test'] as const);
  const value = pick(random, ['1', '2', '3']);
  const steps = [
    { op, path: `/${subject.place.join('/')}/${key}`, ...(op === 'remove' ? {} : { value }) },
    { op: 'test', path: '/kind', value: subject.kind },
  ];
  return {
    text: `JSON patch ${name} ${show(steps)} dryRun=${dryRun}`,
    run: (client) => client.patch(`${subject.path}/${name}?fieldManager=${manager}${dry(dryRun)}`, jsonPatch, steps),
    after(state, answer) {
      const old = state.get(name);
      if (old === undefined) return refused(state, answer, 'NotFound');
      const there = Object.hasOwn(old.data, key);
      // An empty map is absent. Like in 1.24, `replace` does not require the value to exist.
      const sets = op === 'add' || op === 'replace';
      const possible = sets ? Object.keys(old.data).length > 0 : op === 'test' ? old.data[key] === value : there;
      if (!possible) return refused(state, answer, 'Invalid');
      const change = op === 'test' ? {} : { [key]: op === 'remove' ? null : value };
      const content = { ...old, data: merged(old.data, change) };
      return accepted(state, answer, { name, dryRun }, updated(old, content, `Update:${manager}`));
    },
  };
}

function apply({ random, names, subject }: Choice, dryRun: boolean): Operation {
  const name = pick(random, names);
  const manager = pick(random, ['a0', 'a1']);
  const content = { labels: labelTexts(random), data: texts(random, 1.5) };
  const force = random() < 0.4;
  // An applied empty map is a field of its own, which can cause conflicts.
  const body = objectOf(subject, name, { ...optional('labels', content.labels), ...optional('data', content.data) });
  return {
    text: `apply ${name} as ${manager} ${show(content)} force=${force} dryRun=${dryRun}`,
    run: (client) =>
      client.patch(`${subject.path}/${name}?fieldManager=${manager}&force=${force}${dry(dryRun)}`, applyPatch, body),
    after(state, answer) {
      const old = state.get(name);
      const { conflicts, change } = applied(old, content, `Apply:${manager}`);
      if (conflicts.length > 0 && !force) {
        const fields: string[] = (answer.json?.details?.causes ?? []).map(({ field }: { field: string }) => field);
        const expected = conflicts.map((field) => `.${placeOf(subject, field).replace(/\.$/, '')}`);
        return fields.sort().join() === expected.sort().join() ? refused(state, answer, 'Conflict') : undefined;
      }
      return accepted(state, answer, { name, dryRun }, change);
    },
  };
}

/** The path of the model's field `labels.x` or `data.y`. */
const placeOf = ({ place }: Subject, field: string): string =>
  field.startsWith('labels.') ? `metadata.${field}` : field.replace(/^data/, place.join('.'));

const optional = (field: 'labels' | 'data', texts: Texts) =>
  Object.keys(texts).length === 0 ? {} : { [field]: texts };

function remove({ random, state: then, names, subject }: Choice, dryRun: boolean): Operation {
  const name = pick(random, names);
  const draw = random();
  const expected = then.get(name);
  const preconditions =
    draw < 0.6
      ? undefined
      : draw < 0.75
        ? { uid: expected?.uid ?? 'none' }
        : draw < 0.9
          ? { resourceVersion: expected?.version ?? '7' }
          : { uid: 'other' };
  const body = preconditions === undefined ? undefined : { kind: 'DeleteOptions', apiVersion: 'v1', preconditions };
  return {
    text: `delete ${name} ${show(preconditions)} dryRun=${dryRun}`,
    run: (client) => client.delete(`${subject.path}/${name}${dryRun ? '?dryRun=All' : ''}`, body),
    after(state, answer) {
      const old = state.get(name);
      if (old === undefined) return refused(state, answer, 'NotFound');
      const { uid = old.uid, resourceVersion = old.version } = preconditions ?? {};
      if (uid !== old.uid || resourceVersion !== old.version) return refused(state, answer, 'Conflict');
      if (answer.status !== 200) return undefined;
      if (old.finalizers.length === 0) {
        if (answer.json.kind !== 'Status' || answer.json.details.uid !== old.uid) return undefined;
        return dryRun ? state : removed(state, name);
      }
      const { version } = readThing(answer.json);
      const marked = { ...old, deleting: true, version };
      if (!isThing(answer.json, marked, { version: false })) return undefined;
      if (old.deleting && version !== old.version) return undefined;
      if (!old.deleting && !dryRun && BigInt(version) <= BigInt(old.version)) return undefined;
      return dryRun ? state : written(state, name, marked);
    },
  };
}

function removeAll({ random, subject }: Choice, dryRun: boolean): Operation {
  const tier = random() < 0.7 ? pick(random, ['a', 'b']) : undefined;
  const query = `?${tier === undefined ? '' : `labelSelector=tier=${tier}`}${dry(dryRun)}`;
  return {
    text: `deletecollection ${query}`,
    alone: true,
    run: (client) => client.delete(subject.path + query),
    after(state, answer) {
      const chosen = inOrder(state).filter(([, { labels }]) => tier === undefined || labels['tier'] === tier);
      if (answer.status !== 200 || !listed(answer.json.items, chosen)) return undefined;
      if (dryRun) return state;
      let next = state;
      for (const [name, thing] of chosen) {
        // The response of marking has no version; the next read of the object has it.
        next =
          thing.finalizers.length === 0
            ? removed(next, name)
            : written(next, name, {
                ...thing,
                deleting: true,
                version: thing.deleting ? thing.version : unknownVersion,
              });
      }
      return next;
    },
  };
}

/** Placeholder for the version of an object whose write did not return it. */
export const unknownVersion = '';

// biome-ignore lint/suspicious/noExplicitAny: objects as they came
const listed = (items: any[], expected: readonly (readonly [string, Thing])[]): boolean =>
  items.length === expected.length &&
  expected.every(([name, thing], i) => items[i].metadata.name === name && isThing(items[i], thing));

function get({ random, names, subject }: Choice): Operation {
  const name = pick(random, names);
  return {
    text: `get ${name}`,
    run: (client) => client.get(`${subject.path}/${name}`),
    after(state, answer) {
      const thing = state.get(name);
      if (thing === undefined) return refused(state, answer, 'NotFound');
      return answer.status === 200 && isThing(answer.json, thing) ? state : undefined;
    },
  };
}

/** A list, in one or several pages, whose items are joined. */
function list({ random, subject }: Choice): Operation {
  const tier = random() < 0.4 ? pick(random, ['a', 'b']) : undefined;
  const limit = random() < 0.5 ? 1 + Math.floor(random() * 4) : 0;
  const query = `${subject.path}?limit=${limit}${tier === undefined ? '' : `&labelSelector=tier in (${tier})`.replaceAll(' ', '%20')}`;
  return {
    text: `list ${query}`,
    async run(client) {
      const first = await client.get(query);
      let page = first;
      while (page.json?.metadata?.continue) {
        page = await client.get(`${query}&continue=${page.json.metadata.continue}`);
        if (page.status !== 200) return page;
        if (page.json.metadata.resourceVersion !== first.json.metadata.resourceVersion) {
          throw new Error(`pages of one list have different versions: ${query}`);
        }
        first.json.items.push(...page.json.items);
      }
      return first;
    },
    after(state, { status, json }) {
      const chosen = inOrder(state).filter(([, { labels }]) => tier === undefined || labels['tier'] === tier);
      return status === 200 && listed(json.items, chosen) ? state : undefined;
    },
  };
}

const kinds: readonly (readonly [weight: number, make: (choice: Choice, dryRun: boolean) => Operation])[] = [
  [20, create],
  [12, update],
  [18, patch],
  [8, editJson],
  [14, apply],
  [12, remove],
  [1, removeAll],
  [10, get],
  [8, list],
];
const total = kinds.reduce((sum, [weight]) => sum + weight, 0);

export function randomOperation(choice: Choice): Operation {
  const dryRun = choice.random() < 0.07;
  let draw = choice.random() * total;
  for (const [weight, make] of kinds) {
    draw -= weight;
    if (draw < 0) return make(choice, dryRun);
  }
  return get(choice);
}
