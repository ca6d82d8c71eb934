/** One state of a definition, and what is derived from it on first use. */

import { customType } from '#api/apiextensions/v1/customresource/custom-type.js';
import { scaleParts } from '#api/apiextensions/v1/customresource/scale.js';
import { customStrategy } from '#api/apiextensions/v1/customresource/strategy.js';
import { Structural } from '#api/apiextensions/v1/structural/structural.js';
import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '#api/apiextensions/v1/types.gen.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { internalError, pathNotFound, type StatusError } from '#apimachinery/errors/status.js';
import type { Patterns } from '#apimachinery/patterns/pattern.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { type Addition, type ExceededBounds, excessText } from '#apiserver/customresources/exceeded-bounds.js';

export interface CustomKindOptions {
  readonly definition: CustomResourceDefinition;
  /** The definition as it is now, possibly a later version; undefined once it is deleted. */
  readonly current: () => CustomResourceDefinition | undefined;
  readonly scheme: Scheme;
  readonly patterns: Patterns;
  readonly exceeded: ExceededBounds;
}

/** Everything needed to serve a version of a kind. */
export interface CustomVersion {
  readonly name: string;
  /** `stable.example.com/v1`. */
  readonly apiVersion: string;
  readonly schema: Structural;
  readonly metadataType: TypeInfo;
  readonly type: TypeInfo;
  readonly strategy: Strategy;
}

/** Keeps no schemas until they are needed: the cache of definitions has them. */
export class CustomKind {
  /** The definition's name. */
  readonly name: string;
  readonly group: string;
  /** The accepted names. */
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly storageVersion: string;
  readonly versionNames: readonly string[];
  readonly #options: Omit<CustomKindOptions, 'definition'>;
  readonly #versions = new Map<string, CustomVersion>();
  readonly #generation: number | bigint;

  constructor({ definition, ...options }: CustomKindOptions) {
    const { metadata, spec, status } = definition;
    this.name = metadata.name ?? '';
    this.#generation = metadata.generation ?? 0;
    this.#options = options;
    this.group = spec.group;
    this.kind = status?.acceptedNames?.kind ?? spec.names.kind;
    this.listKind = status?.acceptedNames?.listKind ?? `${this.kind}List`;
    this.namespaced = spec.scope === 'Namespaced';
    this.versionNames = spec.versions.map(({ name }) => name);
    this.storageVersion = spec.versions.find(({ storage }) => storage)?.name ?? '';
  }

  apiVersion(version: string): string {
    return `${this.group}/${version}`;
  }

  /** Undefined for a version that the definition lacks. `once`: do not cache the result. */
  version(name: string, use?: 'once'): CustomVersion | undefined {
    let version = this.#versions.get(name);
    if (version === undefined) {
      const match = this.#find(name);
      if (match === undefined) return undefined;
      version = this.#compile(match.spec, match.version);
      if (use === undefined) this.#versions.set(name, version);
    }
    return version;
  }

  /** Like `version`, for served versions. Throws 404 if the definition has just lost it. */
  require(name: string, use?: 'once'): CustomVersion {
    const version = this.version(name, use);
    if (version === undefined) throw pathNotFound();
    return version;
  }

  /** The webhook that converts between its versions; undefined if they differ only in their name. */
  get conversionWebhook(): CustomResourceConversion['webhook'] {
    const conversion = this.#options.current()?.spec.conversion;
    return conversion?.strategy === 'Webhook' ? conversion.webhook : undefined;
  }

  /** Records that the version adds too much to an object, and returns the error for the client. */
  exceeded(version: string, addition: Addition): StatusError {
    const excess = { definition: this.name, generation: this.#generation, version, addition };
    this.#options.exceeded.report(excess);
    return internalError(new Error(`custom resource definition "${this.name}", ${excessText(excess)}`));
  }

  /** The version as the definition declares it, for documentation. */
  definitionOf(name: string): CustomResourceDefinitionVersion | undefined {
    return this.#find(name)?.version;
  }

  #find(name: string): { spec: CustomResourceDefinitionSpec; version: CustomResourceDefinitionVersion } | undefined {
    const spec = this.#options.current()?.spec;
    const version = spec?.versions.find((one) => one.name === name);
    return spec === undefined || version === undefined ? undefined : { spec, version };
  }

  #compile(spec: CustomResourceDefinitionSpec, version: CustomResourceDefinitionVersion): CustomVersion {
    const { scheme, patterns } = this.#options;
    const { group, kind, namespaced } = this;
    const { name, subresources } = version;
    const declared = version.schema?.openAPIV3Schema ?? {};
    const schema = new Structural(declared, scheme.dialect, spec.preserveUnknownFields === true ? 'all' : undefined);
    const exceeded = (addition: Addition) => this.exceeded(name, addition);
    const strategy = customStrategy({ version, schema, namespaced, patterns, exceeded });
    const scale = subresources?.scale;
    return {
      name,
      apiVersion: this.apiVersion(name),
      schema,
      metadataType: scheme.type('meta.v1.ObjectMeta'),
      type: customType({ schema, scheme, name: `${group}.${name}.${kind}`, kind, version: name }),
      strategy: scale === undefined ? strategy : { ...strategy, scaleParts: scaleParts(scale) },
    };
  }
}
