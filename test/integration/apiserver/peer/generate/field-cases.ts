/** Every field of a kind, changed in every way, through alternating verbs. */
import type { Case, Step } from '#test/integration/apiserver/peer/case.js';
import { type FieldPlace, FieldWalk, valueAt } from '#test/integration/apiserver/peer/generate/fields.js';
import { fractionOf, pick } from '#test/integration/apiserver/peer/generate/hash.js';
import type { JsonObject, KindUnderTest, PatchType } from '#test/integration/apiserver/peer/generate/kind.js';
import { patchBody } from '#test/integration/apiserver/peer/generate/patch-bodies.js';
import type { Unions } from '#test/integration/apiserver/peer/generate/plausible.js';
import { fieldValues, type Values } from '#test/integration/apiserver/peer/generate/values.js';

/** For types already seen in another kind, this share of the fields is changed, in one way each. */
const shareOfKnownFields = 0.22;
/** Share of changes made at creation; the others update an existing object. */
const shareOfCreates = 0.62;
const oddMember: Values = { unknown: 1 };

export class FieldCases {
  readonly #unions: Unions;
  readonly #walk: FieldWalk;

  constructor(unions: Unions) {
    this.#unions = unions;
    this.#walk = new FieldWalk(unions);
  }

  /** Kinds come in a fixed order; kinds only passed by have no cases. */
  of(kind: KindUnderTest, isIncluded: boolean): Case[] {
    const sample = kind.object('example', 1);
    const places = this.#walk.places(kind.info.type, sample);
    return isIncluded ? places.flatMap((place) => this.#ofPlace(kind, sample, place)) : [];
  }

  #ofPlace(kind: KindUnderTest, sample: JsonObject, { path, field, first }: FieldPlace): Case[] {
    const place = path.join('.');
    const values = field === undefined ? oddMember : fieldValues(field, valueAt(sample, path), this.#unions);
    let names = Object.keys(values);
    if (!first) {
      if (fractionOf(`${kind.file} ${place}`) >= shareOfKnownFields) return [];
      names = [pick(`${kind.file} ${place} mutation`, names)];
    }
    return names.map((name) => this.#case(kind, path, name, values[name]));
  }

  #case(kind: KindUnderTest, path: FieldPlace['path'], mutation: string, value: unknown): Case {
    const id = `${path.join('.')} ${mutation}`;
    return kind.case(id, (name) => {
      const before = kind.object(name, 1);
      const after = this.#walk.placed(kind.info.type, before, path, value) as JsonObject;
      const parts = kind.info.declaration.subresources ?? [];
      const ofStatus = path[0] === 'status' && parts.some((part) => part.name === 'status');
      const choice = fractionOf(`${kind.file} ${id} verb`);
      if (!ofStatus && choice < shareOfCreates) return [kind.post(after)];
      const target = kind.pathOf(before, ofStatus ? '/status' : '');
      return [kind.post(before), this.#change(kind, { target, before, after, path, id })];
    });
  }

  #change(
    kind: KindUnderTest,
    change: {
      readonly target: string;
      readonly before: JsonObject;
      readonly after: JsonObject;
      readonly path: FieldPlace['path'];
      readonly id: string;
    },
  ): Step {
    const { target, before, after, path, id } = change;
    const verb = pick<'put' | PatchType>(`${kind.file} ${id} change`, [
      'put',
      'put',
      'merge',
      'strategic',
      'json',
      'apply',
    ]);
    if (verb === 'put') return kind.put(target, versioned(after));
    const body = patchBody({ type: kind.info.type, before, after, path }, verb);
    if (verb !== 'apply') return kind.patch(target, verb, body);
    const force = fractionOf(`${id} force`) < 0.5;
    const { apiVersion, kind: kindName, metadata } = before;
    const named = { apiVersion, kind: kindName, metadata: { name: (metadata as JsonObject)['name'] } };
    return kind.patch(
      `${target}?fieldManager=two${force ? '&force=true' : ''}`,
      verb,
      merged(named, body as JsonObject),
    );
  }
}

function versioned(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (typeof metadata !== 'object' || metadata === null || 'resourceVersion' in metadata) return object;
  return { ...object, metadata: { ...metadata, resourceVersion: '$rv' } };
}

/** With the members of `more`, which win; metadata are merged. */
function merged(named: JsonObject, more: JsonObject): JsonObject {
  const { metadata } = more;
  const both =
    typeof metadata === 'object' && metadata !== null
      ? { ...(named['metadata'] as JsonObject), ...metadata }
      : metadata;
  return { ...named, ...more, metadata: metadata === undefined ? named['metadata'] : both };
}
