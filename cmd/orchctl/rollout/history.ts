/** The templates that a workload has had: a deployment's in its replica sets, a set's in controller revisions. */

import type { ControllerRevision, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { parseInt64 } from '#apimachinery/int64.js';
import type { ApiObject } from '#client/client.js';
import type { Api } from '#cmd/orchctl/api/api.js';

export interface Revision {
  /** Revisions have 64 bits. */
  readonly number: bigint;
  /** As the workload had it. */
  readonly template: PodTemplateSpec;
  readonly cause: string | undefined;
}

/** The owner's revisions, newest first. */
export async function revisionsOf(
  api: Api,
  owner: ApiObject,
  { annotations, labels }: Pick<Dialect, 'annotations' | 'labels'>,
): Promise<Revision[]> {
  const isDeployment = owner.kind === 'Deployment';
  const keptIn = (await api.catalog()).one(isDeployment ? 'replicasets.apps' : 'controllerrevisions.apps');
  const { namespace, uid } = owner.metadata;
  const all = await api.list<ReplicaSet | ControllerRevision>(keptIn, { namespace });
  return all
    .filter(({ metadata }) => metadata.ownerReferences?.some((each) => each.uid === uid) === true)
    .flatMap((object) => {
      const text =
        'revision' in object
          ? String(object.revision)
          : (object.metadata.annotations?.[annotations.deploymentRevision] ?? '0');
      const number = parseInt64(text);
      const cause = object.metadata.annotations?.[annotations.changeCause];
      return number === undefined ? [] : [{ number, template: templateIn(object, labels.podTemplateHash), cause }];
    })
    .sort((a, b) => (a.number < b.number ? 1 : a.number > b.number ? -1 : 0));
}

/** Without what its keeper added to it. */
function templateIn(object: ReplicaSet | ControllerRevision, hashLabel: string): PodTemplateSpec {
  const data = 'revision' in object ? object.data : object;
  const { spec } = copyJson(data ?? {}) as { spec?: { template?: Draft<PodTemplateSpec> & { $patch?: string } } };
  const { $patch: _patch, ...template } = spec?.template ?? {};
  delete template.metadata?.labels?.[hashLabel];
  return template;
}
