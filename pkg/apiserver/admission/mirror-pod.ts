/** A node may create the images of its own static pods, which must not refer to anything of the cluster. */
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { podReferences } from '#apiserver/authorization/node/pod-references.js';

export interface MirrorPodContext {
  /** The name of the node that creates it. */
  readonly node: string;
  readonly dialect: Dialect;
}

/** Why the pod is no such image, in the words of 1.24; `no node` where the node itself is not there. */
export function mirrorPodFailure(pod: Pod, found: Node | undefined, context: MirrorPodContext): string | undefined {
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
