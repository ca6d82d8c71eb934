/** A kind for the generators: its paths, a valid object, and requests. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import type { Case, Step } from '#test/integration/apiserver/peer/case.js';
import { jsonText } from '#test/integration/apiserver/peer/generate/big-numbers.js';
import { shortHash } from '#test/integration/apiserver/peer/generate/hash.js';
import type { Sample } from '#test/integration/apiserver/peer/samples/sample.js';

export type JsonObject = Record<string, unknown>;

export const jsonType = 'application/json';

export class KindUnderTest {
  readonly info: ResourceInfo;
  readonly dialect: Dialect;
  readonly sample: Sample;
  readonly #prefix: string;
  /** `prefix` precedes the file name, for cases that are recorded separately. */
  constructor(info: ResourceInfo, sample: Sample, dialect: Dialect, prefix = '') {
    this.#prefix = prefix;
    this.info = info;
    this.sample = sample;
    this.dialect = dialect;
  }

  /** `apps.v1.deployments`, or `printed.apps.v1.deployments` */
  get file(): string {
    return `${this.#prefix}${this.sample.file}`;
  }

  get namespace(): string | undefined {
    return this.info.declaration.namespaced ? `peer-${this.file.replaceAll('.', '-')}` : undefined;
  }

  /** Path of the collection, in another namespace if given. */
  collection(namespace = this.namespace): string {
    const { groupName, declaration, apiVersion } = this.info;
    const root = groupName === '' ? '/api' : '/apis';
    const within = namespace === undefined ? '' : `/namespaces/${namespace}`;
    return `${root}/${apiVersion}${within}/${declaration.resource}`;
  }

  /** Name of the object of the case with that id. */
  nameOf(id: string): string {
    return `c${shortHash(`${this.file} ${id}`)}`;
  }

  /** A new valid object. `size` selects one of the kind's samples, smallest first. */
  object(name: string, size = 0): JsonObject & { metadata: JsonObject } {
    const { sizes } = this.sample;
    const make = sizes[Math.min(size, sizes.length - 1)];
    if (make === undefined) throw new RangeError(`no sample of ${this.file}`);
    const { metadata, ...rest } = structuredClone(make(this.dialect, name, this.namespace));
    const within = this.namespace === undefined ? {} : { namespace: this.namespace };
    return {
      apiVersion: this.info.apiVersion,
      kind: this.info.declaration.kind,
      metadata: { name, ...(metadata as JsonObject | undefined), ...within },
      ...rest,
    };
  }

  /** Path of a stored sample. */
  pathOf(object: { readonly metadata: JsonObject }, part = ''): string {
    return `${this.collection()}/${String(object.metadata['name'])}${part}`;
  }

  post(object: unknown, query = ''): Step {
    return { method: 'POST', path: `${this.collection()}${query}`, contentType: jsonType, body: jsonText(object) };
  }

  put(path: string, object: unknown): Step {
    return { method: 'PUT', path, contentType: jsonType, body: jsonText(object) };
  }

  patch(path: string, type: PatchType, body: unknown): Step {
    return { method: 'PATCH', path, contentType: patchTypes[type], body: jsonText(body) };
  }

  /** A case with an object of its own, whose name the steps get. */
  case(id: string, steps: (name: string) => readonly Step[]): Case {
    const name = this.nameOf(id);
    const { serial, sharedWithServer } = this.sample;
    const path = this.pathOf(this.object(name));
    const cleanup = serial === true ? { cleanup: [{ method: 'DELETE', path: `${path}?gracePeriodSeconds=0` }] } : {};
    return {
      file: this.file,
      id,
      name,
      steps: steps(name),
      ...cleanup,
      ...(sharedWithServer === true && { sharedWithServer }),
    };
  }
}

export type PatchType = 'merge' | 'strategic' | 'json' | 'apply';

export const patchTypes: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};
