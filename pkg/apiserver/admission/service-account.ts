/** Gives every pod a service account, and its containers the account's token, root certificate and namespace. */

import { serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Container, Pod, ServiceAccount, Volume } from '#api/core/v1/types.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { generateName } from '#apimachinery/generate-name.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns, ReadingPlugin, type ReadingPluginOptions } from '#apiserver/admission/plugin.js';
import { podTokenExpirationSeconds } from '#apiserver/serviceaccount/token-issuer.js';

export interface ServiceAccountOptions extends ReadingPluginOptions {
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

const defaultAccount = 'default';
const fileMode = 0o644;

export class ServiceAccountAdmission extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'ServiceAccount';
  readonly resources = [{ group: 'core', resource: 'pods' }] as const;
  readonly #random: () => number;

  constructor(options: ServiceAccountOptions) {
    super(options);
    this.#random = options.random;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'core', 'pods');
  }

  admit(attributes: MutableAttributes): MaybePromise<void> {
    const pod = attributes.object as Draft<Pod>;
    if (this.#isMirror(pod)) return;
    const { spec } = pod;
    const requested = spec.serviceAccountName ?? '';
    const name = requested === '' ? (spec.serviceAccount ?? '') : requested;
    spec.serviceAccountName = name === '' ? defaultAccount : name;
    // The deprecated alias of the field.
    spec.serviceAccount = spec.serviceAccountName;
    return andThen(this.#account(attributes, spec.serviceAccountName), (account) => this.#use(pod, account));
  }

  #use(pod: Draft<Pod>, account: ServiceAccount): void {
    const { spec } = pod;
    if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) this.#mount(pod);
    const pullSecrets = account.imagePullSecrets ?? [];
    if ((spec.imagePullSecrets ?? []).length === 0 && pullSecrets.length > 0)
      spec.imagePullSecrets = pullSecrets.map(({ name }) => ({ ...(name === undefined ? {} : { name }) }));
  }

  validate(attributes: AdmissionAttributes): void {
    const pod = attributes.object as Draft<Pod>;
    if (!this.#isMirror(pod)) return;
    // A node must not give its mirror pods the rights of an account.
    if ((pod.spec.serviceAccountName ?? '') !== '')
      throw this.refusal(attributes, 'a mirror pod may not reference service accounts');
    const projected = (pod.spec.volumes ?? []).some((volume) =>
      volume.projected?.sources?.some((source) => source.serviceAccountToken !== undefined),
    );
    if (projected) throw this.refusal(attributes, 'a mirror pod may not use ServiceAccountToken volume projections');
  }

  #isMirror(pod: Pod): boolean {
    return pod.metadata.annotations?.[this.dialect.annotations.configMirror] !== undefined;
  }

  #account(attributes: AdmissionAttributes, name: string): MaybePromise<ServiceAccount> {
    const { reader } = this;
    const { namespace } = attributes;
    return andThen(
      reader.get(serviceaccounts, namespace, name),
      (cached) =>
        cached ??
        andThen(
          reader.get(serviceaccounts, namespace, name, 'latest'),
          (latest) => latest ?? this.#missing(attributes, name),
        ),
    );
  }

  #missing(attributes: AdmissionAttributes, name: string): never {
    const { namespace } = attributes;
    const why = `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`;
    throw this.refusal(attributes, why);
  }

  #mount({ spec }: Draft<Pod>): void {
    const { dialect } = this;
    const prefix = volumePrefix(dialect);
    const present = spec.volumes?.find((volume) => volume.name.startsWith(prefix))?.name;
    const name = present ?? generateName(prefix, this.#random);
    let used = false;
    for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])])
      used = mountInto(container, name, dialect.serviceAccountPath) || used;
    if (used && present === undefined) spec.volumes = [...(spec.volumes ?? []), accessVolume(name, dialect)];
  }
}

function volumePrefix({ shortName }: Dialect): string {
  return `${shortName}-api-access-`;
}

/** False if the container already mounts something at that path. */
function mountInto(container: Draft<Container>, volume: string, mountPath: string): boolean {
  const mounts = container.volumeMounts ?? [];
  if (mounts.some((mount) => mount.mountPath === mountPath)) return false;
  container.volumeMounts = [...mounts, { name: volume, readOnly: true, mountPath }];
  return true;
}

function accessVolume(name: string, dialect: Dialect): Draft<Volume> {
  return {
    name,
    projected: {
      defaultMode: fileMode,
      sources: [
        { serviceAccountToken: { expirationSeconds: podTokenExpirationSeconds, path: 'token' } },
        { configMap: { name: dialect.rootCAConfigMap, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    },
  };
}
