/**
 * Managers of several versions of a kind: their fields after a series of writes, and the conversions needed for them.
 */
import t from 'tap';
import { customType } from '#api/apiextensions/v1/customresource/custom-type.js';
import { Structural } from '#api/apiextensions/v1/structural/structural.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import { applySteps } from '#apimachinery/apply/apply.js';
import {
  type ConversionAnswer,
  type Converting,
  type OtherVersions,
  withoutQuestions,
} from '#apimachinery/apply/conversions.js';
import { type FieldSet, paths, pathText } from '#apimachinery/apply/field-set.js';
import { updateManagedFields } from '#apimachinery/apply/managed-fields.js';
import type { ManagedFieldsEntry } from '#apimachinery/apply/managers.js';
import { asObject, type JsonObject } from '#apimachinery/apply/structure.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

const scheme = schemeFor(dialect);
const group = 'web.example.com';
const text: JSONSchemaProps = { type: 'string' };
const object = (properties: Record<string, JSONSchemaProps>): JSONSchemaProps => ({ type: 'object', properties });

/** The same data in three forms: `host: "a:80"`, `host` and `port`, and both below `address`. */
const specs: Readonly<Record<string, JSONSchemaProps>> = {
  v1: object({ host: text, note: text, size: { type: 'integer' } }),
  v2: object({ host: text, port: text, note: text, size: { type: 'integer' } }),
  v3: object({ address: object({ host: text, port: text }), note: text, size: { type: 'integer' } }),
};
const types = new Map<string, TypeInfo>(
  Object.entries(specs).map(([version, spec]) => {
    const schema = new Structural(object({ spec, status: object({ ready: text }) }), dialect);
    const type = customType({ schema, scheme, name: `${group}.${version}.Site`, kind: 'Site', version });
    return [`${group}/${version}`, type];
  }),
);

function converted(from: JsonObject, apiVersion: string): JsonObject {
  if (from.apiVersion === apiVersion) return from;
  const { spec, ...rest } = copyJson(from) as Record<string, unknown>;
  const { host, port, address, ...others } = asObject(spec);
  const parts = address === undefined ? { host, port } : asObject(address);
  const [name, number] = parts.port === undefined ? String(parts.host ?? '').split(':') : [parts.host, parts.port];
  const both = { ...(name ? { host: name } : {}), ...(number ? { port: number } : {}) };
  const own: Record<string, object> = {
    v1: name === '' ? {} : { host: [name, number].filter(Boolean).join(':') },
    v2: both,
    v3: name === '' ? {} : { address: both },
  };
  const next = { ...own[apiVersion.split('/')[1] ?? ''], ...others };
  return { ...rest, apiVersion, ...(Object.keys(next).length === 0 ? {} : { spec: next }) };
}

interface Step {
  readonly by: string;
  readonly version: string;
  readonly apply?: object;
  /** The whole new spec. */
  readonly update?: object;
  readonly force?: boolean;
  readonly subresource?: string;
  /** The kind has these versions from this step on. */
  readonly versions?: readonly string[];
  /** Versions that conversion fails for. */
  readonly failing?: readonly string[];
  /** The expected spec in the request's version, or the expected error. */
  readonly spec?: object;
  readonly fails?: string | RegExp;
  /** `manager version: .spec.host .spec.port`, one per manager. */
  readonly owners?: readonly string[];
  /** Expected questions with their numbers of objects: `v1: 2`. */
  readonly questions?: readonly string[];
}

class Story {
  /** In the version written last. */
  live: JsonObject | undefined;
  questions: string[] = [];
  #now = Date.parse('2024-01-01T00:00:00Z');

  play(step: Step, isRemote: boolean): void {
    this.#now += 60_000;
    this.questions = [];
    const apiVersion = `${group}/${step.version}`;
    const type = types.get(apiVersion) as TypeInfo;
    const served = step.versions ?? Object.keys(specs);
    const versions: OtherVersions = {
      typeOf: (version) => (served.includes(version.split('/')[1] ?? '') ? types.get(version) : undefined),
      ...(isRemote ? {} : { convert: (objects, version) => objects.map((one) => converted(one, version)) }),
    };
    const live = this.live === undefined ? undefined : converted(this.live, apiVersion);
    const head = { apiVersion, kind: 'Site', metadata: { name: 's' } };
    const { by: manager, subresource = '', force = false } = step;
    const write = { type, apiVersion, manager, subresource, now: this.#now, versions, live };
    if (step.apply !== undefined) {
      const applied = { ...head, ...(subresource === 'status' ? { status: step.apply } : { spec: step.apply }) };
      this.live = this.#run(applySteps({ ...write, applied, force }), step).object;
      return;
    }
    const changes = subresource === 'status' ? { status: step.update } : { spec: step.update };
    const updated: JsonObject = { ...head, ...live, ...changes };
    const managedFields = this.#run(updateManagedFields({ ...write, updated }), step);
    this.live = { ...updated, metadata: { ...asObject(updated.metadata), managedFields } };
  }

  #run<T>(steps: Converting<T>, { failing = [], apply }: Step): T {
    let answer: ConversionAnswer;
    for (;;) {
      const step = steps.next(answer);
      if (step.done === true) return step.value;
      answer = undefined;
      if (step.value === undefined) continue;
      const { objects, apiVersion } = step.value;
      const version = apiVersion.split('/')[1] ?? '';
      this.questions.push(`${version}: ${objects.length}`);
      if (objects.some((one) => 'managedFields' in asObject(one.metadata))) throw new Error('more is sent than needed');
      const isFailing = failing.includes(version);
      if (isFailing && apply !== undefined) throw new Error(`conversion to ${version} failed`);
      answer = isFailing ? undefined : objects.map((one) => converted(one, apiVersion));
    }
  }

  get owners(): string[] {
    const entries = (asObject(this.live?.metadata).managedFields ?? []) as ManagedFieldsEntry[];
    return entries.map(({ manager, apiVersion, fieldsV1, subresource }) => {
      const fields = [...paths(fieldsV1 as FieldSet)].map(pathText).join(' ');
      const who = subresource === undefined ? manager : `${manager}/${subresource}`;
      return `${who} ${apiVersion?.split('/')[1]}: ${fields}`;
    });
  }
}

const stories: Readonly<Record<string, readonly Step[]>> = {
  'a manager alone in its version asks for nothing': [
    { by: 'a', version: 'v1', apply: { host: 'x:80' }, questions: [], owners: ['a v1: .spec.host'] },
    { by: 'b', version: 'v1', apply: { note: 'n' }, questions: [] },
    { by: 'c', version: 'v1', update: { host: 'x:80', note: 'm' }, questions: [] },
    {
      by: 'a',
      version: 'v1',
      apply: { host: 'y:80' },
      questions: [],
      owners: ['a v1: .spec.host', 'c v1: .spec.note'],
    },
  ],
  'two appliers in two versions': [
    { by: 'a', version: 'v1', apply: { host: 'x:80' }, questions: [] },
    {
      by: 'b',
      version: 'v2',
      apply: { note: 'n' },
      spec: { host: 'x', port: '80', note: 'n' },
      questions: ['v1: 2'],
      owners: ['a v1: .spec.host', 'b v2: .spec.note'],
    },
    // The same apply again: no manager can be affected.
    { by: 'b', version: 'v2', apply: { note: 'n' }, questions: [] },
    {
      by: 'b',
      version: 'v2',
      apply: { note: 'n', port: '81' },
      questions: ['v1: 2'],
      fails: 'Apply failed with 1 conflict: conflict with "a": .spec.host',
    },
    {
      by: 'b',
      version: 'v2',
      apply: { note: 'n', port: '81' },
      force: true,
      spec: { host: 'x', port: '81', note: 'n' },
      owners: ['b v2: .spec.note .spec.port'],
    },
  ],
  'conflicts are told in the names of whom they are with': [
    { by: 'u', version: 'v3', update: { address: { host: 'x', port: '80' } }, questions: [] },
    {
      by: 'a',
      version: 'v1',
      apply: { host: 'y:81' },
      questions: ['v3: 2'],
      fails:
        /^Apply failed with 2 conflicts: conflicts with "u" using web.example.com\/v3:\n- .spec.address.host\n- .spec.address.port$/,
    },
    // Unchanged parts are shared.
    {
      by: 'a',
      version: 'v1',
      apply: { host: 'x:80' },
      questions: [],
      owners: ['a v1: .spec.host', 'u v3: .spec .spec.address .spec.address.host .spec.address.port'],
    },
  ],
  'an update takes fields from managers of other versions': [
    { by: 'a', version: 'v1', apply: { host: 'x:80', note: 'n' } },
    { by: 'b', version: 'v3', apply: { size: 1 } },
    {
      by: 'u',
      version: 'v2',
      update: { host: 'x', port: '81', note: 'n', size: 1 },
      questions: ['v1: 2', 'v3: 2'],
      owners: ['a v1: .spec.note', 'b v3: .spec.size', 'u v2: .spec.port'],
    },
    { by: 'u', version: 'v2', update: { host: 'x', port: '81', note: 'n', size: 1 }, questions: [] },
    {
      by: 'w',
      version: 'v1',
      update: { host: 'x:81', size: 1 },
      questions: ['v3: 2', 'v2: 2'],
      owners: ['b v3: .spec.size', 'u v2: .spec.port'],
    },
  ],
  'an applier removes a field without other managers': [
    { by: 'a', version: 'v2', apply: { host: 'x', port: '80', note: 'n' } },
    { by: 'b', version: 'v1', apply: { size: 1 } },
    {
      by: 'a',
      version: 'v2',
      apply: { host: 'x', port: '80' },
      spec: { host: 'x', port: '80', size: 1 },
      // Removed fields are looked up in the other version, then mapped back.
      questions: ['v1: 2', 'v1: 2'],
      owners: ['a v2: .spec.host .spec.port', 'b v1: .spec.size'],
    },
  ],
  'an applier removes a field that another manager owns in another version': [
    { by: 'a', version: 'v2', apply: { host: 'x', port: '80', note: 'n' } },
    { by: 'b', version: 'v1', apply: { note: 'n', host: 'x:80' } },
    {
      by: 'a',
      version: 'v2',
      apply: { host: 'x' },
      spec: { host: 'x', port: '80', note: 'n' },
      questions: ['v1: 2', 'v2: 1'],
      owners: ['a v2: .spec.host', 'b v1: .spec.host .spec.note'],
    },
  ],
  'an applier moves to another version': [
    { by: 'a', version: 'v1', apply: { host: 'x:80', note: 'n' } },
    {
      by: 'a',
      version: 'v2',
      apply: { host: 'x', port: '80' },
      spec: { host: 'x', port: '80' },
      owners: ['a v2: .spec.host .spec.port'],
    },
    {
      by: 'a',
      version: 'v3',
      apply: { address: { host: 'x' } },
      spec: { address: { host: 'x' } },
      owners: ['a v3: .spec.address.host'],
    },
  ],
  'what is one field in the version before stays whole, as with 1.24': [
    { by: 'a', version: 'v1', apply: { host: 'x:80' } },
    { by: 'a', version: 'v2', apply: { host: 'x' }, spec: { host: 'x', port: '80' }, owners: ['a v2: .spec.host'] },
  ],
  'a version that there is no more': [
    { by: 'a', version: 'v1', apply: { host: 'x:80' } },
    { by: 'u', version: 'v3', update: { address: { host: 'x', port: '80' }, size: 1 } },
    {
      by: 'b',
      version: 'v2',
      apply: { note: 'n' },
      versions: ['v2', 'v3'],
      questions: ['v3: 2'],
      owners: ['b v2: .spec.note', 'u v3: .spec.size'],
    },
    { by: 'w', version: 'v2', update: { host: 'x', port: '80', note: 'n' }, versions: ['v2'], questions: [] },
    { by: 'u', version: 'v2', update: { host: 'y' }, versions: ['v2'], questions: [], owners: ['u v2: .spec.host'] },
  ],
  'an applier whose version is gone gives up nothing': [
    { by: 'a', version: 'v1', apply: { host: 'x:80', note: 'n' } },
    {
      by: 'a',
      version: 'v2',
      apply: { host: 'x' },
      versions: ['v2', 'v3'],
      spec: { host: 'x', port: '80', note: 'n' },
      questions: [],
      owners: ['a v2: .spec.host'],
    },
  ],
  status: [
    { by: 'a', version: 'v1', apply: { host: 'x:80' } },
    {
      by: 's',
      version: 'v2',
      subresource: 'status',
      update: { ready: 'yes' },
      questions: ['v1: 2'],
      owners: ['a v1: .spec.host', 's/status v2: .status .status.ready'],
    },
    {
      by: 't',
      version: 'v1',
      subresource: 'status',
      apply: { ready: 'no' },
      fails:
        'Apply failed with 1 conflict: conflict with "s" with subresource "status" using web.example.com/v2: .status.ready',
    },
    {
      by: 't',
      version: 'v3',
      subresource: 'status',
      apply: { ready: 'no' },
      force: true,
      questions: ['v1: 2', 'v2: 2'],
      owners: ['a v1: .spec.host', 's/status v2: .status', 't/status v3: .status.ready'],
    },
  ],
  'conversions that fail': [
    { by: 'a', version: 'v1', apply: { host: 'x:80', note: 'n' } },
    { by: 'b', version: 'v2', apply: { size: 2 }, failing: ['v1'], fails: 'conversion to v1 failed' },
    { by: 'b', version: 'v3', apply: { size: 1 } },
    // An update leaves managers alone if their changes cannot be computed.
    {
      by: 'u',
      version: 'v2',
      update: { host: 'y', port: '80', size: 2 },
      failing: ['v1'],
      questions: ['v1: 2', 'v3: 2'],
      owners: ['a v1: .spec.host .spec.note', 'u v2: .spec.host .spec.size'],
    },
  ],
};

for (const isRemote of [true, false]) {
  t.test(isRemote ? 'converted by a webhook' : 'converted in the process', async (t) => {
    for (const [name, steps] of Object.entries(stories)) {
      if (!isRemote && steps.some(({ failing }) => failing !== undefined)) continue;
      const story = new Story();
      steps.forEach((step, i) => {
        const label = `${name}, ${i + 1}`;
        const before = story.live;
        let failure: string | undefined;
        try {
          story.play(step, isRemote);
        } catch (error) {
          failure = messageOf(error);
          t.equal(story.live, before);
        }
        if (step.fails === undefined) t.equal(failure, undefined, label);
        else t.match(failure, step.fails, label);
        if (step.spec !== undefined) t.same(story.live?.spec, step.spec, `${label}: spec`);
        if (step.owners !== undefined) t.same([...story.owners].sort(), [...step.owners].sort(), `${label}: owners`);
        if (step.questions !== undefined)
          t.same(story.questions, isRemote ? step.questions : [], `${label}: questions`);
      });
    }
  });
}

t.test('a question without a converter is an error', async (t) => {
  const story = new Story();
  story.play({ by: 'a', version: 'v1', apply: { host: 'x:80' } }, true);
  const [apiVersion, type] = [`${group}/v2`, types.get(`${group}/v2`) as TypeInfo];
  const live = converted(story.live as JsonObject, apiVersion);
  const updated = { ...live, spec: { host: 'y' } };
  const versions = { typeOf: (version: string) => types.get(version) };
  const write = { type, apiVersion, manager: 'u', subresource: '', now: 0, versions, live, updated };
  t.throws(() => withoutQuestions(updateManagedFields(write)), {
    message: 'no converter for version web.example.com/v1',
  });
});
