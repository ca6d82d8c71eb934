/** Keeps node agents to their own node's objects, where authorization alone cannot tell. */
import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { forbiddenLabels } from '#apiserver/admission/node-labels.js';
import { refusal } from '#apiserver/admission/refusal.js';
import { nodeOf } from '#apiserver/authorization/node/node-identity.js';
import { podReferences } from '#apiserver/authorization/node/pod-references.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

export interface NodeRestrictionOptions {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
}

export class NodeRestriction implements AdmissionPlugin {
  readonly name = 'NodeRestriction';
  readonly #options: NodeRestrictionOptions;

  constructor(options: NodeRestrictionOptions) {
    this.#options = options;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return nodeOf(attributes.user, this.#options.dialect) !== undefined;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const node = nodeOf(attributes.user, this.#options.dialect) ?? '';
    switch (`${attributes.resource.group}/${attributes.resource.resource}`) {
      case 'core/pods':
        return this.#pods(node, attributes);
      case 'core/nodes':
        return this.#nodes(node, attributes);
      case 'core/serviceaccounts':
        return this.#token(node, attributes);
      case 'coordination/leases':
        return this.#own(node, attributes, this.#options.dialect.namespaces.nodeLease);
      case 'storage/csinodes':
        return this.#own(node, attributes, '');
      default:
    }
  }

  async #pods(node: string, attributes: AdmissionAttributes): Promise<void> {
    const { operation, subresource } = attributes;
    if (subresource === '' && operation === 'CREATE') return this.#mirror(node, attributes);
    if (subresource === '' && operation === 'DELETE') return this.#ownPod(node, attributes, 'delete');
    if (subresource === 'status' && operation === 'UPDATE') {
      const { object, oldObject } = attributes;
      if ((oldObject as Pod).spec.nodeName !== node)
        throw this.#refuse(attributes, node, `can only update pod status for pods with spec.nodeName set to itself`);
      if (JSON.stringify(object?.metadata.labels ?? {}) !== JSON.stringify(oldObject?.metadata.labels ?? {}))
        throw this.#refuse(attributes, node, 'cannot update labels through pod status');
      return;
    }
    if (subresource === 'eviction' && operation === 'CREATE') return this.#ownPod(node, attributes, 'evict');
    throw this.#refuse(attributes, node, `unexpected operation ${operation} on pods/${subresource}`);
  }

  /** A node may only create the images of its own static pods, which must not refer to anything of the cluster. */
  #mirror(node: string, attributes: AdmissionAttributes): void {
    const { dialect } = this.#options;
    const pod = attributes.object as Pod;
    if (pod.metadata.annotations?.[dialect.annotations.configMirror] === undefined)
      throw this.#refuse(
        attributes,
        node,
        `pod does not have "${dialect.annotations.configMirror}" annotation, node "${node}" can only create mirror pods`,
      );
    if (pod.spec.nodeName !== node)
      throw this.#refuse(attributes, node, 'can only create pods with spec.nodeName set to itself');
    const owners = pod.metadata.ownerReferences ?? [];
    if (owners.some((owner) => owner.kind !== 'Node' || owner.name !== node))
      throw this.#refuse(attributes, node, 'can only create pods with an owner reference set to itself');
    const references = podReferences(pod);
    const names = references.secrets.size + references.configMaps.size + references.claims.size;
    if (names > 0 || references.serviceAccount !== '')
      throw this.#refuse(
        attributes,
        node,
        'can not create pods that reference a service account, secrets, configmaps or persistentvolumeclaims',
      );
  }

  async #ownPod(node: string, attributes: AdmissionAttributes, what: string): Promise<void> {
    const old = attributes.oldObject as Pod | undefined;
    const stored = attributes.subresource === '' && old !== undefined ? old : undefined;
    const pod = stored ?? (await this.#options.reader.get(pods, attributes.namespace, attributes.name));
    if (pod !== undefined && pod.spec.nodeName !== node)
      throw this.#refuse(attributes, node, `can only ${what} pods with spec.nodeName set to itself`);
  }

  #nodes(node: string, attributes: AdmissionAttributes): void {
    const { operation, object } = attributes;
    const name = attributes.name === '' ? (object?.metadata.name ?? '') : attributes.name;
    if (name !== node) throw this.#refuse(attributes, node, `is not allowed to modify node "${name}"`);
    if (operation === 'DELETE') return;
    const [made, old] = [attributes.object, attributes.oldObject] as (Node | undefined)[];
    const labels = forbiddenLabels(made?.metadata.labels ?? {}, old?.metadata.labels ?? {}, this.#options.dialect);
    if (labels.length > 0)
      throw this.#refuse(
        attributes,
        node,
        `is not allowed to ${operation === 'CREATE' ? 'set' : 'modify'} the following labels: ${labels.join(', ')}`,
      );
    if (operation !== 'UPDATE') return;
    if (JSON.stringify(made?.spec?.taints ?? []) !== JSON.stringify(old?.spec?.taints ?? []))
      throw this.#refuse(attributes, node, 'is not allowed to modify taints');
    if (JSON.stringify(made?.metadata.ownerReferences ?? []) !== JSON.stringify(old?.metadata.ownerReferences ?? []))
      throw this.#refuse(attributes, node, 'is not allowed to modify ownerReferences');
  }

  async #token(node: string, attributes: AdmissionAttributes): Promise<void> {
    if (attributes.subresource !== 'token') return;
    const reference = (attributes.object as unknown as TokenRequest).spec.boundObjectRef;
    if (reference?.kind !== 'Pod' || (reference.apiVersion ?? '') !== 'v1')
      throw this.#refuse(attributes, node, 'can only request tokens bound to a pod');
    const { name = '', uid = '' } = reference;
    if (uid === '') throw this.#refuse(attributes, node, 'token requested with a pod binding without a uid');
    const pod = await this.#options.reader.get(pods, attributes.namespace, name);
    if (pod?.metadata.uid !== uid || pod.spec.nodeName !== node)
      throw this.#refuse(attributes, node, `can only request tokens for pods that run on it`);
  }

  /** A lease or CSINode of the node's own name. */
  #own(node: string, attributes: AdmissionAttributes, namespace: string): void {
    if (namespace !== '' && attributes.namespace !== namespace)
      throw this.#refuse(attributes, node, `can only access leases in the "${namespace}" system namespace`);
    const name = attributes.operation === 'CREATE' ? attributes.object?.metadata.name : attributes.name;
    if (name !== node)
      throw this.#refuse(attributes, node, 'can only access objects with the same name as the requesting node');
  }

  #refuse(attributes: AdmissionAttributes, node: string, why: string) {
    return refusal(attributes, this.#options.dialect, `node "${node}" ${why}`);
  }
}
