/** Restricts node agents to their own node's objects, where authorization alone cannot decide. */
import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { notFound, type StatusError } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { ReadingPlugin } from '#apiserver/admission/plugin.js';
import { nodeOf } from '#apiserver/authorization/node/node-identity.js';
import { podReferences } from '#apiserver/authorization/node/pod-references.js';

/** A node agent's request, as each rule sees it. */
interface NodeRequest {
  readonly node: string;
  readonly attributes: AdmissionAttributes;
  refuse(why: string): StatusError;
}

export class NodeRestriction extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'NodeRestriction';

  handles(attributes: AdmissionAttributes): boolean {
    if (attributes.operation === 'CONNECT') return false;
    return nodeOf(attributes.user, this.dialect) !== undefined;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { dialect } = this;
    const { user, resource } = attributes;
    const node = nodeOf(user, dialect) ?? '';
    const refuse = (why: string) => this.refusal(attributes, why);
    if (node === '') throw refuse(`could not determine node from user ${JSON.stringify(user.name)}`);
    const request: NodeRequest = { node, attributes, refuse };
    switch (`${resource.group}/${resource.resource}`) {
      case 'core/pods':
        return this.#pods(request);
      case 'core/nodes':
        return this.#nodes(request);
      case 'core/persistentvolumeclaims':
        return claimStatus(request);
      case 'core/serviceaccounts':
        return this.#token(request);
      case 'coordination/leases':
        return this.#lease(request);
      case 'storage/csinodes':
        if (requestedName(attributes) === node) return;
        throw refuse('can only access CSINode with the same name as the requesting node');
      default:
    }
  }

  async #pods(request: NodeRequest): Promise<void> {
    const { node, attributes, refuse } = request;
    const { operation, subresource } = attributes;
    const unexpected = `unexpected operation ${JSON.stringify(operation)}`;
    switch (subresource) {
      case '':
        if (operation === 'CREATE') return this.#mirror(request);
        if (operation === 'DELETE') return this.#ownPod(request, 'delete');
        throw refuse(`${unexpected}, node ${JSON.stringify(node)} can only create and delete mirror pods`);
      case 'status':
        if (operation === 'UPDATE') return podStatus(request);
        throw refuse(unexpected);
      case 'eviction':
        if (operation === 'CREATE') return this.#ownPod(request, 'evict');
        throw refuse(unexpected);
      default:
        throw refuse(
          `unexpected pod subresource ${JSON.stringify(subresource)}, only 'status' and 'eviction' are allowed`,
        );
    }
  }

  async #mirror({ node, attributes, refuse }: NodeRequest): Promise<void> {
    const { dialect, reader } = this;
    const failure = mirrorPodFailure(attributes.object as Pod, await reader.get(nodes, '', node), { node, dialect });
    if (failure === 'no node') throw notFound({ group: '', resource: 'nodes' }, node);
    if (failure !== undefined) throw refuse(failure);
  }

  /** Checks the stored pod for a deletion; for an eviction the cached one, or the stored one if the cache lacks the pod. */
  async #ownPod({ node, attributes, refuse }: NodeRequest, what: string): Promise<void> {
    const { reader } = this;
    const { namespace, name, oldObject } = attributes;
    const cached = (oldObject as Pod | undefined) ?? (await reader.get(pods, namespace, name));
    const pod = cached ?? (await reader.get(pods, namespace, name, 'latest'));
    if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
    if (pod.spec.nodeName === node) return;
    throw refuse(`node ${JSON.stringify(node)} can only ${what} pods with spec.nodeName set to itself`);
  }

  #nodes({ node, attributes, refuse }: NodeRequest): void {
    const { operation } = attributes;
    const who = `node ${JSON.stringify(node)} is not allowed to`;
    const name = requestedName(attributes);
    if (name !== node) throw refuse(`${who} modify node ${JSON.stringify(name)}`);
    if (operation === 'DELETE') return;
    const [next, old] = [attributes.object, attributes.oldObject] as (Node | undefined)[];
    const source = next?.spec?.configSource;
    if (operation === 'CREATE') {
      if (source !== undefined) throw refuse(`${who} create pods with a non-nil configSource`);
    } else {
      if (source !== undefined && !semanticEqual(source, old?.spec?.configSource))
        throw refuse(`${who} update configSource to a new non-nil configSource`);
      if (!semanticEqual(next?.spec?.taints, old?.spec?.taints)) throw refuse(`${who} modify taints`);
      // 1.24 allows this: a node could tie itself and its pods to another object's deletion.
      if (!semanticEqual(next?.metadata.ownerReferences, old?.metadata.ownerReferences))
        throw refuse(`${who} modify ownerReferences`);
    }
    const labels = forbiddenLabels(next?.metadata.labels ?? {}, old?.metadata.labels ?? {}, this.dialect);
    if (labels.length === 0) return;
    throw refuse(
      `${who} ${operation === 'CREATE' ? 'set the following labels' : 'modify labels'}: ${labels.join(', ')}`,
    );
  }

  async #token({ node, attributes, refuse }: NodeRequest): Promise<void> {
    if (attributes.operation !== 'CREATE' || attributes.subresource !== 'token') return;
    const reference = (attributes.object as unknown as TokenRequest).spec?.boundObjectRef;
    const { name = '', uid = '' } = reference ?? {};
    if (reference?.kind !== 'Pod' || (reference.apiVersion ?? '') !== 'v1' || name === '')
      throw refuse('node requested token not bound to a pod');
    if (uid === '') throw refuse('node requested token with a pod binding without a uid');
    const pod = await this.reader.get(pods, attributes.namespace, name);
    if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
    if (pod.metadata.uid !== uid) {
      const why = 'does not match the UID in record. The object might have been deleted and then recreated';
      throw refuse(`the UID in the bound object reference (${uid}) ${why}`);
    }
    if (pod.spec.nodeName !== node) throw refuse('node requested token bound to a pod scheduled on a different node');
  }

  #lease({ node, attributes, refuse }: NodeRequest): void {
    const { nodeLease } = this.dialect.namespaces;
    if (attributes.namespace !== nodeLease)
      throw refuse(`can only access leases in the ${JSON.stringify(nodeLease)} system namespace`);
    if (requestedName(attributes) !== node)
      throw refuse('can only access node lease with the same name as the requesting node');
  }
}

/** The requested name; empty if the server shall generate one. */
function requestedName({ operation, object, name }: AdmissionAttributes): string {
  return operation === 'CREATE' ? (object?.metadata.name ?? '') : name;
}

function podStatus({ node, attributes, refuse }: NodeRequest): void {
  const [next, old] = [attributes.object, attributes.oldObject] as [Pod, Pod];
  const who = `node ${JSON.stringify(node)}`;
  if (old.spec.nodeName !== node)
    throw refuse(`${who} can only update pod status for pods with spec.nodeName set to itself`);
  if (!semanticEqual(next.metadata.labels ?? {}, old.metadata.labels ?? {}))
    throw refuse(`${who} cannot update labels through pod status`);
}

/** A node may report the progress of a resize, but not change a claim's labels, finalizers or owners. */
function claimStatus({ node, attributes, refuse }: NodeRequest): void {
  const { operation, subresource, object, oldObject } = attributes;
  if (subresource !== 'status') throw refuse('may only update PVC status');
  if (operation !== 'UPDATE') throw refuse(`unexpected operation ${JSON.stringify(operation)}`);
  if (
    semanticEqual(protectedParts(object as PersistentVolumeClaim), protectedParts(oldObject as PersistentVolumeClaim))
  )
    return;
  throw refuse(
    `node ${JSON.stringify(node)} is not allowed to update fields other than status.capacity and status.conditions`,
  );
}

/** The parts of a claim that a node must not change. */
function protectedParts({ metadata, status, ...others }: PersistentVolumeClaim): object {
  const { resourceVersion, managedFields, ...ownMetadata } = metadata;
  const { capacity, conditions, allocatedResources, resizeStatus, ...ownStatus } = status ?? {};
  return { ...others, metadata: ownMetadata, status: ownStatus };
}

interface MirrorPodContext {
  /** The name of the node that creates the pod. */
  readonly node: string;
  readonly dialect: Dialect;
}

/**
 * The reason, in the words of 1.24, why a pod is not a mirror of a static pod of its node; `no node` if the node does not
 * exist. A mirror pod must not refer to other objects.
 */
function mirrorPodFailure(pod: Pod, nodeObject: Node | undefined, context: MirrorPodContext): string | undefined {
  const { node, dialect } = context;
  const { configMirror } = dialect.annotations;
  const who = `node ${JSON.stringify(node)}`;
  if (pod.metadata.annotations?.[configMirror] === undefined)
    return `pod does not have ${JSON.stringify(configMirror)} annotation, ${who} can only create mirror pods`;
  if (pod.spec.nodeName !== node) return `${who} can only create pods with spec.nodeName set to itself`;
  const failure = ownerFailure(pod, nodeObject, node);
  if (failure !== undefined) return failure;
  const references = podReferences(pod);
  const refers = (what: string) => `${who} can not create pods that reference ${what}`;
  if (references.serviceAccount !== '') return refers('a service account');
  if (references.secrets.size > 0) return refers('secrets');
  if (references.configMaps.size > 0) return refers('configmaps');
  return references.claims.size > 0 ? refers('persistentvolumeclaims') : undefined;
}

/** Requires the current node to be the only owner, so that the pod is deleted with it. */
function ownerFailure({ metadata }: Pod, nodeObject: Node | undefined, node: string): string | undefined {
  const who = `node ${JSON.stringify(node)}`;
  const [owner, ...more] = metadata.ownerReferences ?? [];
  if (more.length > 0) return `${who} can only create pods with a single owner reference set to itself`;
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return `${who} can only create pods with an owner reference set to itself`;
  if (owner.controller !== true) return `${who} can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true) return `${who} must not set blockOwnerDeletion on an owner reference`;
  if (nodeObject === undefined) return 'no node';
  const { uid = '' } = nodeObject.metadata;
  return owner.uid === uid ? undefined : `${who} UID mismatch: expected ${uid} got ${owner.uid}`;
}

/** Names of labels that control pods and that the node agent must not have added, changed or removed. */
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
  const ownLabels = [labels.hostname, labels.os, labels.arch, labels.zone, labels.region, labels.instanceType];
  const betaLabels = [
    labels.betaOS,
    labels.betaArch,
    `beta.${dialect.labelDomain}/instance-type`,
    `failure-domain.beta.${dialect.labelDomain}/zone`,
    `failure-domain.beta.${dialect.labelDomain}/region`,
  ];
  if ([...ownLabels, ...betaLabels].includes(key)) return true;
  return (
    within(domain, `${dialect.components.nodeAgent}.${dialect.labelDomain}`) ||
    within(domain, `node.${dialect.labelDomain}`)
  );
}

const within = (domain: string, parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);
