/** The resource of the random requests: config maps, or a custom resource with the same rules. */
import type { Texts } from '#test/integration/apiserver/model/state.js';
import { configMaps, type SpecClient } from '#test/integration/apiserver/spec/spec-server.js';

export interface Subject {
  readonly kind: string;
  readonly apiVersion: string;
  /** Path of the collection. */
  readonly path: string;
  /** JSON path of the model's `data`, for patches. */
  readonly place: readonly string[];
  /** Whether strategic merge patches are supported. */
  readonly strategic: boolean;
  /** Whether updates may omit the version. */
  readonly unconditional: boolean;
  /** Whether list items have a kind. */
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

/** Empty annotations are removed, like empty data of config maps. */
export const customSubject: Subject = {
  kind: 'Thing',
  apiVersion: `${group}/v1`,
  path: `/apis/${group}/v1/namespaces/${namespace}/things`,
  place: ['metadata', 'annotations'],
  strategic: false,
  unconditional: false,
  wholeItems: true,
};

/** Creates the definition, and accepts its names like the controller would. */
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

/** The object's part with these texts; null removes one. */
export function atPlace(
  { place }: Subject,
  texts: Readonly<Record<string, string | null>> | Texts | undefined,
): object {
  return place.reduceRight<unknown>((inner, name) => ({ [name]: inner }), texts) as object;
}
