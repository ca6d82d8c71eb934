/** Manages the ControllerRevisions of the objects of one kind. */
import { controllerrevisions } from '#api/apps/v1/resources.gen.js';
import type { ControllerRevision } from '#api/apps/v1/types.gen.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { LabelSelector } from '#apimachinery/selectors/labels.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { indexByController, ownedOrOrphaned, sharedInformer } from '#controllers/framework/informers.js';
import { claimObjects, controllerOf, controllerReference } from '#controllers/framework/owners.js';
import type { WrittenObjects } from '#controllers/framework/written-objects.js';
import {
  hasTemplate,
  newRevision,
  planRevision,
  type RevisionSource,
  sortedRevisions,
} from '#controllers/history/revisions.js';

export interface CurrentRevision {
  readonly revision: ControllerRevision;
  /** For the owner's status. */
  readonly collisionCount: number;
}

export class RevisionHistory<T extends ApiObject> {
  readonly #context: ControllerContext;
  readonly #type: ResourceType<T>;
  readonly #written: WrittenObjects;
  readonly #revisions: Informer<ControllerRevision>;

  constructor(context: ControllerContext, type: ResourceType<T>, written: WrittenObjects) {
    this.#context = context;
    this.#type = type;
    this.#written = written;
    this.#revisions = sharedInformer(context.informers, controllerrevisions);
    indexByController(this.#revisions);
  }

  /** The owner's revisions, including newly adopted ones, oldest first. */
  async revisionsOf(owner: T, selector: LabelSelector): Promise<ControllerRevision[]> {
    const { client, dialect } = this.#context;
    const { name = '', namespace = '' } = owner.metadata;
    const claimed = await claimObjects<ControllerRevision>({
      owner,
      selector,
      objects: ownedOrOrphaned(this.#revisions, owner),
      reference: controllerReference(dialect, this.#type, owner),
      liveOwner: () => client.resource(this.#type).get(name, { namespace }),
      client: client.resource(controllerrevisions),
      wrote: (revision) => this.#written.wrote(keyOf(owner), this.#revisions, revision),
    });
    return sortedRevisions(claimed);
  }

  /** The revision of the owner's template: one of the sorted `revisions`, renumbered if it was not the newest, or a new one. */
  async current(
    owner: T,
    source: RevisionSource,
    revisions: readonly ControllerRevision[],
    collisionCount: number,
  ): Promise<CurrentRevision> {
    const { client, dialect } = this.#context;
    const plan = planRevision(dialect, revisions, source.template);
    switch (plan.kind) {
      case 'keep':
        return { revision: plan.revision, collisionCount };
      case 'renumber': {
        const renumbered = { ...plan.revision, revision: plan.number };
        const revision = await client.resource(controllerrevisions).update(renumbered);
        this.#written.wrote(keyOf(owner), this.#revisions, revision);
        return { revision, collisionCount };
      }
      case 'create':
        return this.#create(owner, source, plan.number, collisionCount);
      default:
        return plan satisfies never;
    }
  }

  async delete(owner: T, revisions: readonly ControllerRevision[]): Promise<void> {
    for (const revision of revisions) {
      const { name = '', namespace = '', uid = '' } = revision.metadata;
      try {
        await this.#context.client.resource(controllerrevisions).delete(name, { namespace, preconditions: { uid } });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      this.#written.deleted(keyOf(owner), this.#revisions, revision);
    }
  }

  /** Tries the next hash if a revision with other content has the name. */
  async #create(
    owner: T,
    source: RevisionSource,
    number: number | bigint,
    firstCollision: number,
  ): Promise<CurrentRevision> {
    const { client, dialect } = this.#context;
    const resource = client.resource(controllerrevisions);
    const reference = controllerReference(dialect, this.#type, owner);
    for (let collisionCount = firstCollision; ; collisionCount += 1) {
      const desired = newRevision(dialect, source, number, collisionCount);
      const { name = '', namespace = '' } = desired.metadata;
      try {
        const metadata = { ...desired.metadata, ownerReferences: [reference] };
        const revision = await resource.create({ ...desired, metadata });
        this.#written.wrote(keyOf(owner), this.#revisions, revision);
        return { revision, collisionCount };
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
      const existing = await resource.get(name, { namespace });
      const manager = controllerOf(existing)?.uid;
      if (hasTemplate(dialect, existing, source.template) && (manager === undefined || manager === reference.uid)) {
        this.#written.wrote(keyOf(owner), this.#revisions, existing);
        return { revision: existing, collisionCount };
      }
    }
  }
}
