/** Definitions like those of a cluster with many operators. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { OperatorSchemas } from '#test/bench/definitions/schemas.js';

export interface NamedDefinition {
  /** `kind0007s.team3.example.com`. */
  readonly name: string;
  readonly json: string;
}

/** The sizes of schemas, mostly near the minimum. */
const [least, most] = [10_000, 60_000];
const ofGroup = 25;
const versions = ['v1', 'v1beta1', 'v1alpha1'];

/** `count` definitions with three versions each and schemas of 10 to 60 kB of JSON; deterministic. */
export function operatorDefinitions(scheme: Scheme, count: number): Generator<NamedDefinition> {
  return generate(scheme, new OperatorSchemas(scheme), count);
}

function* generate(scheme: Scheme, schemas: OperatorSchemas, count: number): Generator<NamedDefinition> {
  const random = seededRandom(7);
  for (let n = 0; n < count; n++) {
    const bytes = least * (most / least) ** random();
    const schema = schemas.kind(bytes, random);
    const kind = `Kind${String(n).padStart(4, '0')}`;
    yield definitionOf(scheme.dialect, {
      group: `team${Math.floor(n / ofGroup)}.example.com`,
      kind,
      // Versions differ in a field and the description.
      schemas: versions.map((version, i) => ({
        ...schema,
        description: `The ${kind} of ${version}.`,
        properties: { ...(schema['properties'] as object), [`since${i}`]: { type: 'string' } },
      })),
    });
  }
}

/** A definition whose objects have the content of pods. */
export function podLikeDefinition(scheme: Scheme): NamedDefinition {
  const schema = new OperatorSchemas(scheme).like(scheme.type('core.v1.Pod'));
  return definitionOf(scheme.dialect, { group: 'bench.example.com', kind: 'Likeness', schemas: [schema] });
}

interface Parts {
  readonly group: string;
  readonly kind: string;
  /** One per version. */
  readonly schemas: readonly object[];
}

function definitionOf(dialect: Dialect, { group, kind, schemas }: Parts): NamedDefinition {
  const plural = `${kind.toLowerCase()}s`;
  const name = `${plural}.${group}`;
  const definition = {
    apiVersion: dialect.apiVersion('apiextensions', 'v1'),
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: schemas.map((openAPIV3Schema, i) => ({
        name: versions[i],
        served: true,
        storage: i === 0,
        schema: { openAPIV3Schema },
        subresources: { status: {} },
        additionalPrinterColumns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
      })),
    },
  };
  return { name, json: JSON.stringify(definition) };
}
