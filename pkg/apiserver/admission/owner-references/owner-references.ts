/**
 * Refuses owners that a user may not set: an owner's deletion deletes the object, and the object may block the deletion of its
 * owner. The first takes the right to delete the object, the second the right to set the owner's finalizers.
 */
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { RestMapper } from '#apiserver/admission/owner-references/rest-mapper.js';
import { concerns, refusal } from '#apiserver/admission/plugin.js';
import type { AuthorizationAttributes, Authorizer } from '#apiserver/authorization/authorizer.js';

export interface OwnerReferencesOptions {
  readonly dialect: Dialect;
  readonly authorizer: Authorizer;
  readonly mapper: RestMapper;
}

/** The part of an access check that differs between checks. */
type Access = Omit<AuthorizationAttributes, 'user' | 'resourceRequest' | 'path'>;

export class OwnerReferencesPermissionEnforcement implements AdmissionPlugin {
  readonly name = 'OwnerReferencesPermissionEnforcement';
  readonly #options: OwnerReferencesOptions;

  constructor(options: OwnerReferencesOptions) {
    this.#options = options;
  }

  /** Writes of a pod's status cannot change its owners. */
  handles(attributes: AdmissionAttributes): boolean {
    const { operation } = attributes;
    if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
    return changesOwners(attributes) && !concerns(attributes, 'core', 'pods', 'status');
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { operation, resource, subresource, namespace, name } = attributes;
    const group = this.#options.dialect.groupName(resource.group);
    // The creator of an object could have refrained from creating it.
    if (operation !== 'CREATE') {
      const access = { verb: 'delete', group, version: resource.version, resource: resource.resource };
      const denial = await this.#denial(attributes, { ...access, subresource, namespace, name });
      if (denial !== undefined)
        throw this.#refusal(attributes, `cannot set an ownerRef on a resource you can't delete: ${denial}`);
    }
    const blocking = newBlockingOwners(attributes);
    // This check saves the search for the resources of the owners.
    if (blocking.length === 0 || (await this.#denial(attributes, anyFinalizers)) === undefined) return;
    for (const owner of blocking) await this.#requireFinalizers(attributes, owner);
  }

  /** Throws 403 unless the user may set the owner's finalizers. */
  async #requireFinalizers(attributes: AdmissionAttributes, { apiVersion, kind, name }: OwnerReference): Promise<void> {
    const { scope, namespace } = attributes;
    const resources = scope?.registry.resources;
    const mapping = resources && (await this.#options.mapper.find(resources, apiVersion, kind));
    if (mapping === undefined) {
      const why = `no matches for kind ${quoted(kind)} in version ${quoted(apiVersion)}`;
      const what = `cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: ${why}`;
      throw this.#refusal(attributes, `cannot set blockOwnerDeletion in this case because ${what}`);
    }
    const { group, version, resource, namespaced } = mapping;
    const denial = await this.#denial(attributes, {
      ...{ verb: 'update', group, version, resource, subresource: 'finalizers', name },
      // The owner of a namespaced object is in the same namespace.
      namespace: namespaced ? namespace : '',
    });
    if (denial === undefined) return;
    const what = "if an ownerReference refers to a resource you can't set finalizers on";
    throw this.#refusal(attributes, `cannot set blockOwnerDeletion ${what}: ${denial}`);
  }

  /** Undefined if the user has the right; otherwise the authorizer's reason and error, as in 1.24. */
  async #denial({ user }: AdmissionAttributes, access: Access): Promise<string | undefined> {
    const answer = await this.#options.authorizer.authorize({ ...access, user, resourceRequest: true, path: '' });
    return answer.decision === 'allow' ? undefined : `${answer.reason}, ${answer.error ?? '<nil>'}`;
  }

  #refusal(attributes: AdmissionAttributes, why: string) {
    return refusal(attributes, this.#options.dialect, why);
  }
}

const anyFinalizers: Access = {
  ...{ verb: 'update', group: '*', version: '*', resource: '*', subresource: 'finalizers' },
  ...{ namespace: '', name: '*' },
};

type Owned = { readonly metadata?: { readonly ownerReferences?: readonly OwnerReference[] } } | undefined;

function ownersOf(object: Owned): readonly OwnerReference[] {
  return object?.metadata?.ownerReferences ?? [];
}

function changesOwners({ object, oldObject }: AdmissionAttributes): boolean {
  return object !== undefined && !semanticEqual(ownersOf(object), ownersOf(oldObject));
}

/** Owners whose deletion the object begins to block. */
function newBlockingOwners({ object, oldObject }: AdmissionAttributes): readonly OwnerReference[] {
  const old = new Map(ownersOf(oldObject).map((owner) => [owner.uid, owner.blockOwnerDeletion === true]));
  return ownersOf(object).filter(({ blockOwnerDeletion, uid }) => blockOwnerDeletion === true && old.get(uid) !== true);
}
