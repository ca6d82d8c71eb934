/** Keeps node agents to their own node's objects, where authorization alone cannot tell. */
import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { notFound, type StatusError } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { refusal } from '#apiserver/admission/refusal.js';
import { nodeOf } from '#apiserver/authorization/node/node-identity.js';
import { podReferences } from '#apiserver/authorization/node/pod-references.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

export interface NodeRestrictionOptions {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
}

/** A request of a node's, as each rule looks at it. */
interface Asked {
  readonly node: string;
  readonly attributes: AdmissionAttributes;
  refuse(why: string): StatusError;
}

export class NodeRestriction implements AdmissionPlugin {
  readonly name = 'NodeRestriction';
  readonly #options: NodeRestrictionOptions;

  constructor(options: NodeRestrictionOptions) {
    this.#options = options;
  }

  handles(attributes: AdmissionAttributes): boolean {
    if (attributes.operation === 'CONNECT') return false;
    return nodeOf(attributes.user, this.#options.dialect) !== undefined;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { dialect } = this.#options;
    const { user, resource } = attributes;
    const node = nodeOf(user, dialect) ?? '';
    const refuse = (why: string) => refusal(attributes, dialect, why);
    if (node === '') throw refuse(`could not determine node from user ${JSON.stringify(user.name)}`);
    const asked: Asked = { node, attributes, refuse };
    switch (`${resource.group}/${resource.resource}`) {
      case 'core/pods':
        return this.#pods(asked);
      case 'core/nodes':
        return this.#nodes(asked);
      case 'core/persistentvolumeclaims':
        return claimStatus(asked);
      case 'core/serviceaccounts':
        return this.#token(asked);
      case 'coordination/leases':
        return this.#lease(asked);
      case 'storage/csinodes':
        if (nameOf(attributes) === node) return;
        throw refuse('can only access CSINode with the same name as the requesting node');
      default:
    }
  }

  async #pods(asked: Asked): Promise<void> {
    const { node, attributes, refuse } = asked;
    const { operation, subresource } = attributes;
    const unexpected = `unexpected operation ${JSON.stringify(operation)}`;
    switch (subresource) {
      case '':
        if (operation === 'CREATE') return this.#mirror(asked);
        if (operation === 'DELETE') return this.#ownPod(asked, 'delete');
        throw refuse(`${unexpected}, node ${JSON.stringify(node)} can only create and delete mirror pods`);
      case 'status':
        if (operation === 'UPDATE') return podStatus(asked);
        throw refuse(unexpected);
      case 'eviction':
        if (operation === 'CREATE') return this.#ownPod(asked, 'evict');
        throw refuse(unexpected);
      default:
        throw refuse(
          `unexpected pod subresource ${JSON.stringify(subresource)}, only 'status' and 'eviction' are allowed`,
        );
    }
  }

  async #mirror({ node, attributes, refuse }: Asked): Promise<void> {
    const { dialect, reader } = this.#options;
    const failure = mirrorPodFailure(attributes.object as Pod, await reader.get(nodes, '', node), { node, dialect });
    if (failure === 'no node') throw notFound({ group: '', resource: 'nodes' }, node);
    if (failure !== undefined) throw refuse(failure);
  }

  /** Of what is deleted, the stored object counts; of an eviction, what this server knows, which a fresh pod may not be in. */
  async #ownPod({ node, attributes, refuse }: Asked, what: string): Promise<void> {
    const { reader } = this.#options;
    const { namespace, name, oldObject } = attributes;
    const known = (oldObject as Pod | undefined) ?? (await reader.get(pods, namespace, name));
    const pod = known ?? (await reader.get(pods, namespace, name, 'latest'));
    if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
    if (pod.spec.nodeName === node) return;
    throw refuse(`node ${JSON.stringify(node)} can only ${what} pods with spec.nodeName set to itself`);
  }

  #nodes({ node, attributes, refuse }: Asked): void {
    const { operation } = attributes;
    const who = `node ${JSON.stringify(node)} is not allowed to`;
    const name = nameOf(attributes);
    if (name !== node) throw refuse(`${who} modify node ${JSON.stringify(name)}`);
    if (operation === 'DELETE') return;
    const [made, old] = [attributes.object, attributes.oldObject] as (Node | undefined)[];
    const source = made?.spec?.configSource;
    if (operation === 'CREATE') {
      if (source !== undefined) throw refuse(`${who} create pods with a non-nil configSource`);
    } else {
      if (source !== undefined && !semanticEqual(source, old?.spec?.configSource))
        throw refuse(`${who} update configSource to a new non-nil configSource`);
      if (!semanticEqual(made?.spec?.taints, old?.spec?.taints)) throw refuse(`${who} modify taints`);
      // 1.24 lets this pass: a node could have itself deleted with any object, and its pods with it.
      if (!semanticEqual(made?.metadata.ownerReferences, old?.metadata.ownerReferences))
        throw refuse(`${who} modify ownerReferences`);
    }
    const labels = forbiddenLabels(made?.metadata.labels ?? {}, old?.metadata.labels ?? {}, this.#options.dialect);
    if (labels.length === 0) return;
    throw refuse(
      `${who} ${operation === 'CREATE' ? 'set the following labels' : 'modify labels'}: ${labels.join(', ')}`,
    );
  }

  async #token({ node, attributes, refuse }: Asked): Promise<void> {
    if (attributes.operation !== 'CREATE' || attributes.subresource !== 'token') return;
    const reference = (attributes.object as unknown as TokenRequest).spec?.boundObjectRef;
    const { name = '', uid = '' } = reference ?? {};
    if (reference?.kind !== 'Pod' || (reference.apiVersion ?? '') !== 'v1' || name === '')
      throw refuse('node requested token not bound to a pod');
    if (uid === '') throw refuse('node requested token with a pod binding without a uid');
    const pod = await this.#options.reader.get(pods, attributes.namespace, name);
    if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
    if (pod.metadata.uid !== uid) {
      const why = 'does not match the UID in record. The object might have been deleted and then recreated';
      throw refuse(`the UID in the bound object reference (${uid}) ${why}`);
    }
    if (pod.spec.nodeName !== node) throw refuse('node requested token bound to a pod scheduled on a different node');
  }

  #lease({ node, attributes, refuse }: Asked): void {
    const { nodeLease } = this.#options.dialect.namespaces;
    if (attributes.namespace !== nodeLease)
      throw refuse(`can only access leases in the ${JSON.stringify(nodeLease)} system namespace`);
    if (nameOf(attributes) !== node)
      throw refuse('can only access node lease with the same name as the requesting node');
  }
}

/** What is made may leave its name to the server: then it has none yet. */
function nameOf({ operation, object, name }: AdmissionAttributes): string {
  return operation === 'CREATE' ? (object?.metadata.name ?? '') : name;
}

function podStatus({ node, attributes, refuse }: Asked): void {
  const [made, old] = [attributes.object, attributes.oldObject] as [Pod, Pod];
  const who = `node ${JSON.stringify(node)}`;
  if (old.spec.nodeName !== node)
    throw refuse(`${who} can only update pod status for pods with spec.nodeName set to itself`);
  if (!semanticEqual(made.metadata.labels ?? {}, old.metadata.labels ?? {}))
    throw refuse(`${who} cannot update labels through pod status`);
}

/** A node tells how a resize goes. It must not label a claim, or give it finalizers or owners to be deleted with. */
function claimStatus({ node, attributes, refuse }: Asked): void {
  const { operation, subresource, object, oldObject } = attributes;
  if (subresource !== 'status') throw refuse('may only update PVC status');
  if (operation !== 'UPDATE') throw refuse(`unexpected operation ${JSON.stringify(operation)}`);
  if (semanticEqual(claimRest(object as PersistentVolumeClaim), claimRest(oldObject as PersistentVolumeClaim))) return;
  throw refuse(
    `node ${JSON.stringify(node)} is not allowed to update fields other than status.capacity and status.conditions`,
  );
}

/** What of a claim a node may not touch. */
function claimRest({ metadata, status, ...others }: PersistentVolumeClaim): object {
  const { resourceVersion, managedFields, ...ownMetadata } = metadata;
  const { capacity, conditions, allocatedResources, resizeStatus, ...ownStatus } = status ?? {};
  return { ...others, metadata: ownMetadata, status: ownStatus };
}

interface MirrorPodContext {
  /** The name of the node that creates it. */
  readonly node: string;
  readonly dialect: Dialect;
}

/**
 * Why a pod is not the image of a static pod of its node, in the words of 1.24; `no node` where the node itself is not
 * there. Images must not refer to anything of the cluster.
 */
function mirrorPodFailure(pod: Pod, found: Node | undefined, context: MirrorPodContext): string | undefined {
  const { node, dialect } = context;
  const { configMirror } = dialect.annotations;
  const who = `node ${JSON.stringify(node)}`;
  if (pod.metadata.annotations?.[configMirror] === undefined)
    return `pod does not have ${JSON.stringify(configMirror)} annotation, ${who} can only create mirror pods`;
  if (pod.spec.nodeName !== node) return `${who} can only create pods with spec.nodeName set to itself`;
  const ofOwner = ownerFailure(pod, found, node);
  if (ofOwner !== undefined) return ofOwner;
  const references = podReferences(pod);
  const refers = (what: string) => `${who} can not create pods that reference ${what}`;
  if (references.serviceAccount !== '') return refers('a service account');
  if (references.secrets.size > 0) return refers('secrets');
  if (references.configMaps.size > 0) return refers('configmaps');
  return references.claims.size > 0 ? refers('persistentvolumeclaims') : undefined;
}

/** It has one owner, its node as it is now, so that it goes away with it. */
function ownerFailure({ metadata }: Pod, found: Node | undefined, node: string): string | undefined {
  const who = `node ${JSON.stringify(node)}`;
  const [owner, ...more] = metadata.ownerReferences ?? [];
  if (more.length > 0) return `${who} can only create pods with a single owner reference set to itself`;
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return `${who} can only create pods with an owner reference set to itself`;
  if (owner.controller !== true) return `${who} can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true) return `${who} must not set blockOwnerDeletion on an owner reference`;
  if (found === undefined) return 'no node';
  const { uid = '' } = found.metadata;
  return owner.uid === uid ? undefined : `${who} UID mismatch: expected ${uid} got ${owner.uid}`;
}

/** Names of labels that were added, changed or removed although the node agent may not: pods are steered by these. */
export function forbiddenLabels(
  now: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
  dialect: Dialect,
): string[] {
  const changed = new Set([...Object.keys(now), ...Object.keys(before)].filter((key) => now[key] !== before[key]));
  return [...changed].filter((key) => !mayChange(key, dialect)).sort();
}

function mayChange(key: string, dialect: Dialect): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  if (within(domain, `node-restriction.${dialect.labelDomain}`)) return false;
  if (![dialect.labelDomain, dialect.apiDomain].some((own) => within(domain, own))) return true;
  const { labels } = dialect;
  const own = [labels.hostname, labels.os, labels.arch, labels.zone, labels.region, labels.instanceType];
  const old = [
    labels.betaOS,
    labels.betaArch,
    `beta.${dialect.labelDomain}/instance-type`,
    `failure-domain.beta.${dialect.labelDomain}/zone`,
    `failure-domain.beta.${dialect.labelDomain}/region`,
  ];
  if ([...own, ...old].includes(key)) return true;
  return (
    within(domain, `${dialect.components.nodeAgent}.${dialect.labelDomain}`) ||
    within(domain, `node.${dialect.labelDomain}`)
  );
}

const within = (domain: string, parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);
