/** Sets the cluster's default class in claims and ingresses that name none. */

import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { ingressclasses } from '#api/networking/v1/resources.gen.js';
import type { Ingress } from '#api/networking/v1/types.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns, ReadingPlugin, refusal } from '#apiserver/admission/plugin.js';

/** The name of the default class, if there is one. Refuses the request if there are several. */
function defaultClass(
  attributes: AdmissionAttributes,
  dialect: Dialect,
  { classes, annotation, plural }: { classes: readonly ApiObjectShape[]; annotation: string; plural: string },
): string | undefined {
  const [first, ...others] = classes.filter(({ metadata }) => metadata.annotations?.[annotation] === 'true');
  if (others.length === 0) return first?.metadata.name;
  const why = `Internal error occurred: ${others.length + 1} default ${plural} were found`;
  throw refusal(attributes, dialect, why);
}

export class DefaultStorageClass extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'DefaultStorageClass';
  readonly resources = [{ group: 'core', resource: 'persistentvolumeclaims' }] as const;

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'core', 'persistentvolumeclaims');
  }

  async admit(attributes: MutableAttributes): Promise<void> {
    const { dialect, reader } = this;
    const claim = attributes.object as Draft<PersistentVolumeClaim>;
    // An empty name requests no class; only an absent one is filled in.
    const old = `volume.beta.${dialect.labelDomain}/storage-class`;
    if (claim.spec.storageClassName !== undefined || claim.metadata.annotations?.[old] !== undefined) return;
    const annotation = `storageclass.${dialect.labelDomain}/is-default-class`;
    const classes = await reader.list(storageclasses);
    const name = defaultClass(attributes, dialect, { classes, annotation, plural: 'StorageClasses' });
    if (name !== undefined) claim.spec.storageClassName = name;
  }
}

export class DefaultIngressClass extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'DefaultIngressClass';
  readonly resources = [{ group: 'networking', resource: 'ingresses' }] as const;

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'networking', 'ingresses');
  }

  async admit(attributes: MutableAttributes): Promise<void> {
    const { dialect, reader } = this;
    const ingress = attributes.object as Draft<Ingress>;
    const { classAnnotation: old, defaultClassAnnotation: annotation } = dialect.ingress;
    if (ingress.spec?.ingressClassName !== undefined || ingress.metadata.annotations?.[old] !== undefined) return;
    const classes = await reader.list(ingressclasses);
    const name = defaultClass(attributes, dialect, { classes, annotation, plural: 'IngressClasses' });
    if (name !== undefined) ingress.spec = { ...ingress.spec, ingressClassName: name };
  }
}
