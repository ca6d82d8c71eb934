/** The ConfigMaps and Secrets that the pods of a template use. Pure. */
import { createHash } from 'node:crypto';
import type { ConfigMap, Container, PodTemplateSpec, Secret } from '#api/core/v1/types.gen.js';

export type ReferenceKind = 'configmap' | 'secret';

/** `configmap/web`. */
export type Reference = `${ReferenceKind}/${string}`;

export interface References {
  /** In order, without duplicates. */
  readonly all: readonly Reference[];
  /** Those without which the pods do not start. */
  readonly required: ReadonlySet<Reference>;
}

interface Optional {
  readonly name?: string;
  readonly optional?: boolean;
}

export function referencesOf({ spec }: PodTemplateSpec): References {
  const all = new Set<Reference>();
  const required = new Set<Reference>();
  const add = (kind: ReferenceKind, name: string | undefined, optional: boolean | undefined) => {
    if (name === undefined || name === '') return;
    all.add(`${kind}/${name}`);
    if (optional !== true) required.add(`${kind}/${name}`);
  };
  const addEach = (configMap: Optional | undefined, secret: Optional | undefined) => {
    add('configmap', configMap?.name, configMap?.optional);
    add('secret', secret?.name, secret?.optional);
  };
  for (const { configMap, secret, projected } of spec?.volumes ?? []) {
    addEach(configMap, undefined);
    add('secret', secret?.secretName, secret?.optional);
    for (const source of projected?.sources ?? []) addEach(source.configMap, source.secret);
  }
  const containers: readonly Pick<Container, 'env' | 'envFrom'>[] = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
  ];
  for (const { env = [], envFrom = [] } of containers) {
    for (const { valueFrom } of env) addEach(valueFrom?.configMapKeyRef, valueFrom?.secretKeyRef);
    for (const { configMapRef, secretRef } of envFrom) addEach(configMapRef, secretRef);
  }
  return { all: [...all].sort(), required };
}

/**
 * The references that the annotation of a workload selects: all for `true`, otherwise those that it lists, separated by commas;
 * undefined if it selects none.
 */
export function selectedReferences(annotation: string | undefined, used: References): References | undefined {
  if (annotation === undefined || annotation === '' || annotation === 'false') return undefined;
  if (annotation === 'true') return used;
  const listed = new Set(annotation.split(',').map((each) => each.trim().toLowerCase()));
  const all = used.all.filter((reference) => listed.has(reference));
  return { all, required: used.required };
}

/** Of the content, whatever its order and its metadata. */
export function digestOf({
  data = {},
  binaryData = {},
}: Pick<ConfigMap, 'data' | 'binaryData'> | (Secret & { binaryData?: undefined })): string {
  const hash = createHash('sha256');
  for (const part of [data, binaryData]) {
    for (const [key, value] of Object.entries(part ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))) {
      hash.update(`${key.length}:${value.length}:${key}${value}`);
    }
    hash.update('|');
  }
  return hash.digest('hex');
}

/** Undefined while a required object is missing: the pods could not start. */
export function referencesHash(
  { all, required }: References,
  digest: (reference: Reference) => string | undefined,
): string | undefined {
  const hash = createHash('sha256');
  for (const reference of all) {
    const content = digest(reference);
    if (content === undefined && required.has(reference)) return undefined;
    hash.update(`${reference}=${content ?? ''}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}
