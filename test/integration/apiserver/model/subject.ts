/** What the random requests are about: config maps, or a custom resource, of which everything is expected that holds for them. */
import type { Texts } from '#test/integration/apiserver/model/state.js';
import { configMaps, type SpecClient } from '#test/integration/apiserver/spec/spec-server.js';

export interface Subject {
  readonly kind: string;
  readonly apiVersion: string;
  /** Of the collection. */
  readonly path: string;
  /** Where the texts are that the model calls data, as patches name the place. */
  readonly place: readonly string[];
  /** Whether there are strategic merge patches. */
  readonly strategic: boolean;
  /** Whether updates may leave the version out. */
  readonly unconditional: boolean;
  /** Whether the items of lists say of what kind they are. */
  readonly wholeItems: boolean;
}

const namespace = 'model';

export const configMapSubject: Subject = {
  kind: 'ConfigMap',
  apiVersion: 'v1',
  path: configMaps(namespace),
  place: ['data'],
  strategic: true,
  unconditional: true,
  wholeItems: false,
};

const group = 'model.example.com';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Annotations are gone when they are empty, as the data of config maps are. */
export const customSubject: Subject = {
  kind: 'Thing',
  apiVersion: `${group}/v1`,
  path: `/apis/${group}/v1/namespaces/${namespace}/things`,
  place: ['metadata', 'annotations'],
  strategic: false,
  unconditional: false,
  wholeItems: true,
};

/** Defines the custom resource, in the place of the controller that would find its names good. */
export async function defineThings(client: SpecClient): Promise<void> {
  const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' };
  const schema = { openAPIV3Schema: { type: 'object' } };
  const versions = [{ name: 'v1', served: true, storage: true, schema }];
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec: { group, scope: 'Namespaced', names, versions },
  };
  const { json } = await client.post(definitions, definition);
  const conditions = ['NamesAccepted', 'Established'].map((type) => ({ type, status: 'True' }));
  const status = { conditions, acceptedNames: names, storedVersions: ['v1'] };
  await client.put(`${definitions}/things.${group}/status`, { ...json, status });
}

/** The object's part with these texts, null for those that are to go. */
export function atPlace(
  { place }: Subject,
  texts: Readonly<Record<string, string | null>> | Texts | undefined,
): object {
  return place.reduceRight<unknown>((inner, name) => ({ [name]: inner }), texts) as object;
}
