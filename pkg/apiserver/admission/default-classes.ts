/** Claims and ingresses that name no class get the cluster's default one. */

import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { ingressclasses } from '#api/networking/v1/resources.gen.js';
import type { Ingress } from '#api/networking/v1/types.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns, refusal } from '#apiserver/admission/refusal.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

export interface DefaultClassOptions {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
}

const marked = (object: ApiObjectShape, annotation: string): boolean =>
  object.metadata.annotations?.[annotation] === 'true';

export class DefaultStorageClass implements AdmissionPlugin {
  readonly name = 'DefaultStorageClass';
  readonly resources = [{ group: 'core', resource: 'persistentvolumeclaims' }] as const;
  readonly #options: DefaultClassOptions;

  constructor(options: DefaultClassOptions) {
    this.#options = options;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'core', 'persistentvolumeclaims');
  }

  async admit(attributes: MutableAttributes): Promise<void> {
    const { dialect, reader } = this.#options;
    const claim = attributes.object as Draft<PersistentVolumeClaim>;
    // An empty name says that no class is wanted; only a missing one is filled.
    const old = `volume.beta.${dialect.labelDomain}/storage-class`;
    if (claim.spec.storageClassName !== undefined || claim.metadata.annotations?.[old] !== undefined) return;
    const annotation = `storageclass.${dialect.labelDomain}/is-default-class`;
    const defaults = (await reader.list(storageclasses)).filter((found) => marked(found, annotation));
    if (defaults.length > 1)
      throw refusal(
        attributes,
        dialect,
        `Internal error occurred: ${defaults.length} default StorageClasses were found`,
      );
    const name = defaults[0]?.metadata.name;
    if (name !== undefined) claim.spec.storageClassName = name;
  }
}

export class DefaultIngressClass implements AdmissionPlugin {
  readonly name = 'DefaultIngressClass';
  readonly resources = [{ group: 'networking', resource: 'ingresses' }] as const;
  readonly #options: DefaultClassOptions;

  constructor(options: DefaultClassOptions) {
    this.#options = options;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'networking', 'ingresses');
  }

  async admit(attributes: MutableAttributes): Promise<void> {
    const { dialect, reader } = this.#options;
    const ingress = attributes.object as Draft<Ingress>;
    const { classAnnotation: old, defaultClassAnnotation: annotation } = dialect.ingress;
    if (ingress.spec?.ingressClassName !== undefined || ingress.metadata.annotations?.[old] !== undefined) return;
    const defaults = (await reader.list(ingressclasses)).filter((found) => marked(found, annotation));
    if (defaults.length > 1)
      throw refusal(
        attributes,
        dialect,
        `Internal error occurred: ${defaults.length} default IngressClasses were found`,
      );
    const name = defaults[0]?.metadata.name;
    if (name !== undefined) ingress.spec = { ...ingress.spec, ingressClassName: name };
  }
}
